//! Finds the profile that a game needs by the strokes that it accepts.

use std::collections::{BTreeMap, VecDeque};

use flowpipe_plugin::puzzle::message::Profile;
use flowpipe_plugin::tracing;
use serde::{Deserialize, Serialize};

/// Flows that a profile is judged by.
const WINDOW: usize = 40;
/// More than this share of them missed is too much. A few in a hundred fail anywhere.
const TOO_MANY: f64 = 0.08;
/// The same where the next slower profile takes several times as long, or much slower ones would follow a trial: to draw
/// some flows again takes less.
const TOO_MANY_OF_SLOW: f64 = 0.2;
/// Where no profile is good enough, another one has to take so much more of the flows to be preferred.
const BETTER: f64 = 0.15;
/// An unknown game begins with this: it works nearly everywhere, and a board that is spoiled may stay so.
const START: Profile = Profile::Slow;
/// What is tried in an unknown game, in this order, until one is taken: most games need the first.
const TRIALS: [Profile; 5] = [
    Profile::Segments,
    Profile::Events,
    Profile::Turns,
    Profile::Cells,
    Profile::Frames,
];
/// After so many flows in a row that an unknown game took, the first of them is tried.
const EVIDENCE: usize = 3;
/// Once one was taken, the next faster profile is tried after so many flows in a row that were taken, and with each such
/// trial that fails after twice as many.
const FIRST_TRIAL: usize = 30;
/// So many times as many where nothing that was missed has ever been drawn again: a trial that fails may spoil the board.
const UNREPAIRED: usize = 8;
/// The most flows before another trial.
const LAST_TRIAL: usize = 960;
/// A faster profile stays after so many flows.
const PASSED: usize = 15;

/// Begins slowly in an unknown game, and tries faster profiles once flows are taken. Goes from a profile to the next
/// slower one while flows are missed, to the best of all where each is too bad, and back to a faster one once that is
/// taken.
#[derive(Clone, Serialize, Deserialize)]
pub struct Finder {
    /// The profile that the game seems to need.
    settled: Profile,
    /// A faster one that is tried now.
    trial: Option<Profile>,
    /// Whether each of the latest flows drawn for a profile was missed.
    records: BTreeMap<Profile, Record>,
    /// Flows in a row that were taken.
    taken: usize,
    /// The flows in a row that have to be taken before a faster profile is tried.
    next_trial: usize,
    /// Missed strokes do damage that stays: no profile is tried for its speed alone.
    is_careful: bool,
    /// The game is unknown, and no profile but the one that it began with was taken so far.
    #[serde(default)]
    is_unknown: bool,
    /// A flow that was missed was drawn again, so that trials do no harm.
    #[serde(default)]
    is_repaired: bool,
}

/// What became of the flows that were drawn for a profile.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Record {
    missed: VecDeque<bool>,
    /// Too many were missed at some time.
    has_failed: bool,
}

impl Record {
    fn add(&mut self, missed: bool) {
        if self.missed.len() == WINDOW {
            self.missed.pop_front();
        }
        self.missed.push_back(missed);
    }

    fn count_missed(&self) -> usize {
        self.missed.iter().filter(|&&missed| missed).count()
    }

    /// The share of flows that were taken; `None`: none was drawn.
    fn share(&self) -> Option<f64> {
        let all = self.missed.len();
        (all > 0).then(|| (all - self.count_missed()) as f64 / all as f64)
    }

    /// Whether more than a share is missed. One alone is chance, whatever its share.
    fn fails(&self, too_many: f64) -> bool {
        let missed = self.count_missed();
        missed > 1 && missed as f64 > too_many * self.missed.len() as f64
    }
}

impl Finder {
    /// Begins with what was found in an earlier run, or slowly.
    pub fn new(earlier: Option<Profile>, is_careful: bool) -> Self {
        Self {
            settled: earlier.unwrap_or(START),
            trial: None,
            records: BTreeMap::new(),
            taken: 0,
            next_trial: FIRST_TRIAL,
            is_careful,
            is_unknown: earlier.is_none(),
            is_repaired: false,
        }
    }

    /// How many flows to draw at once at most: few while a profile is tried, more as they are taken. `None`: any number.
    pub fn batch(&self) -> Option<usize> {
        self.trial.map(|_| self.taken.max(1))
    }

    /// A flow that was missed was drawn again.
    pub fn note_repair(&mut self) {
        self.is_repaired = true;
    }

