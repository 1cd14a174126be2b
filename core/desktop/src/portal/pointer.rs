//! The pointer and the keyboard, by `org.freedesktop.portal.RemoteDesktop`: through libei where the portal gives a socket
//! for it, else by its methods. The portal may handle messages at the same time: each one is sent when the one before was
//! answered, so that their order is kept.

use std::sync::Arc;
use std::time::Instant;

use flowpipe_guardian::PreparedReleases;

use super::REMOTE_DESKTOP;
use super::at_start::MonitorsAtStart;
use super::gnome;
use super::request::Options;
use super::session::PortalSession;
use crate::bus::{self, order};
use crate::error::{DesktopError, Result};
use crate::input::{DisplayServer, Input, InputDevice, LIBEI, MAX_STALL, METHODS, PlaceReports};
use crate::libei::{EmulatedInput, EmulatedMonitor, NoSocket};
use crate::mutter::passing_on::{Next, PassingOn, idle_ms};
use crate::pipewire::{Cursor, OtherReceiver, Remote};
use crate::pointer_history::PointerHistory;
use crate::rect::Rect;

pub(super) struct PortalPointer {
    sender: PortalSender,
    /// Whether the session has a stream of reports for this one.
    has_reports: bool,
    session: Arc<PortalSession>,
    /// The monitor on which it is put.
    monitor: Rect,
    /// What Mutter has of it. `None`: it is another compositor, which delivers each move as it comes.
    passing_on: Option<PassingOn>,
    /// `None`: with libei, which reports when they change, and where the compositor does not describe them.
    at_start: Option<MonitorsAtStart>,
    /// Where it was put.
    history: PointerHistory,
}

/// What moves and presses.
enum PortalSender {
    /// The portal's methods, and what releases by them when this program can't.
    Methods(Arc<PreparedReleases>),
    Libei(EmulatedInput),
}

const BUTTON: &str = "NotifyPointerButton";
const KEY: &str = "NotifyKeyboardKeysym";
const MOTION: &str = "NotifyPointerMotionAbsolute";
const SCROLL: &str = "NotifyPointerAxis";

impl PortalPointer {
    /// `libei`: whether libei may be used.
    pub(super) fn new(session: Arc<PortalSession>, libei: bool) -> Result<Self> {
        let refused = |reason: String| DesktopError::NoInput { reason };
        let source = session.source();
        let (Some(_), Some(size)) = (source.position, source.size) else {
            return Err(refused(
                "the desktop portal does not report where the monitor is, and the compositor has not that one monitor alone, \
                 so that no place on it is known"
                    .to_owned(),
            ));
        };
        let monitor = source.place(size);
        let is_gnome = gnome::is_behind(session.bus());
        let emulated = match libei {
            true => emulated(&session, monitor, is_gnome)?,
            false => None,
        };
        let sender = match emulated {
            Some(input) => PortalSender::Libei(input),
            None => {
                if is_gnome {
                    gnome::check(session.bus(), monitor).map_err(refused)?;
                }
                guarded(&session)
                    .map(|guarded| PortalSender::Methods(Arc::new(guarded)))
                    .map_err(|error| refused(error.to_string()))?
            }
        };
        let at_start = match &sender {
            PortalSender::Methods(_) => MonitorsAtStart::of_session(),
            PortalSender::Libei(_) => None,
        };
        Ok(Self {
            sender,
            has_reports: false,
            session,
            monitor,
            passing_on: is_gnome.then(PassingOn::default),
            at_start,
            history: PointerHistory::new([monitor]),
        })
    }

    fn send_input(&mut self, input: Input, is_down: bool) -> Result<()> {
        self.note_sent();
        if let PortalSender::Libei(emulated) = &mut self.sender {
            let sent = emulated.press(input, is_down);
            return sent.map_err(|error| self.explained(error));
        }
        let session = self.session()?;
        let question = question(session, bus::number(input)?, is_down);
        let sent = session.bus().call(REMOTE_DESKTOP, method(input), &question);
        sent.map_err(|error| self.failure(&error))
    }

    /// The pointer is about to be put somewhere.
    fn will_put(&mut self, at: [i32; 2]) -> Result<()> {
        self.session()?;
        self.history.check()?;
        self.check_monitors()?;
        if !self.monitor.contains(at) {
            return Err(DesktopError::Input(format!(
                "{}, {} is not on the monitor that was chosen for the mouse in the dialog of the desktop portal",
                at[0], at[1]
            )));
        }
        self.note_sent();
        self.history.will_put(at);
        Ok(())
    }

