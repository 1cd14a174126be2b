//! How far the run has come, and when it ends by itself.

use super::Action;
use crate::config::Config;

/// Why a run ends at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndCause {
    /// Its time is up.
    TimeIsUp,
    /// It does not get on.
    Stuck,
}

/// How far a run has come. Times are nanoseconds of the host's clock.
#[derive(Clone, Debug)]
pub struct Run {
    /// It ends after so many boards.
    pub boards: Option<usize>,
    /// It ends after so many seconds.
    seconds: Option<f64>,
    /// With [`Self::boards`]: it ends after so many seconds without progress.
    stuck_seconds: f64,
    /// When it began: its seconds count from then until a stroke is played.
    pub began_at: Option<i64>,
    /// When the first stroke was played.
    pub first_stroke_at: Option<i64>,
    /// When it got on last: another board came, more of one was drawn, or it was solved.
    pub progressed_at: Option<i64>,
    /// Boards of which a result was reported.
    pub reported: usize,
    /// Of these, boards that count: solved, and unknown.
    pub solved: usize,
    pub unknown: usize,
    /// Boards whose strokes were reported by a dry run.
    pub planned: usize,
    is_over: bool,
}

impl Run {
    /// One that has not begun.
    pub fn new(config: &Config) -> Self {
        Self {
            boards: config.boards,
            seconds: config.seconds,
            stuck_seconds: config.stuck_seconds,
            began_at: None,
            first_stroke_at: None,
            progressed_at: None,
            reported: 0,
            solved: 0,
            unknown: 0,
            planned: 0,
            is_over: false,
        }
    }

    /// Whether it has ended.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// When it is to end by itself, if it is not over, and why.
    pub fn due(&self) -> Option<(i64, EndCause)> {
        if self.is_over {
            return None;
        }
        let up = self.deadline().map(|at| (at, EndCause::TimeIsUp));
        let stuck = self.stuck_at().map(|at| (at, EndCause::Stuck));
        up.into_iter().chain(stuck).min_by_key(|(at, _)| *at)
    }

    /// When it is stuck if nothing happens until then. Without a number of boards it waits for the next one.
    fn stuck_at(&self) -> Option<i64> {
        self.boards?;
        let limit = (self.stuck_seconds * 1e9) as i64;
        let since = self.progressed_at.or(self.began_at)?;
        Some(since.saturating_add(limit))
    }

    /// When its time is up, if that is limited.
    fn deadline(&self) -> Option<i64> {
        let (seconds, began) = (self.seconds?, self.first_stroke_at.or(self.began_at)?);
        Some(began.saturating_add((seconds * 1e9) as i64))
    }

    /// Ends it once enough boards were played.
    pub fn end_after_boards(&mut self, actions: &mut Vec<Action>) {
        let count = self.solved + self.unknown;
        if self.boards.is_some_and(|boards| count >= boards) {
            let boards = if count == 1 { "board" } else { "boards" };
            let reason = match self.unknown {
                0 => format!("{count} {boards} solved"),
                unknown => format!("{count} {boards} played, {unknown} of them perhaps not solved"),
            };
            self.end(reason, actions);
        }
    }

    /// A dry run has reported the strokes of a board. Ends it once these are enough: none will be solved.
    pub fn plan(&mut self, actions: &mut Vec<Action>) {
        self.planned += 1;
        let planned = self.planned;
        if self.boards.is_some_and(|boards| planned >= boards) {
            let boards = if planned == 1 { "board" } else { "boards" };
            let reason = format!("a dry run has planned the strokes of {planned} {boards}");
            self.end(reason, actions);
        }
    }

    /// Ends it for a reason, unless it is over.
    pub fn end(&mut self, reason: String, actions: &mut Vec<Action>) {
        if !std::mem::replace(&mut self.is_over, true) {
            actions.push(Action::End(reason));
        }
    }
}
