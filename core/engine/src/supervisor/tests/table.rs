//! The transition table: its rows are those of the docs, and each of them occurs.

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use super::super::transitions::{TRANSITIONS, Transition};
use super::{MOST_EVENTS, run, setup, step};

#[test]
fn the_table_in_the_docs_is_the_one_that_is_asserted() {
    let docs = include_str!("../mod.rs").lines();
    let rows = docs.filter_map(|line| line.strip_prefix("//! | "));
    let columns = |row: &str| {
        let columns: Vec<_> = row.split('|').map(str::trim).collect();
        // The last `|` ends the row.
        (columns.len() == 6).then(|| format!("{} {} {}", columns[0], columns[1], columns[2]))
    };
    let mut documented: Vec<_> = rows.filter_map(columns).skip(1).collect();
    documented.sort();
    let row = |(from, cause, to): &Transition| format!("{from:?} {cause:?} {to:?}");
    let mut asserted: Vec<_> = TRANSITIONS.iter().map(row).collect();
    asserted.sort();
    assert_eq!(documented, asserted);
    let distinct: BTreeSet<_> = asserted.iter().collect();
    assert_eq!(distinct.len(), asserted.len(), "each row once");
}

/// Random runs, always the same ones.
const RUNS: usize = 2000;

#[test]
fn each_row_of_the_table_occurs() {
    let mut runner = TestRunner::deterministic();
    let strategy = (setup(), vec(step(), MOST_EVENTS / 2));
    let mut seen = BTreeSet::new();
    for _ in 0..RUNS {
        let (setup, steps) = strategy.new_tree(&mut runner).unwrap().current();
        let transitions = run(&setup, &steps).transitions;
        // A state that only changes its data has no row.
        seen.extend(transitions.into_iter().filter(|row| row.0 != row.2));
        if seen.len() == TRANSITIONS.len() {
            return;
        }
    }
    let never = TRANSITIONS.iter().filter(|row| !seen.contains(row));
    assert_eq!(never.collect::<Vec<_>>(), Vec::<&_>::new(), "never occurs");
}