    /// Puts the pointer somewhere and presses a button there, with nothing in between but, without libei, the answer to the
    /// move. After a late answer, nothing is pressed.
    fn press_at(&mut self, at: [i32; 2], button: u8) -> Result<()> {
        self.will_put(at)?;
        // The press is a part of its own: Mutter may pass it on a frame later than the move.
        self.note_sent();
        match &mut self.sender {
            PortalSender::Methods(_) => {
                let asked = Instant::now();
                self.call_motion(at)?;
                let after = asked.elapsed();
                if after > MAX_STALL {
                    return Err(DesktopError::Late { after });
                }
                self.send_input(Input::Button(button), true)
            }
            PortalSender::Libei(emulated) => {
                let sent = emulated.press_at(at, button);
                sent.map_err(|error| self.explained(error))
            }
        }
    }

    /// Puts the pointer somewhere by the portal's method.
    fn call_motion(&self, at: [i32; 2]) -> Result<()> {
        // The middle of the pixel, in the compositor's units.
        let within = |at: i32, from: i32| f64::from(at.abs_diff(from)) + 0.5;
        let [x, y] = [within(at[0], self.monitor.x), within(at[1], self.monitor.y)];
        let session = self.session()?;
        let node = session.source().node;
        let question = (session.path(), Options::new(), node, x, y);
        let sent = session
            .bus()
            .call::<_, ()>(REMOTE_DESKTOP, MOTION, &question);
        sent.map_err(|error| self.failure(&error))
    }

    /// Sends something that does nothing: it keeps moves apart.
    fn send_nothing(&mut self) -> Result<()> {
        if let PortalSender::Libei(emulated) = &mut self.sender {
            let sent = emulated.send_nothing();
            return sent.map_err(|error| self.explained(error));
        }
        let session = self.session()?;
        let question = (session.path(), Options::new(), 0.0, 0.0);
        let sent = session
            .bus()
            .call::<_, ()>(REMOTE_DESKTOP, SCROLL, &question);
        sent.map_err(|error| self.failure(&error))
    }

    /// Sends the last move again, so that Mutter draws a frame.
    fn send_again(&mut self) -> Result<()> {
        let Some(at) = self.history.last() else {
            return Ok(());
        };
        self.send_place(at)?;
        if let Some(passing_on) = &mut self.passing_on {
            passing_on.note_sent_again();
        }
        Ok(())
    }

    /// Sends a place.
    fn send_place(&mut self, at: [i32; 2]) -> Result<()> {
        match &mut self.sender {
            PortalSender::Methods(_) => {
                self.call_motion(at)?;
                match self.passing_on {
                    Some(_) => self.send_nothing(),
                    None => Ok(()),
                }
            }
            PortalSender::Libei(emulated) => {
                let sent = emulated.put(at);
                sent.map_err(|error| self.explained(error))
            }
        }
    }

    /// For how long Mutter has passed nothing on, in whole milliseconds. Where its methods are used, the portal may still have a
    /// part of what was sent: then a move counts as passed on up to a frame too early.
    fn idle_ms(&self) -> Result<u64> {
        // It is asked elsewhere than where input is sent: without this, it may answer first.
        if let PortalSender::Libei(emulated) = &self.sender {
            emulated.sync().map_err(|error| self.explained(error))?;
        }
        idle_ms(self.session()?.bus()).map_err(|error| self.failure(&error))
    }

    /// Something is about to be sent.
    fn note_sent(&mut self) {
        if let Some(passing_on) = &mut self.passing_on {
            passing_on.note_sent();
        }
    }

    /// Receives reports of where the pointer is.
    ///
    /// # Errors
    /// Why there are none.
    fn receive_reports(&self) -> std::result::Result<Cursor, String> {
        let session = &self.session;
        if !session.reports_pointer() {
            return Err("the desktop portal does not offer it".to_owned());
        }
        let remote = Remote::Connection(session.pipewire()?);
        let reports = self.history.of_monitor(0);
        let cursor = Cursor::open(
            session.source().node,
            remote,
            OtherReceiver::Capture,
            reports,
        )?;
        self.history
            .expect_reports()
            .map_err(|error| error.to_string())?;
        Ok(cursor)
    }

    /// Whether the monitors are as they were, as far as that is known.
    fn check_monitors(&mut self) -> Result<()> {
        self.at_start
            .as_mut()
            .map_or(Ok(()), MonitorsAtStart::check)
    }

    fn session(&self) -> Result<&PortalSession> {
        match self.session.has_ended() {
            true => Err(DesktopError::Lost(self.session.end())),
            false => Ok(&self.session),
        }
    }

    fn failure(&self, error: &zbus::Error) -> DesktopError {
        // The signal that it has ended may come after the answer.
        let is_gone = matches!(error, zbus::Error::MethodError(name, ..)
            if ["AccessDenied", "UnknownMethod", "UnknownObject"].iter().any(|it| name.ends_with(it)));
        match is_gone || self.session.has_ended() {
            true => DesktopError::Lost(self.session.end()),
            false => DesktopError::Input(format!("the desktop portal: {error}")),
        }
    }

