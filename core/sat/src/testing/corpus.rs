//! Puzzles that are not part of the project, where they are at hand: see [`flowpipe_testing`].

use flowpipe_puzzle::message::Verdict;
use flowpipe_puzzle::{Board, Puzzle, Rules, Terminal, check, level};

use flowpipe_testing::{note, shared_puzzles};

use super::{ENCODINGS, Solve};
use crate::{Encoding, Options, Want};

/// Real levels: exactly their own solutions.
pub fn solves_every_level_as_it_is_meant(solve: Solve<'_>) {
    let Some(text) = shared_puzzles("flowfree-levels.txt") else {
        return;
    };
    let mut count = 0;
    for line in text.lines().filter(|line| !line.is_empty()) {
        let level = level::parse(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        // Other encodings than the best are slow: only now and then, and the slowest on small boards only.
        let all = count % 20 == 0;
        let mut encodings = vec![Encoding::Best];
        if all {
            let large = level.puzzle.board().len() > 100;
            let others = ENCODINGS.into_iter();
            encodings.extend(others.filter(|&other| !large || other != Encoding::VertexEdge));
        }
        for encoding in encodings {
            let options = Options {
                encoding,
                want: if all { Want::Unique } else { Want::One },
                limit: None,
            };
            match solve(&level.puzzle, &options, &|| false).unwrap().verdict {
                Verdict::Solution {
                    solution, unique, ..
                } => {
                    assert_eq!(solution, level.solution.clone().canonical(), "{line}");
                    assert_eq!(unique, all.then_some(true), "{line}");
                }
                other => panic!("{line}: {other:?}"),
            }
        }
        count += 1;
    }
    note!("{count} levels solved");
}

/// A Numberlink puzzle as the corpus writes it.
#[derive(serde::Deserialize)]
struct Numberlink {
    id: String,
    w: usize,
    h: usize,
    grid: Vec<String>,
    full: bool,
    selftouch: bool,
}

impl Numberlink {
    fn puzzle(&self) -> Puzzle {
        let letters = self
            .grid
            .iter()
            .flat_map(|row| row.split_whitespace())
            .enumerate();
        let terminals = letters
            .filter(|(_, word)| *word != "-")
            .map(|(cell, word)| Terminal {
                cell,
                colour: word.parse().unwrap(),
            });
        let rules = Rules {
            cover: self.full,
            touch: self.selftouch,
        };
        let board = Board::rectangle(self.h, self.w).unwrap();
        Puzzle::new(board, terminals.collect(), rules).unwrap()
    }
}

/// The Numberlink puzzles of a corpus, with their names.
#[must_use]
pub fn numberlinks(text: &str) -> Vec<(String, Puzzle)> {
    text.lines()
        .map(|line| {
            let numberlink: Numberlink = serde_json::from_str(line).unwrap();
            (numberlink.id.clone(), numberlink.puzzle())
        })
        .collect()
}

/// Puzzles by human authors, under several rules.
pub fn solves_numberlink_puzzles(solve: Solve<'_>) {
    let Some(text) = shared_puzzles("numberlink-janko.jsonl") else {
        return;
    };
    let mut count = 0;
    for (id, puzzle) in numberlinks(&text) {
        // A 15x15 board with one cell left empty: too long for a test.
        if !puzzle.rules().cover && puzzle.board().len() > 200 {
            note!("left out: {id}");
            continue;
        }
        let answer = solve(&puzzle, &Options::default(), &|| false).unwrap();
        match answer.verdict {
            Verdict::Solution { solution, .. } => {
                assert_eq!(check(&puzzle, &solution), Ok(()), "{id}");
            }
            other => panic!("{id}: {other:?}"),
        }
        count += 1;
    }
    note!("{count} Numberlink puzzles solved");
}
