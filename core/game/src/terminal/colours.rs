//! What colours a terminal has.

use ratatui::style::{Color, Style};

/// What colours a terminal has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colours {
    /// None are used.
    None,
    /// The 256 of most terminals.
    Few,
    /// Every red, green and blue.
    All,
}

impl Colours {
    /// The colours to use where they are `wanted`: all of them where `COLORTERM` declares that the
    /// terminal has them.
    #[must_use]
    pub fn of_terminal(wanted: bool) -> Self {
        let declared = std::env::var("COLORTERM").unwrap_or_default();
        match (wanted, declared.as_str()) {
            (false, _) => Self::None,
            (true, "truecolor" | "24bit") => Self::All,
            (true, _) => Self::Few,
        }
    }

    /// Characters of a colour.
    #[must_use]
    pub fn ink(self, rgb: [u8; 3]) -> Style {
        self.colour(rgb)
            .map_or(Style::new(), |it| Style::new().fg(it))
    }

    /// Characters on a colour; what is written on it can be read.
    pub(super) fn on(self, rgb: [u8; 3]) -> Style {
        let [red, green, blue] = rgb.map(u32::from);
        let is_bright = red * 3 + green * 6 + blue > 1200;
        let ink = if is_bright {
            Color::Black
        } else {
            Color::White
        };
        self.colour(rgb)
            .map_or(Style::new(), |it| Style::new().bg(it).fg(ink))
    }

    /// A background with some of a colour.
    #[must_use]
    pub fn tint(self, rgb: [u8; 3]) -> Style {
        // Of 256 colours none is dark and still of a hue.
        let tint = rgb.map(|value| value / 4);
        match self {
            Self::All => Style::new().bg(Color::Rgb(tint[0], tint[1], tint[2])),
            Self::None | Self::Few => Style::new(),
        }
    }

    fn colour(self, [red, green, blue]: [u8; 3]) -> Option<Color> {
        match self {
            Self::None => None,
            Self::Few => {
                // A cube of six steps a side from 16 on; the steps are at 0, 95, 135 … 255.
                let step = |value: u8| match value {
                    0..48 => 0,
                    48..115 => 1,
                    _ => (value - 35) / 40,
                };
                Some(Color::Indexed(
                    16 + 36 * step(red) + 6 * step(green) + step(blue),
                ))
            }
            Self::All => Some(Color::Rgb(red, green, blue)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_colours_come_near() {
        let few = |rgb| Colours::Few.colour(rgb);
        assert_eq!(few([255, 0, 0]), Some(Color::Indexed(196)));
        assert_eq!(few([0, 128, 0]), Some(Color::Indexed(28)));
        assert_eq!(few([255, 255, 255]), Some(Color::Indexed(231)));
        assert_eq!(few([0, 0, 0]), Some(Color::Indexed(16)));
        assert_eq!(Colours::None.colour([1, 2, 3]), None);
        assert_eq!(Colours::None.on([1, 2, 3]), Style::new());
    }

    #[test]
    fn letters_can_be_read() {
        let ink = |rgb| Colours::All.on(rgb).fg;
        assert_eq!(ink([255, 255, 0]), Some(Color::Black));
        assert_eq!(ink([0, 0, 255]), Some(Color::White));
    }
}
