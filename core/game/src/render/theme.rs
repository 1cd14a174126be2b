//! What a board is dressed in.

use std::fmt;
use std::str::FromStr;

use flowpipe_puzzle::Colour;
use thiserror::Error;

use super::paint;

/// What a board is dressed in: its ground, its lines, what terminals and pipes look like. Boards lie at
/// the same place in all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Theme {
    /// Dim lights on black, discs, pipes over tinted cells.
    #[default]
    Dark,
    /// The same on a ground that is nearly white, with dark lines and writing.
    Light,
    /// As [`Self::Dark`], with square blocks for discs.
    Blocks,
    /// As [`Self::Dark`], with a letter in each disc.
    Letters,
    /// Numberlink on paper: numbers from 1 on for discs, one thin dark line for every pipe.
    Numbers,
    /// As [`Self::Dark`], with terminals and pipes that fill their cells, terminals with a dark ring.
    Tiles,
    /// Discs on black, and pipes with flat ends and square corners.
    Flat,
    /// Numbers on paper, and one thin line of one colour for every pipe, drawn over the numbers.
    Digits,
}

/// What a pipe looks like. Lengths are in cells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pipe {
    pub(super) width: f64,
    /// How far from the centre of a terminal it ends.
    pub(super) clear: f64,
    /// Whether its ends are flat and its corners square, not round.
    pub(super) is_flat: bool,
    /// Whether it covers the terminals at its ends.
    pub(super) is_over_terminals: bool,
}

/// Width of a pipe, in cells, as measured on screenshots of the real game.
const PIPE: Pipe = Pipe {
    width: 0.33,
    clear: 0.0,
    is_flat: false,
    is_over_terminals: false,
};

/// No theme has this name.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("no theme is called {name:?}: there are {}", Theme::all().map(Theme::name).join(", "))]
pub struct UnknownTheme {
    /// The name.
    pub name: String,
}

/// Of themes with a light ground: nearly white, and all that is written on it.
const PAPER: [u8; 3] = [250; 3];
const DARK_INK: [u8; 3] = [25, 25, 30];

/// What every pipe of [`Theme::Numbers`] is painted with.
const PENCIL: [u8; 3] = [75, 75, 75];

/// And of [`Theme::Digits`].
const GREEN: [u8; 3] = [0, 140, 70];

/// Paints are light when none of their values is below this: they would be lost on paper.
const LIGHT: u8 = 170;

impl Theme {
    /// Every theme of the practice game's own, which its players choose from.
    #[must_use]
    pub const fn all() -> [Self; 5] {
        [
            Self::Dark,
            Self::Light,
            Self::Blocks,
            Self::Letters,
            Self::Numbers,
        ]
    }

    /// Every theme that only games of other kinds have.
    #[must_use]
    pub const fn of_other_kinds() -> [Self; 3] {
        [Self::Tiles, Self::Flat, Self::Digits]
    }

