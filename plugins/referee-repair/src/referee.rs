//! The decisions of the referee. It knows no clock and no thread: every call gets
//! the time, in nanoseconds of the host's clock.
//!
//! [`session`] is the current board and how it ends, [`attempt`] what is asked for of it and what was drawn, [`gone`] what
//! became of one that is gone, [`changes`] what a sighting shows otherwise than the one before. [`run`] is when the run
//! ends by itself, [`memory`] what another referee continues with.

mod attempt;
mod changes;
mod gone;
mod memory;
mod run;
mod session;

pub use memory::Memory;
pub use run::EndCause;

use attempt::Context;
use flowpipe_plugin::puzzle::Flow;
use flowpipe_plugin::puzzle::message::{
    BoardResult, BoardState, GameRules, Outcome, SeenBoard, Sighting, Solved, Verdict,
};
use run::Run;
use session::Session;

use crate::acting::Acting;
use crate::answers::{Answer, Answers};
use crate::board::Board;
use crate::calibration::Calibration;
use crate::config::Config;
use crate::display_delay::DisplayDelay;
use crate::load::Load;
use crate::misfit::Misfit;
use crate::standstill::{Hindrance, Standstill};
use crate::stuck::Stuck;

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Ask the solver.
    Ask(Box<Sighting>),
    /// Ask the planner.
    Play(Box<Solved>),
    /// Report what became of a board.
    Report(Box<BoardResult>),
    /// Report the rules of a game to vision.
    Rules(Box<GameRules>),
    /// End the run: why.
    End(String),
    /// Log a warning.
    Warn(String),
}

/// The referee of one run.
pub struct Referee {
    config: Config,
    answers: Answers,
    session: Session,
    /// The newest sighting of a board, with the time of its capture.
    latest: Option<(Sighting, i64)>,
    acting: Acting,
    /// When the last outcome came: what was captured before shows too little.
    acted_at: Option<i64>,
    /// Why vision read no board last.
    refusal: Option<String>,
    /// The newest frame shows no board that can be read.
    is_unread: bool,
    /// Why the last strokes were not played, if they were not.
    refused: Option<String>,
    load: Load,
    display_delay: DisplayDelay,
    standstill: Standstill,
}

impl Referee {
    pub fn new(config: Config, calibration: Calibration, dry: bool) -> Self {
        Self {
            answers: Answers::default(),
            session: Session {
                dry,
                board: None,
                calibration,
                misfit: Misfit::default(),
                run: Run::new(&config),
            },
            config,
            latest: None,
            acting: Acting::default(),
            acted_at: None,
            refusal: None,
            is_unread: false,
            refused: None,
            load: Load::default(),
            display_delay: DisplayDelay::default(),
            standstill: Standstill::default(),
        }
    }

    /// The run begins, or goes on. Called before the first message, and whenever it is due.
    pub fn tick(&mut self, now: i64) -> Vec<Action> {
        let mut actions = Vec::new();
        self.session.run.began_at.get_or_insert(now);
        if let Some((_, cause)) = self.due().filter(|(due, _)| now > *due) {
            let reason = self.end_reason(cause);
            self.session.run.end(reason, &mut actions);
        }
        actions
    }

    /// When the run is to end by itself, if it is not over, and why.
    pub fn due(&self) -> Option<(i64, EndCause)> {
        self.session.run.due()
    }

    /// Why the run ends, in the player's words.
    fn end_reason(&self, cause: EndCause) -> String {
        let latest = self.latest.as_ref().map(|(latest, _)| latest);
        match cause {
            EndCause::TimeIsUp => {
                let run = &self.session.run;
                let is_enough = run.solved + run.unknown > 0 || self.session.dry;
                time_is_up(latest.is_some(), is_enough, self.refusal.as_deref())
            }
            EndCause::Stuck => Stuck {
                board: self.session.board.as_ref(),
                latest,
                unread: self.refusal.as_deref().filter(|_| self.is_unread),
                refused: self.refused.as_deref(),
                answers: &self.answers,
                calibration: &self.session.calibration,
            }
            .in_words(self.config.stuck_seconds),
        }
    }

