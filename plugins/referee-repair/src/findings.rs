//! What is found about the current game: the experiments, their results, and what is kept.
//!
//! It is judged only by what was played as it was asked for: a planner with a profile of its own
//! is ignored. What a machine missed that was busy says nothing either, nor does a flow that was drawn over leftovers,
//! unless it was missed in the attempt before, too.

use std::cmp::Reverse;

use flowpipe_plugin::puzzle::message::{Draw, FrameNote, GameNeeds, Outcome, Profile, StrokeEnd};
use flowpipe_plugin::puzzle::{Colour, Flow};
use flowpipe_plugin::tracing;

use serde::{Deserialize, Serialize};

use crate::finder::Finder;
use crate::games::{Games, KnownGame};
use crate::leftovers::{is_clean, is_short, wrong};

/// After so many attempts in a row that can't be judged, the next one is judged as it is: it may go on like that.
const UNJUDGED: usize = 1;
/// What is drawn wrongly stays if it is there after so many attempts in a row to draw over it.
const STAYS: usize = 3;
/// A confidence that is kept is replaced once it is wrong by more than this.
const NEWS: f64 = 0.1;

/// What is found of games.
pub struct Findings {
    games: Games,
    found: Found,
}

/// What is found about the current game.
#[derive(Clone, Serialize, Deserialize)]
pub struct Found {
    finder: Finder,
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
    /// The colours of flows that were missed over what earlier strokes had left of them.
    #[serde(default)]
    stuck: Vec<Colour>,
    /// Attempts in a row after which something stayed that is drawn wrongly.
    #[serde(default)]
    stays: usize,
    /// A board of the game was read while it was partly drawn.
    #[serde(default)]
    reads_partial: bool,
}

/// The current game.
#[derive(Clone, Serialize, Deserialize)]
struct Game {
    window: Option<u64>,
    /// Its window's title when its first board was seen; some change theirs from board to board.
    title: String,
    kept: Option<KnownGame>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Asked {
    profile: Profile,
    #[serde(default)]
    stroke_end: Option<StrokeEnd>,
    /// The flows that were missing.
    flows: Vec<Flow>,
    /// Those of them whose cells were all empty.
    #[serde(default)]
    clean: Vec<Flow>,
    /// What was drawn wrongly.
    #[serde(default)]
    wrong: Vec<Flow>,
    /// Whether they were played to their end.
    is_played: bool,
}

impl Findings {
    pub fn new(games: Games) -> Self {
        Self {
            games,
            found: Found {
                finder: Finder::new(None, false),
                game: None,
                asked: None,
                played: None,
                stroke_end: None,
                unjudged: 0,
                missed: Vec::new(),
                missed_with: None,
                stuck: Vec::new(),
                stays: 0,
                reads_partial: false,
            },
        }
    }

    /// What is found, for a state transfer.
    pub fn found(&self) -> &Found {
        &self.found
    }

    /// Restores the findings of another referee.
    pub fn take_over(&mut self, found: Found) {
        self.found = found;
    }

    /// The share of the latest flows that the game took, from 0 to 1, and how many those are.
    pub fn confidence(&self) -> (f64, usize) {
        self.found.finder.confidence()
    }

    /// A board of the current game is read that is partly drawn.
    pub fn note_partial(&mut self) {
        self.found.reads_partial = true;
    }

    /// The profile to draw with now.
    pub fn profile(&self) -> Profile {
        self.found.finder.profile()
    }

    /// Whether a board of the current game was ever read that was partly drawn.
    pub fn reads_partial(&self) -> bool {
        self.found.reads_partial
    }

    /// A flow that was missed was drawn again.
    #[cfg(test)]
    pub fn note_repair(&mut self) {
        self.found.finder.note_repair();
    }

    /// Strokes have left a board that can't be read.
    pub fn spoil(&mut self) {
        self.found.asked = None;
        self.found.finder.spoil();
    }

