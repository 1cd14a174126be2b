//! Screenshots whose edges are those of the board, or cut some of it off: read exactly or refused, never wrong.

use image::RgbImage;

use super::scene::{Scene, Side};
use super::table::Outcome;
use crate::tests::truth::{Verdict, see};

/// The outline lies at most this far from where a truth has it: in cells, and in pixels.
const OFF: (f64, f64) = (0.05, 2.0);

/// What is left of a picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crop {
    pub edges: Edges,
    pub end: End,
}

/// Which edges of the picture are moved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Edges {
    /// To the board's outline.
    All,
    One(Side),
    /// This one as `End` has it, the others to the outline.
    AllBut(Side),
}

/// Where the picture ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum End {
    /// So many pixels beyond the outer edge of the outline.
    Outline(i64),
    /// So many pixels beyond the outer edge of the first line inside: a row or column is cut off.
    Inside(i64),
    /// Inside, by a share of a cell.
    Share(f64),
}

impl Crop {
    /// All that there are.
    pub fn all() -> Vec<Self> {
        let mut all = Self::whole();
        all.extend(Self::cutting());
        all
    }

    /// Whether it leaves the whole board.
    pub fn is_whole(self) -> bool {
        matches!(self.end, End::Outline(_))
    }

    fn whole() -> Vec<Self> {
        let edges = [Edges::All].into_iter().chain(Side::ALL.map(Edges::One));
        let crops = edges.flat_map(|edges| {
            (-3..=3).map(move |pixels| Self {
                edges,
                end: End::Outline(pixels),
            })
        });
        crops.collect()
    }

    fn cutting() -> Vec<Self> {
        let mut crops = Vec::new();
        for side in Side::ALL {
            let inside = (-3..=3).map(End::Inside);
            let ends = inside.chain([0.15, 0.3, 0.5, 0.7, 0.85].map(End::Share));
            crops.extend(ends.clone().map(|end| Self {
                edges: Edges::One(side),
                end,
            }));
            crops.extend((-3..=3).map(|pixels| Self {
                edges: Edges::AllBut(side),
                end: End::Inside(pixels),
            }));
        }
        crops
    }

    /// How the tables name it.
    pub fn name(self) -> String {
        let edges = match self.edges {
            Edges::All => "all edges".to_owned(),
            Edges::One(side) => format!("{side:?}"),
            Edges::AllBut(side) => format!("all edges, {side:?}"),
        };
        let end = match self.end {
            End::Outline(pixels) => format!("outline {pixels:+}"),
            End::Inside(pixels) => format!("a cell inside {pixels:+}"),
            End::Share(share) => format!("{share} cells inside"),
        };
        format!("{edges}: {end}").to_lowercase()
    }

    /// What becomes of a picture.
    pub fn outcome(self, scene: &Scene) -> Outcome {
        let cropped = self.crop(scene);
        let reading = see(&cropped.picture);
        let verdict = Verdict::of(&cropped.truth, &reading);
        Outcome {
            file: scene.truth.file.clone(),
            disturbance: self.name(),
            cell: scene.truth.cell(),
            verdict,
        }
    }

    fn crop(self, scene: &Scene) -> Scene {
        let size = [scene.picture.width(), scene.picture.height()].map(i64::from);
        let edge = |side: Side| {
            let is_moved = match self.edges {
                Edges::All | Edges::AllBut(_) => true,
                Edges::One(moved) => moved == side,
            };
            let out = outwards(side);
            let most = size[axis(side)];
            if !is_moved {
                return if out < 0 { 0 } else { most };
            }
            let end = match self.edges {
                Edges::AllBut(moved) if moved != side => End::Outline(0),
                _ => self.end,
            };
            let outline = outline(&scene.picture, scene, side);
            let cell = scene.truth.cell();
            let end = match end {
                End::Outline(pixels) => outline + out * pixels,
                End::Inside(pixels) => outline + out * (pixels - cell.round() as i64),
                End::Share(share) => outline - out * (share * cell) as i64,
            };
            end.clamp(0, most)
        };
        let [left, right, top, bottom] = Side::ALL.map(edge).map(|edge| edge as u32);
        scene.part(left, top, right - left, bottom - top)
    }
}

/// 0 for the left and the right one.
fn axis(side: Side) -> usize {
    usize::from(matches!(side, Side::Above | Side::Below))
}

fn outwards(side: Side) -> i64 {
    match side {
        Side::Left | Side::Above => -1,
        Side::Right | Side::Below => 1,
    }
}

/// The outer edge of the board's outline on a side, in whole pixels from the picture's left or upper edge: where most
/// of its pixels begin to differ from what is beyond by half of what they do at most.
fn outline(picture: &RgbImage, scene: &Scene, side: Side) -> i64 {
    let [x, y, width, height] = scene.truth.board_xywh;
    let cell = scene.truth.cell();
    let (axis, out) = (axis(side), outwards(side));
    let starts = [x, y];
    let lengths = [width, height];
    let middle = match out {
        -1 => starts[axis],
        _ => starts[axis] + lengths[axis],
    };
    let size = [picture.width(), picture.height()].map(i64::from);
    // The middle brightness of the pixels beside the corners of cells, where nothing lies on lines.
    let cells = (lengths[1 - axis] / cell).round() as usize;
    let places: Vec<i64> = (0..cells)
        .flat_map(|index| [0.12, 0.88].map(|share| index as f64 + share))
        .map(|place| (starts[1 - axis] + place * cell) as i64)
        .collect();
    let level = |at: i64| -> Option<i64> {
        let mut levels: Vec<i64> = Vec::new();
        for &along in &places {
            let point = if axis == 0 { [at, along] } else { [along, at] };
            let is_there = |axis: usize| (0..size[axis]).contains(&point[axis]);
            if !is_there(0) || !is_there(1) {
                continue;
            }
            let pixel = picture.get_pixel(point[0] as u32, point[1] as u32);
            levels.push(pixel.0.iter().map(|value| i64::from(*value)).sum());
        }
        levels.sort_unstable();
        levels.get(levels.len() / 2).copied()
    };
    let far = (OFF.0 * cell + OFF.1).ceil() as i64 + 3;
    let middle = middle.floor() as i64;
    // From inside to outside.
    let line =
        (-far..=far).filter_map(|off| Some((middle + out * off, level(middle + out * off)?)));
    let line: Vec<(i64, i64)> = line.collect();
    let inside = line[0].1;
    let (top, &(_, peak)) = line
        .iter()
        .enumerate()
        .max_by_key(|(_, (_, level))| (level - inside).abs())
        .unwrap();
    let rest = &line[top..];
    let beyond = rest.last().map_or(inside, |(_, level)| *level);
    let beyond = if rest.len() > 3 { beyond } else { inside };
    let is_line = |level: i64| (level - peak).abs() < (level - beyond).abs();
    let last = rest.iter().take_while(|(_, level)| is_line(*level)).last();
    let last = last.map_or(line[top].0, |(at, _)| *at);
    last + i64::from(out > 0)
}
