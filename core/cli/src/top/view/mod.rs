//! Draws a run in characters: as much of it as there is room for.

mod board;
mod machines;
mod metrics;
mod stages;
mod strokes;
mod text;

#[cfg(test)]
mod tests;

use board::Drawing;
use flowpipe_game::terminal::Colours;
use metrics::MetricLines;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use text::Ink;

use super::history::RunHistory;
use super::protocol::{BoardView, Counts};
use crate::tally::on_this_machine;

/// The gap between the table and a board beside it.
const GAP: u16 = 2;
/// The width of strokes beside a board.
const STROKES: u16 = 30;

/// Draws a run on an empty buffer. `others`: how many more runs there are.
pub fn draw(history: &RunHistory, others: usize, colours: Colours, buffer: &mut Buffer) {
    let area = buffer.area;
    let ink = Ink(colours);
    if area.height < 3 || area.width < 12 {
        text::put(buffer, area, 0, 0, "too small", Style::new());
        return;
    }
    header(history, ink, buffer);
    footer(others, ink, buffer);
    let body = Rect {
        y: area.y + 3,
        height: area.height.saturating_sub(4),
        ..area
    };
    // The first counts come soon, and say what there is to show.
    let Some(counts) = history.counts() else {
        return;
    };
    if !counts.boards.has_boards() {
        draw_metrics(history, counts, ink, body, buffer);
        return;
    }
    let nothing = BoardView::default();
    let board = history.board.as_ref().unwrap_or(&nothing);
    let is_solved_elsewhere = history.hello.machine.is_some() && counts.without_solver;
    let drawing = Drawing::new(board, is_solved_elsewhere, ink);
    let plan = Layout::new(history, drawing.size(), body);
    draw_stages(history, ink, plan.stages, buffer);
    drawing.draw(plan.board, buffer);
    let used = strokes::draw(board, ink, plan.strokes, buffer);
    let [_, mut below] = split_rows(plan.strokes, used);
    if !counts.metrics.is_empty() {
        let lines = MetricLines::new(&counts.metrics);
        lines.draw(ink, below, buffer);
        [_, below] = split_rows(below, lines.size().1);
    }
    metrics::draw_notes(&counts.notes, ink, below, buffer);
}

/// Draws a run without boards: its metrics in the place of the board, and the last notes in that of the strokes.
fn draw_metrics(history: &RunHistory, counts: &Counts, ink: Ink, body: Rect, buffer: &mut Buffer) {
    let lines = MetricLines::new(&counts.metrics);
    let plan = Layout::new(history, lines.size(), body);
    draw_stages(history, ink, plan.stages, buffer);
    lines.draw(ink, plan.board, buffer);
    metrics::draw_notes(&counts.notes, ink, plan.strokes, buffer);
}

/// Draws the stages, and below them the machines of the run, if it has several.
fn draw_stages(history: &RunHistory, ink: Ink, area: Rect, buffer: &mut Buffer) {
    let [stages, below] = split_rows(area, history.stage_count() as u16 + 1);
    stages::draw(&history.stages(), ink, stages, buffer);
    machines::draw(history.machines(), &history.links(), ink, below, buffer);
}

/// Draws that no pipeline runs.
pub fn draw_waiting(buffer: &mut Buffer) {
    let area = buffer.area;
    let text = "waiting for a run: flowpipe run PIPELINE";
    text::put(buffer, area, 0, 0, text, Style::new());
    let quit = "q quits";
    let last = area.height.saturating_sub(1);
    text::put(buffer, area, 0, last, quit, dim());
}

fn dim() -> Style {
    Style::new().add_modifier(Modifier::DIM)
}

