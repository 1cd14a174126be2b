//! Flows as towns, and the ways between them.

use super::{Choice, Ends, distance};

/// A flow drawn from one of its ends: twice its index as given, and one more from the other end.
pub(super) type Town = usize;

/// Up to so many flows all links are known before.
const MOST_KNOWN: usize = 64;

/// All flows from both their ends, and nowhere: a town that is as near as can be to all others, for what
/// lies before the first flow and behind the last.
pub(super) struct Towns {
    /// Without nowhere.
    ends: Vec<Ends>,
    /// The same flow from its other end, or the town itself where that may not be.
    other: Vec<Town>,
    /// All links, from a town on, one row after the other; empty where there are too many.
    links: Vec<f64>,
}

impl Towns {
    pub fn new(flows: &[Choice]) -> Self {
        let ends: Vec<Ends> = flows
            .iter()
            .flat_map(|flow| [flow.given, flow.turned.unwrap_or(flow.given)])
            .collect();
        let other = (0..=ends.len()).map(|town| match flows.get(town / 2) {
            Some(flow) if flow.turned.is_some() => town ^ 1,
            _ => town & !1,
        });
        let other = other.collect();
        let links = Vec::new();
        let mut towns = Self { ends, other, links };
        if flows.len() <= MOST_KNOWN {
            let all = 0..=towns.nowhere();
            let row = |from: Town| all.clone().map(move |to| (from, to));
            let pairs = all.clone().flat_map(row);
            towns.links = pairs.map(|(from, to)| towns.measure(from, to)).collect();
        }
        towns
    }

    /// The town before the first and behind the last.
    pub fn nowhere(&self) -> Town {
        self.ends.len()
    }

    /// How many flows there are.
    pub fn flows(&self) -> usize {
        self.ends.len() / 2
    }

    /// From the release of one to the press of the next.
    pub fn link(&self, from: Town, to: Town) -> f64 {
        match self.links.get(from * (self.ends.len() + 1) + to) {
            Some(&link) => link,
            None => self.measure(from, to),
        }
    }

    fn measure(&self, from: Town, to: Town) -> f64 {
        match (self.ends.get(from), self.ends.get(to)) {
            (Some(from), Some(to)) => distance(from.release, to.press),
            _ => 0.0,
        }
    }

    /// How far the pointer goes without drawing inside of a flow.
    pub fn between(&self, town: Town) -> f64 {
        self.ends.get(town).map_or(0.0, |ends| ends.between)
    }

    /// The same flow from its other end, where that may be.
    pub fn turned(&self, town: Town) -> Town {
        self.other[town]
    }

    pub fn travel(&self, tour: &[Town]) -> f64 {
        let between: f64 = tour.iter().map(|&town| self.between(town)).sum();
        let links = tour.windows(2).map(|pair| self.link(pair[0], pair[1]));
        between + links.sum::<f64>()
    }
}
