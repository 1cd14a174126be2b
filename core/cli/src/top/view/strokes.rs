//! The planned strokes, and their outcomes.

use flowpipe_puzzle::message::{Outcome, SeenBoard, Stroke, StrokeOutcome, Strokes};
use flowpipe_puzzle::{Flow, colour};
use flowpipe_terminal::counted;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::text::{Ink, put};
use crate::top::protocol::BoardView;

/// The state of one stroke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It has no outcome yet.
    Open,
    /// Its flow is_drawn.
    Drawn,
    /// It was played, and its flow is not drawn.
    Refused,
}

/// Draws the list as far as there is room. If it is too long, open strokes come first. Returns the number of rows.
pub(super) fn draw(board: &BoardView, ink: Ink, area: Rect, buffer: &mut Buffer) -> u16 {
    let Some(strokes) = &board.strokes else {
        put(buffer, area, 0, 0, "no strokes so far", ink.quiet());
        return 1;
    };
    let planned = strokes.sighting.board();
    let seen = board.seen.as_ref();
    let seen = seen.filter(|seen| planned.is_some_and(|it| it.puzzle == seen.puzzle));
    let (text, style) = heading(strokes, board.outcome.as_ref(), ink);
    let (text, style) = match seen {
        Some(_) => (text, style),
        // The next board has been read already.
        None => (format!("the board before: {text}"), ink.quiet()),
    };
    put(buffer, area, 0, 0, &text, style);
    let mut list: Vec<_> = strokes
        .strokes
        .iter()
        .enumerate()
        .map(|(index, stroke)| {
            let outcome = board.outcome.as_ref().and_then(|it| it.strokes.get(index));
            (stroke, state(flow_of(stroke, strokes), outcome, seen))
        })
        .collect();
    let room = usize::from(area.height.saturating_sub(1));
    if list.len() > room {
        list.sort_by_key(|(_, state)| *state == State::Drawn);
    }
    let shown = match list.len() {
        all if all > room => room.saturating_sub(1),
        all => all,
    };
    let mut row = 1;
    for (stroke, state) in &list[..shown] {
        line(stroke, *state, planned, ink, (area, row), buffer);
        row += 1;
    }
    if shown < list.len() {
        let more = format!("and {} more", list.len() - shown);
        put(buffer, area, 0, row, &more, ink.quiet());
        row += 1;
    }
    row
}

fn heading(strokes: &Strokes, outcome: Option<&Outcome>, ink: Ink) -> (String, Style) {
    let count = counted(strokes.strokes.len(), "stroke");
    let profile = strokes.profile.map(|it| format!(" for {}", it.name()));
    let planned = format!("{count}{}", profile.unwrap_or_default());
    let Some(outcome) = outcome else {
        return (format!("{planned}: under way"), ink.heading());
    };
    match (outcome.solved, &outcome.refused) {
        (_, Some(reason)) => (format!("{planned}: not played, {reason}"), ink.bad()),
        (Some(true), None) => (format!("{planned}: played, accepted"), ink.good()),
        (Some(false), None) => (format!("{planned}: played, not accepted"), ink.bad()),
        (None, None) => (format!("{planned}: played"), ink.heading()),
    }
}

/// The flow that a stroke draws, or a part of it: many games need no last cell, and others several strokes.
fn flow_of<'a>(stroke: &Stroke, strokes: &'a Strokes) -> Option<&'a Flow> {
    let has_all = |flow: &&Flow| stroke.cells.iter().all(|cell| flow.cells.contains(cell));
    let of_colour = |flow: &&Flow| flow.colour == stroke.colour;
    let mut flows = strokes.solution.flows.iter().filter(of_colour);
    flows.find(has_all)
}

fn state(flow: Option<&Flow>, outcome: Option<&StrokeOutcome>, seen: Option<&SeenBoard>) -> State {
    let is_drawn = |seen: &SeenBoard| {
        seen.drawn.iter().any(|drawn| {
            flow.is_some_and(|flow| {
                let forwards = drawn.cells.iter().eq(&flow.cells);
                let backwards = drawn.cells.iter().rev().eq(&flow.cells);
                drawn.colour == flow.colour && (forwards || backwards)
            })
        })
    };
    match outcome.and_then(|outcome| outcome.accepted) {
        Some(true) => State::Drawn,
        Some(false) => State::Refused,
        None if seen.is_some_and(is_drawn) => State::Drawn,
        None => State::Open,
    }
}

fn line(
    stroke: &Stroke,
    state: State,
    planned: Option<&SeenBoard>,
    ink: Ink,
    (area, row): (Rect, u16),
    buffer: &mut Buffer,
) {
    let (mark, style) = match state {
        State::Open => ("·", ink.quiet()),
        State::Drawn => ("✓", ink.good()),
        State::Refused => ("✗", ink.bad()),
    };
    let mut x = put(buffer, area, 0, row, mark, style) + 1;
    let rgb = planned.and_then(|it| it.palette.get(usize::from(stroke.colour)));
    if let Some(rgb) = rgb.filter(|_| ink.has_colours()) {
        x = put(buffer, area, x, row, "●", ink.0.ink(*rgb)) + 1;
    }
    let paint = rgb.map_or("", |rgb| colour::nearest_name(*rgb));
    let name = format!("{} {paint}", colour::name(stroke.colour));
    let cells = counted(stroke.cells.len(), "cell");
    let segments = counted(stroke.segments(), "segment");
    let text = format!("{name:<12} {cells}, {segments}");
    put(buffer, area, x, row, &text, Style::new());
}
