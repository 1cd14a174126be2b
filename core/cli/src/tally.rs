//! Counts and prints the boards of a run (read, solved, played, refused), and of any domain the gestures and metrics.

mod gestures;
mod obstacle;
#[cfg(test)]
mod tests;
mod unread;

use std::collections::BTreeSet;
use std::io::Write;

use flowpipe_host::message::Message;
use flowpipe_message::{GESTURE_OUTCOME, GESTURES, GestureOutcome, Gestures, METRICS, Tone};
use flowpipe_puzzle::Puzzle;
use flowpipe_puzzle::message::{
    BoardResult, OUTCOME, Outcome, RESULT, Reading, SIGHTING, SOLVED, SeenBoard, Sighting, Solved,
    Verdict,
};
use flowpipe_terminal::{counted, escaped};
use serde::{Deserialize, Serialize};

use crate::accepted::{read, with_reason};
use crate::metrics::{self, RunMetrics};
use crate::show::board;
use crate::show::colour::{BAD, GOOD, QUIET, paint};
use crate::tally::gestures::GestureCounts;
use crate::tally::obstacle::Obstacle;
use crate::visibility::Visibility;

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
    /// Boards that disappeared right after their last stroke, and may be solved.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unknown: u64,
    /// Strokes played.
    pub strokes: u64,
    /// Strokes that the game refused, or that had to be repeated.
    pub strokes_refused: u64,
    /// Gestures of any domain.
    #[serde(default, skip_serializing_if = "GestureCounts::is_empty")]
    pub gestures: GestureCounts,
    /// What the stages publish of their work.
    #[serde(skip)]
    pub metrics: RunMetrics,
    /// Whether no stage of the pipeline knows boards.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    without_boards: bool,
    /// Whether no stage emits solutions that are counted.
    #[serde(skip)]
    without_solver: bool,
    /// The board of a live run, where a referee emits the result of each board.
    #[serde(skip)]
    live: Option<Live>,
    /// What keeps a live run from reading or playing, to be printed.
    #[serde(skip)]
    notice: Option<String>,
    /// The stages that read boards, by index. What another stage forwards of them is the same board.
    #[serde(skip)]
    readers: BTreeSet<u32>,
    /// Why no gestures are played.
    #[serde(skip)]
    unplayed_gestures: Obstacle,
    /// Whether nothing is really played.
    #[serde(skip)]
    dry: bool,
    /// How many boards are to be solved.
    #[serde(skip)]
    wanted: Option<u64>,
}

/// The last state of a live board.
#[derive(Clone, Debug, Default)]
struct Live {
    puzzle: Option<Puzzle>,
    /// When the frame of the last message was captured, in nanoseconds.
    now: i64,
    /// Why no board is read.
    unread: Obstacle,
    /// Why no board is played.
    unplayed: Obstacle,
}

impl Tally {
    /// All counts are 0. `dry`: in a dry run, nothing is really played.
    pub fn new(visibility: &Visibility, dry: bool) -> Self {
        Self {
            live: visibility.has_referee.then(Live::default),
            without_boards: !visibility.has_boards,
            without_solver: !visibility.has_solver,
            metrics: RunMetrics::new(visibility.names.clone()),
            dry,
            wanted: visibility.wanted_boards,
            ..Self::default()
        }
    }

    /// Only the counts.
    pub fn counts(&self) -> Self {
        Self {
            live: None,
            notice: None,
            readers: BTreeSet::new(),
            metrics: RunMetrics::default(),
            unplayed_gestures: Obstacle::default(),
            ..*self
        }
    }

    /// Whether a stage of the pipeline knows boards, or something was counted as a board.
    pub fn has_boards(&self) -> bool {
        let counts = [
            self.boards,
            self.unread,
            self.solved,
            self.unsolved,
            self.played,
        ];
        !self.without_boards || counts.iter().any(|&count| count > 0)
    }

    /// Whether a stage emits solutions that are counted, as far as that was known at the start.
    #[cfg_attr(not(unix), allow(dead_code, reason = "only `flowpipe top` uses it"))]
    pub fn has_solver(&self) -> bool {
        !self.without_solver
    }

    /// Whether a run that a referee has ended did not achieve what it was to: it read no board, or solved none or fewer
    /// than it was to.
    pub fn is_in_vain(&self) -> bool {
        let is_refereed = self.live.is_some();
        let is_unread = self.boards == 0;
        let wanted = self.wanted.unwrap_or(1).max(1);
        let is_unsolved = !self.dry && self.accepted + self.unknown < wanted;
        is_refereed && (is_unread || is_unsolved)
    }

