//! Moves and presses by the methods of `org.gnome.Mutter.RemoteDesktop`, as far as Mutter has no libei.

use std::sync::Arc;

use flowpipe_guardian::PreparedReleases;
use zbus::message::Message;
use zbus::zvariant::OwnedObjectPath;

use super::displays::Display;
use super::session::MutterSession;
use crate::bus::{self, Object, order};
use crate::input::Input;

const BUTTON: &str = "NotifyPointerButton";
const KEY: &str = "NotifyKeyboardKeysym";
const MOTION: &str = "NotifyPointerMotionAbsolute";
const SCROLL: &str = "NotifyPointerAxis";
/// To the right, down, without flags.
const BY_NOTHING: (f64, f64, u32) = (0.0, 0.0, 0);

pub(super) struct Methods {
    /// What names places on a monitor: its connector, and its stream of pictures.
    streams: Vec<(String, OwnedObjectPath)>,
    pub guarded: Arc<PreparedReleases>,
}

impl Methods {
    pub(super) fn of(session: &MutterSession, displays: &[Display]) -> zbus::Result<Self> {
        let connectors = displays.iter().map(|it| it.monitor.name.clone());
        Ok(Self {
            streams: connectors.zip(session.streams().iter().cloned()).collect(),
            guarded: Arc::new(guarded(session)?),
        })
    }

    /// Sends a place on a monitor, as the monitors are now.
    pub(super) fn put(
        &self,
        session: &MutterSession,
        (stream, [x, y]): (&OwnedObjectPath, [f64; 2]),
    ) -> zbus::Result<()> {
        let control = control(session)?;
        send(session, order(control, MOTION, &(stream.as_str(), x, y)))?;
        self.send_nothing(session)
    }

    /// Scrolls by nothing.
    pub(super) fn send_nothing(&self, session: &MutterSession) -> zbus::Result<()> {
        send(session, order(control(session)?, SCROLL, &BY_NOTHING))
    }

    /// Presses or releases. Mutter does what was sent before first.
    pub(super) fn press(
        &self,
        session: &MutterSession,
        input: Input,
        number: u32,
        is_down: bool,
    ) -> zbus::Result<()> {
        let control = control(session)?;
        let bus = session.bus();
        match input {
            Input::Button(_) => bus.call(control, BUTTON, &(number as i32, is_down)),
            Input::Key(_) => bus.call(control, KEY, &(number, is_down)),
        }
    }

    /// Where a place of the screen lies on a monitor, in pixels of its picture, and what names places there.
    pub(super) fn on_monitor(
        &self,
        displays: &[Display],
        at: [i32; 2],
    ) -> Option<(&OwnedObjectPath, [f64; 2])> {
        let display = displays.iter().find(|it| it.monitor.place.contains(at))?;
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
}

fn send(session: &MutterSession, message: zbus::Result<Message>) -> zbus::Result<()> {
    message.and_then(|message| session.bus().send(&message))
}

/// The object that moves and presses.
pub(super) fn control(session: &MutterSession) -> zbus::Result<Object<'_>> {
    let control = session.remote().filter(|_| !session.has_ended());
    control.ok_or_else(|| zbus::Error::Failure("no session".to_owned()))
}

/// What releases when this program can't.
fn guarded(session: &MutterSession) -> zbus::Result<PreparedReleases> {
    let control = control(session)?;
    bus::prepared(session.bus(), |input, number| match input {
        Input::Button(_) => order(control, BUTTON, &(number as i32, false)),
        Input::Key(_) => order(control, KEY, &(number, false)),
    })
}
