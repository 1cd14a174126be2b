//! The boards of two pipelines, joined by what was read and from which frame.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use serde::Serialize;

use crate::compare::difference::{Difference, PipelineId, differences, failures};
use crate::compare::frame::{FrameId, FrameResult, Frames};
use crate::compare::puzzles::{PuzzleKey, first_difference};
use crate::compare::side::Side;

/// A board, and the results of both pipelines.
#[derive(Clone, Debug)]
pub struct Pair {
    /// The first frame that shows it at rest, in either pipeline.
    pub frame: FrameId,
    /// The source of that frame.
    pub source: String,
    /// The first pipeline's results. `None`: it never read the board.
    pub a: Option<Side>,
    /// The second pipeline's results.
    pub b: Option<Side>,
    /// The differences.
    pub differences: Vec<Difference>,
}

/// How many frames were read by which pipeline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FrameCounts {
    /// Both read the same board.
    pub both: usize,
    /// Only the first read a board.
    pub a_alone: usize,
    /// Only the second read a board.
    pub b_alone: usize,
    /// Both read different boards.
    pub differently: usize,
    /// Neither read a board at rest.
    pub neither: usize,
}

impl Pair {
    /// The results of a pipeline that read the board.
    pub fn any(&self) -> Option<&Side> {
        self.a.as_ref().or(self.b.as_ref())
    }

    /// Whether there is a difference that matters.
    pub fn matters(&self) -> bool {
        self.differences.iter().any(Difference::matters)
    }
}

/// The boards of both, in the order in which they are first seen.
pub fn pairs(a: &Frames, b: &Frames) -> Vec<Pair> {
    let (of_a, of_b) = (BoardIndex::of(a), BoardIndex::of(b));
    let mut pairs = Vec::new();
    let mut taken = HashSet::new();
    for (key, shown) in of_a.iter() {
        let other = match of_b.by_key.get(key) {
            Some(&index) => Some(index),
            // The board that the other pipeline read instead, unless both read that one too.
            None => shown.iter().find_map(|id| {
                let instead = PuzzleKey::of(&b.get(id)?.board()?.puzzle);
                let is_free = !of_a.by_key.contains_key(&instead);
                of_b.by_key.get(&instead).copied().filter(|_| is_free)
            }),
        };
        let other = other.filter(|&other| taken.insert(other));
        let of_b = other.map_or(&[][..], |other| &of_b.all[other].1);
        pairs.extend(pair((a, shown), (b, of_b)));
    }
    for (index, (_, shown)) in of_b.all.iter().enumerate() {
        if !taken.contains(&index) {
            pairs.extend(pair((a, &[]), (b, shown)));
        }
    }
    pairs.sort_by(|one, other| one.frame.cmp(&other.frame));
    pairs
}

/// Counts frames by the pipelines that read them.
pub fn count(a: &Frames, b: &Frames) -> FrameCounts {
    let key =
        |frame: Option<(&FrameId, &FrameResult)>| Some(PuzzleKey::of(&frame?.1.board()?.puzzle));
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    let mut counts = FrameCounts::default();
    loop {
        // Both are in the order of frames.
        let order = match (a.peek(), b.peek()) {
            (Some((one, _)), Some((other, _))) => one.cmp(other),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return counts,
        };
        let of_a = a.next_if(|_| order != Ordering::Greater);
        let of_b = b.next_if(|_| order != Ordering::Less);
        let count = match (key(of_a), key(of_b)) {
            (Some(a), Some(b)) if a == b => &mut counts.both,
            (Some(_), Some(_)) => &mut counts.differently,
            (Some(_), None) => &mut counts.a_alone,
            (None, Some(_)) => &mut counts.b_alone,
            (None, None) => &mut counts.neither,
        };
        *count += 1;
    }
}

/// The boards of one pipeline, each with the frames that show it at rest.
struct BoardIndex {
    all: Vec<(PuzzleKey, Vec<FrameId>)>,
    by_key: HashMap<PuzzleKey, usize>,
}

impl BoardIndex {
    fn of(frames: &Frames) -> Self {
        let mut boards = Self {
            all: Vec::new(),
            by_key: HashMap::new(),
        };
        for (id, frame) in frames {
            let Some(seen) = frame.board() else { continue };
            let key = PuzzleKey::of(&seen.puzzle);
            let index = *boards.by_key.entry(key.clone()).or_insert_with(|| {
                boards.all.push((key, Vec::new()));
                boards.all.len() - 1
            });
            boards.all[index].1.push(id.clone());
        }
        boards
    }

    fn iter(&self) -> impl Iterator<Item = (&PuzzleKey, &[FrameId])> {
        self.all.iter().map(|(key, shown)| (key, shown.as_slice()))
    }
}

/// All frames of a pipeline, and those that show a board.
type Of<'a> = (&'a Frames, &'a [FrameId]);

/// `None`: no frame shows the board.
fn pair((a, of_a): Of<'_>, (b, of_b): Of<'_>) -> Option<Pair> {
    let frame = of_a.first().into_iter().chain(of_b.first()).min()?.clone();
    let source = [a, b].iter().find_map(|frames| {
        let frame = frames.get(&frame)?;
        (!frame.source.is_empty()).then(|| frame.source.clone())
    });
    // A common frame, if there is one: other frames may show more drawn flows.
    let among_b: HashSet<&FrameId> = of_b.iter().collect();
    let mut common = of_a.iter().filter(|id| among_b.contains(id));
    let answered = common.clone().find(|id| {
        let has_answer = |frames: &Frames| frames.get(id).is_some_and(|it| it.answer.is_some());
        has_answer(a) && has_answer(b)
    });
    let planned = common.find(|id| {
        let has_plan = |frames: &Frames| frames.get(id).is_some_and(|it| it.plan.is_some());
        has_plan(a) && has_plan(b)
    });
    let side_a = Side::new(a, of_a, answered, planned);
    let side_b = Side::new(b, of_b, answered, planned);
    let mut found: Vec<Difference> = reading(a, of_a, b).into_iter().collect();
    match (&side_a, &side_b) {
        (Some(a), Some(b)) if PuzzleKey::of(&a.seen.puzzle) == PuzzleKey::of(&b.seen.puzzle) => {
            found.extend(differences(a, b));
        }
        (Some(_), None) if found.is_empty() => found.push(unread(PipelineId::B, b, of_a)),
        (None, Some(_)) => found.push(unread(PipelineId::A, a, of_b)),
        _ => {}
    }
    found.extend(side_a.iter().flat_map(|side| failures(PipelineId::A, side)));
    found.extend(side_b.iter().flat_map(|side| failures(PipelineId::B, side)));
    Some(Pair {
        frame,
        source: source.unwrap_or_default(),
        a: side_a,
        b: side_b,
        differences: found,
    })
}

/// The first frame of a board that the other read as another one.
fn reading(a: &Frames, of_a: &[FrameId], b: &Frames) -> Option<Difference> {
    of_a.iter().find_map(|id| {
        let (one, other) = (a.get(id)?.board()?, b.get(id)?.board()?);
        let cell = first_difference(&one.puzzle, &other.puzzle)?;
        Some(Difference::Reading {
            frame: id.number,
            cell,
        })
    })
}

/// A pipeline never reads a board that these frames show.
fn unread(by: PipelineId, frames: &Frames, shown: &[FrameId]) -> Difference {
    let refusal = shown.iter().find_map(|id| frames.get(id)?.refusal());
    let reason = refusal.map(str::to_owned);
    Difference::Unread { by, reason }
}

#[cfg(test)]
mod tests;