    /// Strokes have left a board that can't be read: their profile is too fast, whatever was taken of it.
    pub fn spoil(&mut self) {
        const WHY: &str = "the board can't be read after its strokes";
        let profile = self.profile();
        self.records.entry(profile).or_default().has_failed = true;
        if self.trial.is_some() {
            self.leave(profile, WHY);
        } else if let Some(slower) = profile.slower() {
            self.settle(slower, WHY);
        }
    }

    /// The profile to draw with.
    pub fn profile(&self) -> Profile {
        self.trial.unwrap_or(self.settled)
    }

    /// The profile that the game seems to need.
    pub fn settled(&self) -> Profile {
        self.settled
    }

    /// The same, once faster ones were tried.
    pub fn found(&self) -> Option<Profile> {
        (!self.is_unknown).then_some(self.settled)
    }

    /// The share of the latest flows that the game took with the settled profile, from 0 to 1, and how many those are.
    pub fn confidence(&self) -> (f64, usize) {
        let record = self.records.get(&self.settled);
        let share = record.and_then(Record::share).unwrap_or_default();
        (share, record.map_or(0, |record| record.missed.len()))
    }

    /// Missed strokes do damage that stays.
    pub fn be_careful(&mut self) {
        if !std::mem::replace(&mut self.is_careful, true) {
            self.trial = None;
            self.is_unknown = false;
            if let Some(slower) = self.settled.slower() {
                self.settle(slower, "what is drawn wrongly stays");
            }
        }
    }

    /// Whether missed strokes do damage that stays.
    pub fn is_careful(&self) -> bool {
        self.is_careful
    }

    /// Judges flows that were drawn for the profile: which were missed. Returns whether too many were, and there is no
    /// profile that was not tried.
    pub fn judge(&mut self, missed: impl IntoIterator<Item = bool>) -> bool {
        let profile = self.profile();
        let too_many = match self.is_unknown || profile >= Profile::Turns {
            true => TOO_MANY_OF_SLOW,
            false => TOO_MANY,
        };
        let record = self.records.entry(profile).or_default();
        for missed in missed {
            self.taken = if missed { 0 } else { self.taken + 1 };
            record.add(missed);
        }
        if record.fails(too_many) {
            record.has_failed = true;
            let (missed, all) = (record.count_missed(), record.missed.len());
            return self.leave(profile, &format!("{missed} of {all} flows were missed"));
        }
        let (taken, all) = (
            record.missed.len() - record.count_missed(),
            record.missed.len(),
        );
        let why = format!("{} flows in a row were taken", self.taken);
        if self.trial == Some(profile) {
            if all >= PASSED {
                let why = format!("{taken} of {all} flows were taken");
                self.trial = None;
                self.next_trial = FIRST_TRIAL;
                self.is_unknown = false;
                self.settle(profile, &why);
            }
        } else if let Some(faster) = self.candidate()
            && !self.is_careful
        {
            let (slow, fast) = (profile.name(), faster.name());
            tracing::info!("{why} with profile {slow}: tries {fast}");
            self.records.remove(&faster);
            self.trial = Some(faster);
            self.taken = 0;
        }
        false
    }

    /// What was not tried yet in an unknown game.
    fn first_trial(&self) -> Option<Profile> {
        let is_new = |it: &Profile| *it < self.settled && !self.records.contains_key(it);
        TRIALS.into_iter().find(is_new).filter(|_| self.is_unknown)
    }

    /// The profile to try now, if there is one.
    fn candidate(&self) -> Option<Profile> {
        if let Some(first) = self.first_trial() {
            return Some(first).filter(|_| self.taken >= EVIDENCE);
        }
        let patience = match self.is_repaired {
            true => self.next_trial,
            false => self.next_trial.saturating_mul(UNREPAIRED),
        };
        let is_due = self.taken >= patience;
        self.settled.faster().filter(|_| is_due)
    }

    /// A profile misses too much.
    fn leave(&mut self, profile: Profile, why: &str) -> bool {
        if self.trial.take().is_some() {
            if !self.is_unknown {
                self.next_trial = (self.next_trial * 2).min(LAST_TRIAL);
            }
            self.is_unknown &= self.first_trial().is_some();
            let settled = self.settled;
            self.settle(settled, why);
            return false;
        }
        if let Some(next) = self.untried(profile) {
            self.settle(next, why);
            return false;
        }
        let share = |profile| self.records.get(&profile).and_then(Record::share);
        let mut best = profile;
        for other in Profile::LADDER {
            if share(other) > share(best).map(|share| share + BETTER) {
                best = other;
            }
        }
        if best != profile {
            self.settle(best, why);
        }
        true
    }

