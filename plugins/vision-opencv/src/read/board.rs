//! Reads the board on a known grid, step by step from its lines to its pipes.

use flowpipe_plugin::puzzle::message::SeenBoard;
use flowpipe_plugin::puzzle::{Cell, Lattice, Puzzle, PuzzleError, Rules};

use crate::find::grid::Grid;
use crate::picture::Picture;
use crate::picture::colour::is_grey;
use crate::picture::polarity::Polarity;
use crate::read::contents::cell_contents::{self, CellContent};
use crate::read::contents::cell_layout::CellLayout;
use crate::read::contents::colours::{PipeLook, TerminalColours};
use crate::read::contents::known_terminals::KnownTerminals;
use crate::read::contents::pipes::{self, Scene};
use crate::read::contents::terminals::BoardColours;
use crate::read::contents::{colours, drawn, numbers, terminals, tiles};
use crate::read::illustration;
use crate::read::shape::board_shape::BoardShape;
use crate::read::shape::grid_check::{self, CheckedGrid};
use crate::read::shape::line_model::LineAppearance;
use crate::read::shape::surroundings::Surroundings;
use crate::refuse::refusal::Refusal;
use crate::refuse::solvability;
use crate::steps::Steps;

/// A board, and how its lines look.
#[derive(Clone, Debug)]
pub struct BoardReading {
    /// The board, upright at its grid.
    pub board: Box<SeenBoard>,
    /// Its lines.
    pub lines: LineAppearance,
    /// Which of its cells are there.
    pub shape: BoardShape,
    /// Its terminals with their colours.
    pub terminals: TerminalColours,
    /// How far the faintest terminal stands out, in levels.
    pub faintest: f64,
    /// Where its cells are.
    pub grid: Grid,
    /// What to read it by in the next picture. Hexagons are found by a grid that is wider than their board.
    pub home: Grid,
}

impl BoardReading {
    /// The same board, unless it is proved to have no solution.
    ///
    /// # Errors
    /// [`Refusal::Unsolvable`].
    pub fn with_solution(self) -> Result<Self, Refusal> {
        solvability::check(&self.board.puzzle).map(|()| self)
    }
}

/// Reads what a grid holds.
///
/// # Errors
/// [`PuzzleError`] for a board that the puzzle model does not take, which the steps should not have let
/// pass; a board that can't be read is none.
pub fn read_board(
    picture: &Picture<'_>,
    grid: &Grid,
    beyond: Surroundings,
    polarity: Polarity,
    steps: &mut Steps,
) -> Result<Result<BoardReading, Refusal>, PuzzleError> {
    let read = read_solvable_or_not(picture, grid, beyond, polarity, steps)?;
    let read = read.and_then(BoardReading::with_solution);
    steps.done("solvable");
    Ok(read)
}

/// Reads what a grid holds, also where that has no solution.
///
/// # Errors
/// As [`read_board`].
pub fn read_solvable_or_not(
    picture: &Picture<'_>,
    grid: &Grid,
    beyond: Surroundings,
    polarity: Polarity,
    steps: &mut Steps,
) -> Result<Result<BoardReading, Refusal>, PuzzleError> {
    let checked = grid_check::check(picture, grid, beyond, polarity);
    steps.done("cells");
    let mut read = match checked {
        Ok(checked) => read_cells(picture, checked, steps)?,
        Err(refusal) => Err(refusal),
    };
    match &mut read {
        Ok(read) if grid.lattice == Lattice::Hex => read.home = grid.clone(),
        Ok(_) => {}
        Err(refusal) => steps.done(refusal.step()),
    }
    Ok(read)
}

/// Reads what the cells of a grid hold that was checked, also where that has no solution.
///
/// # Errors
/// As [`read_board`].
pub fn read_cells(
    picture: &Picture<'_>,
    checked: CheckedGrid,
    steps: &mut Steps,
) -> Result<Result<BoardReading, Refusal>, PuzzleError> {
    read_contents(picture, checked, None, steps)
}

/// Reads what a grid holds on which a board with known terminals was seen, also where that has no solution. `None`
/// where it may be another board.
///
/// # Errors
/// As [`read_board`].
pub fn read_known(
    picture: &Picture<'_>,
    grid: &Grid,
    polarity: Polarity,
    known: &KnownTerminals,
    steps: &mut Steps,
) -> Result<Option<BoardReading>, PuzzleError> {
    let checked = grid_check::check(picture, grid, Surroundings::Empty, polarity);
    steps.done("cells");
    let Ok(checked) = checked else {
        return Ok(None);
    };
    let read = read_contents(picture, checked, Some(known), steps)?;
    let mut read = read.ok();
    if let Some(read) = read.as_mut().filter(|_| grid.lattice == Lattice::Hex) {
        read.home = grid.clone();
    }
    Ok(read)
}

