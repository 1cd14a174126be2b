//! Where a frame comes from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::overlay::FARTHEST;
use crate::{Point, Rectangle};

/// Where a frame's pixels come from: the body of a frame message.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FrameNote {
    /// A file, a window's title, a monitor.
    pub source: String,
    /// Where the frame's top left corner lies on the screen, in screen pixels.
    #[serde(default)]
    pub origin: Point,
    /// Frame pixels for one screen pixel (2 on most HiDPI screens).
    #[serde(default = "one")]
    pub scale: f64,
    /// The window that the frame shows, by the system's number for it, where it shows one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    /// The window's whole title when it was found, where the frame shows one. `source` may be a part of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// How wide and high the part of the screen is that the frame shows, in screen pixels, where it shows one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<[u32; 2]>,
    /// The name of the desktop session that the frame shows, such as `x11 :0`, where it shows one. Positions and window ids
    /// are valid only there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desktop: Option<String>,
    /// The parts of the frame that show windows of other programs, in its pixels, where that is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub covered: Vec<Rectangle>,
}

fn one() -> f64 {
    1.0
}

impl FrameNote {
    /// Checks that its place on the screen makes sense: finite, within [`FARTHEST`] pixels, with a scale above 0.
    ///
    /// # Errors
    /// That it does not.
    pub fn check(&self) -> Result<(), String> {
        let is_place = self.origin.iter().all(|value| value.abs() <= FARTHEST);
        let is_scale = self.scale > 0.0 && self.scale <= FARTHEST;
        match is_place && is_scale {
            true => Ok(()),
            false => Err("a frame whose place on the screen makes no sense".to_owned()),
        }
    }

    /// Checks this note of a message against the one of the frame that the message descends from, as it was captured.
    /// Who acts on a frame must not act elsewhere: on no other desktop, in no other window, and where the frame shows none,
    /// at no other place of the screen. A window may have moved meanwhile. `captured`: `None` if the message descends from
    /// no frame.
    ///
    /// # Errors
    /// What differs.
    pub fn check_descent(&self, captured: Option<&Self>) -> Result<(), String> {
        let shown = |note: &Self| {
            note.window
                .map_or("no window".to_owned(), |it| format!("window {it}"))
        };
        let Some(captured) = captured else {
            return match self.window {
                None => Ok(()),
                Some(window) => Err(format!(
                    "its frame is one of window {window}, and it descends from no captured frame"
                )),
            };
        };
        if self.desktop != captured.desktop {
            let desktop = |note: &Self| match &note.desktop {
                Some(desktop) => format!("the desktop {desktop:?}"),
                None => "no desktop".to_owned(),
            };
            return Err(format!(
                "its frame is one of {}, and the frame that it descends from ({}) shows {}: pass on the frame's note as it is",
                desktop(self),
                captured.source,
                desktop(captured)
            ));
        }
        if self.window != captured.window {
            return Err(format!(
                "its frame is one of {}, and the frame that it descends from ({}) shows {}",
                shown(self),
                captured.source,
                shown(captured)
            ));
        }
        let place = |note: &Self| (note.origin, note.scale, note.size);
        if self.window.is_none() && place(self) != place(captured) {
            return Err(format!(
                "its frame lies elsewhere on the screen than the frame that it descends from ({})",
                captured.source
            ));
        }
        Ok(())
    }

    /// A frame that lies at the screen's corner, pixel for pixel.
    #[must_use]
    pub fn of(source: impl Into<String>) -> Self {
        Self {
            source: source.into(),
            origin: [0.0; 2],
            scale: one(),
            window: None,
            title: None,
            size: None,
            desktop: None,
            covered: Vec::new(),
        }
    }

    /// The same frame elsewhere on the screen: its top left corner, in screen pixels.
    #[must_use]
    pub fn with_origin(mut self, origin: Point) -> Self {
        self.origin = origin;
        self
    }

    /// The same frame with this number of frame pixels for one screen pixel.
    #[must_use]
    pub fn with_scale(mut self, scale: f64) -> Self {
        self.scale = scale;
        self
    }

    /// The same frame as one of a window, by the system's number for it.
    #[must_use]
    pub fn with_window(mut self, window: u64) -> Self {
        self.window = Some(window);
        self
    }

    /// The same frame with the title of its window.
    #[must_use]
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// The same frame with the width and height of its part of the screen, in screen pixels.
    #[must_use]
    pub fn with_size(mut self, size: [u32; 2]) -> Self {
        self.size = Some(size);
        self
    }

    /// The same frame as one of a desktop, by the way to it and its session.
    #[must_use]
    pub fn with_desktop(mut self, desktop: impl Into<String>) -> Self {
        self.desktop = Some(desktop.into());
        self
    }

    /// The same frame with the parts that show windows of other programs, in its pixels.
    #[must_use]
    pub fn with_covered(mut self, covered: Vec<Rectangle>) -> Self {
        self.covered = covered;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_names_the_captured_window_or_the_captured_place() {
        let note = FrameNote::of("game");
        let window = |number| FrameNote::of("game").with_window(number);
        let on = |display: &str| window(7).with_desktop(format!("x11 {display}"));
        let moved = |note: FrameNote| note.with_origin([5.0, 0.0]);
        for (note, captured, is_right) in [
            (note.clone(), Some(note.clone()), true),
            (FrameNote::of("other name"), Some(note.clone()), true),
            (moved(note.clone()), Some(note.clone()), false),
            (note.clone().with_scale(2.0), Some(note.clone()), false),
            (note.clone().with_size([5, 5]), Some(note.clone()), false),
            (note.clone(), None, true),
            (window(7), Some(window(7)), true),
            (moved(window(7)), Some(window(7)), true),
            (window(8), Some(window(7)), false),
            (note.clone(), Some(window(7)), false),
            (window(7), Some(note.clone()), false),
            (window(7), None, false),
            (on(":0"), Some(on(":0")), true),
            (on(":1"), Some(on(":0")), false),
            (window(7), Some(on(":0")), false),
            (on(":0"), Some(window(7)), false),
        ] {
            let checked = note.check_descent(captured.as_ref());
            assert_eq!(checked.is_ok(), is_right, "{note:?} of {captured:?}");
        }
    }
}
