//! A game of one board after the other, without a window.
//!
//! A front end (a window, a test) hands in pointer events in board units and commands, each with the
//! time since the start of the session, and asks for a [`View`] to show. The session itself looks at
//! no clock: the same inputs at the same times give the same game.
//!
//! # From board to board
//! A board is solved when it is when nothing is dragged. It then stays for [`PAUSE`] (in a time
//! trial for no time), flips over within [`FLIP`] and shows the next one, which takes input when it
//! has landed. Games of another [`Manner`] do something else in between, or before the first board. After the last one, or when the time is up, the session is over: no input has an
//! effect but [`Command::Next`] without a time trial, which begins again at the first board.
//!
//! # Time trial
//! The time runs from the first press on a board.

mod gesture;
mod input;
mod interlude;
mod level;
mod log;
mod manner;
mod report;
#[cfg(test)]
mod tests;
mod timing;
mod view;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use flowpipe_puzzle::Puzzle;
use serde_json::json;
use thiserror::Error;

use crate::generate::GenerateError;
use crate::play::Play;
use gesture::Gestures;
use input::Queue;
pub use input::{FRAME, Input, Pointer};
use interlude::Steps;
pub use level::{Level, Levels, Size, SizeError};
pub use log::Log;
pub use manner::{Interlude, Manner, Until};
use report::start_record;
use timing::{Due, Phase, Then, frames};
pub use view::{Face, Flip, View};

/// How long a board takes to flip over to the next, as in the real game.
pub const FLIP: Duration = Duration::from_millis(500);
/// How long a solved board stays, without a time trial.
pub const PAUSE: Duration = Duration::from_secs(1);

/// How a session is played.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// How pointer events reach the board.
    pub input: Input,
    /// A drag begins once the pointer has moved so many pixels inside of the cell that it pressed;
    /// if it leaves the cell before, the press does nothing. 0: at once.
    pub nudge: f64,
    /// The share of moves that are lost, from 0 to 1.
    pub drop: f64,
    /// Decides which moves are lost.
    pub seed: u64,
    /// How long a time trial lasts; `None` to play without one.
    pub trial: Option<Duration>,
    /// How the game behaves. Its `input` is not examined.
    pub manner: Manner,
}

/// What a player can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// Takes back the last drag that changed the board.
    Undo,
    /// Empties the board.
    Restart,
    /// Goes to the next board; a time trial has none to skip.
    Next,
}

/// Why a session can't go on.
#[derive(Debug, Error)]
pub enum SessionError {
    /// There are no boards.
    #[error("there are no boards to play")]
    NoLevels,
    /// A board can't be generated.
    #[error(transparent)]
    Generate(#[from] GenerateError),
    /// The log.
    #[error("can't write the log: {0}")]
    Log(io::Error),
}

/// A game that is being played.
pub struct Session {
    options: Options,
    levels: Levels,
    /// The board after the one shown: made before it is needed.
    next: Option<Level>,
    /// The place of `next` in the order.
    place: usize,
    log: Log,
    /// When what was logged was last passed on.
    settled_at: Option<Duration>,
    /// Boards shown so far.
    number: usize,
    puzzle: Arc<Puzzle>,
    play: Play,
    /// The board before each drag that changed it.
    history: Vec<Play>,
    /// The board before the drag that goes on.
    before: Option<Play>,
    queue: Queue,
    gestures: Gestures,
    phase: Phase,
    /// When the board began to take input.
    ready_at: Duration,
    trial_began: Option<Duration>,
    solved: usize,
    failure: Option<GenerateError>,
}

impl Session {
    /// What there is to show at a time, which must not be before that of any input.
    #[must_use]
    pub fn view(&self, now: Duration) -> View {
        view::view(self, now)
    }

    /// Shows the first board.
    ///
    /// # Errors
    /// [`SessionError::NoLevels`] and [`SessionError::Generate`].
    pub fn new(levels: Levels, options: Options, mut log: Log) -> Result<Self, SessionError> {
        let first = levels.get(0)?.ok_or(SessionError::NoLevels)?;
        let next = levels.get(1)?;
        log.write(Duration::ZERO, start_record(&options));
        let puzzle = Arc::new(first.puzzle.clone());
        let settings = options.manner.settings(options.input);
        let play = Play::new(first.puzzle.clone(), settings);
        let mut session = Self {
            queue: Queue::new(
                options.input,
                options.manner.frame,
                options.drop,
                options.seed,
            ),
            gestures: Gestures::new(options.input, options.nudge),
            options,
            levels,
            next,
            place: 1,
            log,
            settled_at: None,
            number: 1,
            puzzle,
            play,
            history: Vec::new(),
            before: None,
            phase: Phase::Playing,
            ready_at: Duration::ZERO,
            trial_began: None,
            solved: 0,
            failure: None,
        };
        session.log_level(Duration::ZERO, first.title.as_deref());
        match session.options.manner.opening {
            [] => session.ready(Duration::ZERO),
            steps => {
                let steps = Steps::new(steps, Duration::ZERO);
                session.phase = Phase::Interlude {
                    steps,
                    then: Then::Ready,
                };
            }
        }
        Ok(session)
    }

