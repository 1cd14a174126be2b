//! Whether Mutter has passed on what was sent to it.
//!
//! Mutter collects input until it draws its next frame, and passes it on then. Of several moves in a row it delivers only
//! the last. So each move is followed by a scroll of zero: it scrolls no window, and keeps the moves apart.
//! `org.gnome.Mutter.IdleMonitor` reports when input was passed on last: that of this device and that of a person alike,
//! so that a person who types may make a move count as passed on too early. While nothing on the screen changes, Mutter 43
//! at times draws no frame, and input waits for a second and more. Further input ends that.

use std::time::{Duration, Instant};

use crate::bus::{Bus, Object};

/// The time after which a move is sent again that was not passed on: a little more than a frame at 60 Hz takes.
const AGAIN: Duration = Duration::from_millis(20);
const IDLE: Object<'_> = Object {
    service: "org.gnome.Mutter.IdleMonitor",
    path: "/org/gnome/Mutter/IdleMonitor/Core",
    interface: "org.gnome.Mutter.IdleMonitor",
};

/// For how long Mutter has passed nothing on, in whole milliseconds.
pub(crate) fn idle_ms(bus: &Bus) -> zbus::Result<u64> {
    bus.call(IDLE, "GetIdletime", &())
}

/// What one device has sent.
#[derive(Default)]
pub(crate) struct PassingOn {
    /// What is not known to be passed on.
    sent: Option<Sent>,
    /// Whether something that was sent again may not have been passed on.
    has_rest: bool,
}

/// What was sent, in part or as a whole.
#[derive(Clone, Copy)]
struct Sent {
    /// When the last part of it was sent, or a moment before.
    at: Instant,
    /// There is one part.
    is_alone: bool,
    /// When its move was sent again last.
    again: Option<Instant>,
}

/// What is to be done about input that may not have been passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Nothing: it was.
    Done,
    Wait,
    /// Send the last move again, so that Mutter draws a frame.
    SendAgain,
    /// Send something that does nothing.
    SendNothing,
}

impl PassingOn {
    /// Something is about to be sent.
    pub(crate) fn note_sent(&mut self) {
        self.sent = Some(Sent {
            at: Instant::now(),
            is_alone: self.sent.is_none() && !self.has_rest,
            again: None,
        });
    }

    /// The last move was sent again.
    pub(crate) fn note_sent_again(&mut self) {
        if let Some(sent) = &mut self.sent {
            sent.again = Some(Instant::now());
        }
    }

    /// Whether something is not known to be passed on.
    pub(crate) fn is_awaited(&self) -> bool {
        self.sent.is_some()
    }

    /// What is next after an answer. `asked`: before the question. `idle_ms`: for how long nothing was passed on then.
    pub(crate) fn after(&mut self, asked: Instant, idle_ms: u64) -> Next {
        let Some(sent) = self.sent else {
            return Next::Done;
        };
        if !sent.is_alone {
            // What was passed on since the last part was sent may be an earlier part. Mutter has all parts now that it has
            // answered, so that they are passed on before what is sent now, or with it.
            self.sent = None;
            self.has_rest = false;
            self.note_sent();
            return Next::SendNothing;
        }
        if passed_on_after(sent.at, asked, idle_ms) {
            self.sent = None;
            self.has_rest = sent.again.is_some();
            return Next::Done;
        }
        match sent.again.unwrap_or(sent.at).elapsed() < AGAIN {
            true => Next::Wait,
            false => Next::SendAgain,
        }
    }
}

/// Whether input was passed on since something was sent. `idle_ms`: for how long none was, as a question of a time was
/// answered, in whole milliseconds.
fn passed_on_after(sent: Instant, asked: Instant, idle_ms: u64) -> bool {
    // Up to one more has passed, and none of the time until the question arrived is counted.
    let at_most = Duration::from_millis(idle_ms.saturating_add(1));
    asked
        .checked_sub(at_most)
        .is_some_and(|passed_on| passed_on >= sent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_passed_on_before_does_not_count() {
        let sent = Instant::now();
        let after = |ms: u64| sent + Duration::from_millis(ms);
        assert!(!passed_on_after(sent, sent, 0));
        assert!(passed_on_after(sent, after(1), 0));
        assert!(!passed_on_after(sent, after(5), 5));
        assert!(passed_on_after(sent, after(5), 4));
        assert!(!passed_on_after(sent, after(5), u64::MAX));
    }

    #[test]
    fn of_several_parts_the_last_one_is_awaited_alone() {
        let mut passing_on = PassingOn::default();
        let later = Instant::now() + Duration::from_secs(60);
        assert_eq!(passing_on.after(later, 0), Next::Done);
        passing_on.note_sent();
        assert_eq!(passing_on.after(later, 5), Next::Done);
        assert!(!passing_on.is_awaited());
        passing_on.note_sent();
        passing_on.note_sent();
        assert_eq!(passing_on.after(later, 5), Next::SendNothing);
        assert!(passing_on.is_awaited());
        assert_eq!(passing_on.after(later, 5), Next::Done);
    }
}
