//! Lines of characters that join where they meet.

use std::collections::BTreeMap;

use ratatui::buffer::Buffer;
use ratatui::style::Style;

/// Column and row of a character.
pub(super) type Place = (u16, u16);

/// Ways out of a character.
const NORTH: usize = 1;
const EAST: usize = 2;
const SOUTH: usize = 4;
const WEST: usize = 8;

/// The characters of a kind of line, by the ways in which it goes on.
pub(super) type Pen = [char; 16];
pub(super) const THIN: Pen = [
    ' ', '╵', '╶', '└', '╷', '│', '┌', '├', '╴', '┘', '─', '┴', '┐', '┤', '┬', '┼',
];
pub(super) const THICK: Pen = [
    ' ', '╹', '╺', '┗', '╻', '┃', '┏', '┣', '╸', '┛', '━', '┻', '┓', '┫', '┳', '╋',
];
pub(super) const DOUBLE: Pen = [
    ' ', '║', '═', '╚', '║', '║', '╔', '╠', '═', '╝', '═', '╩', '╗', '╣', '╦', '╬',
];

/// Lines of one kind.
#[derive(Default)]
pub(super) struct TerminalLines(BTreeMap<Place, usize>);

impl TerminalLines {
    /// Draws a line from one character to another: straight, or across, down at half the way, and
    /// across.
    pub(super) fn line(&mut self, from: Place, to: Place) {
        if from.0 == to.0 || from.1 == to.1 {
            return self.straight(from, to);
        }
        let half = from.0.midpoint(to.0);
        self.straight(from, (half, from.1));
        self.straight((half, from.1), (half, to.1));
        self.straight((half, to.1), to);
    }

    fn straight(&mut self, from: Place, to: Place) {
        let (first, last) = (from.min(to), from.max(to));
        for column in first.0..last.0 {
            *self.0.entry((column, first.1)).or_default() |= EAST;
            *self.0.entry((column + 1, first.1)).or_default() |= WEST;
        }
        for row in first.1..last.1 {
            *self.0.entry((first.0, row)).or_default() |= SOUTH;
            *self.0.entry((first.0, row + 1)).or_default() |= NORTH;
        }
    }

    /// Puts the lines on a buffer. What is drawn later lies above.
    pub(super) fn draw(&self, buffer: &mut Buffer, pen: &Pen, style: Style) {
        for (&place, &ways) in &self.0 {
            if let Some(cell) = buffer.cell_mut(place) {
                cell.set_char(pen[ways]).set_style(style);
            }
        }
    }
}
