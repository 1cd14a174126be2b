//! Boards of hexes as characters: staggered columns, two lines a cell. A pipe to the next column goes
//! along its own line to half the way and up or down from there.

use std::collections::HashMap;

use super::canvas::Canvas;
use super::{Arms, Drawing, EAST, NORTH, SOUTH, WEST};
use crate::board::Cell;
use crate::colour::Colour;

/// Half a pipe between two cells, from one of them: what is added to which characters.
struct Half {
    /// Steps from the cell's character, down and to the right, and the arms there.
    parts: Vec<(isize, isize, Arms)>,
}

pub(super) fn hexes(drawing: &Drawing<'_>) -> Canvas {
    let (rows, cols) = (drawing.board.rows(), drawing.board.cols());
    let pitch = drawing.name_width + 3;
    // What comes around an edge enters from the margins.
    let wraps = drawing.board.description().warps;
    let (top, left) = if wraps { (1, 2) } else { (0, 0) };
    let mut canvas = Canvas::new(2 * (rows + top), left + cols * pitch + left);
    let place = |cell: Cell| {
        let (row, col) = drawing.board.row_col(cell);
        // An even column lies half a cell lower.
        (
            top + 2 * row + usize::from(col % 2 == 0),
            left + col * pitch,
        )
    };

    let mut pipes: HashMap<(usize, usize), (Arms, Colour)> = HashMap::new();
    for cell in drawing.board.cells() {
        let (y, x) = place(cell);
        for way in 0..6 {
            let Some(colour) = drawing.arm(cell, way) else {
                continue;
            };
            for (down, right, arms) in half(way, pitch as isize).parts {
                let to = y.checked_add_signed(down).zip(x.checked_add_signed(right));
                if let Some(to) = to {
                    let pipe = pipes.entry(to).or_insert((0, colour));
                    *pipe = (pipe.0 | arms, colour);
                }
            }
        }
    }
    for (&(y, x), &(arms, colour)) in &pipes {
        canvas.put(y, x, drawing.glyph(arms), Some(colour));
    }
    for cell in drawing.board.cells() {
        let (y, x) = place(cell);
        match (
            drawing.puzzle.terminal_at(cell),
            drawing.colour_of.get(&cell),
        ) {
            (Some(colour), _) => {
                canvas.write(y, x, &drawing.terminal(colour), Some(colour));
            }
            (None, flow) => canvas.put_if_free(y, x, drawing.glyph(0), flow.copied()),
        }
        hex_walls(drawing, &mut canvas, cell, y, x, pitch);
    }
    canvas
}

/// The walls around a cell: each lies across the way that it closes.
fn hex_walls(
    drawing: &Drawing<'_>,
    canvas: &mut Canvas,
    cell: Cell,
    y: usize,
    x: usize,
    pitch: usize,
) {
    let [level, falling, rising] = if drawing.style.ascii {
        ['=', '\\', '/']
    } else {
        ['━', '╲', '╱']
    };
    for way in (0..6).filter(|&way| drawing.walled(cell, way)) {
        let middle = pitch as isize - 2;
        let (down, right, wall) = match way {
            0 => (-1, 0, level),
            1 => (0, middle, falling),
            2 => (0, middle, rising),
            3 => (1, 0, level),
            4 => (0, -2, falling),
            _ => (0, -2, rising),
        };
        let to = y.checked_add_signed(down).zip(x.checked_add_signed(right));
        if let Some((y, x)) = to {
            canvas.put_if_free(y, x, wall, None);
        }
    }
}

/// From a cell's character out in a direction, where columns are `pitch` characters apart.
fn half(way: u8, pitch: isize) -> Half {
    let middle = pitch - 2;
    let turn = |way| if way == 1 || way == 5 { NORTH } else { SOUTH };
    let parts = match way {
        0 => vec![(0, 0, NORTH), (-1, 0, NORTH | SOUTH)],
        3 => vec![(0, 0, SOUTH), (1, 0, NORTH | SOUTH)],
        1 | 2 => std::iter::once((0, 0, EAST))
            .chain((1..middle).map(|right| (0, right, EAST | WEST)))
            .chain([(0, middle, WEST | turn(way))])
            .collect(),
        _ => vec![
            (0, 0, WEST),
            (0, -1, EAST | WEST),
            (0, -2, EAST | turn(way)),
        ],
    };
    Half { parts }
}
