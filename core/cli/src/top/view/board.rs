//! The board as last seen, with its solution.

use flowpipe_puzzle::draw::{self, Glyph};
use flowpipe_puzzle::message::SeenBoard;
use flowpipe_puzzle::{Flow, colour};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::text::{self, Ink, put};
use crate::top::wire::Board;

/// Longer writing gets no more room beside something else.
const WRITING: usize = 30;

/// A board and what is said above it.
pub(super) struct Drawing<'a> {
    above: Vec<(String, Style)>,
    rows: Vec<Vec<Glyph>>,
    /// The same with nothing but what stands on the board; nothing where it is laid out otherwise.
    stands: Vec<Vec<Glyph>>,
    seen: Option<&'a SeenBoard>,
    ink: Ink,
}

impl<'a> Drawing<'a> {
    pub(super) fn new(board: &'a Board, ink: Ink) -> Self {
        let mut drawing = Self {
            above: Vec::new(),
            rows: Vec::new(),
            stands: Vec::new(),
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
            (format!("{cols} x {rows}, {flows} flows"), ink.quiet()),
            match (&board.solver, &board.unsolved) {
                (Some(solver), None) => (format!("solved by {solver}"), ink.good()),
                (_, Some(why)) => (format!("not solved: {why}"), ink.bad()),
                (None, None) => ("not solved so far".to_owned(), ink.quiet()),
            },
        ];
        // Solutions have all that stands and more; without one there is what stands alone.
        let planned = if board.flows.is_empty() {
            &seen.drawn
        } else {
            &board.flows
        };
        drawing.rows = glyphs(seen, planned, ink);
        drawing.stands = glyphs(seen, stands(board, seen), ink);
        if drawing.stands.len() != drawing.rows.len() {
            drawing.stands.clear();
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

    /// Draws it; where there is little room, as much of the writing as leaves the board whole.
    pub(super) fn draw(&self, area: Rect, buffer: &mut Buffer) {
        let room = usize::from(area.height).saturating_sub(self.rows.len());
        // The last lines say more than the first.
        let skipped = self.above.len().saturating_sub(room);
        let mut row = 0;
        for (text, style) in &self.above[skipped..] {
            put(buffer, area, 0, row, text, *style);
            row += 1;
        }
        for (index, glyphs) in self.rows.iter().enumerate() {
            for (column, glyph) in (0..).zip(glyphs) {
                let stands = self
                    .stands
                    .get(index)
                    .and_then(|row| row.get(usize::from(column)));
                let is_there = stands.is_some_and(|it| it == glyph);
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

/// What stands on the board: what was seen there, or what the actuator says.
fn stands<'a>(board: &'a Board, seen: &'a SeenBoard) -> &'a [Flow] {
    let played = board.strokes.as_ref().and_then(|it| it.sighting.board());
    let is_this = played.is_some_and(|played| played.puzzle == seen.puzzle);
    let told = board.outcome.as_ref().and_then(|it| it.drawn.as_ref());
    told.filter(|_| is_this).unwrap_or(&seen.drawn)
}

/// The thick character for what stands; what is only planned has thin ones.
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
    let style = draw::Style {
        dots: ink.has_colours(),
        palette: &seen.palette,
        ..draw::Style::default()
    };
    draw::glyphs(&seen.puzzle, flows, style)
}
