//! A rectangle of characters in colours.

use super::TextStyle;
use crate::colour::Colour;

/// A character with the colours that it is drawn in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Glyph {
    /// The character.
    pub character: char,
    /// The flow that it belongs to, if to one.
    pub colour: Option<Colour>,
    /// The flow that passes behind it, on a bridge.
    pub behind: Option<Colour>,
}

const BLANK: Glyph = Glyph {
    character: ' ',
    colour: None,
    behind: None,
};

/// Characters with the colours that they are drawn in.
pub(super) struct Canvas {
    rows: Vec<Vec<Glyph>>,
}

impl Canvas {
    pub(super) fn new(height: usize, width: usize) -> Self {
        Self {
            rows: vec![vec![BLANK; width]; height],
        }
    }

    pub(super) fn put(&mut self, y: usize, x: usize, character: char, colour: Option<Colour>) {
        self.put_over(y, x, character, colour, None);
    }

    /// Puts a character of one colour over something of another.
    pub(super) fn put_over(
        &mut self,
        y: usize,
        x: usize,
        character: char,
        colour: Option<Colour>,
        behind: Option<Colour>,
    ) {
        if let Some(place) = self.rows.get_mut(y).and_then(|row| row.get_mut(x)) {
            *place = Glyph {
                character,
                colour,
                behind,
            };
        }
    }

    pub(super) fn is_free(&self, y: usize, x: usize) -> bool {
        let place = self.rows.get(y).and_then(|row| row.get(x));
        place.is_some_and(|place| place.character == ' ')
    }

    pub(super) fn put_if_free(
        &mut self,
        y: usize,
        x: usize,
        character: char,
        colour: Option<Colour>,
    ) {
        if self.is_free(y, x) {
            self.put(y, x, character, colour);
        }
    }

    pub(super) fn write(&mut self, y: usize, x: usize, text: &str, colour: Option<Colour>) {
        for (offset, character) in text.chars().enumerate() {
            self.put(y, x + offset, character, colour);
        }
    }

    /// The rows, all of one length.
    pub(super) fn into_rows(self) -> Vec<Vec<Glyph>> {
        self.rows
    }

    /// The rows without blanks at their end.
    pub(super) fn print(&self, style: TextStyle) -> String {
        let paint = |colour: Option<Colour>| style.palette.get(usize::from(colour?));
        let mut text = String::new();
        for row in &self.rows {
            let end = row.iter().rposition(|place| place.character != ' ');
            let end = end.map_or(0, |last| last + 1);
            let alike = |a: &Glyph, b: &Glyph| (a.colour, a.behind) == (b.colour, b.behind);
            for run in row[..end].chunk_by(alike) {
                let characters = run.iter().map(|place| place.character);
                let ink = paint(run[0].colour).filter(|_| style.ansi);
                let ground = paint(run[0].behind).filter(|_| style.ansi);
                if let Some([red, green, blue]) = ink {
                    text.push_str(&format!("\x1b[38;2;{red};{green};{blue}m"));
                }
                if let Some([red, green, blue]) = ground.map(|rgb| rgb.map(|value| value / 5 * 2)) {
                    text.push_str(&format!("\x1b[48;2;{red};{green};{blue}m"));
                }
                text.extend(characters);
                if ink.or(ground).is_some() {
                    text.push_str("\x1b[0m");
                }
            }
            text.push('\n');
        }
        text
    }
}
