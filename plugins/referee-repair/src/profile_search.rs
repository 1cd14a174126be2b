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
/// What is tried in a game that was begun slowly, in this order, until one is taken: most games need the first.
const TRIALS: [Profile; 5] = [
    Profile::Segments,
    Profile::Events,
    Profile::Turns,
    Profile::Frames,
    Profile::Cells,
];
/// After so many flows in a row that such a game took, the first of them is tried.
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
/// After so many flows in a row that were taken any number is drawn at once again.
const RECOVERED: usize = 8;
/// More than this share of the flows of one attempt missed is too much, however many were taken before: the board may be
/// larger than those, and the game slower.
const TOO_MANY_AT_ONCE: f64 = 0.25;

/// Begins slowly in an unknown game, and tries faster profiles once flows are taken. Begins slowly again where a profile
/// misses too many, until each was tried; then goes to the next slower one, and to the best of all where each is too bad.
/// Tries what was taken at some time again after longer and longer.
#[derive(Clone, Serialize, Deserialize)]
pub struct ProfileSearch {
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
    /// The game was begun slowly, and no faster profile was taken since.
    #[serde(default, alias = "is_unknown")]
    is_searching: bool,
    /// The last profile that was left because it missed too many: it may be good again.
    #[serde(default)]
    left: Option<Profile>,
    /// Too many flows were missed lately. Few are drawn at once until enough of them are taken: a game that lags gets time.
    #[serde(default)]
    is_recovering: bool,
    /// A flow that was missed was drawn again, so that trials do no harm.
    #[serde(default)]
    is_repaired: bool,
    /// Where the pointer is faster than the game draws, the game draws the shortest way, also over other flows.
    #[serde(default)]
    needs_display: bool,
}

