//! Calibration to the current game: the experiments, their results, and what is kept of them.
//!
//! It is judged only by what was played as it was asked for: a planner with a profile of its own
//! is ignored. What a machine missed that was busy says nothing either, nor does a flow that was drawn over leftovers,
//! unless it was missed in the attempt before, too.

use std::cmp::Reverse;

use flowpipe_plugin::puzzle::message::{
    Draw, FrameNote, GameNeeds, GameRules, Outcome, Profile, StrokeEnd,
};
use flowpipe_plugin::puzzle::{Flow, Rules};
use flowpipe_plugin::tracing;

use serde::{Deserialize, Serialize};

use crate::clearing::Clearing;
use crate::game_rules::RuleRecord;
use crate::games::{GameEntry, Games};
use crate::leftovers::{is_clean, is_short, wrong};
use crate::profile_search::ProfileSearch;

/// After so many attempts in a row that can't be judged, the next one is judged as it is: it may go on like that.
const UNJUDGED: usize = 1;
/// A confidence that is kept is replaced once it is wrong by more than this.
const NEWS: f64 = 0.1;

/// What the last strokes have shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// Too many flows are missed, and there is no other profile to try.
    pub is_exhausted: bool,
    /// Something stays for ever that is drawn wrongly: the board can't be won any more.
    pub is_damaged: bool,
}

/// What the current game needs from the mouse, and by which rules it is played.
pub struct Calibration {
    games: Games,
    state: CalibrationState,
}

/// What is found about the current game, and what is being tried.
#[derive(Clone, Serialize, Deserialize)]
pub struct CalibrationState {
    #[serde(rename = "finder")]
    search: ProfileSearch,
    game: Option<Game>,
    /// What the planner was asked for last, until it is known what became of it.
    asked: Option<Asked>,
    /// The profile of the last strokes, where they were played as asked.
    played: Option<Profile>,
    /// Where strokes have to end, if that is known.
    #[serde(default)]
    stroke_end: Option<StrokeEnd>,
    /// Attempts in a row that could not be judged.
    #[serde(default)]
    unjudged: usize,
    /// The flows that the last attempt missed, and its profile.
    #[serde(default)]
    missed: Vec<Flow>,
    #[serde(default)]
    missed_with: Option<Profile>,
    /// What is cleared of the current board.
    #[serde(default)]
    clearing: Clearing,
    /// A board of the game was read while it was partly drawn.
    #[serde(default)]
    reads_partial: bool,
    /// The rules that its boards were won by.
    #[serde(default)]
    rules: RuleRecord,
}

/// The current game.
#[derive(Clone, Serialize, Deserialize)]
struct Game {
    window: Option<u64>,
    /// Its window's title when its first board was seen; some change theirs from board to board.
    title: String,
    kept: Option<GameEntry>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Asked {
    profile: Profile,
    #[serde(default)]
    stroke_end: Option<StrokeEnd>,
    /// The flows that were missing.
    flows: Vec<Flow>,
    /// What was drawn then.
    #[serde(default)]
    drawn: Vec<Flow>,
    /// Whether they were played to their end.
    is_played: bool,
}

impl Calibration {
    pub fn new(games: Games) -> Self {
        Self {
            games,
            state: CalibrationState {
                search: ProfileSearch::new(None, false),
                game: None,
                asked: None,
                played: None,
                stroke_end: None,
                unjudged: 0,
                missed: Vec::new(),
                missed_with: None,
                clearing: Clearing::default(),
                reads_partial: false,
                rules: RuleRecord::default(),
            },
        }
    }

    /// What is found, for a state transfer.
    pub fn state(&self) -> &CalibrationState {
        &self.state
    }

    /// Restores the calibration of another referee.
    pub fn take_over(&mut self, state: CalibrationState) {
        self.state = state;
    }

    /// The share of the latest flows that the game took, from 0 to 1, and how many those are.
    pub fn confidence(&self) -> (f64, usize) {
        self.state.search.confidence()
    }

    /// The current board is to be cleared as a whole, and drawn again.
    pub fn start_over(&mut self) {
        self.state.clearing.start_over();
    }

    /// The profiles that were judged, each with the flows that were taken, in words.
    pub fn summary(&self) -> String {
        self.state.search.summary()
    }

    /// A board of the current game is read that is partly drawn.
    pub fn note_partial(&mut self) {
        self.state.reads_partial = true;
    }

    /// The profile to draw with now.
    pub fn profile(&self) -> Profile {
        self.state.search.profile()
    }

    /// Whether a board of the current game was ever read that was partly drawn.
    pub fn reads_partial(&self) -> bool {
        self.state.reads_partial
    }

    /// A flow that was missed was drawn again.
    #[cfg(test)]
    pub fn note_repair(&mut self) {
        self.state.search.note_repair();
    }

    /// Strokes have left a board that can't be read.
    pub fn spoil(&mut self) {
        self.state.asked = None;
        self.state.search.spoil();
    }

