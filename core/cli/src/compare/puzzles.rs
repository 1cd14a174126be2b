//! Whether two puzzles, or two solutions, are equal except for the names of colours.

use flowpipe_puzzle::board::Description;
use flowpipe_puzzle::{Cell, Colour, Lattice, Puzzle, Rules, Solution, colour};
use serde::Serialize;

/// A puzzle with its colours numbered in the order of their first cells.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PuzzleKey {
    board: Description,
    terminals: Vec<(Cell, usize)>,
    rules: Rules,
}

impl PuzzleKey {
    /// The key of a puzzle.
    pub fn of(puzzle: &Puzzle) -> Self {
        let order = order(puzzle);
        let number = |colour| {
            order
                .iter()
                .position(|&it| it == colour)
                .unwrap_or_default()
        };
        let terminals = puzzle.terminals().iter();
        Self {
            board: puzzle.board().description().clone(),
            terminals: terminals.map(|it| (it.cell, number(it.colour))).collect(),
            rules: puzzle.rules(),
        }
    }
}

/// The colours, in the order of their first cells.
fn order(puzzle: &Puzzle) -> Vec<Colour> {
    let mut order = Vec::new();
    for terminal in puzzle.terminals() {
        if !order.contains(&terminal.colour) {
            order.push(terminal.colour);
        }
    }
    order
}

/// Where two readings differ first, row by row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CellDifference {
    /// From 1. `None`: the difference is not in a single cell.
    pub row: Option<usize>,
    /// From 1.
    pub col: Option<usize>,
    /// What the first puzzle has there.
    pub a: String,
    /// What the second puzzle has there.
    pub b: String,
}

/// Where two puzzles differ first. `None`: they are equal.
pub fn first_difference(a: &Puzzle, b: &Puzzle) -> Option<CellDifference> {
    if PuzzleKey::of(a) == PuzzleKey::of(b) {
        return None;
    }
    let as_a_whole = |a: String, b: String| CellDifference {
        row: None,
        col: None,
        a,
        b,
    };
    let shapes = [a, b].map(shape);
    if shapes[0] != shapes[1] {
        let [a, b] = shapes;
        return Some(as_a_whole(a, b));
    }
    let (cells_a, cells_b) = (Cells::of(a), Cells::of(b));
    let differs = |&cell: &Cell| cells_a.at(cell) != cells_b.at(cell);
    let cell = (0..a.board().len()).find(differs);
    Some(match cell {
        Some(cell) => {
            let (row, col) = a.board().row_col(cell);
            CellDifference {
                row: Some(row + 1),
                col: Some(col + 1),
                a: cells_a.at(cell),
                b: cells_b.at(cell),
            }
        }
        None => as_a_whole(rules(a), rules(b)),
    })
}

fn shape(puzzle: &Puzzle) -> String {
    let made_of = puzzle.board().description();
    let lattice = match made_of.lattice {
        Lattice::Square => "squares",
        Lattice::Hex => "hexes",
    };
    let warps = if made_of.warps { " that warp" } else { "" };
    format!("{} x {} {lattice}{warps}", made_of.cols, made_of.rows)
}

fn rules(puzzle: &Puzzle) -> String {
    let Rules { cover, touch } = puzzle.rules();
    format!("rules cover {cover}, touch {touch}")
}

/// The cells of a puzzle, as text.
struct Cells<'a> {
    puzzle: &'a Puzzle,
    order: Vec<Colour>,
}

impl<'a> Cells<'a> {
    fn of(puzzle: &'a Puzzle) -> Self {
        Self {
            puzzle,
            order: order(puzzle),
        }
    }

    fn at(&self, cell: Cell) -> String {
        let board = self.puzzle.board();
        if !board.exists(cell) {
            return "no cell".to_owned();
        }
        let terminal = self.puzzle.terminal_at(cell);
        let mut text = match terminal {
            Some(colour) => {
                // The name that both puzzles would use if they named colours in the same order.
                let number = self.order.iter().position(|&it| it == colour);
                let number = number.and_then(|number| Colour::try_from(number).ok());
                format!("terminal {}", colour::name(number.unwrap_or(colour)))
            }
            None if board.is_bridge(cell) => "a bridge".to_owned(),
            None => "an empty cell".to_owned(),
        };
        let walls = board.description().walls.iter();
        let beyond = walls.filter_map(|&(one, other)| match cell {
            _ if cell == one => Some(other),
            _ if cell == other => Some(one),
            _ => None,
        });
        for beyond in beyond {
            let (row, col) = board.row_col(beyond);
            text += &format!(", a wall towards row {}, column {}", row + 1, col + 1);
        }
        text
    }
}

/// Whether two solutions of the same puzzle run through the same cells.
pub fn same_solution(a: &Solution, b: &Solution) -> bool {
    let cells = |solution: &Solution| {
        let flows = solution.clone().canonical().flows;
        let mut cells: Vec<Vec<Cell>> = flows.into_iter().map(|flow| flow.cells).collect();
        cells.sort_unstable();
        cells
    };
    cells(a) == cells(b)
}

#[cfg(test)]
mod tests {
    use flowpipe_puzzle::{Flow, text};

    use super::*;

    fn puzzle(text: &str) -> Puzzle {
        text::read(text).remove(0).puzzle.unwrap().0
    }

    fn cell(a: &str, b: &str) -> Option<(usize, usize, String, String)> {
        let cell = first_difference(&puzzle(a), &puzzle(b))?;
        Some((cell.row.unwrap_or(0), cell.col.unwrap_or(0), cell.a, cell.b))
    }

    #[test]
    fn the_names_of_colours_do_not_matter() {
        assert_eq!(cell("A.B\nA.B", "B.A\nB.A"), None);
        let (one, other) = (puzzle("A.B\nA.B"), puzzle("B.A\nB.A"));
        assert_eq!(PuzzleKey::of(&one), PuzzleKey::of(&other));
    }

    #[test]
    fn the_first_different_cell_is_reported() {
        let expected = |row, col, a: &str, b: &str| Some((row, col, a.to_owned(), b.to_owned()));
        assert_eq!(
            cell("A.B\nA.B", "A.B\nB.A"),
            expected(2, 1, "terminal A", "terminal B")
        );
        assert_eq!(
            cell("A.B\nA.B", "A.B\n.AB"),
            expected(2, 1, "terminal A", "an empty cell")
        );
        assert_eq!(
            cell("AA\n..", "AA\n.#"),
            expected(2, 2, "an empty cell", "no cell")
        );
        assert_eq!(
            cell("AA", "AA\n.."),
            expected(0, 0, "2 x 1 squares", "2 x 2 squares")
        );
    }

    #[test]
    fn flows_may_start_at_either_end() {
        let flow = |colour, cells: &[Cell]| Flow {
            colour,
            cells: cells.to_vec(),
        };
        let one = Solution {
            flows: vec![flow(0, &[0, 1]), flow(1, &[2, 3])],
        };
        let other = Solution {
            flows: vec![flow(0, &[3, 2]), flow(1, &[0, 1])],
        };
        let third = Solution {
            flows: vec![flow(0, &[0, 2]), flow(1, &[1, 3])],
        };
        assert!(same_solution(&one, &other));
        assert!(!same_solution(&one, &third));
    }
}
