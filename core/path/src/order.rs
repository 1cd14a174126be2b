//! In which order flows are drawn, and from which end each, so that the pointer travels little between
//! them.
//!
//! It is the travelling salesman's problem on an open way, with flows for towns: each is entered where
//! it is pressed and left where it is released, and many may as well be drawn from their other end.
//! The best of some nearest-neighbour orders is improved by turning runs round (2-opt) and by moving
//! short runs elsewhere (or-opt; Johnson and McGeoch, "The traveling salesman problem: a case study in
//! local optimization", 1997), each within a budget that does not depend on luck, so that the time is
//! bounded and the same flows always get the same order.

mod begin;
mod improve;
mod towns;

use flowpipe_puzzle::Point;

use begin::nearest_neighbours;
use improve::Improving;
use towns::{Town, Towns};

/// One way to draw a flow: where the pointer comes and where it leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ends {
    /// Where it presses, in board units.
    pub press: Point,
    /// Where it releases, in board units.
    pub release: Point,
    /// How far it goes without drawing between the two, in board units: from leg to leg.
    pub between: f64,
}

/// A flow to draw.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// As it was given.
    pub given: Ends,
    /// From its other end, where that is as good.
    pub turned: Option<Ends>,
}

/// A flow's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visit {
    /// Index of the flow.
    pub flow: usize,
    /// Whether it is drawn from its other end.
    pub turned: bool,
}

impl Visit {
    /// A flow drawn as it was given.
    #[must_use]
    pub fn as_given(flow: usize) -> Self {
        Self {
            flow,
            turned: false,
        }
    }
}

/// Links examined to find a first order, more or less.
const LINKS_TO_BEGIN: usize = 1_000;
/// Moves tried to improve it.
const TRIALS: usize = 2_000;
/// Further moves tried, for each flow.
const TRIALS_PER_FLOW: usize = 40;
/// The longest run that is moved elsewhere.
const LONGEST_MOVED: usize = 2;
/// In board units: what is gained by less may be rounding.
const LEAST_GAIN: f64 = 1e-9;

/// An order of all flows in which the pointer travels little: no more than in the order given, each as
/// given.
#[must_use]
pub fn order(flows: &[Choice]) -> Vec<Visit> {
    let given: Vec<Visit> = (0..flows.len()).map(Visit::as_given).collect();
    if flows.len() < 2 {
        return given;
    }
    let towns = Towns::new(flows);
    let given_tour: Vec<Town> = given.iter().map(|visit| 2 * visit.flow).collect();
    let best = Improving::new(&towns, &nearest_neighbours(&towns)).run();
    if towns.travel(&best) + LEAST_GAIN < towns.travel(&given_tour) {
        let visit = |town: Town| Visit {
            flow: town / 2,
            turned: town % 2 == 1,
        };
        best.into_iter().map(visit).collect()
    } else {
        given
    }
}

/// How far the pointer travels without drawing, from the first press on, in board units.
#[must_use]
pub fn travel(flows: &[Choice], visits: &[Visit]) -> f64 {
    let ends = |visit: &Visit| match &flows[visit.flow].turned {
        Some(turned) if visit.turned => *turned,
        _ => flows[visit.flow].given,
    };
    let between: f64 = visits.iter().map(|visit| ends(visit).between).sum();
    let links = visits
        .windows(2)
        .map(|pair| distance(ends(&pair[0]).release, ends(&pair[1]).press));
    between + links.sum::<f64>()
}

/// How far apart two points are.
pub(crate) fn distance(from: Point, to: Point) -> f64 {
    let [x, y] = [to[0] - from[0], to[1] - from[1]];
    (x * x + y * y).sqrt()
}

#[cfg(test)]
mod tests;
