use flowpipe_plugin::puzzle::Rules;
use proptest::prelude::*;

use super::*;
use crate::network::{Slot, Way};
use crate::samples::NESTED;
use flowpipe_sat::testing::brute_force;
use flowpipe_sat::testing::samples::{any_puzzle_of_single_pairs as any_puzzle, puzzle};

fn settle(network: &Network, strength: Strength) -> Result<Domains, Contradiction> {
    let mut domains = Domains::new(network);
    Propagator::new(network, strength).all(&mut domains)?;
    Ok(domains)
}

#[test]
fn a_corner_takes_the_colour_beside_it_and_so_on() {
    let network = Network::new(&puzzle(NESTED));
    let domains = settle(&network, Strength::Neighbours).unwrap();
    // The corner at the top right, which A must turn in.
    assert_eq!(domains.flows(3), 1);
    assert!(domains.are_decided(&network));
    assert_eq!(
        follow(&network, &domains, 0),
        (vec![0, 1, 2, 3, 7, 11, 15], true)
    );
    assert_eq!(fixed_cells(&network, &domains), 8);
}

#[test]
fn without_cover_less_is_settled() {
    let rules = Rules {
        cover: false,
        touch: false,
    };
    let network = Network::new(&puzzle("A.\n..\nA.").with_rules(rules));
    let domains = settle(&network, Strength::Full).unwrap();
    assert!(!domains.are_decided(&network));
    assert_eq!(domains.flows(1), 1 | NONE);
}

#[test]
fn two_colours_that_must_cross_are_a_contradiction() {
    for strength in [Strength::Neighbours, Strength::Full] {
        let network = Network::new(&puzzle("AB\nBA"));
        assert!(settle(&network, strength).is_err(), "{strength:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn nothing_of_a_solution_is_taken_away(puzzle in any_puzzle()) {
        let network = Network::new(&puzzle);
        for paths in brute_force::paths(&puzzle, 20) {
            for strength in [Strength::Neighbours, Strength::Full] {
                let domains = settle(&network, strength);
                prop_assert!(domains.is_ok(), "{:?}", domains);
                let domains = domains.unwrap();
                for path in &paths {
                    let flow = network.terminal[path[0]].unwrap();
                    for (at, &node) in path.iter().enumerate() {
                        let beside = [at.checked_sub(1), Some(at + 1)].into_iter().flatten();
                        let beside = beside.filter_map(|at| path.get(at));
                        let slots: Vec<Slot> =
                            beside.map(|&other| network.slot(node, other).unwrap()).collect();
                        prop_assert!(domains.allow(node, Way::joining(&slots), flow));
                    }
                }
            }
        }
    }
}
