//! Counts and prints the boards of a run: read, solved, played, refused.

use std::io::Write;

use flowpipe_host::message::Message;
use flowpipe_puzzle::Puzzle;
use flowpipe_puzzle::message::{
    BoardResult, OUTCOME, Outcome, RESULT, Reading, SIGHTING, SOLVED, SeenBoard, Sighting, Solved,
    Verdict,
};
use flowpipe_terminal::escaped;
use serde::{Deserialize, Serialize};

use crate::checks::with_reason;
use crate::show::board;
use crate::show::colour::{BAD, GOOD, QUIET, paint};

/// The counts of a run's boards.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Tally {
    /// Boards read from frames.
    pub boards: u64,
    /// Frames without a board that could be read.
    pub unread: u64,
    /// Boards solved.
    pub solved: u64,
    /// Boards for which a solver found no solution.
    pub unsolved: u64,
    /// Boards played.
    pub played: u64,
    /// Boards that the game counted as solved.
    pub accepted: u64,
    /// Strokes played.
    pub strokes: u64,
    /// Strokes that the game refused, or that had to be repeated.
    pub strokes_refused: u64,
    /// The board of a live run, where a referee emits the result of each board.
    #[serde(skip)]
    live: Option<Live>,
}

/// The last state of a live board.
#[derive(Clone, Debug, Default)]
struct Live {
    puzzle: Option<Puzzle>,
    /// When the frame of the last message was captured, in nanoseconds.
    now: i64,
    obstacle: Option<Obstacle>,
}

/// Why the board is not read or played.
#[derive(Clone, Debug)]
struct Obstacle {
    reason: String,
    since: i64,
    reported: bool,
}

/// An obstacle is reported when it lasts this long, in nanoseconds: a board that flips can't be read for a moment.
const OBSTACLE_DELAY: i64 = 2_000_000_000;

impl Tally {
    /// All counts are 0.
    pub fn new(has_referee: bool) -> Self {
        Self {
            live: has_referee.then(Live::default),
            ..Self::default()
        }
    }

    /// Only the counts.
    pub fn counts(&self) -> Self {
        Self {
            live: None,
            ..*self
        }
    }

