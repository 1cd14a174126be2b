//! What a solver said of a puzzle given as text.

use flowpipe_puzzle::Solution;
use flowpipe_puzzle::text::Entry;
use serde::Serialize;
use serde_json::{Value, json};

use crate::show::board;
use crate::show::colour::{BAD, GOOD, HEADING, paint};
use crate::show::report::duration;

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// With a solution that keeps the rules.
    Solved,
    /// There is no solution.
    Unsolvable,
    /// Not within the time or the solver's own limits.
    Timeout,
    /// Not a kind of puzzle that the solver takes.
    Unsupported,
    /// The text is no puzzle.
    Invalid,
    /// The solver failed, or its answer broke the rules.
    Failed,
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// How it ended.
    pub status: Status,
    /// The solution, when solved.
    pub solution: Option<Solution>,
    /// Whether it was proved the only one; `None`: not looked at.
    pub unique: Option<bool>,
    /// From taking the puzzle to giving the answer, microseconds.
    pub search_us: Option<f64>,
    /// Why it is not solved.
    pub reason: Option<String>,
}

impl Answer {
    /// An answer without a solution.
    pub fn without(status: Status, reason: Option<String>) -> Self {
        Self {
            status,
            solution: None,
            unique: None,
            search_us: None,
            reason,
        }
    }

    /// One object of JSON lines. Cells are `row * width + column`.
    pub fn record(&self, index: usize) -> Value {
        let paths: Option<Vec<_>> = self.solution.as_ref().map(|solution| {
            solution
                .flows
                .iter()
                .map(|flow| flow.cells.clone())
                .collect()
        });
        json!({
            "index": index,
            "status": self.status,
            "unique": self.unique,
            // Known without counting only where there is exactly one, or none.
            "count": match (self.status, self.unique) {
                (Status::Solved, Some(true)) => Some(1),
                (Status::Unsolvable, _) => Some(0),
                _ => None,
            },
            "paths": paths,
            "search_us": self.search_us,
            "reason": self.reason,
        })
    }

    /// For people: a heading, and the board.
    pub fn text(&self, file: &str, entry: &Entry, solver: &str, colours: bool) -> String {
        let mut text = paint(&format!("{file}:{}", entry.line), HEADING, colours);
        if let Some(title) = &entry.title {
            text += &format!(" {title}");
        }
        if let Ok((puzzle, _)) = &entry.puzzle {
            let board = puzzle.board();
            text += &format!(
                " ({} x {}, {} flows)",
                board.cols(),
                board.rows(),
                puzzle.flow_count()
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
        match self.unique {
            Some(true) => text += ", the only solution",
            Some(false) => text += ", not the only solution",
            None => {}
        }
        if let (Status::Solved, Some(time)) = (self.status, self.search_us) {
            text += &format!(" in {}", duration((time * 1e3) as u64));
        }
        if let Some(reason) = &self.reason {
            text += &format!(": {reason}");
        }
        text += "\n";
        if let Ok((puzzle, _)) = &entry.puzzle {
            let flows = self
                .solution
                .as_ref()
                .map_or(&[][..], |solution| &solution.flows);
            text += &board::puzzle(puzzle, flows, &entry.names, colours);
        }
        text
    }
}