/// Whether the pointer waits until the game has drawn.
fn follows_display(profile: Profile) -> bool {
    profile.manner().pace.until_shown_ms > 0.0
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

impl ProfileSearch {
    /// Begins with what was found in an earlier run, or slowly.
    pub fn new(earlier: Option<Profile>, is_careful: bool) -> Self {
        Self {
            settled: earlier.unwrap_or(START),
            trial: None,
            records: BTreeMap::new(),
            taken: 0,
            next_trial: FIRST_TRIAL,
            is_careful,
            is_searching: earlier.is_none(),
            left: None,
            is_recovering: false,
            is_repaired: false,
            needs_display: false,
        }
    }

    /// How many flows to draw at once at most: few while a profile is tried and after many were missed, more as they are
    /// taken. `None`: any number.
    pub fn batch(&self) -> Option<usize> {
        let is_limited = self.trial.is_some() || self.is_recovering;
        is_limited.then(|| self.taken.max(1))
    }

    /// Whether a profile is tried now.
    pub fn is_trying(&self) -> bool {
        self.trial.is_some()
    }

    /// A flow that was missed was drawn again.
    pub fn note_repair(&mut self) {
        self.is_repaired = true;
    }

    /// The same for a game of which this is known; see [`ProfileSearch::needs_display`].
    pub fn with_needs_display(mut self, needs_display: bool) -> Self {
        self.needs_display = needs_display;
        self
    }

    /// Strokes with a profile have drawn over other flows. If it may be faster than the game, no such profile is tried any
    /// more.
    pub fn note_wrong_pipes(&mut self, profile: Profile) {
        if !follows_display(profile) && !std::mem::replace(&mut self.needs_display, true) {
            tracing::info!(
                "the game draws over other flows where the mouse is faster: tries only profiles that follow its display"
            );
        }
    }

    /// Whether only profiles that follow the display are tried.
    pub fn needs_display(&self) -> bool {
        self.needs_display
    }

    /// Whether a profile may be tried.
    fn may_try(&self, profile: Profile) -> bool {
        !self.needs_display || follows_display(profile)
    }

    /// The slower profiles that may be tried, the next one first.
    fn slower(&self, than: Profile) -> impl Iterator<Item = Profile> {
        let slower = std::iter::successors(than.slower(), |it| it.slower());
        slower.filter(|it| self.may_try(*it))
    }

    /// The faster profiles that may be tried, the next one first.
    fn faster(&self, than: Profile) -> impl Iterator<Item = Profile> {
        let faster = std::iter::successors(than.faster(), |it| it.faster());
        faster.filter(|it| self.may_try(*it))
    }

    /// Strokes have left a board that can't be read: their profile is too fast, whatever was taken of it.
    pub fn spoil(&mut self) {
        const WHY: &str = "the board can't be read after its strokes";
        let profile = self.profile();
        self.records.entry(profile).or_default().has_failed = true;
        if self.trial.is_some() {
            self.leave(profile, WHY);
            return;
        }
        let slower = self.slower(profile).next();
        if let Some(slower) = slower {
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
        (!self.is_searching).then_some(self.settled)
    }

    /// The share of the latest flows that the game took with the settled profile, from 0 to 1, and how many those are.
    pub fn confidence(&self) -> (f64, usize) {
        let record = self.records.get(&self.settled);
        let share = record.and_then(Record::share).unwrap_or_default();
        (share, record.map_or(0, |record| record.missed.len()))
    }

    /// The profiles that were judged, each with the flows that were taken, in words.
    pub fn summary(&self) -> String {
        let judged = self
            .records
            .iter()
            .filter(|(_, record)| !record.missed.is_empty());
        let judged = judged.map(|(profile, record)| {
            let all = record.missed.len();
            format!(
                "{} {} of {all}",
                profile.name(),
                all - record.count_missed()
            )
        });
        let judged: Vec<String> = judged.collect();
        match judged.is_empty() {
            true => "none judged".to_owned(),
            false => judged.join(", "),
        }
    }

    /// Missed strokes do damage that stays.
    pub fn be_careful(&mut self) {
        if !std::mem::replace(&mut self.is_careful, true) {
            self.trial = None;
            self.is_searching = false;
            let slower = self.slower(self.settled).next();
            if let Some(slower) = slower {
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
        let too_many = match self.is_searching || profile >= Profile::Turns {
            true => TOO_MANY_OF_SLOW,
            false => TOO_MANY,
        };
        let record = self.records.entry(profile).or_default();
        let mut attempt = Record::default();
        for missed in missed {
            self.taken = if missed { 0 } else { self.taken + 1 };
            record.add(missed);
            attempt.add(missed);
        }
        self.is_recovering &= self.taken < RECOVERED;
        if record.fails(too_many) || attempt.fails(TOO_MANY_AT_ONCE) {
            record.has_failed = true;
            self.is_recovering = true;
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
                // A game that takes stops of a frame in each cell may take shorter ones as well.
                self.next_trial = match profile {
                    Profile::Frames if self.may_try(Profile::Cells) => EVIDENCE,
                    _ => FIRST_TRIAL,
                };
                self.is_searching = false;
                self.left = self.left.filter(|left| *left < profile);
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

    /// What was not tried yet since the game was begun slowly. What is faster than a profile that was left would miss more.
    fn first_trial(&self) -> Option<Profile> {
        let is_new = |it: &Profile| {
            let is_slower = self.left.is_none_or(|left| *it > left);
            let is_open = self.may_try(*it) && !self.records.contains_key(it);
            is_slower && is_open && *it < self.settled
        };
        TRIALS
            .into_iter()
            .find(is_new)
            .filter(|_| self.is_searching)
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
        let left = self.left.filter(|left| *left < self.settled);
        let left = left.filter(|left| self.may_try(*left));
        left.or_else(|| self.faster(self.settled).next())
            .filter(|_| is_due)
    }

    /// A profile misses too much.
    fn leave(&mut self, profile: Profile, why: &str) -> bool {
        if self.trial.take().is_some() {
            if !self.is_searching {
                self.next_trial = (self.next_trial * 2).clamp(FIRST_TRIAL, LAST_TRIAL);
            }
            let settled = self.settled;
            self.settle(settled, why);
            self.is_searching &= self.first_trial().is_some();
            return false;
        }
        let has_failed = |it: &Profile| self.records.get(it).is_some_and(|it| it.has_failed);
        if profile < START && !has_failed(&START) {
            // From there the others are tried on a few flows at a time: each one that fails may do damage.
            self.left = Some(profile);
            self.settle(START, why);
            self.is_searching = !self.is_careful;
            self.is_searching &= self.first_trial().is_some();
            return false;
        }
        if let Some(next) = self.untried(profile) {
            self.settle(next, why);
            self.is_searching &= self.first_trial().is_some();
            return false;
        }
        let share = |profile| self.records.get(&profile).and_then(Record::share);
        let mut best = profile;
        for other in Profile::LADDER.into_iter().filter(|it| self.may_try(*it)) {
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
        let mut others = self.slower(profile).chain(self.faster(profile));
        others.find(|it| !has_failed(it))
    }

    fn settle(&mut self, profile: Profile, why: &str) {
        tracing::info!("{why}: asks for profile {}", profile.name());
        self.settled = profile;
        self.taken = 0;
    }
}

#[cfg(test)]
mod tests;
