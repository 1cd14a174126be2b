//! Several sweeps over one board; the first that finishes counts.
//!
//! The side from which a board is swept makes a factor of ten to a hundred on levels of the game, and can't be
//! chosen beforehand. But the first few states indicate it: each order is given some, the half that came farthest some
//! more, and so on, until one is left.

use flowpipe_plugin::puzzle::{Board, Node};
use num_bigint::BigUint;

use crate::chords::Chords;
use crate::domains::Domains;
use crate::mates::Mates;
use crate::network::Network;
use crate::order::{Order, candidates, price};
use crate::plan::{Plan, beside};
use crate::sweep::{Cost, Layers, Limits, sweep};
use crate::trace::Keep;
use crate::watch::{Stop, Watch};

/// States that each order may make in the first round.
const FIRST_SHARE: u64 = 2048;
/// How many times as many it may make in the next one.
const NEXT_SHARE: u64 = 8;
/// Orders that promise to be so many times as expensive as the best do not take part.
const FAR_OFF: f64 = 16.0;

/// What all sweeps of a board share.
pub struct Race<'a> {
    /// The puzzle as nodes and edges.
    pub network: &'a Network,
    /// What is known of them.
    pub domains: &'a Domains,
    /// How much to remember.
    pub keep: Keep,
    /// When to give up.
    pub limits: Limits,
    /// Their memory.
    pub layers: &'a mut Layers,
    /// What all of them cost.
    pub cost: &'a mut Cost,
    /// When to stop.
    pub watch: &'a Watch<'a>,
}

impl Race<'_> {
    /// Sweeps in the best order. Gives the plan of the sweep that came to its end, and the number of
    /// solutions that it found.
    ///
    /// # Errors
    /// See [`Stop`].
    pub fn run(&mut self, board: &Board) -> Result<(Plan, BigUint), Stop> {
        let beside = beside(self.network, self.domains, self.watch)?;
        let mut runners = runners(board, &beside, self.watch)?;
        let mut last_stop = Stop::States(self.limits.states);
        let mut taking_part = runners.len();
        let mut share = FIRST_SHARE;
        while !runners.is_empty() {
            let mut index = 0;
            while index < taking_part.min(runners.len()) {
                let runner = &mut runners[index];
                let plan = match runner.plan.take() {
                    Some(plan) => plan,
                    None => {
                        let order = &runner.order;
                        Plan::new(self.network, self.domains, &beside, order, self.watch)?
                    }
                };
                let mut until = self.limits;
                if taking_part > 1 {
                    let share = self.cost.states.saturating_add(share);
                    until.states = until.states.min(share);
                }
                match self.sweep(&plan, until) {
                    Ok(count) => return Ok((plan, count)),
                    Err(Stop::States(_)) if until.states < self.limits.states => {
                        runner.plan = Some(plan);
                        runner.steps = self.layers.origins().len();
                        index += 1;
                    }
                    Err(stop @ (Stop::Cancelled | Stop::States(_))) => return Err(stop),
                    // The other orders may do with less memory.
                    Err(stop) => {
                        last_stop = stop;
                        runners.remove(index);
                    }
                }
            }
            runners.sort_by_key(|runner| std::cmp::Reverse(runner.steps));
            taking_part = (taking_part / 2).max(1);
            share = share.saturating_mul(NEXT_SHARE);
        }
        Err(last_stop)
    }

    fn sweep(&mut self, plan: &Plan, limits: Limits) -> Result<BigUint, Stop> {
        self.cost.frontier = self.cost.frontier.max(plan.slots as u64);
        let (keep, watch) = (self.keep, self.watch);
        let (layers, cost) = (&mut *self.layers, &mut *self.cost);
        if self.network.touch {
            let mut states = Mates::new(plan);
            sweep(plan, &mut states, keep, limits, layers, cost, watch)
        } else {
            let mut states = Chords::new(plan)?;
            sweep(plan, &mut states, keep, limits, layers, cost, watch)
        }
    }
}

/// An order that takes part, and its plan once it is made.
struct Runner {
    order: Order,
    plan: Option<Plan>,
    /// How many steps it came in its last sweep.
    steps: usize,
}

/// The orders worth trying, the most promising first.
fn runners(board: &Board, beside: &[Vec<Node>], watch: &Watch) -> Result<Vec<Runner>, Stop> {
    let mut priced: Vec<(f64, Order)> = Vec::new();
    for order in candidates(board, beside, watch)? {
        priced.push((price(&order, beside, watch)?, order));
    }
    priced.sort_by(|a, b| a.0.total_cmp(&b.0));
    let dearest = priced.first().map_or(0.0, |best| best.0 * FAR_OFF);
    let worth = priced.into_iter().filter(|(price, _)| *price <= dearest);
    Ok(worth
        .map(|(_, order)| Runner {
            order,
            plan: None,
            steps: 0,
        })
        .collect())
}
