//! What a comparison came to.

use serde::Serialize;
use serde_json::{Value, json};

use crate::compare::frame::{Failed, Plan};
use crate::compare::onto::Change;
use crate::compare::pair::{FrameCounts, Pair};
use crate::compare::side::{Said, Side};
use crate::compare::times::StageTimes;

/// Two pipelines on one recording.
pub struct Outcome {
    /// The first.
    pub a: Entrant,
    /// The second.
    pub b: Entrant,
    /// How often each ran.
    pub rounds: u32,
    /// Who read what.
    pub frames: FrameCounts,
    /// In the order of the recording.
    pub boards: Vec<Pair>,
    /// How long the stages took.
    pub stages: Vec<StageTimes>,
}

/// One of the two.
#[derive(Clone, Debug, Serialize)]
pub struct Entrant {
    /// Its file.
    pub file: String,
    /// Its name.
    pub name: String,
    /// What of it is not as it was written.
    pub changes: Vec<Change>,
    /// What failed, on no board that was read.
    pub failures: Vec<Repeated>,
    /// How many boards it answered otherwise in a later round.
    pub unsteady: usize,
    /// How long each round took, seconds.
    pub seconds: Vec<f64>,
}

/// A failure, and how often it happened.
#[derive(Clone, Debug, Serialize)]
pub struct Repeated {
    /// What happened.
    #[serde(flatten)]
    pub failed: Failed,
    /// How often in a round, at most.
    pub times: usize,
}

/// What both come to on all boards.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Totals {
    /// Boards that either read.
    pub boards: usize,
    /// Boards that differ in a way that matters.
    pub different: usize,
    /// Boards that both solved: the times below are of these.
    pub both_solved: usize,
    /// Boards that both planned: the strokes below are of these.
    pub both_planned: usize,
    /// Of the first.
    pub a: Sums,
    /// Of the second.
    pub b: Sums,
}

/// What one pipeline comes to.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Sums {
    /// Boards that it read.
    pub read: usize,
    /// Boards that it solved.
    pub solved: usize,
    /// The time of its answers, nanoseconds.
    pub solve_ns: u64,
    /// Drags.
    pub strokes: usize,
    /// Straight lines in them.
    pub segments: usize,
    /// How far the pointer is dragged, in cells.
    pub length: f64,
    /// How long the pointer stays on the way, milliseconds.
    pub drag_ms: f64,
}

impl Outcome {
    /// Whether one does what the other does not, or something failed.
    pub fn differs(&self) -> bool {
        let failed = |entrant: &Entrant| !entrant.failures.is_empty();
        self.boards.iter().any(Pair::matters) || failed(&self.a) || failed(&self.b)
    }

    /// All boards together.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals {
            boards: self.boards.len(),
            different: self.boards.iter().filter(|pair| pair.matters()).count(),
            ..Totals::default()
        };
        for pair in &self.boards {
            let sides = [&pair.a, &pair.b].map(Option::as_ref);
            let solved = sides.map(|side| side.filter(|it| it.verdict == Said::Solved));
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

    /// Everything.
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

impl Sums {
    fn add(&mut self, plan: &Plan) {
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