/// Reads what the cells of a grid hold, by the terminals that are known.
fn read_contents(
    picture: &Picture<'_>,
    checked: CheckedGrid,
    known: Option<&KnownTerminals>,
    steps: &mut Steps,
) -> Result<Result<BoardReading, Refusal>, PuzzleError> {
    let CheckedGrid {
        lines,
        shape,
        grid,
        unseen,
    } = checked;
    let places = CellLayout::new(&grid);
    let mut read = || {
        let mut looks = terminals::look(picture, &places, &grid, &shape);
        let paints = match known {
            Some(known) => known
                .recognize(picture, &grid, &shape, &mut looks)
                .ok_or(Refusal::OtherBoard)?,
            None => find_terminals(picture, &places, &grid, &mut looks, steps)?,
        };
        steps.done("colours");
        illustration::terminals(picture, &grid, &paints.terminals, &paints.palette, steps);
        let contrast = lines.contrast;
        let contents = cell_contents::contents(picture, &places, &grid, &looks, &paints, contrast)?;
        let is_empty = |cell: Cell| contents[cell] == CellContent::Empty;
        let covered =
            |&&(cell, other): &&(Cell, Option<Cell>)| is_empty(cell) && other.is_none_or(is_empty);
        if let Some(&(cell, _)) = unseen.iter().find(covered) {
            return Err(Refusal::Covered {
                row: cell / grid.cols() + 1,
                col: cell % grid.cols() + 1,
            });
        }
        steps.done("contents");
        Ok::<_, Refusal>((looks, paints, contents))
    };
    let (looks, paints, contents) = match read() {
        Ok(seen) => seen,
        Err(refusal) => {
            let looks = terminals::look(picture, &places, &grid, &shape);
            return Ok(Err(drawn::explained(
                refusal, picture, &places, &grid, &looks,
            )));
        }
    };
    let seen_shape = shape.clone();
    let bridges = (0..grid.len()).filter(|&cell| contents[cell] == CellContent::Bridge);
    let board = shape.board(&grid, bridges.collect())?;
    let scene = Scene {
        picture,
        places: &places,
        looks: &looks,
        paints: &paints,
    };
    let drawn = match pipes::trace(&scene, &grid, &board, &contents) {
        Ok(drawn) => drawn,
        // The number that a line comes from may be below it.
        Err(Refusal::StrangePipe { row, col, what })
            if paints.pipes == PipeLook::Inked && what == pipes::FROM_NOWHERE =>
        {
            return Ok(Err(Refusal::LinesOver { row, col }));
        }
        Err(refusal) => {
            return Ok(Err(drawn::explained(
                refusal, picture, &places, &grid, &looks,
            )));
        }
    };
    steps.done("pipes");
    illustration::pipes(picture, &grid, &drawn.flows, steps);
    let rules = match paints.pipes {
        PipeLook::Painted | PipeLook::Filled => Rules::default(),
        // Numbers are of puzzles on paper, which need not cover the board.
        PipeLook::Inked => numbers::RULES,
    };
    let puzzle = Puzzle::new(board, paints.terminals.clone(), rules)?;
    let board = Box::new(
        SeenBoard::new(puzzle, grid.geometry(), paints.palette.clone())
            .with_drawn(drawn.flows, drawn.state)
            .with_numbers(paints.pipes == PipeLook::Inked)
            .with_confidence(paints.clearness.min(lines.faintest.min(1.0))),
    );
    let home = grid.clone();
    Ok(Ok(BoardReading {
        board,
        lines,
        shape: seen_shape,
        faintest: looks.faintest,
        terminals: paints,
        grid,
        home,
    }))
}

/// That lines cover numbers, where a line goes over the middle of a cell in which no number is seen.
fn lines_over(grid: &Grid, looks: &BoardColours) -> Option<Refusal> {
    let mut cells = looks.there();
    let (cell, _) = cells.find(|(_, look)| look.terminal.is_none() && look.is_lined())?;
    Some(Refusal::LinesOver {
        row: cell / grid.cols() + 1,
        col: cell % grid.cols() + 1,
    })
}

/// Finds the terminals of a board and pairs them, whatever they look like.
fn find_terminals(
    picture: &Picture<'_>,
    places: &CellLayout<'_>,
    grid: &Grid,
    looks: &mut BoardColours,
    steps: &mut Steps,
) -> Result<TerminalColours, Refusal> {
    let are_discs = looks.find_terminals(picture, places, grid)? > 0;
    steps.done("terminals");
    if !are_discs {
        return numbers::pair(picture, places, grid, looks).map_err(|refusal| match refusal {
            Refusal::OddTerminals(_) | Refusal::NoPartner { .. } => {
                lines_over(grid, looks).unwrap_or(refusal)
            }
            refusal => refusal,
        });
    }
    if let Some(paints) = tiles::pairs(looks, grid) {
        return Ok(paints);
    }
    let terminals = looks.terminals();
    let all_grey = terminals.iter().all(|(_, colour)| is_grey(*colour));
    colours::pair(&terminals, grid).map_err(|refusal| match all_grey {
        true => Refusal::NoColours,
        false => refusal,
    })
}
