//! What one pipeline made of one board.

use std::collections::HashSet;

use flowpipe_puzzle::message::{SeenBoard, Verdict};
use flowpipe_puzzle::{Flow, Solution};
use serde::Serialize;

use crate::compare::frame::{Failed, FrameId, Frames, Plan};

/// What one pipeline made of one board.
#[derive(Clone, Debug, Serialize)]
pub struct Side {
    /// In how many frames it was read at rest.
    pub frames: usize,
    /// The board, in the frame that was answered.
    #[serde(skip)]
    pub seen: SeenBoard,
    /// The solver's word.
    pub verdict: Said,
    /// Why, where it is no solution.
    pub reason: Option<String>,
    /// The plugin that answered.
    pub solver: Option<String>,
    /// From taking the board to answering, nanoseconds.
    pub solve_ns: Option<u64>,
    /// The solution, which has been checked.
    pub solution: Option<Solution>,
    /// How it is drawn.
    pub plan: Option<Plan>,
    /// Whether the game that the strokes were played on counts the board as solved.
    pub accepted: Option<bool>,
    /// What failed on it.
    pub failures: Vec<Failed>,
}

/// A solver's word, without its reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Said {
    /// Here is a solution.
    Solved,
    /// There is none.
    Unsolvable,
    /// It does not take such boards.
    Unsupported,
    /// It gave up, or ran out of time.
    GaveUp,
    /// Nobody was asked, or the one who was failed.
    Nothing,
}

impl Said {
    /// For people.
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
    /// What is said of a board that these frames show. `answered` and `planned`: the frames whose answer and
    /// strokes count; nothing: the first that have one. `None`: no frame shows it.
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
        let looked = of(answered.or(shown.first())?)?;
        let answer = answered
            .and_then(of)
            .and_then(|frame| frame.answer.as_deref());
        let drawn = planned.and_then(of);
        let mut failures: Vec<Failed> = Vec::new();
        let mut known = HashSet::new();
        for failed in shown.iter().filter_map(of).flat_map(|it| &it.failures) {
            if known.insert(failed) {
                failures.push((**failed).clone());
            }
        }
        let (verdict, reason, solution) = match answer.map(|answer| &answer.verdict) {
            None => (Said::Nothing, None, None),
            Some(Err(why)) => (Said::GaveUp, Some(why.clone()), None),
            Some(Ok(verdict)) => said(verdict),
        };
        Some(Self {
            frames: shown.len(),
            seen: looked.board()?.clone(),
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

    /// The flows of its solution; none where there is none.
    pub fn flows(&self) -> &[Flow] {
        match &self.solution {
            Some(solution) => &solution.flows,
            None => &[],
        }
    }
}

fn said(verdict: &Verdict) -> (Said, Option<String>, Option<Solution>) {
    match verdict {
        Verdict::Solution { solution, .. } => (Said::Solved, None, Some(solution.clone())),
        Verdict::Unsolvable { reason } => (Said::Unsolvable, reason.clone(), None),
        Verdict::Unsupported { reason } => (Said::Unsupported, Some(reason.clone()), None),
        Verdict::Unknown { reason } => (Said::GaveUp, Some(reason.clone()), None),
    }
}
