//! The result of a comparison.

use serde::Serialize;
use serde_json::{Value, json};

use crate::compare::frame::{PlanFigures, StageFailure};
use crate::compare::offline::StageChange;
use crate::compare::pair::{FrameCounts, Pair};
use crate::compare::side::{Side, VerdictKind};
use crate::compare::times::StageTimes;

/// Two pipelines on one recording.
pub struct Comparison {
    /// The first.
    pub a: PipelineSummary,
    /// The second.
    pub b: PipelineSummary,
    /// The number of rounds.
    pub rounds: u32,
    /// How many frames were read by which pipeline.
    pub frames: FrameCounts,
    /// In the order of the recording.
    pub boards: Vec<Pair>,
    /// The times of the stages.
    pub stages: Vec<StageTimes>,
}

/// The summary of one pipeline.
#[derive(Clone, Debug, Serialize)]
pub struct PipelineSummary {
    /// Its file.
    pub file: String,
    /// Its name.
    pub name: String,
    /// Its changed stages.
    pub changes: Vec<StageChange>,
    /// The failures outside of boards.
    pub failures: Vec<RepeatedFailure>,
    /// How many boards it answered differently in a later round; without boards, how many messages and counters differed.
    pub unsteady: usize,
    /// The time of each round, seconds.
    pub seconds: Vec<f64>,
}

/// A failure, and its count.
#[derive(Clone, Debug, Serialize)]
pub struct RepeatedFailure {
    /// The failure.
    #[serde(flatten)]
    pub failed: StageFailure,
    /// Its most occurrences in a round.
    pub times: usize,
    /// Whether it is of a stage in which plugins race: when another one answers first, it may not happen.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_of_race: bool,
}

/// The totals over all boards.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Totals {
    /// Boards that at least one pipeline read.
    pub boards: usize,
    /// Boards that differ in a way that matters.
    pub different: usize,
    /// Boards that both solved: the times count only these.
    pub both_solved: usize,
    /// Boards that both planned: the strokes count only these.
    pub both_planned: usize,
    /// Of the first.
    pub a: PipelineTotals,
    /// Of the second.
    pub b: PipelineTotals,
}

/// The totals of one pipeline.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PipelineTotals {
    /// Boards that it read.
    pub read: usize,
    /// Boards that it solved.
    pub solved: usize,
    /// The total time of its answers, nanoseconds.
    pub solve_ns: u64,
    /// The number of strokes.
    pub strokes: usize,
    /// The number of straight lines in them.
    pub segments: usize,
    /// How far the pointer is dragged, in cells.
    pub length: f64,
    /// How long the drags take, milliseconds.
    pub drag_ms: f64,
}

impl Comparison {
    /// Whether one pipeline succeeds where the other does not, or a stage failed.
    pub fn differs(&self) -> bool {
        let failed = |pipeline: &PipelineSummary| !pipeline.failures.is_empty();
        self.boards.iter().any(Pair::matters) || failed(&self.a) || failed(&self.b)
    }

    /// The totals over all boards.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals {
            boards: self.boards.len(),
            different: self.boards.iter().filter(|pair| pair.matters()).count(),
            ..Totals::default()
        };
        for pair in &self.boards {
            let sides = [&pair.a, &pair.b].map(Option::as_ref);
            let solved = sides.map(|side| side.filter(|it| it.verdict == VerdictKind::Solved));
            for (sums, who) in [(&mut totals.a, 0), (&mut totals.b, 1)] {
                sums.read += usize::from(sides[who].is_some());
                sums.solved += usize::from(solved[who].is_some());
            }
            if let [Some(a), Some(b)] = solved.map(|side| side?.solve_ns) {
                totals.both_solved += 1;
                totals.a.solve_ns += a;
                totals.b.solve_ns += b;
            }
            let plans = sides.map(|side| side?.plan.as_ref());
            if let [Some(a), Some(b)] = plans {
                totals.both_planned += 1;
                totals.a.add(a);
                totals.b.add(b);
            }
        }
        totals
    }

    /// As JSON.
    pub fn json(&self) -> Value {
        let boards = self.boards.iter().zip(1..).map(board);
        json!({
            "same": !self.differs(),
            "a": self.a,
            "b": self.b,
            "rounds": self.rounds,
            "frames": self.frames,
            "boards": boards.collect::<Vec<_>>(),
            "totals": self.totals(),
            "stages": self.stages,
        })
    }
}

impl PipelineTotals {
    fn add(&mut self, plan: &PlanFigures) {
        self.strokes += plan.strokes;
        self.segments += plan.segments;
        self.length += plan.length;
        self.drag_ms += plan.drag_ms;
    }
}

fn board((pair, number): (&Pair, usize)) -> Value {
    let puzzle = |side: &Side| side.seen.puzzle.clone();
    json!({
        "number": number,
        "source": pair.source,
        "frame": pair.frame.number,
        "puzzle": pair.any().map(puzzle),
        "same": !pair.matters(),
        "differences": pair.differences,
        "a": pair.a,
        "b": pair.b,
    })
}