    /// A frame was captured, with a board that can be read or without. Returns what vision is to know of the game.
    pub fn meet_game(&mut self, frame: &FrameNote) -> Option<GameRules> {
        self.state.rules.meet(frame, &self.games)
    }

    /// What vision is to know of the current game.
    pub fn rules_of_game(&self) -> Option<GameRules> {
        self.state.rules.for_vision()
    }

    /// A board was won that was played by these rules. Returns what vision is to know of the game now.
    pub fn won_by(&mut self, rules: Rules) -> Option<GameRules> {
        let news = self.state.rules.won(rules, &self.games);
        // They may be known only after the entry was written.
        let known = self.state.rules.rules();
        if let Some(game) = &mut self.state.game
            && let Some(kept) = game.kept.as_mut().filter(|kept| kept.rules != known)
        {
            kept.rules = known;
            if let (None, Some(rules)) = (&news, known) {
                self.games.keep_rules(&game.title, rules);
            }
        }
        news
    }

    /// A new board is seen in a frame.
    pub fn meet(&mut self, frame: &FrameNote) {
        let state = &mut self.state;
        (state.asked, state.played) = (None, None);
        state.missed.clear();
        state.clearing = Clearing::default();
        let is_known = |game: &Game| game.window == frame.window;
        if state.game.as_ref().is_some_and(is_known) {
            return;
        }
        // A source other than a window has no lasting name.
        let kept = frame.window.and_then(|_| self.games.get(&frame.source));
        let is_careful = kept.as_ref().is_some_and(|kept| kept.careful);
        state.search =
            ProfileSearch::new(kept.as_ref().and_then(GameEntry::found_profile), is_careful)
                .with_needs_display(kept.as_ref().is_some_and(|kept| kept.follow_display));
        state.stroke_end = kept.as_ref().and_then(|kept| kept.stroke_end);
        state.reads_partial = false;
        state.game = Some(Game {
            window: frame.window,
            title: frame.source.clone(),
            kept,
        });
    }

    /// What to ask for, now that these flows of a solution are missing and this is drawn: how to draw, and what.
    pub fn ask(
        &mut self,
        solution: &[Flow],
        mut missing: Vec<Flow>,
        drawn: &[Flow],
    ) -> (GameNeeds, Draw) {
        let profile = self.state.search.profile();
        let left = self.state.clearing.ask(solution, &missing, drawn);
        if !left.is_empty() {
            // There is nothing to judge afterwards.
            self.state.asked = None;
            let needs = GameNeeds::of(Some(profile)).with_stroke_end(self.state.stroke_end);
            return (needs, Draw::Clear(left));
        }
        let batch = self.state.search.batch();
        if self.state.search.is_trying() && !self.state.reads_partial {
            // What is drawn of a board can't be looked at: it is drawn as a whole, and as surely as can be.
            self.state.stroke_end = Some(StrokeEnd::InTerminal);
        }
        let stroke_end = self.state.stroke_end;
        let is_some = |batch: &usize| self.state.reads_partial && *batch < missing.len();
        let draw = match batch.filter(is_some) {
            Some(batch) => {
                // Long flows where nothing lies show most.
                missing.sort_by_key(|flow| (!is_clean(flow, drawn), Reverse(flow.cells.len())));
                missing.truncate(batch);
                Draw::Only(missing.iter().map(|flow| flow.colour).collect())
            }
            None => Draw::All,
        };
        self.state.asked = Some(Asked {
            profile,
            stroke_end,
            drawn: drawn.to_vec(),
            flows: missing,
            is_played: false,
        });
        let needs = GameNeeds::of(Some(profile)).with_stroke_end(stroke_end);
        (needs, draw)
    }

    /// The actuator is done with what was asked for.
    pub fn played(&mut self, outcome: &Outcome) {
        let is_complete = outcome.act_ns > 0 && outcome.refused.is_none();
        self.state.clearing.played(is_complete);
        self.state.asked = self
            .state
            .asked
            .take()
            .filter(|asked| is_complete && outcome.profile == Some(asked.profile))
            .map(|asked| Asked {
                is_played: true,
                ..asked
            });
        if outcome.act_ns > 0 {
            self.state.played = self.state.asked.as_ref().map(|asked| asked.profile);
        }
    }

    /// The game has had its time to show what was drawn, these flows of a solution are missing, and this is drawn.
    /// `is_late`: the machine was busy meanwhile.
    pub fn look(
        &mut self,
        solution: &[Flow],
        missing: &[Flow],
        drawn: &[Flow],
        is_late: bool,
    ) -> Judgement {
        let Some(asked) = self.state.asked.take_if(|asked| asked.is_played) else {
            return Judgement::default();
        };
        let is_damaged = self.state.clearing.look(solution, &asked.flows, drawn);
        if is_damaged && !self.state.search.is_careful() {
            tracing::info!("what is drawn wrongly stays in this game: it is played carefully");
            self.state.search.be_careful();
            self.keep(None);
        }
        let is_asked = |pipe: &&Flow| asked.flows.iter().any(|flow| flow.colour == pipe.colour);
        let mut wrong = wrong(solution, drawn).filter(is_asked);
        if !is_late && wrong.any(|pipe| !asked.drawn.contains(pipe)) {
            self.state.search.note_wrong_pipes(asked.profile);
        }
        Judgement {
            is_exhausted: self.judge(&asked, missing, drawn, is_late),
            is_damaged,
        }
    }

