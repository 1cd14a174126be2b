//! The boards on which solvers are measured.

use std::collections::BTreeMap;

use flowpipe_generate::{Generator, Kind, Recipe, Size};
use flowpipe_puzzle::Puzzle;
use flowpipe_puzzle::text::{self, TextError};

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

/// The puzzles of texts, at most `most` of each class, evenly spaced. It reads the texts twice, and keeps no more puzzles
/// than these.
///
/// # Errors
/// For a text that contains no puzzles, or one that can't be read: its place among the texts, and in the latter case why.
pub fn of(texts: &[String], most: usize) -> Result<Corpus, (usize, Option<TextError>)> {
    let mut counts: BTreeMap<Class, usize> = BTreeMap::new();
    for (place, text) in texts.iter().enumerate() {
        let mut is_empty = true;
        for entry in text::entries(text) {
            let (puzzle, _) = entry.puzzle.map_err(|error| (place, Some(error)))?;
            *counts.entry(Class::of(&puzzle)).or_default() += 1;
            is_empty = false;
        }
        if is_empty {
            return Err((place, None));
        }
    }
    let mut seen: BTreeMap<Class, usize> = BTreeMap::new();
    let mut corpus = Corpus::new();
    for entry in texts.iter().flat_map(|text| text::entries(text)) {
        let (puzzle, _) = entry.puzzle.map_err(|error| (0, Some(error)))?;
        let class = Class::of(&puzzle);
        let all = counts.get(&class).copied().unwrap_or_default();
        let kept = all.min(most);
        let index = seen.entry(class.clone()).or_default();
        let boards = corpus.entry(class).or_default();
        if boards.len() < kept && boards.len() * all / kept == *index {
            boards.push(puzzle);
        }
        *index += 1;
    }
    Ok(corpus)
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
    let sizes = SIZES.into_iter().map(|size| (size, None));
    let kinds = Kind::ALL.into_iter().map(|kind| (KINDS_SIZE, Some(kind)));
    let mut corpus = Corpus::new();
    for (size, kind) in sizes.chain(kinds) {
        for puzzle in make(size, kind.as_slice()).map_err(Failure::Run)? {
            corpus.entry(Class::of(&puzzle)).or_default().push(puzzle);
        }
    }
    Ok(corpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boards_of_a_class_are_evenly_spaced() {
        // Each is one cell longer; all are of one class.
        let rows = |lengths: std::ops::Range<usize>| {
            let rows = lengths.map(|it| format!("A{}A\n\n", ".".repeat(it)));
            rows.collect::<String>()
        };
        let texts = [rows(0..6), rows(6..10)];
        let corpus = of(&texts, 4).unwrap();
        let kept: Vec<_> = corpus
            .values()
            .flatten()
            .map(|it| it.board().cols() - 2)
            .collect();
        assert_eq!(kept, [0, 2, 5, 7]);
        let all = of(&texts, 100).unwrap();
        assert_eq!(all.values().flatten().count(), 10);
        assert_eq!(of(&["AA".to_owned(), "\n".to_owned()], 4), Err((1, None)));
        assert!(matches!(of(&["AA\n\nA?".to_owned()], 4), Err((0, Some(_)))));
    }
}
