//! Flows to find ways for: of generated boards, and of real levels where they are there.

use std::collections::BTreeMap;
use std::path::PathBuf;

use flowpipe_generate::{Generator, Kind, Recipe, Size};
use flowpipe_path::{End, Leg, legs};
use flowpipe_puzzle::{Board, Lattice, Solution, level};

/// A board with the legs of its flows.
pub struct Legs {
    pub board: Board,
    pub legs: Vec<Leg>,
}

impl Legs {
    fn of(board: &Board, solution: &Solution) -> Self {
        let flows = solution.flows.iter();
        Self {
            board: board.clone(),
            legs: flows
                .flat_map(|flow| legs(board, &flow.cells, End::BesideTerminal))
                .collect(),
        }
    }
}

/// Boards by class: `generated 09`, `levels plain 15` … (by columns).
pub fn classes() -> BTreeMap<String, Vec<Legs>> {
    let mut classes = levels();
    for (size, kinds, count) in [
        (9, &[][..], 40),
        (15, &[], 20),
        (20, &[], 5),
        (9, &[Kind::Hexes], 20),
    ] {
        let hexes = if kinds.is_empty() { "" } else { " hexes" };
        classes.insert(
            format!("generated {size:02}{hexes}"),
            generated(size, kinds, count),
        );
    }
    classes
}

fn generated(size: usize, kinds: &[Kind], count: u64) -> Vec<Legs> {
    let recipe = Size::new(size, size)
        .ok()
        .and_then(|size| Recipe::new(size, kinds, None).ok());
    let mut generator = Generator::new();
    let made = (0..count).filter_map(|seed| generator.generate(recipe.as_ref()?, seed).ok());
    made.map(|made| Legs::of(made.puzzle.board(), &made.solution))
        .collect()
}

/// Real levels, from `$FLOWPIPE_SHARED/puzzles` or from the folder `shared` beside the project.
fn levels() -> BTreeMap<String, Vec<Legs>> {
    let folder = std::env::var_os("FLOWPIPE_SHARED").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")),
        PathBuf::from,
    );
    let text = std::fs::read_to_string(folder.join("puzzles/flowfree-levels.txt"));
    let mut classes: BTreeMap<String, Vec<Legs>> = BTreeMap::new();
    for level in text.unwrap_or_default().lines().flat_map(level::parse) {
        let board = level.puzzle.board();
        let class = if board.is_plain_rectangle() {
            format!("levels plain {:02}", board.cols())
        } else if board.description().lattice == Lattice::Hex {
            "levels hexes".to_owned()
        } else {
            "levels others".to_owned()
        };
        for class in ["levels, all".to_owned(), class] {
            let legs = Legs::of(board, &level.solution);
            classes.entry(class).or_default().push(legs);
        }
    }
    classes
}