    /// Judges the profile of strokes by what became of them. Returns whether too many are missing, and there is no other
    /// profile to try.
    fn judge(&mut self, asked: &Asked, missing: &[Flow], drawn: &[Flow], is_late: bool) -> bool {
        let is_missing = |flow: &&Flow| missing.contains(flow);
        let ends_beside = asked.stroke_end != Some(StrokeEnd::InTerminal);
        let short = |flow: &&Flow| ends_beside && is_missing(flow) && is_short(flow, drawn);
        if asked.flows.iter().any(|flow| short(&flow)) {
            tracing::info!("pipes end beside their terminals: asks for strokes into them");
            self.state.stroke_end = Some(StrokeEnd::InTerminal);
        }
        // A short one was led through all other cells.
        let is_missed = |flow: &&Flow| is_missing(flow) && !short(flow);
        let missed = asked.flows.iter().filter(is_missed).cloned().collect();
        let before = std::mem::replace(&mut self.state.missed, missed);
        let is_repaired = |flow: &Flow| before.contains(flow) && !is_missing(&flow);
        if asked.flows.iter().any(is_repaired) {
            self.state.search.note_repair();
        }
        // What another profile has left says nothing of this one: some games clear it at the first stroke.
        let is_same = self.state.missed_with.replace(asked.profile) == Some(asked.profile);
        let is_again = |flow: &&Flow| is_same && is_missed(flow) && before.contains(flow);
        let is_first = |flow: &&Flow| is_missed(flow) && !before.contains(flow);
        let was_clean = |flow: &&Flow| is_clean(flow, &asked.drawn);
        let mut clean = asked.flows.iter().filter(was_clean);
        let is_busy = is_late && clean.any(|flow| is_first(&flow));
        // What is missed twice in a row counts whatever lies there: a board must not stay half drawn.
        let may_judge = |flow: &&Flow| is_again(flow) || !is_busy && was_clean(flow);
        let judged = asked.flows.iter().filter(may_judge);
        let mut misses: Vec<bool> = judged.map(|flow| is_missed(&flow)).collect();
        if misses.is_empty() && !asked.flows.is_empty() {
            self.state.unjudged += 1;
            if self.state.unjudged <= UNJUDGED {
                return false;
            }
            misses = asked.flows.iter().map(|flow| is_missed(&flow)).collect();
        }
        self.state.unjudged = 0;
        self.state.search.judge(misses)
    }

    /// The current board is solved: no stroke was missed. What solved it is kept, if it is new.
    pub fn solved(&mut self) {
        let played = self.state.asked.as_ref().filter(|asked| asked.is_played);
        // Nothing else was asked for: the game joins pipes that end beside their terminals.
        let stroke_end = played.map(|asked| asked.stroke_end.unwrap_or(StrokeEnd::BesideTerminal));
        self.look(&[], &[], &[], false);
        if self.state.played == Some(self.state.search.settled()) {
            self.keep(stroke_end);
        }
    }

    /// Keeps what is found of the current game, if it is new. `stroke_end`: where strokes ended that won a board.
    fn keep(&mut self, stroke_end: Option<StrokeEnd>) {
        let state = &mut self.state;
        let Some(game) = state.game.as_mut().filter(|game| game.window.is_some()) else {
            return;
        };
        let (share, flows) = state.search.confidence();
        let confidence = (flows > 0).then(|| (share * 100.0).round() / 100.0);
        let before = game.kept.as_ref();
        let known = GameEntry {
            profile: Some(state.search.settled()),
            searching: state.search.found().is_none(),
            confidence,
            stroke_end: state
                .stroke_end
                .or(stroke_end)
                .or(before.and_then(|kept| kept.stroke_end)),
            careful: state.search.is_careful(),
            follow_display: state.search.needs_display(),
            rules: state.rules.rules(),
        };
        // What was found stays until something else is.
        let known = match before.filter(|kept| known.searching && kept.found_profile().is_some()) {
            Some(kept) => GameEntry {
                profile: kept.profile,
                searching: false,
                confidence: kept.confidence,
                ..known
            },
            None => known,
        };
        let is_same = |kept: &GameEntry| {
            let off = kept.confidence.unwrap_or(1.0) - known.confidence.unwrap_or(1.0);
            let without = |it: &GameEntry| GameEntry {
                confidence: None,
                ..it.clone()
            };
            without(kept) == without(&known) && off.abs() <= NEWS
        };
        if !before.is_some_and(is_same) {
            self.games.keep(&game.title, &known);
            game.kept = Some(known);
        }
    }
}

#[cfg(test)]
mod tests;
