//! A guess at a solution, without a proof of anything, before a SAT solver is asked.
//!
//! On large boards with few flows there are very many solutions, and hardly anything for a SAT solver to conclude
//! from; finding one of them is easy by other means. Where cells may stay empty, [`route`] finds paths that keep
//! out of each other's way. Where they must be covered and flows may touch themselves, [`fill`] draws the rest of the
//! board into these paths. Both give up soon; on boards with one solution mostly without success.

mod fill;
mod random;
mod route;
mod vary;

use flowpipe_puzzle::{Node, Rules};

use crate::decode::Path;
use crate::guess::random::Random;
use crate::network::Network;

pub use vary::{detour, others};

/// A solution, or at least paths to begin with.
#[derive(Clone, Debug, Default)]
pub struct Guess {
    /// A path for each pair of terminals; none where not even these were found.
    pub paths: Vec<Path>,
    /// Whether the paths keep all rules.
    pub complete: bool,
}

/// So often other paths are tried where the board could not be drawn into the first ones.
const ATTEMPTS: u64 = 6;

/// Guesses. Nothing is known when it comes back without a solution.
pub fn guess(network: &Network, cancelled: &dyn Fn() -> bool) -> Guess {
    let Rules { cover, touch } = network.rules;
    let mut best = Guess::default();
    if cover && !touch {
        return best;
    }
    let mut fewest = usize::MAX;
    for attempt in 0..ATTEMPTS {
        let mut random = Random::new(attempt);
        // The first paths are the shortest ones, the others go astray.
        let detours = if attempt == 0 { 1 } else { 8 };
        let Some(routes) = route::route(network, detours, &mut random, cancelled) else {
            break;
        };
        let (routes, gaps) = if cover {
            fill::fill(network, &routes, &mut random, cancelled)
        } else {
            (routes, 0)
        };
        if gaps < fewest {
            fewest = gaps;
            best.paths = routes
                .into_iter()
                .map(|nodes| path(network, nodes))
                .collect();
        }
        if gaps == 0 || cancelled() {
            break;
        }
    }
    best.complete = fewest == 0;
    best
}

fn path(network: &Network, nodes: Vec<Node>) -> Path {
    let steps = nodes.iter().zip(nodes.iter().skip(1));
    let edges = steps.filter_map(|(&a, &b)| network.edge(a, b)).collect();
    Path { nodes, edges }
}
