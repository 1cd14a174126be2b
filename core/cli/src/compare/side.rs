//! The results of one pipeline on one board.

use std::collections::HashSet;

use flowpipe_puzzle::message::{SeenBoard, Verdict};
use flowpipe_puzzle::{Flow, Solution};
use serde::Serialize;

use crate::compare::frame::{FrameId, Frames, PlanFigures, StageFailure};

/// The results of one pipeline on one board.
#[derive(Clone, Debug, Serialize)]
pub struct Side {
    /// In how many frames it was read at rest.
    pub frames: usize,
    /// The board, in the frame that was answered.
    #[serde(skip)]
    pub seen: SeenBoard,
    /// The solver's verdict.
    pub verdict: VerdictKind,
    /// The reason, if there is no solution.
    pub reason: Option<String>,
    /// The plugin that answered.
    pub solver: Option<String>,
    /// The time of the answer, nanoseconds.
    pub solve_ns: Option<u64>,
    /// The solution, which has been checked.
    pub solution: Option<Solution>,
    /// The plan of its strokes.
    pub plan: Option<PlanFigures>,
    /// Whether the game that the strokes were played on counts the board as solved.
    pub accepted: Option<bool>,
    /// The failures on it.
    pub failures: Vec<StageFailure>,
}

/// A solver's verdict, without its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum VerdictKind {
    /// It found a solution.
    Solved,
    /// It proved that there is none.
    Unsolvable,
    /// It does not support such boards.
    Unsupported,
    /// It gave up, or timed out.
    GaveUp,
    /// No solver ran, or it failed.
    Nothing,
}

impl VerdictKind {
    /// As text.
    pub fn word(self) -> &'static str {
        match self {
            Self::Solved => "solved",
            Self::Unsolvable => "no solution",
            Self::Unsupported => "not supported",
            Self::GaveUp => "gave up",
            Self::Nothing => "no answer",
        }
    }
}

impl Side {
    /// The results on a board that these frames show. `answered` and `planned`: the frames whose answer and strokes
    /// count; `None`: the first that have one. Returns `None` if no frame shows the board.
    pub fn new(
        frames: &Frames,
        shown: &[FrameId],
        answered: Option<&FrameId>,
        planned: Option<&FrameId>,
    ) -> Option<Self> {
        let of = |id: &FrameId| frames.get(id);
        let has_answer = |id: &&FrameId| of(id).is_some_and(|it| it.answer.is_some());
        let has_plan = |id: &&FrameId| of(id).is_some_and(|it| it.plan.is_some());
        let answered = answered.or_else(|| shown.iter().find(has_answer));
        let planned = planned.or_else(|| shown.iter().find(has_plan));
        let frame = of(answered.or(shown.first())?)?;
        let answer = answered
            .and_then(of)
            .and_then(|frame| frame.answer.as_deref());
        let drawn = planned.and_then(of);
        let mut failures: Vec<StageFailure> = Vec::new();
        let mut known = HashSet::new();
        for failed in shown.iter().filter_map(of).flat_map(|it| &it.failures) {
            if known.insert(failed) {
                failures.push((**failed).clone());
            }
        }
        let (verdict, reason, solution) = match answer.map(|answer| &answer.verdict) {
            None => (VerdictKind::Nothing, None, None),
            Some(Err(why)) => (VerdictKind::GaveUp, Some(why.clone()), None),
            Some(Ok(verdict)) => classify(verdict),
        };
        Some(Self {
            frames: shown.len(),
            seen: frame.board()?.clone(),
            verdict,
            reason,
            solver: answer.map(|answer| answer.solver.clone()),
            solve_ns: answer.and_then(|answer| answer.took_ns),
            solution,
            plan: drawn.and_then(|frame| frame.plan.as_deref().cloned()),
            accepted: drawn.and_then(|frame| frame.outcome.as_ref()?.solved),
            failures,
        })
    }

    /// The flows of its solution; empty without one.
    pub fn flows(&self) -> &[Flow] {
        match &self.solution {
            Some(solution) => &solution.flows,
            None => &[],
        }
    }
}

fn classify(verdict: &Verdict) -> (VerdictKind, Option<String>, Option<Solution>) {
    match verdict {
        Verdict::Solution { solution, .. } => (VerdictKind::Solved, None, Some(solution.clone())),
        Verdict::Unsolvable { reason, .. } => (VerdictKind::Unsolvable, reason.clone(), None),
        Verdict::Unsupported { reason, .. } => {
            (VerdictKind::Unsupported, Some(reason.clone()), None)
        }
        Verdict::Unknown { reason, .. } => (VerdictKind::GaveUp, Some(reason.clone()), None),
    }
}
