//! The search on real levels and on puzzles by human authors, where they are there.

use flowpipe_puzzle::{Board, Puzzle, Rules, Terminal, check, level};
use flowpipe_search::{Ended, Limits, Search};

use flowpipe_testing::{note, shared_puzzles};

use crate::support::never;

#[test]
fn solves_every_level_as_it_is_meant_and_proves_it_unique() {
    let Some(text) = shared_puzzles("flowfree-levels.txt") else {
        return;
    };
    let mut search = Search::new();
    let mut count = 0;
    for line in text.lines().filter(|line| !line.is_empty()) {
        let level = level::parse(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        let found = search.run(&level.puzzle, &Limits::default(), &never);
        assert_eq!(found.ended, Ended::Complete, "{line}");
        assert_eq!(found.count, 1, "{line}");
        assert_eq!(found.solutions, [level.solution], "{line}");
        count += 1;
    }
    note!("{count} levels solved and proved unique");
}

#[derive(serde::Deserialize)]
struct Numberlink {
    id: String,
    w: usize,
    h: usize,
    grid: Vec<String>,
    paths: Vec<Vec<usize>>,
    full: bool,
    selftouch: bool,
}

impl Numberlink {
    fn puzzle(&self) -> Puzzle {
        let rows = self.grid.iter();
        let words = rows.flat_map(|row| row.split_whitespace()).enumerate();
        let terminals = words
            .filter(|(_, word)| *word != "-")
            .map(|(cell, word)| Terminal {
                cell,
                colour: word.parse().unwrap(),
            });
        let board = Board::rectangle(self.h, self.w).unwrap();
        Puzzle::new(board, terminals.collect(), Rules::default()).unwrap()
    }
}

#[test]
fn solves_numberlink_puzzles_that_keep_the_rules() {
    let Some(text) = shared_puzzles("numberlink-janko.jsonl") else {
        return;
    };
    let mut search = Search::new();
    let mut count = 0;
    for line in text.lines() {
        let numberlink: Numberlink = serde_json::from_str(line).unwrap();
        if !numberlink.full || numberlink.selftouch {
            continue;
        }
        let puzzle = numberlink.puzzle();
        let found = search.run(&puzzle, &Limits::default(), &never);
        assert_eq!(found.ended, Ended::Complete, "{}", numberlink.id);
        assert_eq!(found.count, 1, "{}", numberlink.id);
        let solution = &found.solutions[0];
        assert_eq!(check(&puzzle, solution), Ok(()), "{}", numberlink.id);
        for path in numberlink.paths {
            let reversed: Vec<_> = path.iter().rev().copied().collect();
            let flows = &solution.flows;
            let is_joined =
                |flow: &flowpipe_puzzle::Flow| flow.cells == path || flow.cells == reversed;
            assert!(flows.iter().any(is_joined), "{}: {path:?}", numberlink.id);
        }
        count += 1;
    }
    note!("{count} Numberlink puzzles solved and proved unique");
}