    /// The pointer did something at a time.
    pub fn pointer(&mut self, now: Duration, pointer: Pointer) {
        self.advance(now);
        let mut record = json!(pointer);
        let mut is_ended = false;
        if !matches!(self.phase, Phase::Playing) {
            record["ignored"] = true.into();
            is_ended = match &mut self.phase {
                Phase::Interlude { steps, .. } => steps.is_ended_by(pointer, self.puzzle.board()),
                _ => false,
            };
        } else if !self.queue.push(now, pointer) {
            record["lost"] = true.into();
        }
        self.log.write(now, record);
        if is_ended {
            self.step(now);
        }
        self.advance(now);
    }

    /// The player asked for something at a time.
    pub fn command(&mut self, now: Duration, command: Command) {
        self.advance(now);
        let in_play = matches!(self.phase, Phase::Playing) && self.play.dragged().is_none();
        match command {
            Command::Undo if in_play && !self.options.manner.permanent => {
                if let Some(before) = self.history.pop() {
                    self.play = before;
                    self.log.write(now, json!({"event": "undo"}));
                }
            }
            Command::Restart if in_play => {
                self.history.clear();
                self.play.restart();
                self.log.write(now, json!({"event": "restart"}));
            }
            Command::Next => self.next(now),
            _ => {}
        }
    }

    /// Does what has come due until a time.
    pub fn advance(&mut self, now: Duration) {
        while let Some((at, due)) = self.due().filter(|&(at, _)| at <= now) {
            match due {
                Due::Sample => {
                    for pointer in self.queue.take() {
                        self.apply(at, pointer);
                    }
                }
                Due::TimeUp => self.over(at),
                Due::Step => self.step(at),
                Due::Land => self.ready(at),
            }
        }
    }

    /// Ends the session; how many boards were solved.
    ///
    /// # Errors
    /// [`SessionError::Log`].
    pub fn close(mut self, now: Duration) -> Result<usize, SessionError> {
        self.advance(now);
        self.log
            .write(now, json!({"event": "closed", "solved": self.solved}));
        self.log.flush().map_err(SessionError::Log)?;
        Ok(self.solved)
    }

    /// The puzzle that is played, or that a flip is about to show.
    #[must_use]
    pub fn puzzle(&self) -> &Puzzle {
        &self.puzzle
    }

    /// How many boards there have been, this one counted.
    #[must_use]
    pub fn number(&self) -> usize {
        self.number
    }

    /// Whether a flow is being dragged.
    #[must_use]
    pub fn is_dragging(&self) -> bool {
        self.play.dragged().is_some()
    }

    /// Whether a pipe is picked up and put down by clicks, and not dragged.
    #[must_use]
    pub fn takes_clicks(&self) -> bool {
        self.options.input == Input::Clicks
    }

    /// Whether the game wants to know where the pointer is while no button is down.
    #[must_use]
    pub fn is_following(&self) -> bool {
        self.takes_clicks() && self.is_dragging()
    }

    /// When the board takes what the pointer did, if it has not yet.
    #[must_use]
    pub fn looks_at(&self) -> Option<Duration> {
        self.queue.due()
    }

    /// Whether the board flips over to the next.
    #[must_use]
    pub fn is_flipping(&self) -> bool {
        matches!(self.phase, Phase::Flipping { .. })
    }

    /// The game sees an event.
    fn apply(&mut self, now: Duration, pointer: Pointer) {
        let is_dragging = self.play.dragged().is_some();
        let board = self.puzzle.board();
        for meant in self.gestures.read(pointer, board, is_dragging) {
            self.draw(now, meant);
        }
    }

    /// The board takes what an event means.
    fn draw(&mut self, now: Duration, pointer: Pointer) {
        if matches!(pointer, Pointer::Press(_)) && self.play.dragged().is_some() {
            // A release was missed.
            self.lift(now);
        }
        // What waited when the board was solved comes too late.
        if !matches!(self.phase, Phase::Playing) {
            return;
        }
        match pointer {
            Pointer::Press(point) => {
                let before = self.play.clone();
                let events = self.play.press(point);
                if self.play.dragged().is_some() {
                    self.before = Some(before);
                    if self.options.trial.is_some() {
                        self.trial_began.get_or_insert(now);
                    }
                }
                self.log_all(now, &events);
            }
            Pointer::Move(point) => {
                let events = self.play.move_to(point);
                self.log_all(now, &events);
            }
            Pointer::Release(point) => {
                let events = self.play.move_to(point);
                self.log_all(now, &events);
                self.lift(now);
            }
        }
    }

