//! Reads a board whose grid is known: the steps from its lines to its pipes.

use flowpipe_plugin::puzzle::message::SeenBoard;
use flowpipe_plugin::puzzle::{Board, Geometry, Puzzle, PuzzleError, Rules};

use crate::cells::{self, Beyond, LineLook};
use crate::colours;
use crate::contents;
use crate::grid_lines::Grid;
use crate::picture::Picture;
use crate::pipes;
use crate::refusal::Refusal;
use crate::terminals;
use crate::thin::Thin;

/// A board, and how its lines look.
pub struct Read {
    /// The board, upright at its grid.
    pub board: Box<SeenBoard>,
    /// Its lines.
    pub lines: LineLook,
    /// How much they stand out in the top-hat.
    pub strength: f64,
}

/// Reads what a grid holds.
///
/// # Errors
/// [`PuzzleError`] for a board that the puzzle model does not take, which the steps should not have let
/// pass; a board that can't be read is none.
pub fn read_board(
    picture: &Picture<'_>,
    thin: &Thin<'_>,
    grid: &Grid,
    beyond: Beyond,
) -> Result<Result<Read, Refusal>, PuzzleError> {
    let strength = contents::line_strength(thin, grid);
    let steps = || {
        let lines = cells::check(picture, grid, beyond)?;
        let looks = terminals::look(picture, grid)?;
        let found: Vec<_> = looks
            .cells
            .iter()
            .enumerate()
            .filter_map(|(cell, look)| Some((cell, look.terminal?)))
            .collect();
        let paints = colours::pair(&found, grid)?;
        let contents = contents::contents(&looks, &paints, thin, strength, grid)?;
        let drawn = pipes::trace(picture, grid, &looks.cells, &contents, &paints)?;
        Ok((lines, paints, drawn))
    };
    let (lines, paints, drawn) = match steps() {
        Ok(seen) => seen,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let (rows, cols) = (grid.rows(), grid.cols());
    let board = Board::rectangle(rows, cols)?;
    let [x, y, width, height] = grid.bounds();
    let board = Box::new(SeenBoard {
        puzzle: Puzzle::new(board, paints.terminals, Rules::default())?,
        geometry: Geometry::upright(x, y, width, height, rows, cols),
        palette: paints.palette,
        drawn: drawn.flows,
        state: drawn.state,
        confidence: paints.clearness.min(lines.faintest.min(1.0)),
    });
    Ok(Ok(Read {
        board,
        lines,
        strength,
    }))
}
