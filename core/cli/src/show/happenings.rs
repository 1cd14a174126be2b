//! What is said while a pipeline runs: boards, refusals, outcomes.

use std::io::Write;

use flowpipe_puzzle::colour::nearest_name;
use flowpipe_puzzle::message::{
    OUTCOME, Outcome, Reading, SIGHTING, SOLVED, SeenBoard, Sighting, Solved, Verdict,
};
use flowpipe_runtime::message::Message;
use serde::Serialize;

use crate::checks::with_reason;
use crate::show::board;
use crate::show::colour::{BAD, GOOD, QUIET, paint};

/// What became of the boards of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Boards read from frames.
    pub boards: u64,
    /// Frames without a board that could be read.
    pub unread: u64,
    /// Boards solved.
    pub solved: u64,
    /// Boards that a solver found no solution for.
    pub unsolved: u64,
    /// Boards played.
    pub played: u64,
    /// Boards that the game then counted as solved.
    pub accepted: u64,
    /// Strokes played.
    pub strokes: u64,
    /// Strokes that the game did not take.
    pub strokes_refused: u64,
}

impl Tally {
    /// Counts a message and prints what it says.
    ///
    /// # Errors
    /// When printing fails.
    pub fn take(
        &mut self,
        message: &Message,
        out: &mut impl Write,
        colours: bool,
    ) -> std::io::Result<()> {
        // Every message here has passed the checks: what does not parse is of another schema.
        match message.schema() {
            SIGHTING => parse(message).map_or(Ok(()), |it| self.sighting(&it, out, colours)),
            SOLVED => parse(message).map_or(Ok(()), |it| self.solved(&it, out, colours)),
            OUTCOME => parse(message).map_or(Ok(()), |it| self.outcome(&it, out, colours)),
            _ => Ok(()),
        }
    }

    fn sighting(
        &mut self,
        sighting: &Sighting,
        out: &mut impl Write,
        colours: bool,
    ) -> std::io::Result<()> {
        match &sighting.reading {
            Reading::Board(_) => {
                self.boards += 1;
                Ok(())
            }
            Reading::Refused { step, reason } => {
                self.unread += 1;
                let reason = paint(reason, BAD, colours);
                writeln!(out, "{}: {reason} (step: {step})", sighting.frame.source)
            }
        }
    }

    fn solved(
        &mut self,
        solved: &Solved,
        out: &mut impl Write,
        colours: bool,
    ) -> std::io::Result<()> {
        let Some(seen) = solved.sighting.board() else {
            return Ok(());
        };
        let source = &solved.sighting.frame.source;
        let heading = |text: &str| paint(&heading(seen, &solved.solver, text), QUIET, colours);
        match &solved.answer {
            Verdict::Solution { solution, .. } => {
                self.solved += 1;
                writeln!(out, "\n{source} {}", heading("solved"))?;
                write!(out, "{}", board::seen(seen, &solution.flows, colours))?;
                if !colours {
                    writeln!(out, "{}", legend(seen))?;
                }
                Ok(())
            }
            other => {
                self.unsolved += 1;
                let why = match other {
                    Verdict::Unsupported { reason } => format!("not supported: {reason}"),
                    Verdict::Unknown { reason } => format!("gave up: {reason}"),
                    Verdict::Unsolvable { reason } => with_reason("no solution", reason),
                    Verdict::Solution { .. } => String::new(),
                };
                let why = paint(&why, BAD, colours);
                writeln!(out, "\n{source} {} {why}", heading("not solved"))?;
                write!(out, "{}", board::seen(seen, &[], colours))
            }
        }
    }

    fn outcome(
        &mut self,
        outcome: &Outcome,
        out: &mut impl Write,
        colours: bool,
    ) -> std::io::Result<()> {
        let refused: Vec<_> = outcome
            .strokes
            .iter()
            .filter(|stroke| stroke.accepted == Some(false))
            .collect();
        self.played += 1;
        self.strokes += outcome.strokes.len() as u64;
        self.strokes_refused += refused.len() as u64;
        let strokes = outcome.strokes.len();
        let source = &outcome.frame.source;
        match outcome.solved {
            Some(true) => {
                self.accepted += 1;
                let good = paint("the game counts it as solved", GOOD, colours);
                writeln!(out, "{source}: played {strokes} strokes, {good}")
            }
            Some(false) => {
                let bad = paint("the game does not count it as solved", BAD, colours);
                writeln!(out, "{source}: played {strokes} strokes, {bad}")?;
                for reason in refused.iter().filter_map(|stroke| stroke.reason.as_ref()) {
                    writeln!(out, "  {reason}")?;
                }
                Ok(())
            }
            None => writeln!(out, "{source}: played {strokes} strokes"),
        }
    }

    /// One line.
    pub fn summary(&self) -> String {
        let mut parts = vec![format!("{} boards read", self.boards)];
        if self.unread > 0 {
            parts.push(format!("{} without a board", frames(self.unread)));
        }
        parts.push(format!("{} solved", self.solved));
        if self.unsolved > 0 {
            parts.push(format!("{} not solved", self.unsolved));
        }
        parts.push(format!("{} played", self.played));
        parts.push(format!("{} accepted by the game", self.accepted));
        if self.strokes_refused > 0 {
            parts.push(format!(
                "{} of {} strokes refused",
                self.strokes_refused, self.strokes
            ));
        }
        parts.join(", ")
    }
}

fn frames(count: u64) -> String {
    format!("{count} frame{}", if count == 1 { "" } else { "s" })
}

fn parse<T: serde::de::DeserializeOwned>(message: &Message) -> Option<T> {
    serde_json::from_str(message.json()).ok()
}

fn heading(seen: &SeenBoard, solver: &str, text: &str) -> String {
    let board = seen.puzzle.board();
    format!(
        "({} x {}, {} flows) {text} by {solver}",
        board.cols(),
        board.rows(),
        seen.puzzle.flow_count()
    )
}

/// Which letter is which colour, where colours can't be shown.
fn legend(seen: &SeenBoard) -> String {
    let names: Vec<String> = seen
        .puzzle
        .colours()
        .into_iter()
        .filter_map(|colour| {
            let rgb = seen.palette.get(usize::from(colour))?;
            Some(format!(
                "{} {}",
                flowpipe_puzzle::colour::name(colour),
                nearest_name(*rgb)
            ))
        })
        .collect();
    names.join(", ")
}
