//! Finds the profile that a game needs by the strokes that it accepts.

use std::collections::VecDeque;

use flowpipe_plugin::puzzle::message::Profile;
use flowpipe_plugin::tracing;
use serde::{Deserialize, Serialize};

/// Flows that a profile is judged by.
const WINDOW: usize = 40;
/// More than this share of them missed is too much. A few in a hundred fail anywhere.
const TOO_MANY: f64 = 0.08;
/// After so many flows in a row that were all taken, what was found in an earlier run may have become
/// slower than it has to be.
const STEADY: usize = 100;

/// Goes from a profile to the next slower one while flows are missed.
///
/// A profile that was found in an earlier run is tested once: after [`STEADY`] flows the next
/// faster one is tried.
#[derive(Clone, Serialize, Deserialize)]
pub struct Finder {
    profile: Profile,
    /// Whether each of the latest flows drawn for this profile was missed.
    missed: VecDeque<bool>,
    /// Flows in a row that were taken.
    taken: usize,
    /// Whether a faster profile is still to be tried.
    may_hurry: bool,
}

impl Finder {
    /// Begins with what was found in an earlier run, or with the fastest.
    pub fn new(earlier: Option<Profile>) -> Self {
        Self {
            profile: earlier.unwrap_or(Profile::LADDER[0]),
            missed: VecDeque::new(),
            taken: 0,
            may_hurry: earlier.is_some(),
        }
    }

    /// The profile that the game seems to need.
    pub fn profile(&self) -> Profile {
        self.profile
    }

    /// Judges flows that were drawn for the profile: which were missed. Returns whether too many were, and there is no
    /// slower profile.
    pub fn judge(&mut self, missed: impl IntoIterator<Item = bool>) -> bool {
        for missed in missed {
            self.taken = if missed { 0 } else { self.taken + 1 };
            self.missed.push_back(missed);
        }
        while self.missed.len() > WINDOW {
            self.missed.pop_front();
        }
        let missed = self.missed.iter().filter(|&&missed| missed).count();
        // One alone is chance, whatever its share.
        if missed > 1 && missed as f64 > TOO_MANY * self.missed.len() as f64 {
            let why = format!("{missed} of {} flows were missed", self.missed.len());
            let slower = self.profile.slower();
            self.go_to(slower, &why);
            return slower.is_none();
        }
        if self.taken >= STEADY && std::mem::take(&mut self.may_hurry) {
            let why = format!("{} flows in a row were taken", self.taken);
            self.go_to(self.profile.faster(), &why);
        }
        false
    }

    fn go_to(&mut self, profile: Option<Profile>, why: &str) {
        if let Some(profile) = profile {
            tracing::info!(
                "{why} with profile {}: asks for {}",
                self.profile.name(),
                profile.name()
            );
            self.profile = profile;
            self.missed.clear();
            self.taken = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number of flows, the first of them missed.
    fn flows(missed: usize, all: usize) -> impl Iterator<Item = bool> {
        (0..all).map(move |flow| flow < missed)
    }

    #[test]
    fn many_misses_slow_down_and_luck_does_not() {
        let mut finder = Finder::new(None);
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
    fn it_ends_at_the_slowest_and_clicks_have_none() {
        let mut finder = Finder::new(None);
        let mut seen = vec![finder.profile()];
        let mut is_exhausted = Vec::new();
        for _ in 0..6 {
            is_exhausted.push(finder.judge(flows(3, 3)));
            seen.push(finder.profile());
        }
        assert_eq!(is_exhausted, [false, false, false, false, true, true]);
        assert_eq!(seen[..5], Profile::LADDER);
        assert_eq!(seen[5..], [Profile::Slow; 2]);
        let mut finder = Finder::new(Some(Profile::Clicks));
        assert!(finder.judge(flows(3, 3)));
        assert!(!finder.judge(flows(0, STEADY)));
        assert_eq!(finder.profile(), Profile::Clicks);
    }

    #[test]
    fn what_was_found_earlier_is_put_in_question_once() {
        let mut finder = Finder::new(Some(Profile::Turns));
        finder.judge(flows(0, STEADY - 1));
        assert_eq!(finder.profile(), Profile::Turns);
        finder.judge(flows(0, 1));
        assert_eq!(finder.profile(), Profile::Segments);
        finder.judge(flows(2, 5));
        assert_eq!(finder.profile(), Profile::Turns);
        finder.judge(flows(0, 3 * STEADY));
        assert_eq!(finder.profile(), Profile::Turns, "once");
        let mut found_now = Finder::new(None);
        found_now.judge(flows(2, 5));
        found_now.judge(flows(0, 3 * STEADY));
        assert_eq!(found_now.profile(), Profile::Segments);
    }
}
