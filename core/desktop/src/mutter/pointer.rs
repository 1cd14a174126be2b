//! The pointer and the keyboard, by `org.gnome.Mutter.RemoteDesktop`: devices of their own, beside those of the person.
//!
//! Mutter collects input until it draws its next frame, and passes it on then. Of several moves in a row it delivers only
//! the last. So each move is followed by a scroll of zero: it scrolls no window, and keeps the moves apart.
//! `org.gnome.Mutter.IdleMonitor` reports when input was passed on last: that of this device and that of a person alike,
//! so that a person who types may make a move count as passed on too early. While nothing on the screen changes, Mutter 43
//! at times draws no frame, and input waits for a second and more. Further input ends that.
//!
//! The streams of the monitors report where the pointer is, whoever has moved it: not the place that Mutter has passed on
//! last, but that of the moment.

use std::sync::Arc;
use std::time::{Duration, Instant};

use flowpipe_guardian::PreparedReleases;
use zbus::message::Message;
use zbus::zvariant::OwnedObjectPath;

use super::Mutter;
use super::displays::Display;
use super::session::MutterSession;
use crate::bus::{self, Object, order};
use crate::error::{DesktopError, Result};
use crate::input::{DisplayServer, Input, InputDevice, PlaceReports};
use crate::pipewire::Cursor;
use crate::pointer_history::PointerHistory;

pub(super) struct MutterPointer {
    mutter: Arc<Mutter>,
    /// Where it was put.
    history: PointerHistory,
    /// One for each monitor, once wanted. They end before the session.
    reports: Vec<Cursor>,
    session: MutterSession,
    displays: Vec<Display>,
    /// What names places on a monitor: its connector, and its stream of pictures.
    streams: Vec<(String, OwnedObjectPath)>,
    guarded: Arc<PreparedReleases>,
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

/// The time after which a move is sent again that was not passed on: a little more than a frame at 60 Hz takes.
const AGAIN: Duration = Duration::from_millis(20);
const IDLE: Object<'_> = Object {
    service: "org.gnome.Mutter.IdleMonitor",
    path: "/org/gnome/Mutter/IdleMonitor/Core",
    interface: "org.gnome.Mutter.IdleMonitor",
};
const BUTTON: &str = "NotifyPointerButton";
const KEY: &str = "NotifyKeyboardKeysym";
const MOTION: &str = "NotifyPointerMotionAbsolute";
const SCROLL: &str = "NotifyPointerAxis";
/// To the right, down, without flags.
const BY_NOTHING: (f64, f64, u32) = (0.0, 0.0, 0);

impl MutterPointer {
    pub(super) fn new(mutter: Arc<Mutter>) -> Result<Self> {
        let refused = |error: &dyn std::fmt::Display| DesktopError::NoInput {
            reason: format!("Mutter lets no program move the pointer: {error}"),
        };
        let displays = mutter.displays()?;
        let connectors = || displays.iter().map(|it| it.monitor.name.as_str());
        let session =
            MutterSession::control(mutter.bus()?, connectors()).map_err(|error| refused(&error))?;
        let guarded = guarded(&session).map_err(|error| refused(&error))?;
        let streams = connectors().map(str::to_owned);
        let streams = streams.zip(session.streams().iter().cloned()).collect();
        let history = PointerHistory::new(displays.iter().map(|it| it.monitor.place));
        Ok(Self {
            mutter,
            history,
            reports: Vec::new(),
            session,
            displays,
            streams,
            guarded: Arc::new(guarded),
            sent: None,
            has_rest: false,
        })
    }

    fn send_input(&mut self, input: Input, is_down: bool) -> Result<()> {
        self.note_sent();
        let control = control(&self.session)?;
        let bus = self.session.bus();
        // Mutter does what was sent before first.
        let number = bus::number(input)?;
        let sent = match input {
            Input::Button(_) => bus.call(control, BUTTON, &(number as i32, is_down)),
            Input::Key(_) => bus.call(control, KEY, &(number, is_down)),
        };
        sent.map_err(|error| self.failure(&error))
    }

    /// Something is about to be sent.
    fn note_sent(&mut self) {
        self.sent = Some(Sent {
            at: Instant::now(),
            is_alone: self.sent.is_none() && !self.has_rest,
            again: None,
        });
    }

    /// Sends a place on a monitor.
    fn send_place(&self, stream: &OwnedObjectPath, [x, y]: [f64; 2]) -> Result<()> {
        let control = control(&self.session)?;
        self.send(order(control, MOTION, &(stream.as_str(), x, y)))?;
        self.send(order(control, SCROLL, &BY_NOTHING))
    }

    /// Sends the last move again, so that Mutter draws a frame.
    fn send_again(&mut self, sent: Sent) -> Result<()> {
        if sent.again.unwrap_or(sent.at).elapsed() < AGAIN {
            return Ok(());
        }
        let Some((stream, place)) = self.history.last().and_then(|at| self.on_monitor(at)) else {
            return Ok(());
        };
        self.send_place(stream, place)?;
        self.sent = Some(Sent {
            again: Some(Instant::now()),
            ..sent
        });
        Ok(())
    }

    /// Receives reports of where the pointer is on each monitor.
    ///
    /// # Errors
    /// Why there are none.
    fn receive_reports(&self) -> std::result::Result<Vec<Cursor>, String> {
        let nodes = self.session.nodes();
        let nodes = nodes.ok_or("Mutter sends no pictures, and nothing beside them")?;
        let receive = |(number, node)| {
            let reports = self.history.of_monitor(number);
            Cursor::open(node, self.mutter.pipewire(), reports)
        };
        nodes.into_iter().enumerate().map(receive).collect()
    }

