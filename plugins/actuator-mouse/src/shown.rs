//! Whether a program has drawn where the pointer went: the picture there is another than before.

use flowpipe_desktop::{Desktop, Grabber, Rect};
use flowpipe_plugin::message::Action;
use flowpipe_plugin::tracing;

/// How far around a place the picture is looked at, in screen pixels: less than a pipe is wide.
const AROUND: i32 = 2;
/// After so many places in a row where nothing changed, the rest of a gesture is played without waiting.
const PATIENCE: u32 = 3;

/// The part of the screen that is looked at for a place.
pub fn around([x, y]: [i32; 2]) -> Rect {
    let length = (2 * AROUND + 1) as u32;
    Rect {
        x: x.saturating_sub(AROUND),
        y: y.saturating_sub(AROUND),
        width: length,
        height: length,
    }
}

/// The longest time in milliseconds that an action waits until a change is shown, if it does.
pub fn limit_ms(action: &Action) -> Option<f64> {
    match action {
        Action::Move { until_shown_ms, .. } => Some(*until_shown_ms).filter(|ms| *ms > 0.0),
        _ => None,
    }
}

/// What was seen of the places of gestures.
#[derive(Default)]
pub struct Watching {
    /// The next place that the pointer waits at, as it was before the pointer went there.
    before: Option<Vec<u8>>,
    /// Places in a row where nothing changed.
    unchanged: u32,
}

impl Watching {
    /// Another gesture begins.
    pub fn begin(&mut self) {
        self.before = None;
        // Where nothing changed in the one before, one place is enough to know.
        self.unchanged = self.unchanged.min(PATIENCE - 1);
    }

    /// Whether a picture of the next place is needed.
    pub fn wants_picture(&self) -> bool {
        self.before.is_none() && self.unchanged < PATIENCE
    }

    /// Whether there is a picture to compare with.
    pub fn has_picture(&self) -> bool {
        self.before.is_some()
    }

    /// The next place, before the pointer goes there.
    pub fn will_go(&mut self, picture: Option<Vec<u8>>) {
        self.before = picture;
    }

    /// Whether this is another picture of that place, or there is none to compare.
    pub fn has_changed(&self, now: Option<&[u8]>) -> bool {
        self.before.as_deref() != now || now.is_none()
    }

    /// The pointer no longer waits there.
    pub fn leave(&mut self, has_changed: bool) {
        self.before = None;
        self.unchanged = if has_changed { 0 } else { self.unchanged + 1 };
    }
}

/// Takes pictures of a few pixels of the screen, from the first one that is asked for.
pub enum Eye {
    Closed(Desktop),
    Open(Grabber),
    /// This desktop gives no pictures.
    Blind,
}

impl Eye {
    /// The pixels of a part of the screen.
    pub fn look(&mut self, part: Rect) -> Option<Vec<u8>> {
        if let Self::Closed(desktop) = self {
            *self = desktop.plain_grabber().map_or_else(blind, Self::Open);
        }
        let Self::Open(grabber) = self else {
            return None;
        };
        match grabber.grab(part) {
            Ok(picture) => picture.map(|picture| picture.pixels.to_vec()),
            Err(error) => {
                *self = blind(error);
                None
            }
        }
    }
}

fn blind(error: impl std::fmt::Display) -> Eye {
    tracing::warn!("the pointer does not wait until the game has drawn: {error}");
    Eye::Blind
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_looked_at_until_nothing_changed_several_times_in_a_row() {
        let mut watching = Watching::default();
        for has_changed in [false, false, true, false, false, false] {
            assert!(watching.wants_picture());
            watching.will_go(Some(vec![1]));
            assert!(!watching.wants_picture(), "it has one");
            watching.leave(has_changed);
        }
        assert!(!watching.wants_picture());
        watching.begin();
        assert!(watching.wants_picture(), "once in the next gesture");
        watching.will_go(Some(vec![1]));
        watching.leave(false);
        assert!(!watching.wants_picture());
    }

    #[test]
    fn without_a_picture_there_is_nothing_to_wait_for() {
        let mut watching = Watching::default();
        assert!(watching.has_changed(None));
        watching.will_go(Some(vec![1]));
        assert!(!watching.has_changed(Some(&[1])));
        assert!(watching.has_changed(Some(&[2])));
        assert!(watching.has_changed(None));
    }
}
