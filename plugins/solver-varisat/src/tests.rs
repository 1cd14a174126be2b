//! The solver against brute force, the corpus of levels, and a cancelled run.

use std::cell::Cell;
use std::path::PathBuf;

use flowpipe_plugin::puzzle::message::Verdict;
use flowpipe_plugin::puzzle::{Board, Puzzle, Rules, Terminal, check, level};
use proptest::prelude::*;

use crate::brute_force;
use crate::config::{Config, Encoding};
use crate::samples::{any_puzzle, puzzle};
use crate::solve::{SolveError, solve};

/// Says something past the test harness, which shows nothing that a passing test prints.
macro_rules! say {
    ($($text:tt)+) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($text)+);
    }};
}

const ENCODINGS: [Encoding; 2] = [Encoding::Binary, Encoding::VertexEdge];

fn never() -> bool {
    false
}

fn config(encoding: Encoding, prove_unique: bool) -> Config {
    Config {
        encoding,
        prove_unique,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn agrees_with_brute_force(puzzle in any_puzzle()) {
        let solutions = brute_force::solutions(&puzzle, 2);
        for encoding in ENCODINGS {
            match solve(&puzzle, &config(encoding, true), &never).unwrap() {
                Verdict::Solution { solution, unique } => {
                    prop_assert_eq!(unique, Some(solutions.len() == 1), "{:?}", encoding);
                    prop_assert_eq!(check(&puzzle, &solution), Ok(()));
                    if solutions.len() == 1 {
                        prop_assert_eq!(&solution, &solutions[0]);
                    }
                }
                Verdict::Unsolvable { reason } => {
                    prop_assert!(solutions.is_empty(), "{:?}, {:?}, {:?}", encoding, reason, solutions);
                }
                other => prop_assert!(false, "{:?}", other),
            }
        }
    }
}

#[test]
fn two_flows_of_a_colour_may_lie_side_by_side() {
    let puzzle = puzzle("A.A\nA.A");
    for encoding in ENCODINGS {
        let verdict = solve(&puzzle, &config(encoding, false), &never).unwrap();
        assert!(
            matches!(verdict, Verdict::Solution { unique: None, .. }),
            "{verdict:?}"
        );
    }
}

#[test]
fn a_ring_beside_the_flows_is_no_cover() {
    // The two terminals and a ring around the hole would cover all cells, and the clauses allow it.
    let rules = Rules {
        cover: true,
        touch: true,
    };
    let puzzle = puzzle("AA...\n##.#.\n##...").with_rules(rules);
    for encoding in ENCODINGS {
        let verdict = solve(&puzzle, &config(encoding, false), &never).unwrap();
        assert_eq!(verdict, Verdict::Unsolvable { reason: None });
    }
}

#[test]
fn gives_up_when_cancelled() {
    // Many flows between opposite borders in reversed order: no solution, and long to prove.
    let size = 16;
    let board = Board::rectangle(size, size).unwrap();
    let terminals = (0..6_u16).flat_map(|colour| {
        let at = usize::from(colour);
        [at * 2 + 3, size * size - 3 - (5 - (at * 5 + 2) % 6) * 2]
            .map(|cell| Terminal { cell, colour })
    });
    let rules = Rules {
        cover: false,
        touch: true,
    };
    let puzzle = Puzzle::new(board, terminals.collect(), rules).unwrap();
    for questions in [0, 1, 5, 12] {
        let asked = Cell::new(0);
        let cancelled = || {
            asked.set(asked.get() + 1);
            asked.get() > questions
        };
        let result = solve(&puzzle, &config(Encoding::Binary, false), &cancelled);
        assert!(
            matches!(result, Err(SolveError::Cancelled)),
            "{questions}: {result:?}"
        );
    }
}

/// A folder of puzzles that is not part of the project, if it is there.
fn shared(file: &str) -> Option<String> {
    let folder = std::env::var_os("FLOWPIPE_SHARED").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")),
        PathBuf::from,
    );
    let text = std::fs::read_to_string(folder.join("puzzles").join(file)).ok();
    if text.is_none() {
        say!("skipped: no {file} in {}", folder.display());
    }
    text
}

#[test]
fn solves_every_level_as_it_is_meant() {
    let Some(text) = shared("flowfree-levels.txt") else {
        return;
    };
    let mut count = 0;
    for line in text.lines().filter(|line| !line.is_empty()) {
        let level = level::parse(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        // The encoding without lemmas is slow: only now and then.
        let slow = count % 20 == 0;
        for encoding in &ENCODINGS[..1 + usize::from(slow)] {
            match solve(&level.puzzle, &config(*encoding, slow), &never).unwrap() {
                Verdict::Solution { solution, unique } => {
                    assert_eq!(solution, level.solution.clone().canonical(), "{line}");
                    assert_eq!(unique, slow.then_some(true), "{line}");
                }
                other => panic!("{line}: {other:?}"),
            }
        }
        count += 1;
    }
    say!("{count} levels solved");
}

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

#[test]
fn solves_numberlink_puzzles() {
    let Some(text) = shared("numberlink-janko.jsonl") else {
        return;
    };
    let mut count = 0;
    for line in text.lines() {
        let numberlink: Numberlink = serde_json::from_str(line).unwrap();
        let puzzle = numberlink.puzzle();
        // A 15x15 board with one cell left empty: not solved within ten seconds.
        if !numberlink.full && puzzle.board().len() > 200 {
            say!("left out: {}", numberlink.id);
            continue;
        }
        match solve(&puzzle, &Config::default(), &never).unwrap() {
            Verdict::Solution { solution, .. } => {
                assert_eq!(check(&puzzle, &solution), Ok(()), "{}", numberlink.id);
            }
            other => panic!("{}: {other:?}", numberlink.id),
        }
        count += 1;
    }
    say!("{count} Numberlink puzzles solved");
}

#[test]
#[ignore = "prints times: run it by hand in a release build"]
fn print_times() {
    let Some(text) = shared("flowfree-levels.txt") else {
        return;
    };
    for encoding in ENCODINGS {
        for size in ["5", "7", "9", "14", "15:18"] {
            let mut times: Vec<f64> = text
                .lines()
                .filter(|line| line.split(',').next() == Some(size))
                .take(100)
                .map(|line| {
                    let puzzle = level::parse(line).unwrap().puzzle;
                    let begin = std::time::Instant::now();
                    solve(&puzzle, &config(encoding, false), &never).unwrap();
                    begin.elapsed().as_secs_f64() * 1e3
                })
                .collect();
            times.sort_by(f64::total_cmp);
            let (Some(worst), half) = (times.last(), times.len() / 2) else {
                continue;
            };
            println!(
                "{encoding:?} {size}: {} boards, median {:.2} ms, worst {worst:.2} ms",
                times.len(),
                times[half]
            );
        }
    }
}
