//! The board as last seen, with its solution.

use flowpipe_puzzle::draw::{self, Glyph};
use flowpipe_puzzle::message::SeenBoard;
use flowpipe_puzzle::{Flow, colour};
use flowpipe_terminal::counted;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::text::{self, Ink, put};
use crate::top::protocol::BoardView;

/// The maximum width of text beside the table.
const WRITING: usize = 30;

/// A board and the text above it.
pub(super) struct Drawing<'a> {
    above: Vec<(String, Style)>,
    rows: Vec<Vec<Glyph>>,
    /// The same with only the flows drawn so far; empty if the layout differs.
    drawn: Vec<Vec<Glyph>>,
    seen: Option<&'a SeenBoard>,
    ink: Ink,
}

impl<'a> Drawing<'a> {
    /// `is_solved_elsewhere`: what the solver emits is not known here.
    pub(super) fn new(board: &'a BoardView, is_solved_elsewhere: bool, ink: Ink) -> Self {
        let mut drawing = Self {
            above: Vec::new(),
            rows: Vec::new(),
            drawn: Vec::new(),
            seen: board.seen.as_ref(),
            ink,
        };
        let Some(seen) = &board.seen else {
            drawing.above = vec![("no board so far".to_owned(), ink.quiet())];
            return drawing;
        };
        let size = seen.puzzle.board();
        let (cols, rows) = (size.cols(), size.rows());
        let flows = seen.puzzle.flow_count();
        drawing.above = vec![
            (text::last(&board.source, WRITING), Style::new()),
            (
                format!("{cols} x {rows}, {}", counted(flows, "flow")),
                ink.quiet(),
            ),
        ];
        let answer = match (&board.solver, &board.unsolved) {
            (Some(solver), None) => Some((format!("solved by {solver}"), ink.good())),
            (_, Some(why)) => Some((format!("not solved: {why}"), ink.bad())),
            (None, None) if is_solved_elsewhere => None,
            (None, None) => Some(("not solved so far".to_owned(), ink.quiet())),
        };
        drawing.above.extend(answer);
        // A solution contains what is drawn; without one, only what is drawn is shown.
        let planned = if board.flows.is_empty() {
            &seen.drawn
        } else {
            &board.flows
        };
        drawing.rows = glyphs(seen, planned, ink);
        drawing.drawn = glyphs(seen, drawn_flows(board, seen), ink);
        if drawing.drawn.len() != drawing.rows.len() {
            drawing.drawn.clear();
        }
        drawing
    }

    /// Width and height with everything, in characters.
    pub(super) fn size(&self) -> (u16, u16) {
        let writing = self
            .above
            .iter()
            .map(|(text, _)| text.chars().count())
            .max();
        let wide = self.rows.first().map_or(0, Vec::len);
        let wide = wide.max(writing.unwrap_or(0).min(WRITING));
        let high = self.above.len() + self.rows.len();
        (wide as u16, high as u16)
    }

    /// Draws it. With little room, the text is cut, not the board.
    pub(super) fn draw(&self, area: Rect, buffer: &mut Buffer) {
        let room = usize::from(area.height).saturating_sub(self.rows.len());
        // The last lines matter more than the first.
        let skipped = self.above.len().saturating_sub(room);
        let mut row = 0;
        for (text, style) in &self.above[skipped..] {
            put(buffer, area, 0, row, text, *style);
            row += 1;
        }
        for (index, glyphs) in self.rows.iter().enumerate() {
            for (column, glyph) in (0..).zip(glyphs) {
                let drawn = self
                    .drawn
                    .get(index)
                    .and_then(|row| row.get(usize::from(column)));
                let is_there = drawn.is_some_and(|it| it == glyph);
                let character = match is_there {
                    true => thick(glyph.character),
                    false => glyph.character,
                };
                let style = self.style(glyph);
                put(buffer, area, column, row, &character.to_string(), style);
            }
            row += 1;
        }
    }

    fn style(&self, glyph: &Glyph) -> Style {
        let rgb = |colour: colour::Colour| {
            let palette = self.seen.map_or(&[][..], |seen| &seen.palette);
            palette.get(usize::from(colour)).copied()
        };
        let Some(colour) = glyph.colour else {
            return self.ink.quiet();
        };
        let mut style: Style = rgb(colour).map_or(Style::new(), |rgb| self.ink.0.ink(rgb));
        if let Some(behind) = glyph.behind.and_then(rgb) {
            style = style.patch(self.ink.0.tint(behind));
        }
        style
    }
}

/// The flows drawn on the board: those that vision read, or those that the actuator reports.
fn drawn_flows<'a>(board: &'a BoardView, seen: &'a SeenBoard) -> &'a [Flow] {
    let played = board.strokes.as_ref().and_then(|it| it.sighting.board());
    let is_this = played.is_some_and(|played| played.puzzle == seen.puzzle);
    let reported = board.outcome.as_ref().and_then(|it| it.drawn.as_ref());
    reported.filter(|_| is_this).unwrap_or(&seen.drawn)
}

/// The thick character for a drawn flow. A planned one has thin characters.
fn thick(character: char) -> char {
    match character {
        '─' => '━',
        '│' => '┃',
        '┌' => '┏',
        '┐' => '┓',
        '└' => '┗',
        '┘' => '┛',
        '├' => '┣',
        '┤' => '┫',
        '┬' => '┳',
        '┴' => '┻',
        '┼' => '╋',
        '╵' => '╹',
        '╶' => '╺',
        '╷' => '╻',
        '╴' => '╸',
        other => other,
    }
}

fn glyphs(seen: &SeenBoard, flows: &[Flow], ink: Ink) -> Vec<Vec<Glyph>> {
    let style = draw::TextStyle {
        dots: ink.has_colours(),
        palette: &seen.palette,
        ..draw::TextStyle::default()
    };
    draw::glyphs(&seen.puzzle, flows, style)
}
