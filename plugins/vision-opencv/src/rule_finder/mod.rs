//! Finds by which rules the boards of a game have solutions.
//!
//! A board that was misread hardly ever has a solution by Flow Free's rules, but most have one by looser rules. Looser
//! rules therefore need more evidence: one reading with a high confidence that several captures repeat. Fewer are enough
//! for rules by which boards of the same game were won.

use std::collections::VecDeque;

use flowpipe_plugin::puzzle::message::{BoardState, GameRules, SeenBoard};
use flowpipe_plugin::puzzle::{Flow, Puzzle, Rules};
use flowpipe_plugin::tracing;

use crate::config::rules::RuleSetting;
use crate::refuse::refusal::Refusal;
use crate::refuse::solvability;

/// Captures in a row that give the same reading.
struct Evidence {
    captures: u32,
    /// The least time from the first of them to the last, in nanoseconds: boards that appear cell by cell are not
    /// complete before.
    lasted_ns: i64,
}

/// What a board needs to be played by looser rules.
const ENOUGH: Evidence = Evidence {
    captures: 5,
    lasted_ns: 400_000_000,
};
/// What it needs for rules by which boards of the game were won.
const ENOUGH_FOR_KNOWN: Evidence = Evidence {
    captures: 3,
    lasted_ns: 200_000_000,
};
/// The least confidence of each of them: that of the least clear real screenshots that are read.
const CONFIDENCE: f64 = 0.6;
/// Looser rules, in the order in which they are tried: flows may touch themselves, then cells may stay empty as well.
const LOOSER: [Rules; 2] = [Rules::new(true, true), Rules::new(false, true)];
/// Boards whose rules are remembered: more than a player goes back.
const KEPT: usize = 32;

/// Decides by which rules each board is played.
#[derive(Default)]
pub struct RuleFinder {
    setting: RuleSetting,
    candidate: Option<Candidate>,
    /// Boards that are played by looser rules, the newest last.
    found: VecDeque<Puzzle>,
    /// The rules that were logged last.
    logged: Option<Rules>,
    /// The game that the next picture shows, by the source of its frame.
    source: String,
    /// The rules of a game by which boards of it were won.
    game_rules: Option<GameRules>,
}

/// A board without a solution by Flow Free's rules.
struct Candidate {
    puzzle: Puzzle,
    captures: u32,
    since_ns: i64,
    last_ns: i64,
    /// It has no solution by the rules that are known of the game.
    is_beyond_known: bool,
}

impl Candidate {
    fn has(&self, needed: &Evidence) -> bool {
        let lasted_ns = self.last_ns.saturating_sub(self.since_ns);
        self.captures >= needed.captures && lasted_ns >= needed.lasted_ns
    }
}

impl RuleFinder {
    /// With no board seen yet.
    #[must_use]
    pub fn new(setting: RuleSetting) -> Self {
        Self {
            setting,
            ..Self::default()
        }
    }

    /// Forgets what was seen.
    pub fn reset(&mut self) {
        *self = Self::new(self.setting);
    }

    /// The game that is read next, by the source of its frames.
    pub fn set_source(&mut self, source: &str) {
        if self.source != source {
            source.clone_into(&mut self.source);
        }
    }

    /// Boards of a game were won by these rules.
    pub fn set_game_rules(&mut self, rules: GameRules) {
        if let Some(candidate) = &mut self.candidate {
            candidate.is_beyond_known = false;
        }
        self.game_rules = Some(rules);
    }

    /// The rules by which boards of the current game were won.
    fn rules_of_game(&self) -> Option<Rules> {
        let known = self.game_rules.as_ref()?;
        (known.source == self.source).then_some(known.rules)
    }

    /// A board was read that has a solution.
    ///
    /// # Errors
    /// [`Refusal::Unsolvable`], where the config asks for rules by which it has none.
    pub fn solvable(&mut self, board: &mut SeenBoard) -> Result<(), Refusal> {
        self.candidate = None;
        match self.setting {
            RuleSetting::Fixed(rules) if rules != board.puzzle.rules() => {
                let played = board.puzzle.clone().with_rules(rules);
                solvability::check(&played)?;
                play_by(board, played);
            }
            _ => mark_solved(board),
        }
        Ok(())
    }

