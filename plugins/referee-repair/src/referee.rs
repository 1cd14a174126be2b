//! The decisions of the referee. It knows no clock and no thread: every call gets
//! the time, in nanoseconds of the host's clock.

use flowpipe_plugin::puzzle::Puzzle;
use flowpipe_plugin::puzzle::message::{
    BoardResult, BoardState, FrameNote, Outcome, Pace, Profile, SeenBoard, Sighting, Solved,
    Verdict,
};

use serde::{Deserialize, Serialize};

use crate::acting::Acting;
use crate::answers::{Answer, Answers};
use crate::config::Config;
use crate::findings::{Findings, Found};
use crate::misfit::Misfit;
use crate::standstill::{Hindrance, Standstill};

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Ask the solver.
    Ask(Box<Sighting>),
    /// Ask the planner.
    Play(Box<Solved>),
    /// Report what became of a board.
    Report(Box<BoardResult>),
    /// End the run: why.
    End(String),
    /// Log a warning.
    Warn(String),
}

/// The referee of one run.
pub struct Referee {
    config: Config,
    /// Nothing is played: the actuator only reports what it would do.
    dry: bool,
    answers: Answers,
    findings: Findings,
    /// The current board.
    board: Option<Board>,
    /// The newest sighting of a board, with the time of its capture.
    latest: Option<(Sighting, i64)>,
    acting: Acting,
    /// When the last outcome came: what was captured before shows too little.
    acted_at: Option<i64>,
    first_stroke_at: Option<i64>,
    reported: usize,
    solved: usize,
    over: bool,
    standstill: Standstill,
    misfit: Misfit,
}

/// What a referee remembers, for a state transfer.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    answers: Answers,
    found: Found,
    board: Option<Board>,
    latest: Option<(Sighting, i64)>,
    acting: Acting,
    acted_at: Option<i64>,
    first_stroke_at: Option<i64>,
    #[serde(alias = "told")]
    reported: usize,
    solved: usize,
}

/// The current board.
#[derive(Clone, Serialize, Deserialize)]
struct Board {
    puzzle: Puzzle,
    seen_at: i64,
    /// Attempts in all.
    attempts: usize,
    /// Attempts since something new was drawn.
    futile: usize,
    /// Flows missing before the last attempt.
    missing: usize,
    strokes: usize,
    repeated: usize,
    profile: Option<Profile>,
    pace: Option<Pace>,
    window: Option<u64>,
    /// The last attempt was played to its end.
    complete: bool,
    last_stroke_at: i64,
    /// It needs no more actions.
    closed: bool,
    solved: bool,
}

impl Referee {
    pub fn new(config: Config, findings: Findings, dry: bool) -> Self {
        Self {
            config,
            dry,
            answers: Answers::default(),
            findings,
            board: None,
            latest: None,
            acting: Acting::default(),
            acted_at: None,
            first_stroke_at: None,
            reported: 0,
            solved: 0,
            over: false,
            standstill: Standstill::default(),
            misfit: Misfit::default(),
        }
    }

    /// Whether nothing is played.
    pub fn is_dry(&self) -> bool {
        self.dry
    }

    /// What it remembers. Times are the run's clock.
    pub fn memory(&self) -> Memory {
        Memory {
            answers: self.answers.clone(),
            found: self.findings.found().clone(),
            board: self.board.clone(),
            latest: self.latest.clone(),
            acting: self.acting.clone(),
            acted_at: self.acted_at,
            first_stroke_at: self.first_stroke_at,
            reported: self.reported,
            solved: self.solved,
        }
    }

    /// Continues where another referee of the same run stopped.
    pub fn take_over(&mut self, memory: Memory) {
        self.answers = memory.answers;
        self.findings.take_over(memory.found);
        self.board = memory.board;
        self.latest = memory.latest;
        self.acting = memory.acting;
        self.acted_at = memory.acted_at;
        self.first_stroke_at = memory.first_stroke_at;
        self.reported = memory.reported;
        self.solved = memory.solved;
    }

