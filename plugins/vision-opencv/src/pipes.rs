//! The pipes that are drawn: where they cross from cell to cell, and the flows that this makes.

use flowpipe_plugin::puzzle::message::BoardState;
use flowpipe_plugin::puzzle::{Cell, Colour, Flow};

use crate::colours::{Paints, painted};
use crate::contents::Content;
use crate::grid_lines::Grid;
use crate::picture::{Picture, Rgb};
use crate::refusal::Refusal;
use crate::terminals::{Look, median, square_distance};

/// What is drawn on a board.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawn {
    /// Each from a terminal.
    pub flows: Vec<Flow>,
    /// How far the board is played.
    pub state: BoardState,
}

/// Traces the pipes.
///
/// # Errors
/// [`Refusal::StrangePipe`] where what is drawn cannot have come from the game.
pub fn trace(
    picture: &Picture<'_>,
    grid: &Grid,
    looks: &[Look],
    contents: &[Content],
    paints: &Paints,
) -> Result<Drawn, Refusal> {
    let (rows, cols) = (grid.rows(), grid.cols());
    let strange = |cell: Cell, what| Refusal::StrangePipe {
        row: cell / cols + 1,
        col: cell % cols + 1,
        what,
    };
    let mut links: Vec<Vec<(Cell, Colour)>> = vec![Vec::new(); looks.len()];
    for cell in 0..looks.len() {
        let (row, col) = (cell / cols, cell % cols);
        let right = (col + 1 < cols).then_some(cell + 1);
        let below = (row + 1 < rows).then_some(cell + cols);
        for other in [right, below].into_iter().flatten() {
            let point = crossing_point(grid, cell, other);
            if let Some(colour) =
                crossing(picture, grid, looks, &paints.palette, cell, other, point)
            {
                links[cell].push((other, colour));
                links[other].push((cell, colour));
            }
        }
    }
    let mut terminal_at = vec![None; looks.len()];
    for terminal in &paints.terminals {
        terminal_at[terminal.cell] = Some(terminal.colour);
    }
    for (cell, content) in contents.iter().enumerate() {
        let colours = &links[cell];
        if colours.windows(2).any(|pair| pair[0].1 != pair[1].1) {
            return Err(strange(cell, "changes its colour"));
        }
        let most = match content {
            Content::Terminal => 1,
            Content::Pipe => 2,
            Content::Empty => 0,
        };
        if colours.len() > most {
            return Err(strange(cell, "branches or passes through what is no pipe"));
        }
        if let (Some(own), Some(&(_, colour))) = (terminal_at[cell], colours.first())
            && own != colour
        {
            return Err(strange(cell, "ends at a terminal of another colour"));
        }
    }
    let flows = follow(paints, &links);
    let mut covered = vec![false; looks.len()];
    for &cell in flows.iter().flat_map(|flow| &flow.cells) {
        covered[cell] = true;
    }
    if let Some(cell) =
        (0..looks.len()).find(|&cell| contents[cell] == Content::Pipe && !covered[cell])
    {
        return Err(strange(cell, "comes from no terminal"));
    }
    let joined = |flow: &&Flow| {
        flow.cells
            .last()
            .is_some_and(|&last| terminal_at[last] == Some(flow.colour))
    };
    let solved = covered.iter().all(|&covered| covered)
        && flows.iter().filter(joined).count() == paints.palette.len();
    let state = match (flows.is_empty(), solved) {
        (true, _) => BoardState::Empty,
        (_, true) => BoardState::Solved,
        _ => BoardState::Partial,
    };
    Ok(Drawn { flows, state })
}

/// Follows the links from each terminal, a joined flow from its first terminal only.
fn follow(paints: &Paints, links: &[Vec<(Cell, Colour)>]) -> Vec<Flow> {
    let mut flows: Vec<Flow> = Vec::new();
    let mut reached = vec![false; links.len()];
    for terminal in &paints.terminals {
        if reached[terminal.cell] || links[terminal.cell].is_empty() {
            continue;
        }
        let mut cells = vec![terminal.cell];
        reached[terminal.cell] = true;
        let mut current = terminal.cell;
        while let Some(&(next, _)) = links[current].iter().find(|(next, _)| !reached[*next]) {
            reached[next] = true;
            cells.push(next);
            current = next;
        }
        flows.push(Flow {
            colour: terminal.colour,
            cells,
        });
    }
    flows
}

/// The middle of the side between two cells.
fn crossing_point(grid: &Grid, a: Cell, b: Cell) -> (f64, f64) {
    let cols = grid.cols();
    let (x0, y0) = grid.centre(a / cols, a % cols);
    let (x1, y1) = grid.centre(b / cols, b % cols);
    ((x0 + x1) / 2.0, (y0 + y1) / 2.0)
}

/// The colour of the pipe that crosses a side, if one does: all around the middle of the side the
/// picture must be nearer to one paint than to the background, the grid line included.
fn crossing(
    picture: &Picture<'_>,
    grid: &Grid,
    looks: &[Look],
    palette: &[Rgb],
    a: Cell,
    b: Cell,
    (x, y): (f64, f64),
) -> Option<Colour> {
    let reach = 0.08 * grid.cell;
    let offs = [-reach, 0.0, reach];
    let patch: Vec<Rgb> = offs
        .iter()
        .flat_map(|dy| offs.iter().map(move |dx| (*dx, *dy)))
        .filter_map(|(dx, dy)| picture.at(x + dx, y + dy))
        .collect();
    let colour = median(&patch);
    let (number, &paint) = palette
        .iter()
        .enumerate()
        .min_by_key(|(_, paint)| square_distance(**paint, colour))?;
    let on_paint = |point: Rgb| {
        [a, b]
            .iter()
            .all(|&cell| painted(point, paint, looks[cell].background))
    };
    (patch.len() == 9 && patch.into_iter().all(on_paint)).then_some(number as Colour)
}
