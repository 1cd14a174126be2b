//! Cycles, above all of blocking queues.

use std::collections::{BTreeSet, VecDeque};

use crate::pipeline::{Edge, WhenFull};

/// One shortest cycle for every group of stages that blocking queues join into cycles: indices into `edges`, in the
/// order of the messages.
///
/// Such a cycle can deadlock: once all its queues are full, each stage waits for the next one. One queue that drops
/// prevents that.
#[must_use]
pub fn blocking_cycles(stages: usize, edges: &[Edge]) -> Vec<Vec<usize>> {
    let mut leaving = vec![Vec::new(); stages];
    for (index, edge) in edges.iter().enumerate() {
        if edge.queue.when_full == WhenFull::Block {
            leaving[edge.from.stage].push(index);
        }
    }
    let mut covered = vec![false; stages];
    let mut cycles = Vec::new();
    for start in 0..stages {
        if covered[start] {
            continue;
        }
        let reached = search(start, edges, &leaving);
        let Some(cycle) = path_back(start, edges, &reached) else {
            continue;
        };
        cycles.push(cycle);
        for stage in 0..stages {
            let there = reached[stage].is_some();
            covered[stage] |= there && search(stage, edges, &leaving)[start].is_some();
        }
    }
    cycles
}

/// The stages with which a stage is in a cycle, itself among them. Empty: it is in none.
pub(super) fn cycle_of(stages: usize, edges: &[Edge], stage: usize) -> BTreeSet<usize> {
    let mut leaving = vec![Vec::new(); stages];
    for (index, edge) in edges.iter().enumerate() {
        leaving[edge.from.stage].push(index);
    }
    let reached = search(stage, edges, &leaving);
    let comes_back = |&other: &usize| search(other, edges, &leaving)[stage].is_some();
    let reached = (0..stages).filter(|&other| reached[other].is_some());
    reached.filter(comes_back).collect()
}

/// For every stage the last edge of a shortest way to it of at least one edge.
fn search(start: usize, edges: &[Edge], leaving: &[Vec<usize>]) -> Vec<Option<usize>> {
    let mut reached = vec![None; leaving.len()];
    let mut waiting = VecDeque::from([start]);
    while let Some(stage) = waiting.pop_front() {
        for &index in &leaving[stage] {
            let to = edges[index].to.stage;
            if reached[to].is_none() {
                reached[to] = Some(index);
                waiting.push_back(to);
            }
        }
    }
    reached
}

fn path_back(start: usize, edges: &[Edge], reached: &[Option<usize>]) -> Option<Vec<usize>> {
    let mut cycle = vec![reached[start]?];
    loop {
        let stage = edges[cycle[cycle.len() - 1]].from.stage;
        if stage == start {
            cycle.reverse();
            return Some(cycle);
        }
        cycle.push(reached[stage]?);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::pipeline::{PortRef, Queue};

    fn edges(pairs: &[(usize, usize, bool)]) -> Vec<Edge> {
        let edge = |&(from, to, drops): &(usize, usize, bool)| Edge {
            from: PortRef {
                stage: from,
                port: 0,
            },
            to: PortRef { stage: to, port: 0 },
            queue: Queue {
                capacity: 1,
                when_full: if drops {
                    WhenFull::Latest
                } else {
                    WhenFull::Block
                },
            },
        };
        pairs.iter().map(edge).collect()
    }

    #[track_caller]
    fn check(pairs: &[(usize, usize, bool)], expected: &[&[usize]]) {
        assert_eq!(blocking_cycles(6, &edges(pairs)), expected);
    }

    #[test]
    fn finds_one_cycle_for_each_group() {
        check(&[], &[]);
        check(&[(0, 1, false), (1, 2, false), (0, 2, false)], &[]);
        check(&[(0, 0, false)], &[&[0]]);
        check(&[(0, 0, true)], &[]);
        check(&[(0, 1, false), (1, 2, false), (2, 1, false)], &[&[1, 2]]);
        check(&[(0, 1, false), (1, 2, true), (2, 1, false)], &[]);
        // Of two cycles through one stage the shorter one.
        check(
            &[(0, 1, false), (1, 2, false), (2, 0, false), (1, 0, false)],
            &[&[0, 3]],
        );
        check(
            &[(0, 1, false), (1, 0, false), (4, 5, false), (5, 4, false)],
            &[&[0, 1], &[2, 3]],
        );
    }

    proptest! {
        /// Against the plain definition: stages without waiting senders can be taken away one by
        /// one until none is left, exactly when there is no cycle.
        #[test]
        fn agrees_with_the_definition(
            pairs in prop::collection::vec((0usize..6, 0usize..6, any::<bool>()), 0..14)
        ) {
            let mut left: Vec<_> = pairs.iter().filter(|(_, _, drops)| !drops).collect();
            loop {
                let before = left.len();
                let all = left.clone();
                left.retain(|(from, _, _)| all.iter().any(|(_, to, _)| to == from));
                if left.len() == before { break }
            }
            let edges = edges(&pairs);
            let cycles = blocking_cycles(6, &edges);
            prop_assert_eq!(cycles.is_empty(), left.is_empty());
            for cycle in cycles {
                for (i, &at) in cycle.iter().enumerate() {
                    let next = edges[cycle[(i + 1) % cycle.len()]];
                    prop_assert_eq!(edges[at].to.stage, next.from.stage);
                    prop_assert_eq!(edges[at].queue.when_full, WhenFull::Block);
                }
            }
        }
    }
}