    /// A board was read, in a capture of that time, that has no solution by Flow Free's rules.
    ///
    /// # Errors
    /// [`Refusal::Unsolvable`], unless it is played by other rules.
    pub fn unsolvable(&mut self, board: &mut SeenBoard, captured_ns: i64) -> Result<(), Refusal> {
        match self.setting {
            RuleSetting::Strict => Err(Refusal::Unsolvable),
            RuleSetting::Fixed(_) => self.solvable(board),
            RuleSetting::Auto => {
                let played = self.found_for(&board.puzzle);
                let played = played.or_else(|| self.find(board, captured_ns));
                let played = played.ok_or(Refusal::Unsolvable)?;
                play_by(board, played);
                Ok(())
            }
        }
    }

    /// No board was read.
    pub fn unseen(&mut self) {
        self.candidate = None;
    }

    /// The puzzle with the rules that were found for it.
    fn found_for(&self, puzzle: &Puzzle) -> Option<Puzzle> {
        let is_it = |found: &&Puzzle| {
            found.board() == puzzle.board() && found.terminals() == puzzle.terminals()
        };
        self.found.iter().find(is_it).cloned()
    }

    /// The puzzle with looser rules, once there is enough evidence for it.
    fn find(&mut self, board: &SeenBoard, captured_ns: i64) -> Option<Puzzle> {
        if board.confidence < CONFIDENCE || board.state == BoardState::Moving {
            self.candidate = None;
            return None;
        }
        let mut candidate = match self.candidate.take() {
            Some(before) if before.puzzle == board.puzzle => Candidate {
                // One capture may be read twice: in place, and by a search.
                captures: before.captures + u32::from(captured_ns > before.last_ns),
                last_ns: captured_ns,
                ..before
            },
            _ => Candidate {
                puzzle: board.puzzle.clone(),
                captures: 1,
                since_ns: captured_ns,
                last_ns: captured_ns,
                is_beyond_known: false,
            },
        };
        let known = self.rules_of_game();
        let is_known = |rules: Rules| known.is_some_and(|known| rules.are_within(known));
        let is_enough = candidate.has(&ENOUGH);
        if !is_enough && (candidate.is_beyond_known || !candidate.has(&ENOUGH_FOR_KNOWN)) {
            self.candidate = Some(candidate);
            return None;
        }
        let played = LOOSER
            .into_iter()
            .filter(|rules| is_enough || is_known(*rules))
            .map(|rules| board.puzzle.clone().with_rules(rules))
            .find(solvability::has_solution);
        let Some(played) = played else {
            candidate.is_beyond_known = true;
            self.candidate = (!is_enough).then_some(candidate);
            return None;
        };
        if !is_known(played.rules()) {
            self.log(played.rules());
        }
        if self.found.len() == KEPT {
            self.found.pop_front();
        }
        self.found.push_back(played.clone());
        Some(played)
    }

    fn log(&mut self, rules: Rules) {
        if self.logged.replace(rules) == Some(rules) {
            return;
        }
        let freedom = match rules.cover {
            true => "flows may touch themselves",
            false => "flows may touch themselves and cells may stay empty",
        };
        let (words, strict) = (rules.in_short(), Rules::STRICT);
        tracing::warn!(
            "the game's boards have no solution by Flow Free's rules: plays those where {freedom} (rules = \"{words}\" \
             in the config of vision-opencv sets that for all boards, \"{strict}\" refuses them)"
        );
    }
}

/// Makes a board one that is played by other rules.
fn play_by(board: &mut SeenBoard, played: Puzzle) {
    board.puzzle = played;
    mark_solved(board);
}

/// Where cells may stay empty, a board is solved once all its terminals are joined.
fn mark_solved(board: &mut SeenBoard) {
    if !board.puzzle.rules().cover
        && board.state == BoardState::Partial
        && joins_all(&board.drawn, &board.puzzle)
    {
        board.state = BoardState::Solved;
    }
}

/// Whether pipes join all terminals of a puzzle.
fn joins_all(drawn: &[Flow], puzzle: &Puzzle) -> bool {
    puzzle.terminals().iter().all(|terminal| {
        drawn.iter().any(|pipe| {
            let ends = [pipe.cells.first(), pipe.cells.last()];
            pipe.colour == terminal.colour
                && pipe.cells.len() > 1
                && ends.contains(&Some(&terminal.cell))
                && ends
                    .into_iter()
                    .flatten()
                    .all(|&end| puzzle.terminal_at(end) == Some(pipe.colour))
        })
    })
}

#[cfg(test)]
mod tests;