    /// The next slower profile that has not failed, or else the next faster one.
    fn untried(&self, profile: Profile) -> Option<Profile> {
        let has_failed = |it: &Profile| self.records.get(it).is_some_and(|it| it.has_failed);
        let slower = std::iter::successors(profile.slower(), |it| it.slower());
        let faster = std::iter::successors(profile.faster(), |it| it.faster());
        slower.chain(faster).find(|it| !has_failed(it))
    }

    fn settle(&mut self, profile: Profile, why: &str) {
        tracing::info!("{why}: asks for profile {}", profile.name());
        self.settled = profile;
        self.taken = 0;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A number of flows, the first of them missed.
    fn flows(missed: usize, all: usize) -> impl Iterator<Item = bool> {
        (0..all).map(move |flow| flow < missed)
    }

    #[test]
    fn many_misses_slow_down_and_luck_does_not() {
        let mut finder = Finder::new(Some(Profile::Events), false);
        for _ in 0..5 {
            finder.judge(flows(0, 8));
        }
        // One of 40: chance.
        finder.judge(flows(1, 1));
        assert_eq!(finder.profile(), Profile::Events);
        // Three of 40 are less than 8 %, four are more.
        finder.judge(flows(2, 8));
        assert_eq!(finder.profile(), Profile::Events);
        finder.judge(flows(1, 1));
        assert_eq!(finder.profile(), Profile::Segments);
        // What was missed before does not count against it.
        finder.judge(flows(1, 9));
        assert_eq!(finder.profile(), Profile::Segments);
    }

    #[test]
    fn where_each_is_too_bad_the_best_stays() {
        let mut finder = Finder::new(Some(Profile::Events), false);
        let mut judge = |missed| {
            let profile = finder.profile();
            (profile, finder.judge(flows(missed, 10)), finder.profile())
        };
        assert_eq!(judge(10), (Profile::Events, false, Profile::Segments));
        assert_eq!(judge(6), (Profile::Segments, false, Profile::Turns));
        assert_eq!(judge(3), (Profile::Turns, false, Profile::Cells));
        assert_eq!(judge(9), (Profile::Cells, false, Profile::Frames));
        assert_eq!(judge(8), (Profile::Frames, false, Profile::Slow));
        assert_eq!(
            judge(3),
            (Profile::Slow, true, Profile::Slow),
            "hardly better"
        );
        assert_eq!(judge(10), (Profile::Slow, true, Profile::Turns));
        assert_eq!(judge(2), (Profile::Turns, true, Profile::Turns));
        let mut finder = Finder::new(Some(Profile::Clicks), false);
        assert!(finder.judge(flows(3, 3)));
        assert!(!finder.judge(flows(0, WINDOW)));
        assert_eq!(finder.profile(), Profile::Clicks);
    }

    #[test]
    fn what_was_found_slow_may_be_too_slow_for_the_game() {
        let mut finder = Finder::new(Some(Profile::Slow), false);
        assert!(!finder.judge(flows(3, 3)));
        assert_eq!(finder.profile(), Profile::Frames);
    }

    #[test]
    fn a_faster_profile_is_tried_after_longer_and_longer() {
        let mut finder = Finder::new(Some(Profile::Turns), false);
        finder.note_repair();
        let mut until_trial = || {
            let mut flows_taken = 0;
            while finder.profile() == Profile::Turns {
                finder.judge([false]);
                flows_taken += 1;
            }
            assert_eq!(finder.profile(), Profile::Segments);
            assert_eq!(finder.settled(), Profile::Turns, "until it has passed");
            finder.judge(flows(2, 3));
            assert_eq!(finder.profile(), Profile::Turns);
            flows_taken
        };
        assert_eq!([(); 3].map(|()| until_trial()), [30, 60, 120]);
        // One that passes stays.
        finder.judge(flows(0, 240));
        finder.judge(flows(0, PASSED));
        assert_eq!(finder.settled(), Profile::Segments);
    }

    /// Plays flows one by one in a game that takes some profiles, and returns the profiles in their order.
    fn play(finder: &mut Finder, takes: &[Profile], flows: usize) -> Vec<Profile> {
        let mut asked = Vec::new();
        for _ in 0..flows {
            let profile = finder.profile();
            if asked.last() != Some(&profile) {
                asked.push(profile);
            }
            let missed = !takes.contains(&profile);
            finder.judge([missed]);
            if missed {
                finder.note_repair();
            }
        }
        asked
    }

    #[test]
    fn an_unknown_game_is_begun_slowly_and_soon_played_as_fast_as_it_takes() {
        use Profile::{Cells, Events, Segments, Slow, Turns};
        let begin = |takes: &[Profile], flows| {
            let mut finder = Finder::new(None, false);
            let asked = play(&mut finder, takes, flows);
            (asked, finder.settled())
        };
        let found = begin(&[Segments, Turns, Slow], 3 + PASSED);
        assert_eq!(found, (vec![Slow, Segments], Segments));
        let found = begin(&[Events, Cells, Slow], 3 + 2 + 3 + PASSED);
        assert_eq!(found, (vec![Slow, Segments, Slow, Events], Events));
        let found = begin(&[Cells, Slow], 4 * 3 + 3 * 2 + PASSED);
        let asked = vec![Slow, Segments, Slow, Events, Slow, Turns, Slow, Cells];
        assert_eq!(found, (asked, Cells));
        let (asked, settled) = begin(&[Slow], 100);
        assert_eq!(
            (asked.len(), settled),
            (13, Slow),
            "each is tried, then one again: {asked:?}"
        );
    }

    #[test]
    fn a_trial_risks_few_flows_at_once() {
        let mut finder = Finder::new(None, false);
        assert_eq!(finder.batch(), None);
        finder.judge(flows(0, 5));
        let mut batches = Vec::new();
        while let Some(batch) = finder.batch() {
            batches.push(batch);
            finder.judge(flows(0, batch));
        }
        assert_eq!(batches, [1, 1, 2, 4, 8]);
        assert_eq!(finder.settled(), Profile::Segments);
    }

    #[test]
    fn where_nothing_was_ever_repaired_a_trial_comes_late() {
        let flows_before = |is_repaired| {
            let mut finder = Finder::new(Some(Profile::Segments), false);
            if is_repaired {
                finder.note_repair();
            }
            let mut flows = 0;
            while finder.batch().is_none() {
                finder.judge([false]);
                flows += 1;
            }
            flows
        };
        assert_eq!([true, false].map(flows_before), [30, 240]);
    }

    #[test]
    fn strokes_that_leave_a_board_unreadable_slow_down() {
        let mut finder = Finder::new(None, false);
        finder.judge(flows(0, 5));
        assert_eq!(finder.profile(), Profile::Segments);
        finder.spoil();
        assert_eq!(finder.profile(), Profile::Slow);
        finder.spoil();
        assert_eq!(finder.profile(), Profile::Slow, "never faster");
        let mut finder = Finder::new(Some(Profile::Segments), false);
        finder.spoil();
        assert_eq!(finder.settled(), Profile::Turns);
    }

    #[test]
    fn where_damage_stays_nothing_is_tried_for_its_speed() {
        let mut finder = Finder::new(Some(Profile::Turns), false);
        finder.be_careful();
        finder.be_careful();
        assert_eq!(finder.profile(), Profile::Cells, "once");
        finder.judge(flows(0, 2000));
        assert_eq!(finder.profile(), Profile::Cells);
        assert!(finder.is_careful());
    }

    proptest! {
        /// A game that takes a profile always, and all others never, is found within a board of three flows for each.
        #[test]
        fn the_only_profile_that_works_is_found(rung in 0..Profile::LADDER.len(), begins in prop::option::of(0..6_usize)) {
            let works = Profile::LADDER[rung];
            let mut finder = Finder::new(begins.map(|it| Profile::LADDER[it]), false);
            for _ in 0..Profile::LADDER.len() {
                let misses = finder.profile() != works;
                finder.judge([misses; 3]);
            }
            prop_assert_eq!(finder.settled(), works);
        }

        /// Whatever a game takes, a profile is asked for that is on the ladder, and a trial is faster.
        #[test]
        fn it_never_leaves_the_ladder(boards in prop::collection::vec((0..6_usize, 1..12_usize), 0..60)) {
            let mut finder = Finder::new(None, false);
            for (missed, all) in boards {
                finder.judge(flows(missed.min(all), all));
                prop_assert!(Profile::LADDER.contains(&finder.settled()));
                prop_assert!(finder.profile() <= finder.settled());
                let (share, count) = finder.confidence();
                prop_assert!((0.0..=1.0).contains(&share) && count <= WINDOW);
            }
        }
    }
}
