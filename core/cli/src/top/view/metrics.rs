//! The metrics that stages publish, and the last of their notes.

use flowpipe_message::Tone;
use flowpipe_terminal::escape;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::text::{self, Ink, put};
use crate::metrics::{MetricRow, Note};

/// The maximum width of a stage's name and of a metric's.
const NAME: usize = 24;

/// The metrics as lines: the stage and the name, and the value.
pub(super) struct MetricLines {
    lines: Vec<(String, String)>,
    /// The width of the first column.
    names: usize,
}

impl MetricLines {
    pub(super) fn new(rows: &[MetricRow]) -> Self {
        let name = |row: &MetricRow| {
            let cut = |text: &str| text::first(&escape(text), NAME);
            format!("{}: {}", cut(&row.stage), cut(&row.name))
        };
        let mut lines: Vec<_> = rows.iter().map(|row| (name(row), row.text())).collect();
        if lines.is_empty() {
            lines.push(("no metrics so far".to_owned(), String::new()));
        }
        let names = lines.iter().map(|(name, _)| name.chars().count()).max();
        Self {
            names: names.unwrap_or(0),
            lines,
        }
    }

    /// Width and height with everything, in characters.
    pub(super) fn size(&self) -> (u16, u16) {
        let values = self.lines.iter().map(|(_, value)| value.chars().count());
        let wide = self.names + 2 + values.max().unwrap_or(0);
        (wide.min(200) as u16, self.lines.len() as u16)
    }

    /// Draws as many lines as there is room for.
    pub(super) fn draw(&self, ink: Ink, area: Rect, buffer: &mut Buffer) {
        let room = usize::from(area.height);
        let shown = match self.lines.len() {
            all if all > room => room.saturating_sub(1),
            all => all,
        };
        let column = self.names as u16 + 2;
        for (row, (name, value)) in (0..).zip(&self.lines[..shown]) {
            put(buffer, area, 0, row, name, ink.quiet());
            put(buffer, area, column, row, value, Style::new());
        }
        if shown < self.lines.len() {
            let more = format!("and {} more", self.lines.len() - shown);
            put(buffer, area, 0, shown as u16, &more, ink.quiet());
        }
    }
}

/// Draws the last notes as far as there is room, the newest last.
pub(super) fn draw_notes(notes: &[Note], ink: Ink, area: Rect, buffer: &mut Buffer) {
    let skipped = notes.len().saturating_sub(usize::from(area.height));
    for (row, note) in (0..).zip(&notes[skipped..]) {
        let style = match note.tone {
            Tone::Plain => Style::new(),
            Tone::Good => ink.good(),
            Tone::Bad => ink.bad(),
        };
        put(buffer, area, 0, row, &note.line(), style);
    }
}