    /// The pipeline was reloaded, and has these stages by index: a stage that read boards may do something else now.
    pub fn pipeline_changed(&mut self, stages: &[String]) {
        self.readers.clear();
        self.metrics.set_stages(stages);
    }

    /// Takes what the last message has shown to keep a live run from reading or playing for some time. It is printed
    /// also where boards are not.
    pub fn take_notice(&mut self) -> Option<String> {
        self.notice.take()
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
        match message.schema() {
            SIGHTING if self.is_forwarded(message) => Ok(()),
            SIGHTING => read(message).map_or(Ok(()), |it| self.sighting(&it, out, colours)),
            SOLVED => read(message).map_or(Ok(()), |it| self.solved(&it, out, colours)),
            OUTCOME => read(message).map_or(Ok(()), |it| self.outcome(&it, out, colours)),
            RESULT => read(message).map_or(Ok(()), |it| self.result(&it, out, colours)),
            GESTURES => {
                if let Some(gestures) = read::<Gestures>(message) {
                    self.gestures.plan(&gestures);
                }
                Ok(())
            }
            GESTURE_OUTCOME => match read::<GestureOutcome>(message) {
                Some(outcome) => {
                    let dry = self.dry_words();
                    let unplayed = &mut self.unplayed_gestures;
                    self.gestures.add(&outcome, unplayed, dry, out, colours)
                }
                None => Ok(()),
            },
            METRICS => {
                for note in self.metrics.add(message).unwrap_or_default() {
                    let line = note.line();
                    match note.tone {
                        Tone::Plain => writeln!(out, "{line}")?,
                        Tone::Good => writeln!(out, "{}", paint(&line, GOOD, colours))?,
                        Tone::Bad => writeln!(out, "{}", paint(&line, BAD, colours))?,
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Whether a sighting descends from one of another stage, which is counted already.
    fn is_forwarded(&mut self, message: &Message) -> bool {
        let Some((own, before)) = message.lineage().hops.split_last() else {
            return false;
        };
        let is_reader = |stage: u32| stage != own.stage && self.readers.contains(&stage);
        let is_forwarded = before.iter().any(|hop| is_reader(hop.stage));
        if !is_forwarded {
            self.readers.insert(own.stage);
        }
        is_forwarded
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
                let source = escaped(&sighting.frame.source);
                let line = |colours| {
                    let reason = paint(reason, BAD, colours);
                    format!("{source}: {reason} (step: {})", escaped(step))
                };
                let Some(live) = &mut self.live else {
                    self.unread += 1;
                    return writeln!(out, "{}", line(colours));
                };
                let frame = &sighting.frame;
                if live.unread.meet(unread::reason(frame, reason), live.now) {
                    self.unread += 1;
                    self.notice = Some(unread::notice(frame, &line(colours)));
                }
                Ok(())
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
        let is_played = outcome.act_ns > 0 || outcome.refused.is_none();
        if is_played {
            self.played += 1;
            self.strokes += outcome.strokes.len() as u64;
            self.strokes_refused += refused.len() as u64;
        }
        let count = outcome.strokes.len();
        let dry = self.dry_words();
        let strokes = format!("{}{dry}", counted(count, "stroke"));
        let source = escaped(&outcome.frame.source);
        match outcome.solved {
            Some(true) => {
                self.accepted += 1;
                let good = paint("the game counts it as solved", GOOD, colours);
                writeln!(out, "{source}: played {strokes}, {good}")
            }
            Some(false) => {
                let bad = paint("the game does not count it as solved", BAD, colours);
                writeln!(out, "{source}: played {strokes}, {bad}")?;
                for reason in refused.iter().filter_map(|stroke| stroke.reason.as_ref()) {
                    writeln!(out, "  {}", escaped(reason))?;
                }
                Ok(())
            }
            None => match &outcome.refused {
                Some(reason) => writeln!(out, "{source}: not played, {}", escaped(reason)),
                None => writeln!(out, "{source}: played {strokes}"),
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
        let Some(live) = &mut self.live else {
            return Ok(());
        };
        if outcome.act_ns > 0 || outcome.refused.is_none() {
            live.unplayed.end();
        }
        let Some(reason) = &outcome.refused else {
            return Ok(());
        };
        let is_reportable = live.unplayed.meet(reason, live.now);
        for would in outcome.strokes.iter().filter_map(|it| it.reason.as_ref()) {
            writeln!(out, "  {}", escaped(would))?;
        }
        if is_reportable {
            let reason = paint(reason, BAD, colours);
            let source = escaped(&outcome.frame.source);
            self.notice = Some(format!("{source}: not played, {reason}"));
        }
        Ok(())
    }

    fn result(
        &mut self,
        result: &BoardResult,
        out: &mut impl Write,
        colours: bool,
    ) -> std::io::Result<()> {
        // In a dry run the mouse draws nothing.
        self.played += u64::from(!self.dry || result.strokes > 0);
        self.accepted += u64::from(result.solved);
        self.unknown += u64::from(result.unknown);
        self.strokes = self.strokes.saturating_add(result.strokes as u64);
        self.strokes_refused = self.strokes_refused.saturating_add(result.repeated as u64);
        let board = result.puzzle.board();
        let what = match &result.reason {
            None => paint("done", GOOD, colours),
            Some(reason) if result.unknown => {
                paint(&format!("perhaps done, {reason}"), QUIET, colours)
            }
            Some(reason) => paint(reason, BAD, colours),
        };
        let again = match result.repeated {
            0 => String::new(),
            repeated => format!(", {repeated} of them again"),
        };
        let profile = result.profile.map(|it| format!(", profile {}", it.name()));
        writeln!(
            out,
            "board {} ({} x {}): {what}, {}{}{again}, {:.2} s{}",
            result.number,
            board.cols(),
            board.rows(),
            counted(result.strokes, "stroke"),
            self.dry_words(),
            result.took_ns as f64 / 1e9,
            profile.unwrap_or_default(),
        )
    }

    /// What follows strokes and boards that were not really played.
    fn dry_words(&self) -> &'static str {
        match self.dry {
            true => " in a dry run",
            false => "",
        }
    }

    /// The counts in one line. Empty: there is nothing to count in such a pipeline.
    pub fn summary(&self) -> String {
        self.summary_with(&metrics::summary(&self.metrics.rows()))
    }

    /// The same with counters as `metrics::summary` writes them, where the metrics are kept elsewhere.
    pub fn summary_with(&self, counters: &str) -> String {
        let boards = self.has_boards().then(|| self.summary_of_boards());
        let gestures = self.gestures.summary(self.dry_words());
        let counters = Some(counters.to_owned()).filter(|it| !it.is_empty());
        let parts: Vec<String> = boards.into_iter().chain(counters).chain(gestures).collect();
        parts.join(", ")
    }

    fn summary_of_boards(&self) -> String {
        let mut parts = vec![format!("{} read", counted(self.boards, "board"))];
        if self.unread > 0 {
            let frames = counted(self.unread, "frame");
            parts.push(format!("{frames} without a board"));
        }
        parts.push(format!("{} solved", self.solved));
        if self.unsolved > 0 {
            parts.push(format!("{} not solved", self.unsolved));
        }
        parts.push(format!("{} played{}", self.played, self.dry_words()));
        parts.push(format!("{} accepted by the game", self.accepted));
        if self.unknown > 0 {
            parts.push(format!("{} unknown", self.unknown));
        }
        if self.strokes_refused > 0 {
            parts.push(format!(
                "{} of {} refused",
                self.strokes_refused,
                counted(self.strokes, "stroke")
            ));
        }
        parts.join(", ")
    }
}

impl Live {
    /// Whether this is the board of the last sighting.
    fn knows(&mut self, seen: &SeenBoard) -> bool {
        self.unread.end();
        let known = self.puzzle.as_ref() == Some(&seen.puzzle);
        if !known {
            self.puzzle = Some(seen.puzzle.clone());
        }
        known
    }
}

/// The counts of a run in one line, where they are those of one of several machines.
pub fn on_this_machine(summary: String) -> String {
    if summary.is_empty() {
        return summary;
    }
    format!("on this machine: {summary}")
}

/// Without it, counts without such boards are those that older readers know.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

fn heading(seen: &SeenBoard, solver: &str, text: &str) -> String {
    let board = seen.puzzle.board();
    format!(
        "({} x {}, {}) {text} by {solver}",
        board.cols(),
        board.rows(),
        counted(seen.puzzle.flow_count(), "flow")
    )
}