    /// The drag ends where it is.
    fn lift(&mut self, now: Duration) {
        let events = self.play.release();
        self.log_all(now, &events);
        let before = self.before.take();
        self.history
            .extend(before.filter(|before| before.drawn() != self.play.drawn()));
        if !self.play.is_solved() {
            return;
        }
        self.solved += 1;
        let record = json!({
            "event": "solved",
            "number": self.number,
            "moves": self.play.moves(),
            "after": now.saturating_sub(self.ready_at).as_nanos() as u64,
        });
        self.log.write(now, record);
        self.phase = Phase::Interlude {
            steps: Steps::new(self.options.manner.after_win, now),
            then: Then::Flip,
        };
    }

    fn over(&mut self, now: Duration) {
        // What is still dragged stays as it is, and counts for nothing.
        let events = self.play.release();
        self.log_all(now, &events);
        self.queue.take();
        self.gestures.forget();
        self.phase = Phase::Over;
        self.log
            .write(now, json!({"event": "over", "solved": self.solved}));
    }

    /// The current step of an interlude has ended.
    fn step(&mut self, now: Duration) {
        let Phase::Interlude { steps, then } = &mut self.phase else {
            return;
        };
        match (steps.rest(now), then) {
            (Some(rest), _) => *steps = rest,
            (None, Then::Ready) => self.ready(now),
            (None, Then::Flip) => self.flip(now),
        }
    }

    /// The player asks for the next board. Where a click elsewhere is waited for, that does nothing.
    fn next(&mut self, now: Duration) {
        let until = match &self.phase {
            Phase::Interlude { steps, .. } => steps.until(),
            _ => None,
        };
        match until {
            Some(Until::Next) => self.step(now),
            Some(Until::Click | Until::CoverButton) => {}
            Some(Until::After(_)) | None if self.options.trial.is_none() => self.skip(now),
            Some(Until::After(_)) | None => {}
        }
    }

    /// Goes to the next board without solving this one; from the last to the first.
    fn skip(&mut self, now: Duration) {
        if matches!(self.phase, Phase::Flipping { .. }) {
            return;
        }
        if self.next.is_none() {
            self.place = 0;
            self.make_next();
        }
        self.flip(now);
    }

    /// Turns the board over, if there is a next one.
    fn flip(&mut self, now: Duration) {
        let Some(level) = self.next.take() else {
            self.over(now);
            return;
        };
        let from = Arc::new(view::face(self));
        self.queue.take();
        self.gestures.forget();
        self.number += 1;
        self.puzzle = Arc::new(level.puzzle.clone());
        let settings = self.options.manner.settings(self.options.input);
        self.play = Play::new(level.puzzle, settings);
        self.history.clear();
        self.before = None;
        self.phase = Phase::Flipping { since: now, from };
        self.log_level(now, level.title.as_deref());
        self.place += 1;
        self.make_next();
        if self.options.manner.flip.is_zero() {
            self.ready(now);
        }
    }

    fn make_next(&mut self) {
        match self.levels.get(self.place) {
            Ok(next) => self.next = next,
            Err(error) => self.failure = Some(error),
        }
    }

    /// From now on the board takes input.
    fn ready(&mut self, now: Duration) {
        self.phase = Phase::Playing;
        self.ready_at = now;
        self.log
            .write(now, json!({"event": "ready", "number": self.number}));
    }

    /// When [`Session::advance`] has something to do, or the view to change by itself, if ever.
    #[must_use]
    pub fn wake_at(&self, now: Duration) -> Option<Duration> {
        let frame = match self.phase {
            Phase::Flipping { since, .. } => {
                Some(since + FRAME * (frames(since, now, self.options.manner.flip) + 1))
            }
            _ => None,
        };
        let second = self.trial_left(now).map(|left| {
            let part = Duration::from_nanos(u64::from(left.subsec_nanos()));
            now + part.max(Duration::from_millis(1))
        });
        let due = self.due().map(|(at, _)| at);
        [frame, second, due].into_iter().flatten().min()
    }

    /// The earliest timed event.
    fn due(&self) -> Option<(Duration, Due)> {
        let look = self.queue.due().map(|at| (at, Due::Sample));
        let is_over = matches!(self.phase, Phase::Over);
        let end = self.options.trial.zip(self.trial_began);
        let time_up = end
            .filter(|_| !is_over)
            .map(|(lasts, began)| (began + lasts, Due::TimeUp));
        let phase = match self.phase {
            Phase::Interlude { ref steps, .. } => {
                let end = steps.end(self.options.trial.is_some());
                end.map(|end| (end, Due::Step))
            }
            Phase::Flipping { since, .. } => Some((since + self.options.manner.flip, Due::Land)),
            Phase::Playing | Phase::Over => None,
        };
        // Of things at the same time the first one listed goes first.
        let all = [look, time_up, phase].into_iter().flatten();
        all.min_by_key(|&(at, _)| at)
    }

    /// What is left of a time trial that runs.
    pub(super) fn trial_left(&self, now: Duration) -> Option<Duration> {
        if matches!(self.phase, Phase::Over) {
            return None;
        }
        let (lasts, began) = self.options.trial.zip(self.trial_began)?;
        Some((began + lasts).saturating_sub(now))
    }
}