    /// A new board is seen in a frame.
    pub fn meet(&mut self, frame: &FrameNote) {
        let found = &mut self.found;
        (found.asked, found.played, found.stays) = (None, None, 0);
        found.missed.clear();
        found.stuck.clear();
        let is_known = |game: &Game| game.window == frame.window;
        if found.game.as_ref().is_some_and(is_known) {
            return;
        }
        // A source other than a window has no lasting name.
        let kept = frame.window.and_then(|_| self.games.get(&frame.source));
        let is_careful = kept.as_ref().is_some_and(|kept| kept.careful);
        found.finder = Finder::new(kept.as_ref().and_then(|kept| kept.profile), is_careful);
        found.stroke_end = kept.as_ref().and_then(|kept| kept.stroke_end);
        found.reads_partial = false;
        found.game = Some(Game {
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
        let profile = self.found.finder.profile();
        let stuck = std::mem::take(&mut self.found.stuck);
        if !stuck.is_empty() {
            // There is nothing to judge afterwards.
            self.found.asked = None;
            self.found.missed.clear();
            let needs = GameNeeds::of(Some(profile)).with_stroke_end(self.found.stroke_end);
            return (needs, Draw::Clear(stuck));
        }
        let batch = self.found.finder.batch();
        if batch.is_some() && !self.found.reads_partial {
            // What is drawn of a board can't be looked at: it is drawn as a whole, and as surely as can be.
            self.found.stroke_end = Some(StrokeEnd::InTerminal);
        }
        let stroke_end = self.found.stroke_end;
        let is_some = |batch: &usize| self.found.reads_partial && *batch < missing.len();
        let draw = match batch.filter(is_some) {
            Some(batch) => {
                // Long flows where nothing lies show most.
                missing.sort_by_key(|flow| (!is_clean(flow, drawn), Reverse(flow.cells.len())));
                missing.truncate(batch);
                Draw::Only(missing.iter().map(|flow| flow.colour).collect())
            }
            None => Draw::All,
        };
        let clean = missing.iter().filter(|flow| is_clean(flow, drawn));
        self.found.asked = Some(Asked {
            profile,
            stroke_end,
            clean: clean.cloned().collect(),
            wrong: wrong(solution, drawn).cloned().collect(),
            flows: missing,
            is_played: false,
        });
        let needs = GameNeeds::of(Some(profile)).with_stroke_end(stroke_end);
        (needs, draw)
    }

    /// The actuator is done with what was asked for.
    pub fn played(&mut self, outcome: &Outcome) {
        let is_complete = outcome.act_ns > 0 && outcome.refused.is_none();
        self.found.asked = self
            .found
            .asked
            .take()
            .filter(|asked| is_complete && outcome.profile == Some(asked.profile))
            .map(|asked| Asked {
                is_played: true,
                ..asked
            });
        if outcome.act_ns > 0 {
            self.found.played = self.found.asked.as_ref().map(|asked| asked.profile);
        }
    }

    /// The game has had its time to show what was drawn, these flows are missing, and this is drawn. `is_late`: the machine
    /// was busy meanwhile. Returns whether too many are missing, and there is no other profile to try.
    pub fn look(&mut self, missing: &[Flow], drawn: &[Flow], is_late: bool) -> bool {
        let Some(asked) = self.found.asked.take_if(|asked| asked.is_played) else {
            return false;
        };
        let is_missing = |flow: &&Flow| missing.contains(flow);
        self.look_for_damage(&asked, drawn);
        let ends_beside = asked.stroke_end != Some(StrokeEnd::InTerminal);
        let short = |flow: &&Flow| ends_beside && is_missing(flow) && is_short(flow, drawn);
        if asked.flows.iter().any(|flow| short(&flow)) {
            tracing::info!("pipes end beside their terminals: asks for strokes into them");
            self.found.stroke_end = Some(StrokeEnd::InTerminal);
        }
        // A short one was led through all other cells.
        let is_missed = |flow: &&Flow| is_missing(flow) && !short(flow);
        let missed = asked.flows.iter().filter(is_missed).cloned().collect();
        let before = std::mem::replace(&mut self.found.missed, missed);
        let has_left = |flow: &&Flow| {
            let own = |pipe: &Flow| pipe.colour == flow.colour && pipe.cells.len() > 1;
            drawn.iter().any(own)
        };
        // Some games clear what is left of a flow when it is drawn again, and draw it the next time; or never.
        let is_stuck =
            |flow: &&Flow| !asked.clean.contains(flow) && is_missed(flow) && has_left(flow);
        let stuck = asked.flows.iter().filter(is_stuck).map(|flow| flow.colour);
        self.found.stuck = stuck.collect();
        let is_repaired = |flow: &Flow| before.contains(flow) && !is_missing(&flow);
        if asked.flows.iter().any(is_repaired) {
            self.found.finder.note_repair();
        }
        // What another profile has left says nothing of this one: some games clear it at the first stroke.
        let is_same = self.found.missed_with.replace(asked.profile) == Some(asked.profile);
        let is_again = |flow: &&Flow| is_same && is_missed(flow) && before.contains(flow);
        let is_first = |flow: &&Flow| is_missed(flow) && !before.contains(flow);
        let is_busy = is_late && asked.clean.iter().any(|flow| is_first(&flow));
        // What is missed twice in a row counts whatever lies there: a board must not stay half drawn.
        let may_judge = |flow: &&Flow| is_again(flow) || !is_busy && asked.clean.contains(flow);
        let judged = asked.flows.iter().filter(may_judge);
        let mut misses: Vec<bool> = judged.map(|flow| is_missed(&flow)).collect();
        if misses.is_empty() && !asked.flows.is_empty() {
            self.found.unjudged += 1;
            if self.found.unjudged <= UNJUDGED {
                return false;
            }
            misses = asked.flows.iter().map(|flow| is_missed(&flow)).collect();
        }
        self.found.unjudged = 0;
        self.found.finder.judge(misses)
    }

    /// Notes what was drawn wrongly, and is still there after strokes that should have replaced it.
    fn look_for_damage(&mut self, asked: &Asked, drawn: &[Flow]) {
        let is_replaced = |pipe: &&Flow| asked.flows.iter().any(|it| it.colour == pipe.colour);
        let stays = asked.wrong.iter().filter(is_replaced);
        let mut stays = stays.filter(|pipe| drawn.contains(pipe));
        self.found.stays = match stays.next() {
            Some(_) => self.found.stays + 1,
            None => 0,
        };
        if self.found.stays == STAYS {
            self.found.finder.be_careful();
        }
    }

    /// The current board is solved: no stroke was missed. What solved it is kept, if it is new.
    pub fn solved(&mut self) {
        self.look(&[], &[], false);
        let found = &mut self.found;
        let Some(game) = found.game.as_mut().filter(|game| game.window.is_some()) else {
            return;
        };
        let profile = found.finder.settled();
        if found.played != Some(profile) {
            return;
        }
        let (share, flows) = found.finder.confidence();
        let known = KnownGame {
            profile: found.finder.found(),
            stroke_end: found.stroke_end,
            confidence: (flows > 0).then(|| (share * 100.0).round() / 100.0),
            careful: found.finder.is_careful(),
            rules: None,
        };
        if known.profile.is_none() && known.stroke_end.is_none() && !known.careful {
            return;
        }
        let is_same = |kept: &KnownGame| {
            let off = kept.confidence.unwrap_or(1.0) - known.confidence.unwrap_or(1.0);
            let without = |it: &KnownGame| (it.profile, it.stroke_end, it.careful);
            without(kept) == without(&known) && off.abs() <= NEWS
        };
        if !game.kept.as_ref().is_some_and(is_same) {
            self.games.keep(&game.title, &known);
            game.kept = Some(known);
        }
    }
}

#[cfg(test)]
mod tests {
    use flowpipe_plugin::puzzle::message::StrokeOutcome;

    use super::*;

    /// Flows along rows of five cells.
    fn flows(rows: std::ops::Range<usize>) -> Vec<Flow> {
        let flow = |row: usize| Flow::new(row as u16, (5 * row..5 * row + 5).collect());
        rows.map(flow).collect()
    }

    /// The same, drawn to their second cell.
    fn begun(rows: std::ops::Range<usize>) -> Vec<Flow> {
        let mut flows = flows(rows);
        flows.iter_mut().for_each(|flow| flow.cells.truncate(2));
        flows
    }

    /// Plays what is missing of eight flows, misses the first of them, and returns the profile that was asked for.
    fn attempt(
        findings: &mut Findings,
        missing: usize,
        leftovers: &[Flow],
        missed: usize,
        is_late: bool,
    ) -> Profile {
        let (needs, _) = findings.ask(&flows(0..8), flows(0..missing), leftovers);
        let profile = needs.profile.unwrap();
        let strokes = vec![StrokeOutcome::new(0, None); missing];
        let outcome = Outcome::new("mouse", FrameNote::of("window"), strokes);
        findings.played(&outcome.with_act_ns(1).with_profile(profile));
        findings.look(&flows(0..missed), &begun(0..missed), is_late);
        profile
    }

    fn findings() -> Findings {
        let mut findings = Findings::new(Games::none());
        findings.meet(&FrameNote::of("window"));
        findings.found.finder = Finder::new(Some(Profile::Events), false);
        findings
    }

    #[test]
    fn a_board_that_stays_half_drawn_goes_down_the_ladder() {
        let mut findings = findings();
        let mut asked = vec![attempt(&mut findings, 8, &[], 3, false)];
        // Each profile draws over what is left, has it cleared, and draws again.
        for _ in 0..3 * Profile::LADDER.len() {
            asked.push(attempt(&mut findings, 3, &begun(0..3), 3, false));
        }
        asked.dedup();
        assert_eq!(asked, Profile::LADDER);
    }

    #[test]
    fn one_flow_that_is_missed_twice_slows_down() {
        let mut findings = findings();
        attempt(&mut findings, 8, &[], 1, false);
        assert_eq!(findings.found.finder.profile(), Profile::Events);
        attempt(&mut findings, 1, &begun(0..1), 1, false);
        assert_eq!(findings.found.finder.profile(), Profile::Segments);
    }

    #[test]
    fn leftovers_that_are_in_the_way_once_say_nothing() {
        let mut findings = findings();
        attempt(&mut findings, 8, &begun(0..3), 3, false);
        assert_eq!(findings.confidence(), (1.0, 5));
        attempt(&mut findings, 3, &begun(0..3), 0, false);
        assert_eq!(findings.found.finder.profile(), Profile::Events);
    }

    #[test]
    fn a_busy_machine_excuses_one_attempt() {
        let mut findings = findings();
        attempt(&mut findings, 8, &[], 3, true);
        assert_eq!(findings.confidence(), (0.0, 0));
        attempt(&mut findings, 3, &begun(0..3), 3, true);
        assert_eq!(findings.found.finder.profile(), Profile::Segments);
    }

    #[test]
    fn flows_that_replace_each_other_slow_down_too() {
        let mut findings = findings();
        let mut miss = |row: usize| {
            let flows = flows(row..row + 2);
            let (needs, _) = findings.ask(&flows, flows.clone(), &begun(row..row + 2));
            let outcome = Outcome::new("mouse", FrameNote::of("window"), Vec::new());
            findings.played(&outcome.with_act_ns(1).with_profile(needs.profile.unwrap()));
            findings.look(&flows, &begun(row..row + 2), false);
            findings.found.finder.profile()
        };
        // They are cleared in between.
        let profiles = [0, 2, 4].map(&mut miss);
        assert_eq!(
            profiles,
            [Profile::Events, Profile::Events, Profile::Segments]
        );
    }
}