    /// What it is called, such as `dark`. The names of [`Self::all`] are parsed.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dark => "dark",
            Self::Light => "light",
            Self::Blocks => "blocks",
            Self::Letters => "letters",
            Self::Numbers => "numbers",
            Self::Tiles => "tiles",
            Self::Flat => "flat",
            Self::Digits => "digits",
        }
    }

    /// Whether it has dark things on a light ground, not light ones on a dark ground.
    #[must_use]
    pub const fn is_light(self) -> bool {
        matches!(self, Self::Light | Self::Numbers | Self::Digits)
    }

    /// Red, green, blue of a colour's pipe, and of its terminals except for [`Self::Numbers`] and
    /// [`Self::Digits`], whose pipes are all alike. A palette as [`super::Scene`] has it.
    #[must_use]
    pub fn paint(self, palette: &[[u8; 3]], colour: Colour) -> [u8; 3] {
        let paint = paint::of(palette, colour);
        match self {
            Self::Numbers => PENCIL,
            Self::Digits => GREEN,
            Self::Light => distinct_from_paper(paint),
            Self::Dark | Self::Blocks | Self::Letters | Self::Tiles | Self::Flat => paint,
        }
    }

    /// What all is drawn on.
    pub(super) const fn ground(self) -> [u8; 3] {
        if self.is_light() { PAPER } else { [0, 0, 0] }
    }

    /// The writing and the buttons.
    pub(super) const fn ink(self) -> [u8; 3] {
        if self.is_light() {
            DARK_INK
        } else {
            [255, 255, 255]
        }
    }

    /// Writing that matters less.
    pub(super) const fn grey(self) -> [u8; 3] {
        if self.is_light() {
            [110, 110, 110]
        } else {
            [160, 160, 160]
        }
    }

    /// The title, on a board whose lines are asked to have a paint.
    pub(super) fn title(self, line: [u8; 3]) -> [u8; 3] {
        if self.is_light() {
            self.outline(line)
        } else {
            paint::brightest(line)
        }
    }

    /// The thin lines.
    pub(super) fn line(self, line: [u8; 3]) -> [u8; 3] {
        match self {
            Self::Numbers | Self::Digits => [70, 70, 70],
            Self::Light => paint::scaled(line, paint::brightness(line).min(150)),
            Self::Dark | Self::Blocks | Self::Letters | Self::Tiles | Self::Flat => line,
        }
    }

    /// The thick lines.
    pub(super) fn outline(self, line: [u8; 3]) -> [u8; 3] {
        match self {
            Self::Numbers | Self::Digits => DARK_INK,
            Self::Light => paint::scaled(line, 70),
            // As in the real game: 2.1 times as bright as its thin lines.
            Self::Dark | Self::Blocks | Self::Letters | Self::Tiles | Self::Flat => {
                paint::scaled(line, 242)
            }
        }
    }

    /// How strong a light behind the board is at its middle, from 0 to 1.
    pub(super) const fn light(self) -> f64 {
        match self {
            Self::Numbers | Self::Digits | Self::Flat => 0.0,
            Self::Light => 0.06,
            Self::Dark | Self::Blocks | Self::Letters | Self::Tiles => 0.17,
        }
    }

    /// How much the board dims the lights behind it, from 0 to 1.
    pub(super) const fn dimming(self) -> f64 {
        if self.is_light() { 0.8 } else { 0.55 }
    }

    /// How strongly a pipe tints its cells, from 0 to 1.
    pub(super) const fn tint(self) -> f64 {
        match self {
            Self::Numbers | Self::Digits => 0.0,
            Self::Dark | Self::Light | Self::Blocks | Self::Letters => 0.27,
            Self::Flat => 0.2,
            Self::Tiles => 1.0,
        }
    }

    /// The side of what a pipe tints of a cell, in cells.
    pub(super) const fn tinted(self) -> f64 {
        match self {
            Self::Tiles => 0.86,
            _ => 1.0,
        }
    }

    /// What pipes look like; `None` where only their cells are tinted.
    pub(super) const fn pipe(self) -> Option<Pipe> {
        match self {
            Self::Dark | Self::Light | Self::Blocks | Self::Letters => Some(PIPE),
            // As by pencil.
            Self::Numbers => Some(Pipe {
                width: 0.2,
                clear: 0.45,
                ..PIPE
            }),
            Self::Tiles => None,
            Self::Flat => Some(Pipe {
                width: 0.3,
                is_flat: true,
                ..PIPE
            }),
            Self::Digits => Some(Pipe {
                width: 0.1,
                is_over_terminals: true,
                ..PIPE
            }),
        }
    }
}

impl fmt::Display for Theme {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for Theme {
    type Err = UnknownTheme;

    fn from_str(name: &str) -> Result<Self, UnknownTheme> {
        Self::all()
            .into_iter()
            .find(|theme| theme.name() == name)
            .ok_or_else(|| UnknownTheme {
                name: name.to_owned(),
            })
    }
}

/// A paint that can be seen on paper: a light one gives way to one as dark as it was light, of the
/// same hue.
fn distinct_from_paper(paint: [u8; 3]) -> [u8; 3] {
    let [red, green, blue] = paint;
    let (least, most) = (red.min(green).min(blue), paint::brightness(paint));
    if least < LIGHT {
        return paint;
    }
    // The lightness, half of the least and the most, is turned over.
    paint.map(|value| 255 - most + (value - least))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parsed() {
        for theme in Theme::all() {
            assert_eq!(theme.to_string().parse(), Ok(theme));
        }
        let error = "darc".parse::<Theme>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "no theme is called \"darc\": there are dark, light, blocks, letters, numbers"
        );
        assert_eq!(Theme::default(), Theme::Dark);
    }

    #[test]
    fn light_paints_are_turned_over_on_paper() {
        for (paint, expected) in [
            ([255, 255, 255], [0, 0, 0]),
            ([255, 200, 180], [75, 20, 0]),
            ([166, 166, 166], [166, 166, 166]),
            ([238, 238, 0], [238, 238, 0]),
        ] {
            assert_eq!(Theme::Light.paint(&[paint], 0), expected);
            assert_eq!(Theme::Blocks.paint(&[paint], 0), paint);
        }
    }
}