fn header(history: &RunHistory, ink: Ink, buffer: &mut Buffer) {
    let area = buffer.area;
    let hello = &history.hello;
    let x = text::put(buffer, area, 0, 0, &hello.pipeline, ink.heading());
    let mut parts = vec![
        text::elapsed(history.seconds()),
        format!("{} frames/s", text::rate(history.frame_rate())),
    ];
    if hello.replay {
        parts.push("a replay".to_owned());
    }
    if hello.dry {
        parts.push("dry run".to_owned());
    }
    parts.push(format!("process {}", hello.pid));
    let parts = format!("  {}", parts.join("  "));
    text::put(buffer, area, x, 0, &parts, Style::new());
    let (summary, style) = match (&history.over, history.counts()) {
        (Some(over), _) => (format!("the run is over: {}", over.how), ink.bad()),
        (None, Some(counts)) => {
            let counters = crate::metrics::summary(&counts.metrics);
            let summary = counts.boards.summary_with(&counters);
            match hello.machine {
                Some(_) => (on_this_machine(summary), Style::new()),
                None => (summary, Style::new()),
            }
        }
        (None, None) => (String::new(), Style::new()),
    };
    text::put(buffer, area, 0, 1, &summary, style);
    let refused = history.board.as_ref().and_then(|it| it.refused.as_ref());
    let now = match (refused, &history.changed) {
        (Some((step, reason)), _) => format!("now: {reason} (step: {step})"),
        (None, Some(changed)) => format!("changed: {changed}"),
        (None, None) => return,
    };
    text::put(buffer, area, 0, 2, &now, ink.quiet());
}

fn footer(others: usize, ink: Ink, buffer: &mut Buffer) {
    let area = buffer.area;
    let more = match others {
        0 => String::new(),
        1 => "  Tab shows the other run".to_owned(),
        others => format!("  Tab shows the next of {others} others"),
    };
    let text = format!("q quits, the run goes on{more}");
    text::put(buffer, area, 0, area.height - 1, &text, ink.quiet());
}

/// The areas of the parts.
struct Layout {
    stages: Rect,
    board: Rect,
    strokes: Rect,
}

impl Layout {
    /// A board beside the table where the table has room enough left, else below it; where neither fits, beside a
    /// narrower table or as much of it as there is room for.
    fn new(history: &RunHistory, (wide, high): (u16, u16), body: Rect) -> Self {
        let rows = history.stage_count() as u16 + 1;
        let machines = machines::rows(history.machines(), &history.links());
        let rows = rows + machines + u16::from(machines > 0);
        let beside = body.width.saturating_sub(wide + GAP);
        let below = body.height.saturating_sub(rows + 1);
        let fits_below = high <= below && wide <= body.width;
        let fits_beside = high <= body.height && wide + GAP < body.width;
        if fits_beside && (beside >= stages::FULL || !fits_below && beside >= stages::LEAST) {
            let left = Rect {
                width: beside,
                ..body
            };
            let [stages, strokes] = split_rows(left, rows);
            let board = Rect {
                x: body.x + beside + GAP,
                width: wide,
                ..body
            };
            return Self {
                stages,
                board,
                strokes,
            };
        }
        let [stages, under] = split_rows(body, rows);
        if wide + GAP + STROKES <= body.width {
            let [board, strokes] = split_columns(under, wide);
            return Self {
                stages,
                board,
                strokes,
            };
        }
        let [board, strokes] = split_rows(under, high);
        Self {
            stages,
            board,
            strokes,
        }
    }
}

/// Some rows, and what is left below an empty one.
fn split_rows(area: Rect, rows: u16) -> [Rect; 2] {
    let above = rows.min(area.height);
    let rest = (above + 1).min(area.height);
    let first = Rect {
        height: above,
        ..area
    };
    let second = Rect {
        y: area.y + rest,
        height: area.height - rest,
        ..area
    };
    [first, second]
}

/// Some columns, and what is left beyond a gap.
fn split_columns(area: Rect, columns: u16) -> [Rect; 2] {
    let left = columns.min(area.width);
    let rest = (left + GAP).min(area.width);
    let first = Rect {
        width: left,
        ..area
    };
    let second = Rect {
        x: area.x + rest,
        width: area.width - rest,
        ..area
    };
    [first, second]
}
