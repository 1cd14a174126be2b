//! Real levels by class, where they are there.

use std::collections::BTreeMap;

use flowpipe_puzzle::board::Description;
use flowpipe_puzzle::{Board, Lattice, Puzzle, level};

/// Real levels by class: `plain 5`, `plain 9` … (by columns), and by kind. See [`flowpipe_testing`]; none
/// where there is no such file.
pub fn levels() -> BTreeMap<String, Vec<Puzzle>> {
    let mut classes: BTreeMap<String, Vec<Puzzle>> = BTreeMap::new();
    for puzzle in read(&flowpipe_testing::shared_folder().join("puzzles/flowfree-levels.txt")) {
        let kind = kind(puzzle.board());
        let (all, class) = if kind == "plain" {
            ("plain, all", format!("plain {:02}", puzzle.board().cols()))
        } else {
            ("others, all", kind)
        };
        let all = classes.entry(all.to_owned()).or_default();
        all.push(puzzle.clone());
        classes.entry(class).or_default().push(puzzle);
    }
    classes
}

/// The puzzles of a file of level lines; other lines are passed over.
pub fn read(path: &std::path::Path) -> Vec<Puzzle> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let levels = text.lines().flat_map(level::parse);
    levels.map(|level| level.puzzle).collect()
}

fn kind(board: &Board) -> String {
    let Description {
        lattice,
        warps,
        holes,
        bridges,
        walls,
        ..
    } = board.description();
    let parts = [
        (*lattice == Lattice::Hex, "hexes"),
        (*warps, "warps"),
        (!bridges.is_empty(), "bridges"),
        (!holes.is_empty(), "holes"),
        (!walls.is_empty(), "walls"),
    ];
    let parts: Vec<_> = parts
        .iter()
        .filter(|part| part.0)
        .map(|part| part.1)
        .collect();
    match parts.is_empty() {
        true => "plain".to_owned(),
        false => parts.join("+"),
    }
}
