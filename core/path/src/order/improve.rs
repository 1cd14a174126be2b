//! Changes that make an order better.

use super::towns::{Town, Towns};
use super::{LEAST_GAIN, LONGEST_MOVED, TRIALS, TRIALS_PER_FLOW};

/// An order that is being improved.
pub(super) struct Improving<'a> {
    towns: &'a Towns,
    /// From nowhere through all flows to nowhere.
    pub tour: Vec<Town>,
    /// What runs would cost if they were gone through from their end, each flow turned where it may
    /// be, beyond what they cost. Of the run from `a` to `b`: `links[b] - links[a]` for its links and
    /// `flows[b + 1] - flows[a]` for its flows.
    links: Vec<f64>,
    flows: Vec<f64>,
    trials: usize,
}

/// Something to change.
#[derive(Clone, Copy, Debug)]
pub(super) enum Change {
    /// The run from the first to the last place is turned round.
    Turn {
        /// Its first place.
        first: usize,
        /// Its last.
        last: usize,
    },
    /// A number of them from a place on move in front of what is at another place (of all that is left),
    /// turned round or not.
    Move {
        /// The first place of the run.
        from: usize,
        /// How many go.
        count: usize,
        /// Where they go.
        to: usize,
        /// Whether the run is turned round.
        turned: bool,
    },
}

impl<'a> Improving<'a> {
    /// From an order of all flows.
    pub fn new(towns: &'a Towns, order: &[Town]) -> Self {
        let nowhere = towns.nowhere();
        let mut tour = Vec::with_capacity(order.len() + 2);
        tour.push(nowhere);
        tour.extend_from_slice(order);
        tour.push(nowhere);
        let mut improving = Self {
            towns,
            tour,
            links: Vec::with_capacity(order.len() + 2),
            flows: Vec::with_capacity(order.len() + 3),
            trials: TRIALS + TRIALS_PER_FLOW * order.len(),
        };
        improving.sum_up();
        improving
    }

    /// Changes what gains most at one place after the other, until nothing gains or the budget is
    /// spent.
    pub fn run(mut self) -> Vec<Town> {
        let count = self.tour.len() - 2;
        // How far from a place changes are searched, so that all places get their share.
        let window = (self.trials / (8 * count.max(1))).max(8);
        let (mut at, mut idle) = (1, 0);
        while idle < count && self.trials > 0 {
            match self.best_change(at, window) {
                Some(change) => {
                    self.apply(change);
                    idle = 0;
                }
                None => {
                    idle += 1;
                    at = at % count + 1;
                }
            }
        }
        self.tour[1..=count].to_vec()
    }

    fn best_change(&mut self, at: usize, window: usize) -> Option<Change> {
        let last_place = self.tour.len() - 2;
        let (mut best, mut most) = (None, LEAST_GAIN);
        let end = (at + window).min(last_place);
        for last in at..=end {
            let gain = self.gain_of_turn(at, last);
            if gain > most {
                most = gain;
                best = Some(Change::Turn { first: at, last });
            }
        }
        let mut trials = end + 1 - at;
        for count in 1..=LONGEST_MOVED.min(last_place + 1 - at) {
            let first = at.saturating_sub(window).max(1);
            let last = (at + window).min(last_place + 1 - count);
            let out = self.gain_of_removal(at, count);
            let inside = self.cost_of_turn_inside(at, at + count - 1);
            for (turned, inside) in [(false, 0.0), (true, inside)] {
                for to in (first..=last).filter(|&to| to != at) {
                    let gain = out - inside - self.cost_of_insertion(at, count, to, turned);
                    if gain > most {
                        most = gain;
                        let from = at;
                        best = Some(Change::Move {
                            from,
                            count,
                            to,
                            turned,
                        });
                    }
                }
            }
            trials += 2 * (last + 1 - first);
        }
        self.trials = self.trials.saturating_sub(trials);
        best
    }

    fn link(&self, from: Town, to: Town) -> f64 {
        self.towns.link(from, to)
    }

    fn turned(&self, place: usize) -> Town {
        self.towns.turned(self.tour[place])
    }

    /// What it costs more to go through a run from its end.
    pub fn cost_of_turn_inside(&self, first: usize, last: usize) -> f64 {
        self.links[last] - self.links[first] + self.flows[last + 1] - self.flows[first]
    }

    pub fn gain_of_turn(&self, first: usize, last: usize) -> f64 {
        let (before, after) = (self.tour[first - 1], self.tour[last + 1]);
        let now = self.link(before, self.tour[first]) + self.link(self.tour[last], after);
        let then = self.link(before, self.turned(last)) + self.link(self.turned(first), after);
        now - then - self.cost_of_turn_inside(first, last)
    }

    pub fn gain_of_removal(&self, from: usize, count: usize) -> f64 {
        let (before, after) = (self.tour[from - 1], self.tour[from + count]);
        let last = self.tour[from + count - 1];
        self.link(before, self.tour[from]) + self.link(last, after) - self.link(before, after)
    }

    /// What it costs to put a run between two others, except for what it costs inside: `to` counts the
    /// places without the run.
    pub fn cost_of_insertion(&self, from: usize, count: usize, to: usize, turned: bool) -> f64 {
        let left = |place: usize| self.tour[if place < from { place } else { place + count }];
        let (before, after) = (left(to - 1), left(to));
        let last = from + count - 1;
        let (enter, leave) = if turned {
            (self.turned(last), self.turned(from))
        } else {
            (self.tour[from], self.tour[last])
        };
        self.link(before, enter) + self.link(leave, after) - self.link(before, after)
    }

    pub fn apply(&mut self, change: Change) {
        match change {
            Change::Turn { first, last } => self.turn_round(first, last),
            Change::Move {
                from,
                count,
                to,
                turned,
            } => {
                if turned {
                    self.turn_round(from, from + count - 1);
                }
                if to < from {
                    self.tour[to..from + count].rotate_right(count);
                } else {
                    self.tour[from..to + count].rotate_left(count);
                }
            }
        }
        self.sum_up();
    }

    fn turn_round(&mut self, first: usize, last: usize) {
        let run = &mut self.tour[first..=last];
        run.reverse();
        for town in run {
            *town = self.towns.turned(*town);
        }
    }

    fn sum_up(&mut self) {
        let towns = self.towns;
        self.links.clear();
        self.flows.clear();
        let (mut links, mut flows) = (0.0, 0.0);
        self.links.push(links);
        self.flows.push(flows);
        for (place, &town) in self.tour.iter().enumerate() {
            let other = towns.turned(town);
            flows += towns.between(other) - towns.between(town);
            self.flows.push(flows);
            if let Some(&next) = self.tour.get(place + 1) {
                links += towns.link(towns.turned(next), other) - towns.link(town, next);
                self.links.push(links);
            }
        }
    }
}
