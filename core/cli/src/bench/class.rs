//! The classes of boards: by size, or by kind.

use flowpipe_puzzle::{Lattice, Puzzle, Rules};

/// Boards of about one size, or of one kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Class {
    /// The order: plain rectangles by size, then the other kinds.
    rank: usize,
    /// Its name.
    pub name: &'static str,
}

/// The maximum number of cells of a plain rectangle, and the name of the class.
const SIZES: [(usize, &str); 15] = [
    (25, "5x5"),
    (36, "6x6"),
    (49, "7x7"),
    (64, "8x8"),
    (81, "9x9"),
    (100, "10x10"),
    (144, "12x12"),
    (196, "14x14"),
    (270, "15x18"),
    (400, "20x20"),
    (900, "30x30"),
    (1600, "40x40"),
    (2500, "50x50"),
    (10_000, "100x100"),
    (usize::MAX, "200x200"),
];

impl Class {
    /// The class of a puzzle. A plain rectangle belongs to the first size that has room for its cells,
    /// any other board to the first of its kinds.
    pub fn of(puzzle: &Puzzle) -> Self {
        let board = puzzle.board();
        let made_of = board.description();
        let kinds = [
            ("other rules", puzzle.rules() != Rules::default()),
            ("hexes", made_of.lattice == Lattice::Hex),
            ("warps", made_of.warps),
            ("bridges", !made_of.bridges.is_empty()),
            ("walls", !made_of.walls.is_empty()),
            ("holes", !made_of.holes.is_empty()),
        ];
        let kind = kinds.iter().position(|(_, is)| *is);
        let size = || SIZES.iter().position(|(most, _)| board.len() <= *most);
        match kind {
            Some(at) => Self {
                rank: SIZES.len() + at,
                name: kinds[at].0,
            },
            None => {
                let at = size().unwrap_or(SIZES.len() - 1);
                Self {
                    rank: at,
                    name: SIZES[at].1,
                }
            }
        }
    }

    /// Whether it is one of the sizes of plain rectangles.
    pub fn is_size(&self) -> bool {
        self.rank < SIZES.len()
    }
}

#[cfg(test)]
mod tests {
    use flowpipe_puzzle::text;

    use super::*;

    fn class(text: &str) -> &'static str {
        let puzzle = text::read(text).remove(0).puzzle.unwrap().0;
        Class::of(&puzzle).name
    }

    #[test]
    fn plain_boards_are_classed_by_size_and_others_by_kind() {
        assert_eq!(class("AA"), "5x5");
        assert_eq!(class(&format!("A{}A", ".".repeat(24))), "6x6");
        assert_eq!(class(&format!("A{}A", ".".repeat(20_000))), "200x200");
        assert_eq!(class("A#\nAB\n.B"), "holes");
        assert_eq!(class(".A.\nB+B\n.A."), "bridges");
        assert_eq!(class("X_3,0,1,3,,8;0,3,6;1,4,7;2,5"), "hexes");
        assert_eq!(
            class(
                r#"{"board":{"rows":1,"cols":2},"terminals":[{"cell":0,"colour":0},{"cell":1,"colour":0}],"rules":{"cover":true,"touch":true}}"#
            ),
            "other rules"
        );
    }
}