    /// A frame was read.
    pub fn sighting(&mut self, sighting: Sighting, captured: i64, now: i64) -> Vec<Action> {
        let mut actions = self.tick(now);
        if self.session.run.is_over() {
            return actions;
        }
        self.load.note(captured, now);
        let known = self.session.calibration.meet_game(&sighting.frame);
        actions.extend(known.map(|known| Action::Rules(Box::new(known))));
        self.is_unread = sighting.board().is_none();
        let Some(seen) = sighting.board() else {
            self.no_board(&sighting, captured, now, &mut actions);
            return actions;
        };
        if self.answers.ask(&seen.puzzle) {
            actions.push(Action::Ask(Box::new(sighting.clone())));
        }
        let before = self.latest.as_ref().map(|(before, _)| before);
        if changes::has_changed(before, &sighting) {
            self.acting.board_changed(now);
        }
        let moved = changes::has_moved(before, &sighting);
        self.display_delay.meet(sighting.frame.window);
        let is_waiting = self.acting.is_waiting();
        let shown_by = self.shown_by().filter(|_| !is_waiting);
        let answer = self.answers.get(&seen.puzzle);
        let shows_more = self
            .session
            .look_at_flows(seen, answer, shown_by, captured, now);
        if shows_more {
            let looked = self.latest.as_ref().map_or(captured, |(_, looked)| *looked);
            self.display_delay.shown(captured, looked, is_waiting);
        }
        self.latest = Some((sighting, captured));
        let hindrance = match moved {
            true => Some(Hindrance::WindowMoves),
            false => self.judge(captured, now, &mut actions),
        };
        self.note(hindrance, now, &mut actions);
        actions
    }

    /// The solver answered. `descends`: when the frame was captured that the answer descends from.
    pub fn solved(&mut self, solved: Solved, descends: i64, now: i64) -> Vec<Action> {
        let mut actions = Vec::new();
        if let Some(seen) = solved
            .sighting
            .board()
            .filter(|_| !self.session.run.is_over())
        {
            let answer = Answer {
                solver: solved.solver.clone(),
                verdict: solved.answer.clone(),
            };
            self.answers.answer(&seen.puzzle, answer);
            let hindrance = self.judge(descends, now, &mut actions);
            self.note(hindrance, now, &mut actions);
        }
        actions
    }

    /// Notes whether something keeps the board from being played.
    fn note(&mut self, hindrance: Option<Hindrance>, now: i64, actions: &mut Vec<Action>) {
        let Some(hindrance) = hindrance else {
            return self.standstill.end();
        };
        let warning = self.standstill.note(hindrance, &self.config, now);
        actions.extend(warning.map(Action::Warn));
    }

    /// The actuator is done. `descends`: when the frame was captured that the outcome descends from.
    pub fn outcome(&mut self, outcome: &Outcome, descends: i64, now: i64) -> Vec<Action> {
        self.acting.outcome(descends);
        self.acted_at = Some(now);
        self.session.calibration.played(outcome);
        self.refused.clone_from(&outcome.refused);
        let played = outcome.act_ns > 0;
        let began = now.saturating_sub(outcome.act_ns);
        if played {
            self.session.run.first_stroke_at.get_or_insert(began);
        }
        if let Some(board) = &mut self.session.board {
            board.pace = outcome.pace.or(board.pace);
            if played {
                let (strokes, is_first) = (outcome.strokes.len(), board.attempts == 0);
                self.display_delay.played(began, now, strokes, is_first);
                board.note_strokes(outcome, now);
            }
        }
        let mut actions = Vec::new();
        self.session.planned(&mut actions);
        // A simulated game reports itself what became of the board.
        if outcome.solved == Some(true) {
            self.session.close(None, &mut actions);
        }
        actions
    }