    /// Whether a person who moves the pointer is still noticed, where that was asked for.
    fn check_reports(&self) -> Result<()> {
        let Err(over) = self.history.check() else {
            return Ok(());
        };
        // With its session, the reports end too.
        let control = control(&self.session)?;
        let asked = self.session.bus().property(control, "SessionId");
        asked.map_err(|error| self.failure(&error))?;
        Err(over)
    }

    fn send(&self, message: zbus::Result<Message>) -> Result<()> {
        message
            .and_then(|message| self.session.bus().send(&message))
            .map_err(|error| self.failure(&error))
    }

    /// For how long Mutter has passed nothing on, in whole milliseconds.
    fn idle_ms(&self) -> Result<u64> {
        let asked = self.session.bus().call(IDLE, "GetIdletime", &());
        asked.map_err(|error| self.failure(&error))
    }

    /// Where a place of the screen lies on a monitor, in pixels of its picture, and what names places there.
    fn on_monitor(&self, at: [i32; 2]) -> Option<(&OwnedObjectPath, [f64; 2])> {
        let display = self
            .displays
            .iter()
            .find(|it| it.monitor.place.contains(at))?;
        let mut streams = self.streams.iter();
        let (_, stream) = streams.find(|(connector, _)| *connector == display.monitor.name)?;
        let place = display.monitor.place;
        let pixel = |at: i32, from: i32, length: u32, pixels: u32| {
            // Within the pixel, and where versions that round find it.
            const WITHIN: f64 = 0.25;
            (f64::from(at.abs_diff(from)) + WITHIN) * f64::from(pixels) / f64::from(length)
        };
        let [columns, rows] = display.pixels;
        let x = pixel(at[0], place.x, place.width, columns);
        let y = pixel(at[1], place.y, place.height, rows);
        Some((stream, [x, y]))
    }

    fn failure(&self, error: &zbus::Error) -> DesktopError {
        // Without the session, the bus does not know the object.
        let is_gone = matches!(error, zbus::Error::MethodError(name, ..)
            if ["UnknownMethod", "UnknownObject"].iter().any(|it| name.ends_with(it)));
        match is_gone || self.session.has_ended() {
            true => ended(),
            false => DesktopError::Input(format!("Mutter: {error}")),
        }
    }
}

fn ended() -> DesktopError {
    let over = "it has ended the control of the mouse: in GNOME, its indicator in the panel does that, and a change of the \
                monitors";
    DesktopError::Lost(over.to_owned())
}

/// The object that moves and presses.
fn control(session: &MutterSession) -> Result<Object<'_>> {
    if session.has_ended() {
        return Err(ended());
    }
    session.remote().ok_or_else(ended)
}

/// What releases when this program can't.
fn guarded(session: &MutterSession) -> zbus::Result<PreparedReleases> {
    let control = session
        .remote()
        .ok_or_else(|| zbus::Error::Failure("no session".to_owned()))?;
    bus::prepared(session.bus(), |input, number| match input {
        Input::Button(_) => order(control, BUTTON, &(number as i32, false)),
        Input::Key(_) => order(control, KEY, &(number, false)),
    })
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

impl InputDevice for MutterPointer {
    fn place(&mut self) -> Result<Option<[i32; 2]>> {
        Ok(None)
    }

    fn place_reports(&mut self) -> Result<PlaceReports> {
        if self.reports.is_empty() {
            match self.receive_reports() {
                Ok(reports) => self.reports = reports,
                Err(reason) => return Ok(PlaceReports::Never(reason)),
            }
        }
        Ok(PlaceReports::Later(Box::new(self.history.clone())))
    }

    fn put(&mut self, at: [i32; 2]) -> Result<()> {
        self.check_reports()?;
        let found = self.on_monitor(at);
        let found = found.map(|(stream, place)| (stream.clone(), place));
        let (stream, place) = found.ok_or_else(|| {
            DesktopError::Input(format!(
                "{}, {} is beyond the monitors that were there at the start",
                at[0], at[1]
            ))
        })?;
        self.note_sent();
        self.history.will_put(at);
        self.send_place(&stream, place)
    }

    fn is_passed_on(&mut self) -> Result<bool> {
        let Some(sent) = self.sent else {
            return Ok(true);
        };
        let asked = Instant::now();
        let idle_ms = self.idle_ms()?;
        if !sent.is_alone {
            // What was passed on since the last part was sent may be an earlier part. Mutter has all parts now that it has
            // answered, so that they are passed on before what is sent now, or with it.
            self.sent = None;
            self.has_rest = false;
            self.note_sent();
            let control = control(&self.session)?;
            self.send(order(control, SCROLL, &BY_NOTHING))?;
            return Ok(false);
        }
        if !passed_on_after(sent.at, asked, idle_ms) {
            self.send_again(sent)?;
            return Ok(false);
        }
        self.sent = None;
        self.has_rest = sent.again.is_some();
        Ok(true)
    }

    fn press(&mut self, input: Input) -> Result<()> {
        // With other monitors, the same place is elsewhere on them.
        let displays = self.mutter.displays()?;
        if displays != self.displays {
            self.displays = displays;
            if let Some(at) = self.history.last() {
                self.put(at)?;
            }
        }
        self.send_input(input, true)
    }

    fn release(&mut self, input: Input) -> Result<()> {
        self.send_input(input, false)
    }

    fn display_server(&self) -> Option<DisplayServer> {
        Some(DisplayServer::Bus(Arc::clone(&self.guarded)))
    }
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
}
