//! A board and its flows as characters.

use flowpipe_puzzle::graph::step;
use flowpipe_puzzle::place::{centre, corners, direction, offset};
use flowpipe_puzzle::{Cell, Direction, Flow, Lattice, Puzzle, colour};
use ratatui::buffer::Buffer;
use ratatui::style::{Modifier, Style};

use super::colours::Colours;
use super::lines::{DOUBLE, Place, THICK, THIN, TerminalLines};
use super::plan::Plan;
use crate::render::paint;
use crate::session::Face;

/// Of the lines between cells.
const LINE: [u8; 3] = [95, 95, 95];
/// Of walls.
const WALL: [u8; 3] = [255, 255, 255];

/// Draws a board where a plan places it.
pub(super) fn draw(face: &Face, plan: &Plan, colours: Colours, buffer: &mut Buffer) {
    let drawing = Drawing {
        puzzle: &face.puzzle,
        plan,
        colours,
    };
    drawing.cells(buffer);
    for flow in &face.flows {
        drawing.tint(flow, buffer);
    }
    for flow in &face.flows {
        drawing.pipe(flow, buffer);
    }
    for terminal in face.puzzle.terminals() {
        drawing.terminal(terminal.cell, terminal.colour, buffer);
    }
}

/// Marks a cell as the keyboard's.
pub(super) fn mark(puzzle: &Puzzle, plan: &Plan, cell: Cell, buffer: &mut Buffer) {
    let (column, row) = plan.middle(puzzle, cell);
    let aside = u16::from(plan.has_lines);
    for column in column.saturating_sub(aside)..=column + aside {
        if let Some(character) = buffer.cell_mut((column, row)) {
            let style = character.style().add_modifier(Modifier::REVERSED);
            character.set_style(style);
        }
    }
}

struct Drawing<'a> {
    puzzle: &'a Puzzle,
    plan: &'a Plan,
    colours: Colours,
}

impl Drawing<'_> {
    fn middle(&self, cell: Cell) -> Place {
        self.plan.middle(self.puzzle, cell)
    }

    /// The lines between cells, the walls, and a dot for each cell that has no lines around it.
    fn cells(&self, buffer: &mut Buffer) {
        let board = self.puzzle.board();
        let has_corners = self.plan.has_lines && board.description().lattice == Lattice::Square;
        let (mut thin, mut walls) = (TerminalLines::default(), TerminalLines::default());
        for cell in board.cells() {
            let [x, y] = centre(board, cell);
            if has_corners {
                let corners = corners(Lattice::Square);
                let corner = |index: usize| {
                    let [dx, dy] = corners[index % corners.len()];
                    self.plan.character([x + dx, y + dy])
                };
                for way in 0..corners.len() {
                    let passage = step(board.description(), cell, Direction(way as u8))
                        .is_some_and(|next| board.touch(cell, next));
                    let is_thin = passage || board.is_plain_rectangle();
                    let lines = if is_thin { &mut thin } else { &mut walls };
                    lines.line(corner(way), corner(way + 1));
                }
            }
            let mark = match (board.is_bridge(cell), has_corners) {
                (true, _) => '╬',
                (false, true) => ' ',
                (false, false) => '·',
            };
            let style = self.colours.ink(LINE);
            if let Some(character) = buffer.cell_mut(self.middle(cell)) {
                character.set_char(mark).set_style(style);
            }
        }
        thin.draw(buffer, &THIN, self.colours.ink(LINE));
        walls.draw(buffer, &DOUBLE, self.colours.ink(WALL));
    }

    fn tint(&self, flow: &Flow, buffer: &mut Buffer) {
        let style = self.colours.tint(paint::colour(flow.colour));
        if !self.plan.has_lines {
            return;
        }
        let (across, down) = self.plan.pitch;
        let (aside, above) = (across / 2 - 1, down / 2 - 1);
        for &cell in &flow.cells {
            let (column, row) = self.middle(cell);
            for row in row.saturating_sub(above)..=row + above {
                for column in column.saturating_sub(aside)..=column + aside {
                    if let Some(character) = buffer.cell_mut((column, row)) {
                        character.set_style(style);
                    }
                }
            }
        }
    }

    fn pipe(&self, flow: &Flow, buffer: &mut Buffer) {
        let board = self.puzzle.board();
        let mut lines = TerminalLines::default();
        for pair in flow.cells.windows(2) {
            let (from, to) = (centre(board, pair[0]), centre(board, pair[1]));
            let Some(way) = direction(board, pair[0], pair[1]) else {
                continue;
            };
            let [dx, dy] = offset(board.description().lattice, way);
            if [from[0] + dx, from[1] + dy] == to {
                lines.line(self.middle(pair[0]), self.middle(pair[1]));
            } else {
                // Over the edge of the board.
                let out = [from[0] + dx / 2.0, from[1] + dy / 2.0];
                let back = [to[0] - dx / 2.0, to[1] - dy / 2.0];
                lines.line(self.middle(pair[0]), self.plan.character(out));
                lines.line(self.plan.character(back), self.middle(pair[1]));
            }
        }
        lines.draw(buffer, &THICK, self.colours.ink(paint::colour(flow.colour)));
    }

    /// A disc with the colour's letter, so that it is readable without colours.
    fn terminal(&self, cell: Cell, number: colour::Colour, buffer: &mut Buffer) {
        let (column, row) = self.middle(cell);
        let rgb = paint::colour(number);
        let (on, ink) = (self.colours.on(rgb), self.colours.ink(rgb));
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let name = colour::name(number);
        let has_disc = self.colours != Colours::None;
        if !self.plan.has_lines {
            buffer.set_stringn(column, row, name, 1, on.patch(bold));
            return;
        }
        let (text, aside) = match (has_disc, self.plan.pitch.0 > 4) {
            (false, _) => (format!("({name})"), 1),
            (true, false) => (format!("{name:^3}"), 1),
            (true, true) => (format!("{name:^5}"), 2),
        };
        buffer.set_string(column.saturating_sub(aside), row, text, on.patch(bold));
        if has_disc && self.plan.pitch.1 > 2 {
            buffer.set_string(column - 1, row - 1, "▄▄▄", ink);
            buffer.set_string(column - 1, row + 1, "▀▀▀", ink);
        }
    }
}
