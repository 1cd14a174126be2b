//! The answer to a puzzle given as text.

use std::sync::Arc;

use flowpipe_puzzle::Solution;
use flowpipe_puzzle::message::{Count, Effort, Stroke, Verdict};
use flowpipe_puzzle::text::Entry;
use flowpipe_terminal::{counted, escape};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::exit::Ended;
use crate::show::board;
use crate::show::colour::{BAD, GOOD, HEADING, paint};
use crate::show::report::duration;
use crate::solver_run::{ReadAnswer, SolverReply, StrokePlan};

/// The status of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// A solution that keeps the rules.
    Solved,
    /// There is no solution.
    Unsolvable,
    /// The timeout, or a limit of the solver, was exceeded.
    Timeout,
    /// The solver does not support puzzles of this kind.
    Unsupported,
    /// The text is not a puzzle.
    Invalid,
    /// The solver failed, or its answer broke the rules.
    Failed,
}

impl Status {
    /// How the command ends for it.
    pub fn ended(self) -> Ended {
        match self {
            Self::Solved => Ended::Done,
            Self::Unsolvable => Ended::Unsolvable,
            Self::Timeout | Self::Unsupported => Ended::Unanswered,
            Self::Invalid => Ended::BadPuzzle,
            Self::Failed => Ended::StageFailed,
        }
    }
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status.
    pub status: Status,
    /// What the solver answered, if it did.
    solved: Option<Arc<ReadAnswer>>,
    /// Whether the solution is proved unique; `None`: unknown.
    pub unique: Option<bool>,
    /// The number of solutions, if it is known.
    pub count: Option<Count>,
    /// The solver's own time, microseconds.
    pub search_us: f64,
    /// Why it is not solved.
    pub reason: Option<String>,
    /// The plan, or why there is none; `None`: no planner ran.
    pub plan: Option<Result<StrokePlan, String>>,
}

/// A solution as the cells of each flow.
struct Paths<'a>(&'a Solution);

impl Serialize for Paths<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.flows.iter().map(|flow| &flow.cells))
    }
}

/// One object of JSON lines. Cells are `row * width + column`.
#[derive(Serialize)]
struct AnswerRecord<'a> {
    index: usize,
    status: Status,
    unique: Option<bool>,
    /// A whole number of any size.
    count: Option<&'a RawValue>,
    paths: Option<Paths<'a>>,
    search_us: f64,
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    /// There may be more solutions than were counted or listed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    more: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    solutions: Option<Vec<Paths<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'a Effort>,
    /// With their points in board units: one a cell, from the upper left corner of the grid.
    #[serde(skip_serializing_if = "Option::is_none")]
    strokes: Option<&'a [Stroke]>,
    /// Straight lines in all strokes.
    #[serde(skip_serializing_if = "Option::is_none")]
    segments: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    plan_us: Option<f64>,
    /// Why there is no plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    plan_error: Option<&'a str>,
}

impl Answer {
    /// An answer without a solution.
    pub fn without(status: Status, reason: Option<String>) -> Self {
        Self {
            status,
            solved: None,
            unique: None,
            count: None,
            search_us: 0.0,
            reason,
            plan: None,
        }
    }

    /// The answer of a reply. `timeout_us`: the timeout of a puzzle.
    pub fn of(reply: SolverReply, timeout_us: f64) -> Self {
        match reply {
            SolverReply::Answer {
                solved, search_us, ..
            } => Self {
                search_us,
                ..Self::of_verdict(&solved.answer)
            }
            .with(solved),
            SolverReply::TimedOut(reason) => Self {
                search_us: timeout_us,
                ..Self::without(Status::Timeout, Some(reason))
            },
            SolverReply::Failed(reason) => Self::without(Status::Failed, Some(reason)),
        }
    }

    fn with(mut self, solved: Arc<ReadAnswer>) -> Self {
        self.solved = Some(solved);
        self
    }

    fn of_verdict(verdict: &Verdict) -> Self {
        match verdict {
            Verdict::Solution { unique, count, .. } => {
                let exactly_one = |count: &Count| count.digits == "1" && !count.or_more;
                let counted = count.as_ref().and_then(|count| match exactly_one(count) {
                    true => Some(true),
                    // At least one: the search stopped there.
                    false if count.digits == "1" => None,
                    false => Some(false),
                });
                let unique = unique.or(counted);
                let one = || (unique == Some(true)).then(|| Count::exactly(1));
                Self {
                    count: count.clone().or_else(one),
                    unique,
                    ..Self::without(Status::Solved, None)
                }
            }
            Verdict::Unsolvable { reason, .. } => Self {
                count: Some(Count::exactly(0)),
                ..Self::without(Status::Unsolvable, reason.clone())
            },
            Verdict::Unsupported { reason, .. } => {
                Self::without(Status::Unsupported, Some(reason.clone()))
            }
            Verdict::Unknown { reason, .. } => Self::without(Status::Timeout, Some(reason.clone())),
        }
    }

    /// The solutions: the first one, and further ones if they were requested.
    pub fn solutions(&self) -> impl Iterator<Item = &Solution> {
        let solved = self.solved.as_deref().map(|solved| &solved.answer);
        let (first, others) = match solved {
            Some(Verdict::Solution {
                solution, others, ..
            }) => (Some(solution), &others[..]),
            _ => (None, &[][..]),
        };
        first.into_iter().chain(others)
    }

