//! The kinds of puzzles that a solver accepts.

use flowpipe_puzzle::{Lattice, Puzzle};

/// The kinds of puzzles that a solver accepts, besides rectangles under Flow Free's rules with one pair of each colour.
///
/// ```
/// use flowpipe_plugin::Supports;
///
/// const SUPPORTS: Supports = Supports::EVERYTHING.with_bridges(false).with_max_cells(400);
/// assert!(SUPPORTS.hexes && !SUPPORTS.bridges);
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Supports {
    /// Hexagonal cells.
    pub hexes: bool,
    /// Missing cells, and so any outline.
    pub holes: bool,
    /// Walls between cells.
    pub walls: bool,
    /// Cells that two flows cross.
    pub bridges: bool,
    /// Edges that wrap around.
    pub warps: bool,
    /// Several pairs of one colour.
    pub pairs: bool,
    /// Rules by which a flow may touch itself.
    pub touch: bool,
    /// Rules by which cells may stay empty.
    pub empty: bool,
    /// The largest board, in cells of its bounding grid.
    pub max_cells: Option<usize>,
}

impl Supports {
    /// Every puzzle.
    pub const EVERYTHING: Self = Self {
        hexes: true,
        holes: true,
        walls: true,
        bridges: true,
        warps: true,
        pairs: true,
        touch: true,
        empty: true,
        max_cells: None,
    };

    /// Plain rectangles under Flow Free's rules with one pair of each colour.
    pub const RECTANGLES: Self = Self {
        hexes: false,
        holes: false,
        walls: false,
        bridges: false,
        warps: false,
        pairs: false,
        touch: false,
        empty: false,
        max_cells: None,
    };

    /// The same, and whether hexagonal cells are accepted.
    #[must_use]
    pub const fn with_hexes(mut self, accepted: bool) -> Self {
        self.hexes = accepted;
        self
    }

    /// The same, and whether missing cells are accepted.
    #[must_use]
    pub const fn with_holes(mut self, accepted: bool) -> Self {
        self.holes = accepted;
        self
    }

    /// The same, and whether walls between cells are accepted.
    #[must_use]
    pub const fn with_walls(mut self, accepted: bool) -> Self {
        self.walls = accepted;
        self
    }

    /// The same, and whether cells that two flows cross are accepted.
    #[must_use]
    pub const fn with_bridges(mut self, accepted: bool) -> Self {
        self.bridges = accepted;
        self
    }

    /// The same, and whether edges that wrap around are accepted.
    #[must_use]
    pub const fn with_warps(mut self, accepted: bool) -> Self {
        self.warps = accepted;
        self
    }

    /// The same, and whether several pairs of one colour are accepted.
    #[must_use]
    pub const fn with_pairs(mut self, accepted: bool) -> Self {
        self.pairs = accepted;
        self
    }

    /// The same, and whether rules by which a flow may touch itself are accepted.
    #[must_use]
    pub const fn with_touch(mut self, accepted: bool) -> Self {
        self.touch = accepted;
        self
    }

    /// The same, and whether rules by which cells may stay empty are accepted.
    #[must_use]
    pub const fn with_empty(mut self, accepted: bool) -> Self {
        self.empty = accepted;
        self
    }

    /// The same, with a largest board, in cells of its bounding grid.
    #[must_use]
    pub const fn with_max_cells(mut self, cells: usize) -> Self {
        self.max_cells = Some(cells);
        self
    }

    /// Why a puzzle is refused: all reasons in one sentence. `None`: it is accepted.
    #[must_use]
    pub fn refusal(&self, puzzle: &Puzzle) -> Option<String> {
        let board = puzzle.board();
        let mut reasons: Vec<String> = self
            .kinds()
            .into_iter()
            .filter(|kind| !kind.taken && (kind.is_in)(puzzle))
            .map(|kind| kind.words.to_owned())
            .collect();
        if let Some(most) = self.max_cells
            && board.len() > most
        {
            reasons.push(format!("boards of more than {most} cells"));
        }
        let last = reasons.pop()?;
        let before = reasons.join(", ");
        Some(if before.is_empty() {
            format!("it does not take {last}")
        } else {
            format!("it takes neither {before} nor {last}")
        })
    }

    /// The accepted kinds, in a few words each.
    #[must_use]
    pub fn in_words(&self) -> Vec<String> {
        let kinds = self.kinds().into_iter().filter(|kind| kind.taken);
        let size = self.max_cells.map(|most| format!("up to {most} cells"));
        std::iter::once("rectangles".to_owned())
            .chain(kinds.map(|kind| kind.words.to_owned()))
            .chain(size)
            .collect()
    }

    fn kinds(&self) -> [Kind; 8] {
        let kind = |words, taken, is_in| Kind {
            words,
            taken,
            is_in,
        };
        [
            kind("hexes", self.hexes, |puzzle| {
                puzzle.board().description().lattice == Lattice::Hex
            }),
            kind("holes", self.holes, |puzzle| {
                !puzzle.board().description().holes.is_empty()
            }),
            kind("walls", self.walls, |puzzle| {
                !puzzle.board().description().walls.is_empty()
            }),
            kind("bridges", self.bridges, |puzzle| {
                !puzzle.board().description().bridges.is_empty()
            }),
            kind("warps", self.warps, |puzzle| {
                puzzle.board().description().warps
            }),
            kind("several pairs of one colour", self.pairs, |puzzle| {
                puzzle.colours().len() < puzzle.flow_count()
            }),
            kind("flows that touch themselves", self.touch, |puzzle| {
                puzzle.rules().touch
            }),
            kind("cells that stay empty", self.empty, |puzzle| {
                !puzzle.rules().cover
            }),
        ]
    }
}

/// One kind of puzzle.
struct Kind {
    words: &'static str,
    taken: bool,
    is_in: fn(&Puzzle) -> bool,
}

#[cfg(test)]
mod tests {
    use flowpipe_puzzle::{Rules, level, text};

    use super::*;

    #[test]
    fn a_refusal_names_all_kinds() {
        let plain = text::read("AA").remove(0).puzzle.unwrap().0;
        let hexes = level::parse("X_3,0,1,3,,8;0,3,6;1,4,7;2,5").unwrap().puzzle;
        let loose = plain.clone().with_rules(Rules {
            cover: false,
            touch: true,
        });
        assert_eq!(Supports::RECTANGLES.refusal(&plain), None);
        assert_eq!(Supports::EVERYTHING.refusal(&hexes), None);
        assert_eq!(
            Supports::RECTANGLES.refusal(&hexes).unwrap(),
            "it takes neither hexes nor holes"
        );
        assert_eq!(
            Supports::RECTANGLES.refusal(&loose).unwrap(),
            "it takes neither flows that touch themselves nor cells that stay empty"
        );
        let small = Supports::EVERYTHING.with_max_cells(1);
        assert_eq!(
            small.refusal(&plain).unwrap(),
            "it does not take boards of more than 1 cells"
        );
        assert_eq!(Supports::RECTANGLES.in_words(), ["rectangles"],);
    }
}
