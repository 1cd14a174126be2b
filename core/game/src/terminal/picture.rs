//! A view as characters.

use std::f64::consts::PI;

use flowpipe_puzzle::Cell;
use flowpipe_terminal::escape;
use ratatui::buffer::Buffer;
use ratatui::style::{Modifier, Style};

use super::colours::Colours;
use super::face;
use super::plan::{ABOVE, Plan, TooSmall};
use crate::render::Header;
use crate::session::{Face, View};

const KEYS: &str = "u undo  r restart  n next  q quit";

/// Draws a view on an empty buffer, with the keyboard's cursor if there is one.
pub(super) fn draw(view: &View, cursor: Option<Cell>, colours: Colours, buffer: &mut Buffer) {
    let size = (buffer.area.width, buffer.area.height);
    let plan = match Plan::new(&view.face.puzzle, size) {
        Ok(plan) => plan,
        Err(needed) => return draw_too_small(needed, buffer),
    };
    draw_header(view, buffer);
    match &view.flip {
        None => {
            face::draw(&view.face, &plan, colours, buffer);
            if let Some(cell) = cursor {
                face::mark(&view.face.puzzle, &plan, cell, buffer);
            }
        }
        Some(flip) if flip.share < 0.5 => draw_turned(&flip.from, flip.share, colours, buffer),
        Some(flip) => draw_turned(&view.face, flip.share, colours, buffer),
    }
}

fn draw_header(view: &View, buffer: &mut Buffer) {
    let Header {
        title,
        note,
        flows,
        moves,
        pipe_percent,
        ..
    } = &view.header;
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let all = view.face.puzzle.flow_count();
    let (width, last) = (usize::from(buffer.area.width), buffer.area.height - 1);
    let (x, _) = buffer.set_stringn(0, 0, escape(title), width, bold);
    let note = format!("  {note}");
    buffer.set_stringn(x, 0, note, width - usize::from(x), Style::new());
    let status = format!("flows {flows}/{all}  moves {moves}  pipe {pipe_percent}%");
    buffer.set_stringn(0, ABOVE - 1, status, width, Style::new());
    let dim = Style::new().add_modifier(Modifier::DIM);
    buffer.set_stringn(0, last, KEYS, width, dim);
}

/// A board that turns about its vertical middle line: its columns move together, and apart again.
fn draw_turned(face: &Face, share: f64, colours: Colours, buffer: &mut Buffer) {
    let size = (buffer.area.width, buffer.area.height);
    let Ok(plan) = Plan::new(&face.puzzle, size) else {
        return;
    };
    let mut flat = Buffer::empty(buffer.area);
    face::draw(face, &plan, colours, &mut flat);
    let [left, _, width, _] = plan.board_xywh();
    let middle = left + width / 2.0;
    let squeeze = (share * PI).cos().abs().max(f64::EPSILON);
    for column in 0..size.0 {
        let from = (middle + (f64::from(column) - middle) / squeeze).round();
        if !(0.0..f64::from(size.0)).contains(&from) {
            continue;
        }
        for row in ABOVE..size.1 - 1 {
            let (Some(to), Some(from)) = (
                buffer.cell_mut((column, row)),
                flat.cell((from as u16, row)),
            ) else {
                continue;
            };
            *to = from.clone();
        }
    }
}

fn draw_too_small(TooSmall { width, height }: TooSmall, buffer: &mut Buffer) {
    let lines = [
        "This board needs more room:".to_owned(),
        format!("{width} x {height} characters."),
        format!("Here are {} x {}.", buffer.area.width, buffer.area.height),
    ];
    for (row, line) in (0..buffer.area.height).zip(lines) {
        buffer.set_stringn(0, row, line, usize::from(buffer.area.width), Style::new());
    }
}
