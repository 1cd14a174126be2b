//! The boards before and after: cut out of their frames, and finer than the scrubber's pictures.

use std::collections::HashMap;

use flowpipe_recording::Recording;

use super::pack::{Kind, pack};
use super::shrink::{Area, shrink};
use super::{Encoded, evenly};
use crate::boards::{Board, View};
use crate::frames::Frames;
use crate::shapes::Shapes;
use serde::Serialize;

/// A board, cut out of a frame.
#[derive(Clone, Debug, Serialize)]
pub struct Still {
    data: Encoded,
    /// Where it lies in the frame: left, top, width and height in frame pixels.
    area: [u32; 4],
}

impl Still {
    /// How many characters it takes in the page, more or less.
    pub fn characters(&self) -> usize {
        self.data.characters() + AROUND
    }
}

/// The longer side in pixels, and the quality: the first one is taken that leaves the boards within their limit.
const STEPS: [(u32, u8); 5] = [(800, 88), (640, 84), (480, 80), (360, 75), (240, 70)];

/// Characters around a still in the page.
const AROUND: usize = 60;

/// The number of stills that are made as a sample, to see how many characters they take.
const FEW: usize = 8;

/// What is left around a board, as a share of its longer side.
const MARGIN: f64 = 0.05;

/// A picture of the recording, and the part of it.
type Cut = (usize, Area);

/// Makes the stills of all boards in at most `limit` characters, and notes in each view which one is its own. Where
/// even the smallest do not fit, the last boards have none.
pub fn stills(
    recording: &Recording,
    frames: &Frames,
    shapes: &Shapes,
    boards: &mut [Board],
    limit: usize,
) -> Vec<Still> {
    let mut cuts: Vec<Cut> = Vec::new();
    let mut known: HashMap<Cut, usize> = HashMap::new();
    let mut wanted: Vec<Option<usize>> = Vec::new();
    for view in boards.iter().flat_map(views) {
        let cut = cut(recording, frames, shapes, view);
        wanted.push(cut.map(|cut| {
            *known.entry(cut).or_insert_with(|| {
                cuts.push(cut);
                cuts.len() - 1
            })
        }));
    }
    let mut made = HashMap::new();
    for (step, &size) in STEPS.iter().enumerate() {
        let last = step + 1 == STEPS.len();
        // The size of a few of them shows early that all would take too much.
        let few = evenly(cuts.len(), FEW);
        let share = limit * few.len() / cuts.len().max(1);
        if !last && !make(recording, frames, &cuts, &few, size, share).1 {
            continue;
        }
        let all: Vec<usize> = (0..cuts.len()).collect();
        let (stills, whole) = make(recording, frames, &cuts, &all, size, limit);
        if whole || last {
            made = stills;
            break;
        }
    }
    let mut list = Vec::new();
    let mut places = HashMap::new();
    let mut wanted = wanted.into_iter();
    for board in boards {
        for view in [&mut board.before, &mut board.after].into_iter().flatten() {
            let Some(Some(cut)) = wanted.next() else {
                continue;
            };
            if let Some(still) = made.remove(&cut) {
                list.push(still);
                places.insert(cut, list.len() - 1);
            }
            view.picture = places.get(&cut).copied();
        }
    }
    list
}

fn views(board: &Board) -> impl Iterator<Item = View> {
    [board.before, board.after].into_iter().flatten()
}

/// Where a board lies in its frame, with a margin. `frame` of the cut: the first frame that shows the same picture.
fn cut(recording: &Recording, frames: &Frames, shapes: &Shapes, view: View) -> Option<Cut> {
    let frame = frames.all.get(view.frame)?;
    let (topic, sequence) = recording.picture_of(&frame.topic, frame.sequence)?;
    let [left, top, right, bottom] = shapes.looks.get(view.look)?.bounds(&shapes.shapes)?;
    let first = match frames.find(&topic.stage, sequence) {
        Some(first) if frames.all.get(first)?.topic == topic => first,
        _ => view.frame,
    };
    let margin = MARGIN * (right - left).max(bottom - top);
    // Casts saturate: what lies outside of the picture ends at its border.
    let low = |value: f64| (value - margin).floor().max(0.0) as u32;
    let high = |value: f64| (value + margin).ceil().max(0.0) as u32;
    let area = Area {
        x: low(left),
        y: low(top),
        width: high(right).checked_sub(low(left))?,
        height: high(bottom).checked_sub(low(top))?,
    };
    Some((first, area))
}

/// By cut; and whether all of them fit.
fn make(
    recording: &Recording,
    frames: &Frames,
    cuts: &[Cut],
    chosen: &[usize],
    (longest, quality): (u32, u8),
    limit: usize,
) -> (HashMap<usize, Still>, bool) {
    let mut used = 0;
    let mut stills = HashMap::new();
    for &place in chosen {
        let (frame, area) = cuts[place];
        let Some(frame) = frames.all.get(frame) else {
            continue;
        };
        let read = recording.pixels(&frame.topic, frame.sequence, |pixels| {
            let area = Area {
                width: area.width.min(pixels.width.checked_sub(area.x)?),
                height: area.height.min(pixels.height.checked_sub(area.y)?),
                ..area
            };
            let picture = shrink(pixels, area, longest)?;
            Some((pack(&picture, Kind::Whole, quality)?, area))
        });
        // A picture that can't be read is counted among the frames'.
        let Ok(Some(Some((data, area)))) = read else {
            continue;
        };
        used += data.characters() + AROUND;
        if used > limit {
            return (stills, false);
        }
        let area = [area.x, area.y, area.width, area.height];
        stills.insert(place, Still { data, area });
    }
    (stills, true)
}