    /// The solver's own measures of its work, if it reports some.
    pub fn effort(&self) -> Option<&Effort> {
        let effort = self.solved.as_deref().map(|solved| &solved.effort);
        effort.filter(|effort| **effort != Effort::default())
    }

    /// How the command ends for it.
    pub fn ended(&self) -> Ended {
        let plan = match self.plan {
            Some(Err(_)) => Ended::StageFailed,
            _ => Ended::Done,
        };
        self.status.ended().or_worse(plan)
    }

    /// Whether its solution has no plan yet.
    pub fn waits_for_plan(&self) -> bool {
        self.status == Status::Solved && self.plan.is_none()
    }

    /// Writes one line of JSON, without its line break; with all solutions if `listed`.
    ///
    /// # Errors
    /// Never: every value was read from JSON, and memory does not fail.
    pub fn write_record(
        &self,
        out: &mut Vec<u8>,
        index: usize,
        entry: &Entry,
        listed: bool,
    ) -> serde_json::Result<()> {
        let count = self.count.as_ref().map(|count| &*count.digits);
        let plan = self.plan.as_ref();
        let planned = plan.and_then(|plan| plan.as_ref().ok());
        let record = AnswerRecord {
            index,
            status: self.status,
            unique: self.unique,
            count: count.map(serde_json::from_str).transpose()?,
            paths: self.solutions().next().map(Paths),
            search_us: self.search_us,
            reason: self.reason.as_deref(),
            title: entry.title.as_deref(),
            more: self.count.as_ref().is_some_and(|count| count.or_more),
            solutions: (listed && self.status == Status::Solved)
                .then(|| self.solutions().map(Paths).collect()),
            effort: self.effort(),
            strokes: planned.map(|plan| &plan.strokes[..]),
            segments: planned.map(StrokePlan::segments),
            plan_us: planned.map(|plan| plan.plan_us),
            plan_error: plan.and_then(|plan| plan.as_ref().err().map(|why| &why[..])),
        };
        serde_json::to_writer(out, &record)
    }

    /// The status, as a line of text.
    pub fn heading(&self, file: &str, entry: &Entry, solver: &str, colours: bool) -> String {
        let mut text = paint(&format!("{file}:{}", entry.line), HEADING, colours);
        if let Some(title) = &entry.title {
            text += &format!(" {}", escape(title));
        }
        if let Ok((puzzle, _)) = &entry.puzzle {
            let board = puzzle.board();
            text += &format!(
                " ({} x {}, {})",
                board.cols(),
                board.rows(),
                counted(puzzle.flow_count(), "flow")
            );
        }
        let (verdict, style) = match self.status {
            Status::Solved => (format!("solved by {solver}"), GOOD),
            Status::Unsolvable => ("has no solution".to_owned(), BAD),
            Status::Timeout => ("not solved in time".to_owned(), BAD),
            Status::Unsupported => (format!("not supported by {solver}"), BAD),
            Status::Invalid => ("can't be read".to_owned(), BAD),
            Status::Failed => (format!("{solver} failed"), BAD),
        };
        text += &format!(" {}", paint(&verdict, style, colours));
        if self.status == Status::Solved {
            text += &self.how_many();
            text += &format!(" in {}", duration((self.search_us * 1e3) as u64));
            if let Some(nodes) = self.effort().and_then(|effort| effort.nodes) {
                text += &format!(", {}", counted(nodes, "node"));
            }
        }
        if let Some(reason) = &self.reason {
            text += &format!(": {}", escape(reason));
        }
        text
    }

    /// The plan, as a line of text. `None`: no planner ran.
    pub fn planned(&self, planner: &str, colours: bool) -> Option<String> {
        let text = match self.plan.as_ref()? {
            Ok(plan) => format!(
                "planned by {}: {}, {} in {}",
                escape(planner),
                counted(plan.strokes.len(), "stroke"),
                counted(plan.segments(), "segment"),
                duration((plan.plan_us * 1e3) as u64)
            ),
            Err(why) => format!(
                "{}: {}",
                paint(&format!("{planner} failed"), BAD, colours),
                escape(why)
            ),
        };
        Some(text)
    }

    /// The number of solutions, as text.
    fn how_many(&self) -> String {
        match (&self.count, self.unique) {
            (_, Some(true)) => ", the only solution".to_owned(),
            (Some(count), _) if count.or_more && count.digits == "1" => String::new(),
            (Some(count), _) if count.or_more => {
                format!(", at least {} solutions", count.digits)
            }
            (Some(count), _) if count.digits == "1" => ", 1 solution".to_owned(),
            (Some(count), _) => format!(", {} solutions", count.digits),
            (None, Some(false)) => ", not the only solution".to_owned(),
            (None, None) => String::new(),
        }
    }

    /// The board with each solution, as text.
    pub fn boards(&self, entry: &Entry, colours: bool) -> String {
        let Ok((puzzle, _)) = &entry.puzzle else {
            return String::new();
        };
        let draw = |solution: Option<&Solution>| {
            let flows = solution.map_or(&[][..], |solution| &solution.flows);
            board::puzzle(puzzle, flows, &entry.names, colours)
        };
        let mut solutions = self.solutions();
        let mut text = draw(solutions.next());
        for (index, other) in solutions.enumerate() {
            text += &format!("solution {}\n{}", index + 2, draw(Some(other)));
        }
        text
    }
}
