//! Text and its styles.

use flowpipe_game::terminal::Colours;
use flowpipe_terminal::escape;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

/// The styles.
#[derive(Clone, Copy)]
pub(super) struct Ink(pub Colours);

const GREEN: [u8; 3] = [0, 190, 60];
const RED: [u8; 3] = [255, 70, 70];
const AMBER: [u8; 3] = [230, 170, 0];

impl Ink {
    /// Whether there are colours.
    pub(super) fn has_colours(self) -> bool {
        self.0 != Colours::None
    }

    pub(super) fn heading(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    pub(super) fn quiet(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    pub(super) fn good(self) -> Style {
        self.0.ink(GREEN).add_modifier(Modifier::BOLD)
    }

    pub(super) fn bad(self) -> Style {
        self.0.ink(RED).add_modifier(Modifier::BOLD)
    }

    /// From good to bad, by a share from 0 to 1.
    pub(super) fn share(self, share: f64) -> Style {
        self.0.ink(match share {
            ..0.5 => GREEN,
            ..0.9 => AMBER,
            _ => RED,
        })
    }
}

/// Writes into an area as far as there is room, at a column and a row of it. Returns the column after the text.
pub(super) fn put(
    buffer: &mut Buffer,
    area: Rect,
    column: u16,
    row: u16,
    text: &str,
    style: Style,
) -> u16 {
    if column >= area.width || row >= area.height {
        return column;
    }
    let left = usize::from(area.width - column);
    let (x, _) = buffer.set_stringn(area.x + column, area.y + row, escape(text), left, style);
    x - area.x
}

/// A text, or the end of a long one: the end of a file's name matters most.
pub(super) fn last(text: &str, room: usize) -> String {
    let length = text.chars().count();
    if length <= room {
        return text.to_owned();
    }
    let end: String = text.chars().skip(length + 1 - room).collect();
    format!("…{end}")
}

/// A text, or the beginning of a long one.
pub(super) fn first(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    let beginning: String = text.chars().take(room.saturating_sub(1)).collect();
    format!("{beginning}…")
}

/// A rate with significant digits only.
pub(super) fn rate(rate: f64) -> String {
    match rate {
        ..0.05 => "0".to_owned(),
        ..100.0 => format!("{rate:.1}"),
        _ => format!("{rate:.0}"),
    }
}

/// The time since the start.
pub(super) fn elapsed(seconds: f64) -> String {
    let whole = seconds as u64;
    match whole {
        ..60 => format!("{seconds:.1} s"),
        60..3600 => format!("{}:{:02} min", whole / 60, whole % 60),
        _ => format!("{}:{:02} h", whole / 3600, whole / 60 % 60),
    }
}
