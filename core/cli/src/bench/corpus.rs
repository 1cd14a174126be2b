//! The boards on which solvers are measured.

use std::collections::BTreeMap;

use flowpipe_generate::{Generator, Kind, Recipe, Size};
use flowpipe_puzzle::Puzzle;

use crate::bench::class::Class;
use crate::exit::Failure;

/// Boards by class, smallest first.
pub type Corpus = BTreeMap<Class, Vec<Puzzle>>;

/// Sizes of generated plain boards, columns and rows.
const SIZES: [(usize, usize); 12] = [
    (5, 5),
    (6, 6),
    (7, 7),
    (8, 8),
    (9, 9),
    (10, 10),
    (12, 12),
    (14, 14),
    (15, 18),
    (20, 20),
    (30, 30),
    (40, 40),
];
/// The size of generated boards of the other kinds.
const KINDS_SIZE: (usize, usize) = (8, 8);

/// The puzzles of files, at most `most` of each class, evenly spaced.
pub fn of(puzzles: Vec<Puzzle>, most: usize) -> Corpus {
    let mut corpus = Corpus::new();
    for puzzle in puzzles {
        corpus.entry(Class::of(&puzzle)).or_default().push(puzzle);
    }
    for boards in corpus.values_mut() {
        let all = boards.len();
        let kept = all.min(most);
        *boards = (0..kept)
            .map(|at| boards[at * all / kept].clone())
            .collect();
    }
    corpus
}

/// `most` generated boards of every class. The same seed gives the same boards.
///
/// # Errors
/// When the generator finds none.
pub fn generated(seed: u64, most: usize) -> Result<Corpus, Failure> {
    let mut generator = Generator::new();
    let mut make = |(cols, rows): (usize, usize), kinds: &[Kind]| -> Result<Vec<Puzzle>, String> {
        let size = Size::new(cols, rows).map_err(|error| error.to_string())?;
        let recipe = Recipe::new(size, kinds, None).map_err(|error| error.to_string())?;
        (0..most as u64)
            .map(|at| generator.generate(&recipe, seed.wrapping_add(at)))
            .map(|made| made.map(|made| made.puzzle))
            .collect::<Result<_, _>>()
            .map_err(|error| error.to_string())
    };
    let mut puzzles = Vec::new();
    for size in SIZES {
        puzzles.extend(make(size, &[]).map_err(Failure::Run)?);
    }
    for kind in Kind::ALL {
        puzzles.extend(make(KINDS_SIZE, &[kind]).map_err(Failure::Run)?);
    }
    Ok(of(puzzles, most))
}