    /// A frame was read.
    pub fn sighting(&mut self, sighting: Sighting, captured: i64, now: i64) -> Vec<Action> {
        let mut actions = Vec::new();
        if self.time_is_up(now) {
            self.end("the time is up", &mut actions);
        }
        let Some(seen) = sighting.board().filter(|_| !self.over) else {
            return actions;
        };
        if self.answers.ask(&seen.puzzle) {
            actions.push(Action::Ask(Box::new(sighting.clone())));
        }
        if self.has_changed(seen) {
            self.acting.board_changed(now);
        }
        let moved = self.has_moved(&sighting);
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
        if let Some(seen) = solved.sighting.board().filter(|_| !self.over) {
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
        self.findings.played(outcome);
        let played = outcome.act_ns > 0;
        if played {
            self.first_stroke_at
                .get_or_insert(now.saturating_sub(outcome.act_ns));
        }
        if let Some(board) = &mut self.board {
            board.pace = outcome.pace.or(board.pace);
            if played {
                board.profile = outcome.profile;
                if board.attempts > 0 {
                    board.repeated += outcome.strokes.len();
                }
                board.attempts += 1;
                board.futile += 1;
                board.strokes += outcome.strokes.len();
                board.complete = outcome.refused.is_none();
                board.last_stroke_at = now;
            }
            board.closed |= self.dry;
        }
        // A simulated game reports itself what became of the board.
        let mut actions = Vec::new();
        if outcome.solved == Some(true) {
            self.close(None, &mut actions);
        }
        actions
    }

    /// Judges the newest sighting by all that is known. `descends`: when the frame was captured that what is
    /// sent now descends from. Returns what keeps the board from being played, if something does.
    fn judge(&mut self, descends: i64, now: i64, actions: &mut Vec<Action>) -> Option<Hindrance> {
        if self.acting.is_lost(now)
            && let Some(board) = &mut self.board
        {
            // It drew nothing that was seen.
            board.futile += 1;
        }
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
        self.take_in_hand(seen, &sighting.frame, captured, actions);
        if seen.state == BoardState::Solved {
            self.close(None, actions);
            let attempts = self.board.as_ref().map(|board| board.attempts);
            return (attempts == Some(0)).then_some(Hindrance::SolvedBefore);
        }
        let patience = self.config.patience_ms as i64 * 1_000_000;
        let fresh = self.config.fresh_ms as i64 * 1_000_000;
        let shown_by = self
            .acted_at
            .map_or(i64::MIN, |acted| acted.saturating_add(patience));
        let board = self.board.as_mut().filter(|board| !board.closed)?;
        if self.over {
            return None;
        }
        if board.attempts > 0 && captured < shown_by {
            return Some(Hindrance::Patience);
        }
        if now.saturating_sub(captured) > fresh {
            let age_ms = now.saturating_sub(captured) / 1_000_000;
            return Some(Hindrance::Stale { age_ms });
        }
        let Some(answer) = self.answers.get(&seen.puzzle).cloned() else {
            return Some(Hindrance::NoAnswer);
        };
        let Verdict::Solution { solution, .. } = &answer.verdict else {
            let reason = format!("{} found no solution", answer.solver);
            self.close(Some(reason), actions);
            return None;
        };
        let flows = solution.missing(&seen.drawn).flows;
        let missing = flows.len();
        let is_exhausted = self.findings.look(&flows);
        if missing < board.missing {
            board.futile = 0;
            self.misfit.end();
        }
        board.missing = missing;
        let (profile, was_played) = (board.profile, board.attempts > 0);
        let is_abandoned = board.futile >= self.config.attempts;
        let misfit = match was_played && missing > 0 {
            true if is_exhausted || is_abandoned => self.misfit.report(profile),
            true if board.futile > 0 => self.misfit.note(profile, now),
            _ => None,
        };
        actions.extend(misfit.map(Action::Warn));
        if missing == 0 || is_abandoned {
            let reason = if missing == 0 {
                "every flow is drawn, and still it does not count as solved".to_owned()
            } else {
                format!(
                    "{missing} flow{} missing, and {} attempt{} drew none of them",
                    if missing == 1 { " is" } else { "s are" },
                    board.futile,
                    if board.futile == 1 { "" } else { "s" }
                )
            };
            // All drawn may be a picture from just before the last pipe was shown as whole.
            if missing > 0 || board.attempts > 0 {
                self.close(Some(reason), actions);
            }
            return None;
        }
        self.acting.begin(descends, now);
        actions.push(Action::Play(Box::new(
            Solved::new(answer.solver, answer.verdict, sighting)
                .with_profile(self.findings.ask(flows)),
        )));
        None
    }

    /// Makes the board that is seen the current one.
    fn take_in_hand(
        &mut self,
        seen: &SeenBoard,
        frame: &FrameNote,
        captured: i64,
        actions: &mut Vec<Action>,
    ) {
        // A solved board that was emptied is to be played again.
        let again = |board: &Board| board.solved && seen.state == BoardState::Empty;
        let same = self
            .board
            .as_ref()
            .is_some_and(|board| board.puzzle == seen.puzzle && !again(board));
        if same {
            return;
        }
        // A board that made way for another once all was drawn was solved: no game goes on
        // otherwise. One in a window that was closed was not.
        let made_way = |board: &Board| board.complete && board.window == frame.window;
        if self.board.as_ref().is_some_and(made_way) {
            self.close(None, actions);
        }
        self.misfit.end();
        self.findings.meet(frame);
        self.board = Some(Board {
            puzzle: seen.puzzle.clone(),
            seen_at: captured,
            attempts: 0,
            futile: 0,
            missing: usize::MAX,
            strokes: 0,
            repeated: 0,
            profile: None,
            pace: None,
            window: frame.window,
            complete: false,
            last_stroke_at: captured,
            // Nothing to do about a board that was solved by others.
            closed: seen.state == BoardState::Solved,
            solved: seen.state == BoardState::Solved,
        });
    }

    /// The current board is solved, or given up for a reason.
    fn close(&mut self, reason: Option<String>, actions: &mut Vec<Action>) {
        let Some(board) = self.board.as_mut().filter(|board| !board.closed) else {
            return;
        };
        board.closed = true;
        self.reported += 1;
        let solved = reason.is_none();
        board.solved = solved;
        if solved {
            self.findings.solved();
            self.misfit.end();
        }
        self.solved += usize::from(solved);
        let mut result = BoardResult::new(self.reported, board.puzzle.clone(), reason);
        result.attempts = board.attempts;
        result.strokes = board.strokes;
        result.repeated = board.repeated;
        result.profile = board.profile;
        result.pace = board.pace;
        result.took_ns = board.last_stroke_at.saturating_sub(board.seen_at);
        actions.push(Action::Report(Box::new(result)));
        if self
            .config
            .boards
            .is_some_and(|boards| self.solved >= boards)
        {
            let boards = if self.solved == 1 { "board" } else { "boards" };
            self.end(&format!("{} {boards} solved", self.solved), actions);
        }
    }

    fn end(&mut self, reason: &str, actions: &mut Vec<Action>) {
        if !std::mem::replace(&mut self.over, true) {
            actions.push(Action::End(reason.to_owned()));
        }
    }

    /// Whether the window is being dragged: the newest sighting shows it elsewhere than the one before.
    fn has_moved(&self, sighting: &Sighting) -> bool {
        let same_window = |(before, _): &&(Sighting, i64)| {
            before.frame.window.is_some() && before.frame.window == sighting.frame.window
        };
        self.latest
            .as_ref()
            .filter(same_window)
            .is_some_and(|(before, _)| before.frame.origin != sighting.frame.origin)
    }

    /// Whether more or less is drawn, or the board is in another state, than in the newest sighting so far.
    fn has_changed(&self, seen: &SeenBoard) -> bool {
        let before = self.latest.as_ref().and_then(|(before, _)| before.board());
        before.is_none_or(|before| {
            (&before.puzzle, &before.drawn, before.state) != (&seen.puzzle, &seen.drawn, seen.state)
        })
    }

    fn time_is_up(&self, now: i64) -> bool {
        let seconds = self.config.seconds.zip(self.first_stroke_at);
        seconds.is_some_and(|(seconds, began)| now.saturating_sub(began) as f64 > seconds * 1e9)
    }
}

#[cfg(test)]
mod tests;