    /// With its session, the emulated input ends too.
    fn explained(&self, error: DesktopError) -> DesktopError {
        match error {
            DesktopError::Lost(_) if self.session.has_ended() => {
                DesktopError::Lost(self.session.end())
            }
            other => other,
        }
    }
}

/// Input through libei. `None`: this desktop has it not.
fn emulated(
    session: &PortalSession,
    place: Rect,
    keeps_moves_apart: bool,
) -> Result<Option<EmulatedInput>> {
    let mapping_id = session.source().mapping_id.clone();
    match session.connect_to_eis() {
        Ok(socket) => {
            let monitors = [EmulatedMonitor { place, mapping_id }];
            EmulatedInput::connect(socket, &monitors, keeps_moves_apart).map(Some)
        }
        Err(NoSocket::NotOffered) => Ok(None),
        Err(NoSocket::Refused(error)) => Err(error),
    }
}

/// What presses and releases.
fn method(input: Input) -> &'static str {
    match input {
        Input::Button(_) => BUTTON,
        Input::Key(_) => KEY,
    }
}

/// The arguments of both methods.
fn question(
    session: &PortalSession,
    number: u32,
    is_down: bool,
) -> (&zbus::zvariant::OwnedObjectPath, Options<'static>, i32, u32) {
    let number = number.cast_signed();
    (session.path(), Options::new(), number, u32::from(is_down))
}

/// What releases when this program can't.
fn guarded(session: &PortalSession) -> zbus::Result<PreparedReleases> {
    bus::prepared(session.bus(), |input, number| {
        let question = question(session, number, false);
        order(REMOTE_DESKTOP, method(input), &question)
    })
}

impl Drop for PortalPointer {
    fn drop(&mut self) {
        if self.has_reports {
            // They end before the session.
            drop(self.session.reports().take());
        }
    }
}

impl InputDevice for PortalPointer {
    fn place(&mut self) -> Result<Option<[i32; 2]>> {
        Ok(None)
    }

    fn place_reports(&mut self) -> Result<PlaceReports> {
        if !self.has_reports {
            match self.receive_reports() {
                Ok(received) => *self.session.reports() = Some(received),
                Err(reason) => return Ok(PlaceReports::Never(reason)),
            }
            self.has_reports = true;
        }
        Ok(PlaceReports::Later(Box::new(self.history.clone())))
    }

    fn put(&mut self, at: [i32; 2]) -> Result<()> {
        self.will_put(at)?;
        self.send_place(at)
    }

    fn is_passed_on(&mut self) -> Result<bool> {
        if !self.passing_on.as_ref().is_some_and(PassingOn::is_awaited) {
            return Ok(true);
        }
        let asked = Instant::now();
        let idle_ms = self.idle_ms()?;
        let next = self.passing_on.as_mut().map(|it| it.after(asked, idle_ms));
        match next.unwrap_or(Next::Done) {
            Next::Done => return Ok(true),
            Next::Wait => {}
            Next::SendAgain => self.send_again()?,
            Next::SendNothing => self.send_nothing()?,
        }
        Ok(false)
    }

    fn press(&mut self, input: Input) -> Result<()> {
        match (input, self.history.last()) {
            // The seat has one pointer for all mice: a person may have moved it.
            (Input::Button(number), Some(at)) => self.press_at(at, number),
            _ => {
                self.check_monitors()?;
                self.send_input(input, true)
            }
        }
    }

    fn prepare_keys(&mut self) -> Result<bool> {
        match &mut self.sender {
            PortalSender::Methods(_) => Ok(false),
            PortalSender::Libei(emulated) => {
                let prepared = emulated.prepare_keys();
                prepared.map_err(|error| self.explained(error))
            }
        }
    }

    fn check(&mut self) -> Result<()> {
        self.session()?;
        match &self.sender {
            PortalSender::Methods(_) => Ok(()),
            PortalSender::Libei(emulated) => {
                emulated.check().map_err(|error| self.explained(error))
            }
        }
    }

    fn wait_for_answer(&mut self) -> Result<()> {
        match &self.sender {
            // The answer to the move before a press is the portal's, not the compositor's.
            PortalSender::Methods(_) => self.at_start.as_mut().map_or(Ok(()), MonitorsAtStart::ask),
            PortalSender::Libei(emulated) => emulated.sync().map_err(|error| self.explained(error)),
        }
    }

    fn release(&mut self, input: Input) -> Result<()> {
        self.send_input(input, false)
    }

    fn way(&self) -> Option<&'static str> {
        Some(match &self.sender {
            PortalSender::Methods(_) => METHODS,
            PortalSender::Libei(_) => LIBEI,
        })
    }

    fn display_server(&self) -> Option<DisplayServer> {
        let guarded = match &self.sender {
            PortalSender::Methods(guarded) => Arc::clone(guarded),
            PortalSender::Libei(emulated) => emulated.guarded(),
        };
        Some(DisplayServer::Shared(guarded))
    }
}
