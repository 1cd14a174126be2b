//! Flows to find ways for: of generated boards, and of real levels where they are there.

#[path = "../../tests/path/support/boards.rs"]
mod boards;

use std::collections::BTreeMap;

use boards::Solved;
use flowpipe_generate::Kind;
use flowpipe_path::{End, Leg, legs};
use flowpipe_puzzle::Board;

/// A board with the legs of its flows.
pub struct Legs {
    pub board: Board,
    pub legs: Vec<Leg>,
}

impl Legs {
    fn of(solved: &Solved) -> Self {
        let board = solved.puzzle.board();
        let flows = solved.solution.flows.iter();
        Self {
            board: board.clone(),
            legs: flows
                .flat_map(|flow| legs(board, &flow.cells, End::BesideTerminal))
                .collect(),
        }
    }
}

/// Boards by class: `generated 09`, `levels 9x9`, `levels hexes` ….
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
    let made = (0..count).filter_map(|seed| boards::made(size, size, kinds, seed));
    made.map(|made| Legs::of(&made)).collect()
}

/// Real levels, where they are there.
fn levels() -> BTreeMap<String, Vec<Legs>> {
    let mut classes: BTreeMap<String, Vec<Legs>> = BTreeMap::new();
    for solved in boards::real().unwrap_or_default() {
        let class = format!("levels {}", solved.class);
        for class in ["levels, all".to_owned(), class] {
            classes.entry(class).or_default().push(Legs::of(&solved));
        }
    }
    classes
}