    /// Judges the newest sighting by all that is known. `descends`: when the frame was captured that what is
    /// sent now descends from. Returns what keeps the board from being played, if something does.
    fn judge(&mut self, descends: i64, now: i64, actions: &mut Vec<Action>) -> Option<Hindrance> {
        self.note_lost(now);
        if self.acting.is_waiting() {
            return None;
        }
        let (sighting, captured) = self.latest.clone()?;
        let seen = sighting.board()?;
        if seen.state == BoardState::Moving {
            return Some(Hindrance::BoardMoves);
        }
        if self.acted_at.is_some_and(|acted| captured <= acted) {
            return None;
        }
        self.session
            .take_in_hand(seen, &sighting.frame, captured, now, actions);
        if seen.state == BoardState::Solved {
            return self.judge_solved(seen, actions);
        }
        if self.session.run.is_over()
            || self.session.board.as_ref().is_none_or(|board| board.closed)
        {
            return None;
        }
        let answer = self.answers.get(&seen.puzzle).cloned();
        let missing = answer.as_ref().and_then(|it| it.missing(&seen.drawn));
        if let Some(hindrance) = self.is_untimely(missing.as_deref(), captured, now) {
            return Some(hindrance);
        }
        let Some(answer) = answer else {
            return Some(Hindrance::NoAnswer);
        };
        let (Verdict::Solution { solution, .. }, Some(missing)) = (&answer.verdict, missing) else {
            let reason = format!("{} found no solution", answer.solver);
            self.session.close(Some(reason), actions);
            return None;
        };
        let context = Context {
            load: &self.load,
            attempts: self.config.attempts,
            now,
        };
        let goes_on =
            self.session
                .judge_attempt(solution, &missing, &seen.drawn, &context, actions);
        if goes_on && let Some(asked) = self.session.ask(&sighting, answer, missing, now) {
            self.acting.begin(descends, now);
            actions.push(Action::Play(Box::new(asked)));
        }
        None
    }

    /// The current board is seen solved.
    fn judge_solved(&mut self, seen: &SeenBoard, actions: &mut Vec<Action>) -> Option<Hindrance> {
        // Where cells may stay empty, that is vision's view of it, and not the game's.
        if seen.puzzle.rules().cover {
            self.session.confirm_rules(actions);
        }
        self.session.close(None, actions);
        let attempts = self.session.board.as_ref().map(|board| board.attempts);
        (attempts == Some(0)).then_some(Hindrance::SolvedBefore)
    }

    /// Whether it is too early or too late to judge what was captured then, in which these flows of the solution are
    /// missing. `None`: no solution is known.
    fn is_untimely(&self, missing: Option<&[Flow]>, captured: i64, now: i64) -> Option<Hindrance> {
        let fresh = self.config.fresh_ms as i64 * 1_000_000;
        let played = self.session.board.as_ref().filter(|it| it.attempts > 0);
        let is_all_drawn = |board: &Board| missing.is_some_and(|it| board.is_all_drawn(it));
        if played.is_some_and(|board| !is_all_drawn(board))
            && self.shown_by().is_some_and(|by| captured < by)
        {
            let wait_ms = self.display_delay.wait(self.min_wait_ns()) / 1_000_000;
            return Some(Hindrance::Patience { wait_ms });
        }
        let age = now.saturating_sub(captured);
        let age_ms = age / 1_000_000;
        (age > fresh).then_some(Hindrance::Stale { age_ms })
    }

    /// An attempt of which nothing was heard has drawn nothing that was seen.
    pub(super) fn note_lost(&mut self, now: i64) {
        if self.acting.is_lost(now)
            && let Some(board) = &mut self.session.board
        {
            board.futile += 1;
        }
    }

    fn min_wait_ns(&self) -> i64 {
        self.config.patience_ms as i64 * 1_000_000
    }

    /// When the game has had its time to show the last strokes.
    fn shown_by(&self) -> Option<i64> {
        self.display_delay.deadline(self.min_wait_ns())
    }
}

/// Why a run ends whose time is up. `is_enough`: boards were played, or none is to be played.
fn time_is_up(is_board_seen: bool, is_enough: bool, refusal: Option<&str>) -> String {
    let why = match refusal {
        _ if is_board_seen && is_enough => String::new(),
        _ if is_board_seen => ", and no board was solved".to_owned(),
        None => ", and no picture came: is the window there?".to_owned(),
        Some(refusal) => format!(": {refusal}"),
    };
    format!("the time is up{why}")
}

#[cfg(test)]
mod tests;