    /// Counts a message, and prints it.
    ///
    /// # Errors
    /// When printing fails.
    pub fn add(
        &mut self,
        message: &Message,
        out: &mut impl Write,
        colours: bool,
    ) -> std::io::Result<()> {
        if let (Some(live), Some(origin)) = (&mut self.live, message.lineage().origin) {
            live.now = origin.captured_ns;
        }
        // Every message has passed the checks: one that does not parse has another schema.
        match message.schema() {
            SIGHTING => parse(message).map_or(Ok(()), |it| self.sighting(&it, out, colours)),
            SOLVED => parse(message).map_or(Ok(()), |it| self.solved(&it, out, colours)),
            OUTCOME => parse(message).map_or(Ok(()), |it| self.outcome(&it, out, colours)),
            RESULT => parse(message).map_or(Ok(()), |it| self.result(&it, out, colours)),
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
            Reading::Board(seen) => {
                let known = self.live.as_mut().is_some_and(|live| live.knows(seen));
                self.boards += u64::from(!known);
                Ok(())
            }
            Reading::Refused { step, reason, .. } => {
                if !self.is_reportable(reason) {
                    return Ok(());
                }
                self.unread += 1;
                let reason = paint(reason, BAD, colours);
                let source = escaped(&sighting.frame.source);
                writeln!(out, "{source}: {reason} (step: {})", escaped(step))
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
        let source = escaped(&solved.sighting.frame.source);
        let heading = |text: &str| paint(&heading(seen, &solved.solver, text), QUIET, colours);
        match &solved.answer {
            Verdict::Solution { solution, .. } => {
                self.solved += 1;
                writeln!(out, "\n{source} {}", heading("solved"))?;
                write!(out, "{}", board::seen(seen, &solution.flows, colours))?;
                if !colours {
                    writeln!(out, "{}", board::legend(seen))?;
                }
                Ok(())
            }
            other => {
                self.unsolved += 1;
                let why = match other {
                    Verdict::Unsupported { reason, .. } => format!("not supported: {reason}"),
                    Verdict::Unknown { reason, .. } => format!("gave up: {reason}"),
                    Verdict::Unsolvable { reason, .. } => with_reason("no solution", reason),
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
        if self.live.is_some() {
            return self.live_outcome(outcome, out, colours);
        }
        let refused: Vec<_> = outcome
            .strokes
            .iter()
            .filter(|stroke| stroke.accepted == Some(false))
            .collect();
        self.played += 1;
        self.strokes += outcome.strokes.len() as u64;
        self.strokes_refused += refused.len() as u64;
        let strokes = outcome.strokes.len();
        let source = escaped(&outcome.frame.source);
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
                    writeln!(out, "  {}", escaped(reason))?;
                }
                Ok(())
            }
            None => match &outcome.refused {
                Some(reason) => writeln!(out, "{source}: not played, {}", escaped(reason)),
                None => writeln!(out, "{source}: played {strokes} strokes"),
            },
        }
    }

    /// The outcome on a live board. The referee emits its result.
    fn live_outcome(
        &mut self,
        outcome: &Outcome,
        out: &mut impl Write,
        colours: bool,
    ) -> std::io::Result<()> {
        let Some(reason) = &outcome.refused else {
            return Ok(());
        };
        for would in outcome.strokes.iter().filter_map(|it| it.reason.as_ref()) {
            writeln!(out, "  {}", escaped(would))?;
        }
        if self.is_reportable(reason) {
            let reason = paint(reason, BAD, colours);
            let source = escaped(&outcome.frame.source);
            writeln!(out, "{source}: not played, {reason}")?;
        }
        Ok(())
    }

    fn result(
        &mut self,
        result: &BoardResult,
        out: &mut impl Write,
        colours: bool,
    ) -> std::io::Result<()> {
        self.played += 1;
        self.accepted += u64::from(result.solved);
        self.strokes += result.strokes as u64;
        self.strokes_refused += result.repeated as u64;
        let board = result.puzzle.board();
        let what = match &result.reason {
            None => paint("done", GOOD, colours),
            Some(reason) => paint(reason, BAD, colours),
        };
        let again = match result.repeated {
            0 => String::new(),
            repeated => format!(", {repeated} of them again"),
        };
        let profile = result.profile.map(|it| format!(", profile {}", it.name()));
        writeln!(
            out,
            "board {} ({} x {}): {what}, {} strokes{again}, {:.2} s{}",
            result.number,
            board.cols(),
            board.rows(),
            result.strokes,
            result.took_ns as f64 / 1e9,
            profile.unwrap_or_default(),
        )
    }

    /// Whether to report an obstacle: at once, but in a live run only once, and only if it lasts.
    fn is_reportable(&mut self, reason: &str) -> bool {
        let Some(live) = &mut self.live else {
            return true;
        };
        let obstacle = live
            .obstacle
            .take_if(|obstacle| obstacle.reason == reason)
            .unwrap_or_else(|| Obstacle {
                reason: reason.to_owned(),
                since: live.now,
                reported: false,
            });
        let report = !obstacle.reported && live.now - obstacle.since >= OBSTACLE_DELAY;
        live.obstacle = Some(Obstacle {
            reported: obstacle.reported || report,
            ..obstacle
        });
        report
    }

    /// The counts in one line.
    pub fn summary(&self) -> String {
        let mut parts = vec![format!("{} board{} read", self.boards, plural(self.boards))];
        if self.unread > 0 {
            let plural = plural(self.unread);
            parts.push(format!("{} frame{plural} without a board", self.unread));
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

impl Live {
    /// Whether this is the board of the last sighting.
    fn knows(&mut self, seen: &SeenBoard) -> bool {
        self.obstacle = None;
        let known = self.puzzle.as_ref() == Some(&seen.puzzle);
        if !known {
            self.puzzle = Some(seen.puzzle.clone());
        }
        known
    }
}

fn plural(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
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
