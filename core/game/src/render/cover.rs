//! What covers a board.

use flowpipe_puzzle::{Board, Point};

use super::canvas::Canvas;
use super::popup::{self, Written};
use super::{Layout, Theme};
use crate::cover::{BUTTON, Cover};

/// The height of letters, in shares of a panel's shorter side: a title's, a line's and a button's.
const TITLE: f64 = 0.12;
const LINE: f64 = 0.07;
const ON_BUTTON: f64 = 0.09;
/// Where the title is, and between which places the lines are, from -1 to 1.
const TITLE_Y: f64 = -0.65;
const LINES_Y: [f64; 2] = [-0.35, 0.75];
/// From one line to the next at most.
const LINE_STEP: f64 = 0.26;

/// Draws a cover over a board that is drawn.
pub(super) fn draw(
    canvas: &mut Canvas,
    theme: Theme,
    layout: &Layout,
    board: &Board,
    cover: &Cover,
) {
    let [middle, half] = cover.place(board);
    let corner = |sign: f64| -> Point {
        layout.to_frame([0, 1].map(|axis| middle[axis] + sign * half[axis]))
    };
    let (first, last) = (corner(-1.0), corner(1.0));
    let middle = [0, 1].map(|axis| (first[axis] + last[axis]) / 2.0);
    let half = [0, 1].map(|axis| (last[axis] - first[axis]) / 2.0);
    let Some(panel) = &cover.panel else {
        canvas.block(middle, half, 0.0, theme.ground().into());
        return;
    };
    let is_alone = panel.lines.is_empty() && panel.button.is_none();
    let title_y = if is_alone { 0.0 } else { TITLE_Y };
    let title_size = if is_alone { 2.5 * TITLE } else { TITLE };
    let mut writing: Vec<Written> = vec![(panel.title, [0.0, title_y], title_size)];
    let [top, bottom] = LINES_Y;
    let step = ((bottom - top) / panel.lines.len().max(1) as f64).min(LINE_STEP);
    let lines = panel.lines.iter().enumerate();
    writing.extend(lines.map(|(index, &line)| (line, [0.0, top + step * index as f64], LINE)));
    let [button_middle, button_half] = BUTTON;
    writing.extend(panel.button.map(|text| (text, button_middle, ON_BUTTON)));
    let buttons = panel.button.map(|_| (button_middle, button_half));
    popup::draw_panel(canvas, [middle, half], buttons.as_slice(), &writing);
}
