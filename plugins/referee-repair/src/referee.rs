//! The decisions of the referee. It knows no clock and no thread: every call gets
//! the time, in nanoseconds of the host's clock.

use flowpipe_plugin::puzzle::message::{
    BoardResult, BoardState, Draw, FrameNote, GameRules, Outcome, SeenBoard, Sighting, Solved,
    Verdict,
};

use serde::{Deserialize, Serialize};

use crate::acting::Acting;
use crate::answers::{Answer, Answers};
use crate::board::{Board, GoneAs};
use crate::config::Config;
use crate::findings::{Findings, Found};
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
    /// When the run began: its seconds count from then until a stroke is played.
    began_at: Option<i64>,
    /// Why vision read no board last.
    refusal: Option<String>,
    /// The newest frame shows no board that can be read.
    is_unread: bool,
    /// Why the last strokes were not played, if they were not.
    refused: Option<String>,
    /// When the run got on last: another board came, more of one was drawn, or it was solved.
    progressed_at: Option<i64>,
    load: Load,
    reported: usize,
    /// Boards that count: solved, and unknown.
    solved: usize,
    unknown: usize,
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
    #[serde(default)]
    began_at: Option<i64>,
    #[serde(default)]
    refusal: Option<String>,
    #[serde(default)]
    progressed_at: Option<i64>,
    #[serde(default)]
    load: Load,
    #[serde(alias = "told")]
    reported: usize,
    solved: usize,
    #[serde(default)]
    unknown: usize,
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
            began_at: None,
            refusal: None,
            is_unread: false,
            refused: None,
            progressed_at: None,
            load: Load::default(),
            reported: 0,
            solved: 0,
            unknown: 0,
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
            began_at: self.began_at,
            refusal: self.refusal.clone(),
            progressed_at: self.progressed_at,
            load: self.load.clone(),
            reported: self.reported,
            solved: self.solved,
            unknown: self.unknown,
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
        self.began_at = memory.began_at.or(self.began_at);
        self.refusal = memory.refusal;
        self.progressed_at = memory.progressed_at;
        self.load = memory.load;
        self.reported = memory.reported;
        self.solved = memory.solved;
        self.unknown = memory.unknown;
    }

    /// A frame was read.
    pub fn sighting(&mut self, sighting: Sighting, captured: i64, now: i64) -> Vec<Action> {
        let mut actions = self.tick(now);
        if self.over {
            return actions;
        }
        self.load.note(captured, now);
        let known = self.findings.meet_game(&sighting.frame);
        actions.extend(known.map(|known| Action::Rules(Box::new(known))));
        self.is_unread = sighting.board().is_none();
        let Some(seen) = sighting.board() else {
            self.no_board(&sighting, captured, now, &mut actions);
            return actions;
        };
        if self.answers.ask(&seen.puzzle) {
            actions.push(Action::Ask(Box::new(sighting.clone())));
        }
        if self.has_changed(seen) {
            self.acting.board_changed(now);
        }
        self.look_at_flows(seen, captured, now);
        let moved = self.has_moved(&sighting);
        self.latest = Some((sighting, captured));
        let hindrance = match moved {
            true => Some(Hindrance::WindowMoves),
            false => self.judge(captured, now, &mut actions),
        };
        self.note(hindrance, now, &mut actions);
        actions
    }

    /// The run begins, or goes on. Called before the first message, and whenever it is due.
    pub fn tick(&mut self, now: i64) -> Vec<Action> {
        let mut actions = Vec::new();
        self.began_at.get_or_insert(now);
        if let Some((_, reason)) = self.due().filter(|(due, _)| now > *due) {
            self.end(&reason, &mut actions);
        }
        actions
    }

    /// When the run is to end by itself, if it is not over, and why.
    pub fn due(&self) -> Option<(i64, String)> {
        if self.over {
            return None;
        }
        let up = self.deadline().map(|at| (at, self.time_is_up()));
        let stuck = self.stuck_at().map(|at| (at, self.is_stuck()));
        up.into_iter().chain(stuck).min_by_key(|(at, _)| *at)
    }

    /// When the run is stuck if nothing happens until then. Without a number of boards it waits for the next one.
    fn stuck_at(&self) -> Option<i64> {
        self.config.boards?;
        let limit = (self.config.stuck_seconds * 1e9) as i64;
        let since = self.progressed_at.or(self.began_at)?;
        Some(since.saturating_add(limit))
    }

    /// Why the run ends because it is stuck.
    fn is_stuck(&self) -> String {
        let stuck = Stuck {
            board: self.board.as_ref(),
            latest: self.latest.as_ref().map(|(latest, _)| latest),
            unread: self.refusal.as_deref().filter(|_| self.is_unread),
            refused: self.refused.as_deref(),
            answers: &self.answers,
            findings: &self.findings,
        };
        stuck.in_words(self.config.stuck_seconds)
    }

    /// When the time of the run is up, if it is limited.
    fn deadline(&self) -> Option<i64> {
        let (seconds, began) = (
            self.config.seconds?,
            self.first_stroke_at.or(self.began_at)?,
        );
        Some(began.saturating_add((seconds * 1e9) as i64))
    }

    /// Why the run ends when its time is up, in the player's words.
    fn time_is_up(&self) -> String {
        let why = match (&self.latest, &self.refusal) {
            (Some(_), _) if self.solved + self.unknown > 0 || self.dry => "",
            (Some(_), _) => ", and no board was solved",
            (None, None) => ", and no picture came: is the window there?",
            (None, Some(refusal)) => {
                return format!("the time is up: {refusal}");
            }
        };
        format!("the time is up{why}")
    }

    /// Notes which flows of the current board are seen drawn, also while it is being played.
    fn look_at_flows(&mut self, seen: &SeenBoard, captured: i64, now: i64) {
        let board = self.board.as_mut().filter(|it| it.puzzle == seen.puzzle);
        let Some(board) = board.filter(|_| seen.state != BoardState::Moving) else {
            return;
        };
        if seen.state == BoardState::Partial {
            self.findings.note_partial();
            board.was_partial = true;
        }
        board.vanishing.end();
        board.geometry = Some(seen.geometry.clone());
        let answer = self.answers.get(&seen.puzzle);
        let Some(Verdict::Solution { solution, .. }) = answer.map(|answer| &answer.verdict) else {
            return;
        };
        let unseen = solution.missing(&seen.drawn).flows.len();
        board.unseen = Some(unseen);
        let patience = self.config.patience_ms as i64 * 1_000_000;
        let shown_by = self.acted_at.map(|acted| acted.saturating_add(patience));
        board.is_seen_after = !self.acting.is_waiting() && shown_by.is_some_and(|by| captured > by);
        if unseen < board.fewest_seen {
            board.fewest_seen = unseen;
            self.progressed_at = Some(now);
        }
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
        self.refused.clone_from(&outcome.refused);
        let played = outcome.act_ns > 0;
        if played {
            self.first_stroke_at
                .get_or_insert(now.saturating_sub(outcome.act_ns));
        }
        if let Some(board) = &mut self.board {
            board.pace = outcome.pace.or(board.pace);
            if played {
                board.note_strokes(outcome, now);
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
        self.take_in_hand(seen, &sighting.frame, captured, now, actions);
        if seen.state == BoardState::Solved {
            // Where cells may stay empty, that is vision's view of it, and not the game's.
            if seen.puzzle.rules().cover {
                self.confirm_rules(actions);
            }
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
        let is_late = self.load.was_late_since(board.asked_at);
        let judgement = self
            .findings
            .look(&solution.flows, &flows, &seen.drawn, is_late);
        if missing < board.missing {
            board.futile = 0;
            self.misfit.end();
        }
        board.missing = missing;
        if judgement.is_damaged {
            let reason = "what is drawn wrongly stays in this game".to_owned();
            self.close(Some(reason), actions);
            return None;
        }
        let (profile, was_played) = (board.profile, board.attempts > 0);
        let is_abandoned = board.futile >= self.config.attempts;
        let misfit = match was_played && missing > 0 {
            true if judgement.is_exhausted || is_abandoned => self.misfit.report(profile),
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
        if board.futile > 0 && board.futile == self.config.attempts / 2 {
            // What lies there may be in the way.
            self.findings.start_over();
        }
        board.asked_at = now;
        (board.unseen, board.is_seen_after) = (None, false);
        self.acting.begin(descends, now);
        let colours = flows.iter().map(|flow| flow.colour).collect();
        let (needs, draw) = self.findings.ask(&solution.flows, flows, &seen.drawn);
        board.asked = match &draw {
            Draw::Only(colours) => colours.clone(),
            Draw::Clear(_) => Vec::new(),
            _ => colours,
        };
        let asked = Solved::new(answer.solver, answer.verdict.clone(), sighting.clone());
        let mut asked = asked.with_draw(draw);
        asked.profile = needs.profile;
        asked.stroke_end = needs.stroke_end;
        actions.push(Action::Play(Box::new(asked)));
        None
    }

    /// An attempt of which nothing was heard has drawn nothing that was seen.
    pub(super) fn note_lost(&mut self, now: i64) {
        if self.acting.is_lost(now)
            && let Some(board) = &mut self.board
        {
            board.futile += 1;
        }
    }

    /// Makes the board that is seen the current one.
    fn take_in_hand(
        &mut self,
        seen: &SeenBoard,
        frame: &FrameNote,
        captured: i64,
        now: i64,
        actions: &mut Vec<Action>,
    ) {
        self.take_back(seen);
        // A board that was restarted is to be played again: one that was solved, or given up when something was drawn.
        let is_closed = |board: &Board| board.solved || board.closed && board.was_partial;
        let again = |board: &Board| is_closed(board) && seen.state == BoardState::Empty;
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
        // The game has gone on to another board. One on which something lies may be the same, read otherwise.
        let won = |board: &Board| {
            board.solved
                && board.counted_gone != Some(GoneAs::Unknown)
                && board.window == frame.window
                && board.puzzle != seen.puzzle
                && seen.state == BoardState::Empty
        };
        if self.board.as_ref().is_some_and(won) {
            self.confirm_rules(actions);
        }
        self.misfit.end();
        self.progressed_at = Some(now);
        self.findings.meet(frame);
        // Vision may have been restarted since.
        if !actions.iter().any(|it| matches!(it, Action::Rules(_))) {
            let known = self.findings.rules_of_game();
            actions.extend(known.map(|known| Action::Rules(Box::new(known))));
        }
        self.board = Some(Board::new(seen, frame, captured));
    }

    /// Takes back that the current board was counted as gone, where it is seen again and this was wrong.
    fn take_back(&mut self, seen: &SeenBoard) {
        let board = self.board.as_mut().filter(|it| it.puzzle == seen.puzzle);
        let Some((board, gone)) = board.and_then(|it| it.counted_gone.map(|gone| (it, gone)))
        else {
            return;
        };
        match (gone, seen.state) {
            (GoneAs::Solved, BoardState::Partial) => self.solved -= 1,
            (GoneAs::Unknown, BoardState::Partial | BoardState::Solved) => self.unknown -= 1,
            _ => return,
        }
        (board.closed, board.solved, board.counted_gone) = (false, false, None);
    }

    /// The current board is won: what it was played by are rules of the game. Those of numbers are no finding: vision
    /// reads each such board by the rules of puzzles on paper.
    fn confirm_rules(&mut self, actions: &mut Vec<Action>) {
        let board = self.board.as_mut().filter(|board| board.attempts > 0);
        let board = board.filter(|board| !board.confirms_rules && !board.is_of_numbers);
        let Some(board) = board else {
            return;
        };
        board.confirms_rules = true;
        let known = self.findings.won_by(board.puzzle.rules());
        actions.extend(known.map(|known| Action::Rules(Box::new(known))));
    }

    /// The current board is solved, or given up for a reason.
    fn close(&mut self, reason: Option<String>, actions: &mut Vec<Action>) {
        let Some(board) = self.board.as_mut().filter(|board| !board.closed) else {
            return;
        };
        let solved = reason.is_none();
        (board.closed, board.solved) = (true, solved);
        board.given_up.clone_from(&reason);
        self.reported += 1;
        if solved {
            self.findings.solved();
            self.misfit.end();
        }
        self.solved += usize::from(solved);
        let result = board.result(self.reported, reason);
        actions.push(Action::Report(Box::new(result)));
        self.end_after_boards(actions);
    }

    fn end_after_boards(&mut self, actions: &mut Vec<Action>) {
        let count = self.solved + self.unknown;
        if self.config.boards.is_some_and(|boards| count >= boards) {
            let boards = if count == 1 { "board" } else { "boards" };
            let reason = match self.unknown {
                0 => format!("{count} {boards} solved"),
                unknown => format!("{count} {boards} played, {unknown} of them perhaps not solved"),
            };
            self.end(&reason, actions);
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
}

mod gone;
#[cfg(test)]
mod tests;
