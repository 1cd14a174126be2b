//! Whether a program has drawn where the pointer went: the picture there is another than before.

use flowpipe_desktop::{Desktop, Grabber, Rect};
use flowpipe_plugin::message::Action;
use flowpipe_plugin::tracing;

/// How far around a place the picture is looked at, in screen pixels: less than a pipe is wide.
const AROUND: i32 = 2;
/// After so many places in a row where nothing changed, the pointer no longer waits, until a place is seen that has changed.
const MOST_UNCHANGED: u32 = 3;

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

/// The longest time in milliseconds that an action asks to wait until a change is shown, if it does.
pub fn limit_ms(action: &Action) -> Option<f64> {
    match action {
        Action::Move { until_shown_ms, .. } => Some(*until_shown_ms).filter(|ms| *ms > 0.0),
        _ => None,
    }
}

/// What was seen of the places of the gestures of a message.
#[derive(Default)]
pub struct ChangeWait {
    /// The next place that the pointer waits at, as it was before the pointer went there.
    before: Option<Vec<u8>>,
    /// Places in a row where nothing changed.
    unchanged: u32,
    /// No place of the gesture is waited at, or there are no pictures.
    is_idle: bool,
}

impl ChangeWait {
    /// A gesture of these actions begins.
    pub fn begin(&mut self, actions: &[Action]) {
        self.before = None;
        self.is_idle = !actions.iter().any(|action| limit_ms(action).is_some());
    }

    /// Whether a picture of the next place is needed.
    pub fn wants_picture(&self) -> bool {
        self.before.is_none() && !self.is_idle
    }

    /// The longest time to wait at the next place, in milliseconds, where an action asks for so many. `None`: there is no
    /// picture to compare with.
    pub fn limit_ms(&self, asked: f64) -> Option<f64> {
        self.before.as_ref()?;
        Some(match self.unchanged < MOST_UNCHANGED {
            true => asked,
            false => 0.0,
        })
    }

    /// The next place, before the pointer goes there.
    pub fn will_go(&mut self, picture: Option<Vec<u8>>) {
        self.is_idle = picture.is_none();
        self.before = picture;
    }

    /// Whether this is another picture of that place, or there is none to compare.
    pub fn has_changed(&self, now: Option<&[u8]>) -> bool {
        self.before.as_deref() != now || now.is_none()
    }

    /// The pointer no longer waits there.
    pub fn leave(&mut self, has_changed: bool) {
        self.before = None;
        self.unchanged = match has_changed {
            true => 0,
            false => self.unchanged.saturating_add(1),
        };
    }
}

/// Reads a few pixels of the screen, from the first time that they are asked for.
pub enum ScreenPixels {
    NotOpened(Desktop),
    Open(Grabber),
    Unavailable,
}

impl ScreenPixels {
    /// Those of a desktop that gives them at once: nothing may hold the mouse up while a button is down.
    pub fn of(desktop: &Desktop) -> Self {
        match desktop.gives_pixels_at_once() {
            true => Self::NotOpened(desktop.clone()),
            false => Self::Unavailable,
        }
    }

    /// The pixels of a part of the screen.
    pub fn read(&mut self, part: Rect) -> Option<Vec<u8>> {
        if let Self::NotOpened(desktop) = self {
            *self = desktop.plain_grabber().map_or_else(unavailable, Self::Open);
        }
        let Self::Open(grabber) = self else {
            return None;
        };
        match grabber.grab(part) {
            Ok(picture) => picture.map(|picture| picture.pixels.to_vec()),
            Err(error) => {
                *self = unavailable(error);
                None
            }
        }
    }
}

fn unavailable(error: impl std::fmt::Display) -> ScreenPixels {
    tracing::warn!("the mouse does not wait until the game has drawn: {error}");
    ScreenPixels::Unavailable
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_nothing_changes_waiting_ends_until_something_does() {
        let mut wait = ChangeWait::default();
        let mut limits = |changes: &[bool]| -> Vec<f64> {
            let limit = |has_changed: &bool| {
                wait.will_go(Some(vec![1]));
                let limit = wait.limit_ms(9.0).unwrap();
                wait.leave(*has_changed);
                assert_eq!(wait.limit_ms(9.0), None);
                limit
            };
            changes.iter().map(limit).collect()
        };
        assert_eq!(limits(&[true, false, false, true, false]), [9.0; 5]);
        assert_eq!(limits(&[false, false, false, true]), [9.0, 9.0, 0.0, 0.0]);
        assert_eq!(limits(&[true]), [9.0]);
    }

    #[test]
    fn pictures_are_wanted_where_a_place_is_waited_at() {
        let mut wait = ChangeWait::default();
        wait.begin(&[Action::press([1.0, 1.0]), Action::release()]);
        assert!(!wait.wants_picture());
        wait.begin(&[Action::move_to([1.0, 1.0]).with_until_shown_ms(5.0)]);
        assert!(wait.wants_picture());
        wait.will_go(None);
        assert!(!wait.wants_picture(), "there are none");
    }

    #[test]
    fn without_a_picture_there_is_nothing_to_wait_for() {
        let mut wait = ChangeWait::default();
        assert!(wait.has_changed(None));
        wait.will_go(Some(vec![1]));
        assert!(!wait.has_changed(Some(&[1])));
        assert!(wait.has_changed(Some(&[2])));
        assert!(wait.has_changed(None));
    }
}
