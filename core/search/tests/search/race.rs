//! Boards that take long enough for a second sweep.

use std::cell::Cell;

use flowpipe_puzzle::{check, level};
use flowpipe_search::{Ended, Limits, Search};

use flowpipe_testing::note;

use crate::support::never;

/// Random tilings with few flows, 30x30 and 50x50; the last one has several solutions.
const BOARDS: &str = include_str!("boards/large.txt");

#[test]
fn two_sweeps_answer_the_same_each_time() {
    let mut raced = 0;
    let mut search = Search::new();
    let lines: Vec<&str> = BOARDS.lines().collect();
    for (index, line) in lines.iter().enumerate() {
        let level = level::parse(line).unwrap();
        let found = search.run(&level.puzzle, &Limits::default(), &never);
        raced += usize::from(found.nodes > 512);
        assert_eq!(check(&level.puzzle, &found.solutions[0]), Ok(()));
        if index + 1 < lines.len() {
            assert_eq!((found.count, found.ended), (1, Ended::Complete));
            assert_eq!(found.solutions, [level.solution]);
        } else {
            assert_eq!((found.count, found.ended), (2, Ended::Solutions));
        }
        for nodes in [None, None, None, Some(600), Some(600), Some(600)] {
            let limits = Limits {
                nodes,
                ..Limits::default()
            };
            let again = search.run(&level.puzzle, &limits, &never);
            match nodes {
                None => assert_eq!(again, found),
                Some(nodes) => assert!(again.nodes <= nodes),
            }
            let fresh = Search::new().run(&level.puzzle, &limits, &never);
            assert_eq!(fresh, again);
        }
    }
    note!("{raced} of {} boards raced", lines.len());
    assert!(raced > 0);
}

#[test]
fn two_sweeps_are_cancelled_both() {
    let level = level::parse(BOARDS.lines().next().unwrap()).unwrap();
    let mut search = Search::new();
    for questions in [1, 5, 10] {
        let asked = Cell::new(0);
        let cancelled = || {
            asked.set(asked.get() + 1);
            asked.get() > questions
        };
        let found = search.run(&level.puzzle, &Limits::default(), &cancelled);
        // Short of questions only where it had ended before.
        let gave_up = found.ended == Ended::Cancelled;
        assert_eq!(gave_up, asked.get() > questions, "{questions}");
    }
}
