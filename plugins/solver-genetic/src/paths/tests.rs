use fastrand::Rng;
use flowpipe_plugin::puzzle::Rules;
use proptest::prelude::*;

use super::dead_end::is_dead_end;
use super::passages::Passages;
use super::route::Router;
use super::walk::Walker;
use super::*;
use crate::consistency::{Domains, Propagator, Strength};
use crate::network::Network;
use crate::samples::NESTED;
use flowpipe_sat::testing::brute_force;
use flowpipe_sat::testing::samples::{any_puzzle_of_single_pairs as any_puzzle, puzzle};

/// Whether a path leads from terminal to terminal by the rules that concern it alone.
fn is_legal(network: &Network, flow: usize, path: &[Node]) -> bool {
    let ends = [path[0], path[path.len() - 1]];
    let steps = path.windows(2).all(|pair| network.touch(pair[0], pair[1]));
    let inner = &path[1..path.len() - 1];
    let free = inner.iter().all(|&node| network.terminal[node].is_none());
    let apart = |at: usize, node: &Node| {
        let later = path.iter().skip(at + 2);
        let mut later = later.filter(|&&other| other == *node || network.touch(*node, other));
        later.next().is_none()
    };
    let mut own = path.to_vec();
    own.sort_unstable();
    own.dedup();
    let thin = network.rules.touch || path.iter().enumerate().all(|(at, node)| apart(at, node));
    ends == network.ends[flow] && steps && free && thin && own.len() == path.len()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn new_paths_are_legal(puzzle in any_puzzle(), seed in any::<u64>(), full in any::<bool>()) {
        let network = Network::new(&puzzle);
        let domains = Domains::new(&network);
        let mut rng = Rng::with_seed(seed);
        let strength = if full { Strength::Full } else { Strength::Neighbours };
        let propagator = Propagator::new(&network, strength);
        let mut router = Router::new(&network, propagator, &domains);
        let walker = Walker::new(&network, &domains);
        for flow in 0..network.flows() {
            let stray = rng.f64() / 2.0;
            let prices: Vec<u32> = (0..network.len()).map(|_| rng.u32(1..=64)).collect();
            let laid = router.path(flow, &prices, stray, &mut rng, &|| false).unwrap();
            for path in laid.into_iter().chain(walker.path(flow, &mut rng, &|| false)) {
                prop_assert!(is_legal(&network, flow, &path), "{:?}", path);
            }
        }
    }

    #[test]
    fn no_path_of_a_solution_is_a_dead_end(puzzle in any_puzzle()) {
        let network = Network::new(&puzzle);
        let domains = Domains::new(&network);
        let passages = Passages::new(&network, &domains);
        for solution in brute_force::paths(&puzzle, 3) {
            for path in solution {
                let flow = network.terminal[path[0]].unwrap();
                prop_assert!(!is_dead_end(&network, &domains, &passages, flow, &path), "{:?}", path);
            }
        }
    }
}

#[test]
fn dead_ends_block_colours_or_cells() {
    let network = Network::new(&puzzle(NESTED));
    let domains = Domains::new(&network);
    let passages = Passages::new(&network, &domains);
    let dead = |path: &[Node]| is_dead_end(&network, &domains, &passages, 0, path);
    assert!(!dead(&[0, 1, 2, 3, 7, 11, 15]));
    // Cuts B off from B.
    assert!(dead(&[0, 1, 5, 6, 7, 11, 15]));
}

#[test]
fn cells_are_stranded_where_all_must_be_covered() {
    for cover in [true, false] {
        let rules = Rules {
            cover,
            touch: false,
        };
        let network = Network::new(&puzzle("A.\n..\nA.").with_rules(rules));
        let domains = Domains::new(&network);
        let passages = Passages::new(&network, &domains);
        let dead = is_dead_end(&network, &domains, &passages, 0, &[0, 2, 4]);
        assert_eq!(dead, cover);
    }
}
