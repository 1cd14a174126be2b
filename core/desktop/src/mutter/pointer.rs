//! The pointer and the keyboard, by `org.gnome.Mutter.RemoteDesktop`: devices of their own, beside those of the person.
//! Mutter of GNOME 45 and later takes input through libei, which its session gives a socket for; before, by methods.
//!
//! When Mutter passes on what is sent: see [`super::passing_on`].
//!
//! The streams of the monitors report where the pointer is, whoever has moved it: not the place that Mutter has passed on
//! last, but that of the moment.

use std::sync::Arc;
use std::time::Instant;

use super::Mutter;
use super::displays::Display;
use super::methods::{Methods, control};
use super::passing_on::{Next, PassingOn, idle_ms};
use super::session::MutterSession;
use crate::bus;
use crate::error::{DesktopError, Result};
use crate::input::{DisplayServer, Input, InputDevice, LIBEI, METHODS, PlaceReports};
use crate::libei::{EmulatedInput, EmulatedMonitor, NoSocket};
use crate::pipewire::presence::LOST;
use crate::pipewire::{Cursor, OtherReceiver};
use crate::pointer_history::PointerHistory;

pub(super) struct MutterPointer {
    mutter: Arc<Mutter>,
    /// Where it was put.
    history: PointerHistory,
    /// One for each monitor, once wanted. They end before the session.
    reports: Vec<Cursor>,
    sender: MutterSender,
    session: MutterSession,
    displays: Vec<Display>,
    /// Whether they were others when the pointer was put last.
    has_changed: bool,
    passing_on: PassingOn,
}

/// What moves and presses.
enum MutterSender {
    Methods(Methods),
    Libei(EmulatedInput),
}

impl MutterPointer {
    /// `libei`: whether libei may be used.
    pub(super) fn new(mutter: Arc<Mutter>, libei: bool) -> Result<Self> {
        let refused = |error: &dyn std::fmt::Display| DesktopError::NoInput {
            reason: mutter.unless_without_pipewire(format!(
                "Mutter lets no program move the pointer: {error}"
            )),
        };
        let displays = mutter.displays()?;
        let connectors = displays.iter().map(|it| it.monitor.name.as_str());
        let session =
            MutterSession::control(mutter.bus()?, connectors).map_err(|error| refused(&error))?;
        let emulated = match libei {
            true => emulated(&session, &displays)?,
            false => None,
        };
        let sender = match emulated {
            Some(input) => MutterSender::Libei(input),
            None => Methods::of(&session, &displays)
                .map(MutterSender::Methods)
                .map_err(|error| refused(&error))?,
        };
        let history = PointerHistory::new(displays.iter().map(|it| it.monitor.place));
        Ok(Self {
            mutter,
            history,
            reports: Vec::new(),
            sender,
            session,
            displays,
            has_changed: false,
            passing_on: PassingOn::default(),
        })
    }

    fn send_input(&mut self, input: Input, is_down: bool) -> Result<()> {
        self.passing_on.note_sent();
        match &mut self.sender {
            MutterSender::Methods(methods) => {
                let number = bus::number(input)?;
                let sent = methods.press(&self.session, input, number, is_down);
                sent.map_err(|error| self.failure(&error))
            }
            MutterSender::Libei(emulated) => {
                let sent = emulated.press(input, is_down);
                sent.map_err(|error| self.explained(error))
            }
        }
    }

    /// The pointer is about to be put somewhere.
    fn will_put(&mut self, at: [i32; 2]) -> Result<()> {
        self.check_reports()?;
        if !self.displays.iter().any(|it| it.monitor.place.contains(at)) {
            return Err(beyond(at));
        }
        self.passing_on.note_sent();
        self.history.will_put(at);
        Ok(())
    }

    /// Puts the pointer somewhere and presses a button there, with nothing in between.
    fn press_at(&mut self, at: [i32; 2], button: u8) -> Result<()> {
        self.will_put(at)?;
        // The press is a part of its own: Mutter may pass it on a frame later than the move.
        self.passing_on.note_sent();
        match &mut self.sender {
            // Nothing waits for an answer between the two messages.
            MutterSender::Methods(_) => match self.send_place(at)? {
                true => self.send_input(Input::Button(button), true),
                false => Err(beyond(at)),
            },
            MutterSender::Libei(emulated) => {
                let sent = emulated.press_at(at, button);
                sent.map_err(|error| self.explained(error))
            }
        }
    }

    /// Sends a place on a monitor. `Ok(false)`: it is on none.
    fn send_place(&mut self, at: [i32; 2]) -> Result<bool> {
        match &mut self.sender {
            MutterSender::Methods(methods) => {
                let Some(place) = methods.on_monitor(&self.displays, at) else {
                    return Ok(false);
                };
                let sent = methods.put(&self.session, place);
                sent.map_err(|error| self.failure(&error))?;
            }
            MutterSender::Libei(emulated) => {
                if !emulated.reaches(at) {
                    return Ok(false);
                }
                let sent = emulated.put(at);
                sent.map_err(|error| self.explained(error))?;
            }
        }
        Ok(true)
    }

    /// Sends the last move again, so that Mutter draws a frame.
    fn send_again(&mut self) -> Result<()> {
        let Some(at) = self.history.last() else {
            return Ok(());
        };
        if self.send_place(at)? {
            self.passing_on.note_sent_again();
        }
        Ok(())
    }

    /// Sends something that does nothing.
    fn send_nothing(&mut self) -> Result<()> {
        match &mut self.sender {
            MutterSender::Methods(methods) => {
                let sent = methods.send_nothing(&self.session);
                sent.map_err(|error| self.failure(&error))
            }
            MutterSender::Libei(emulated) => {
                let sent = emulated.send_nothing();
                sent.map_err(|error| self.explained(error))
            }
        }
    }

    /// Receives reports of where the pointer is on each monitor.
    ///
    /// # Errors
    /// Why there are none.
    fn receive_reports(&self) -> std::result::Result<Vec<Cursor>, String> {
        let nodes = self.session.nodes();
        let nodes = nodes.ok_or_else(|| {
            let reason = "Mutter sends no pictures, and nothing beside them";
            self.mutter.unless_without_pipewire(reason.to_owned())
        })?;
        let receive = |(number, node)| {
            let reports = self.history.of_monitor(number);
            Cursor::open(node, self.mutter.pipewire(), OtherReceiver::None, reports)
        };
        let all = nodes.into_iter().enumerate().map(receive);
        let reports = all.collect::<std::result::Result<_, _>>()?;
        self.history
            .expect_reports()
            .map_err(|error| error.to_string())?;
        Ok(reports)
    }

    /// Whether a person who moves the pointer is still noticed, where that was asked for.
    fn check_reports(&self) -> Result<()> {
        let Err(over) = self.history.check() else {
            return Ok(());
        };
        // With its session, the reports end too.
        self.check_session()?;
        Err(over)
    }

    /// For how long Mutter has passed nothing on, in whole milliseconds.
    fn idle_ms(&self) -> Result<u64> {
        // It is asked elsewhere than where input is sent: without this, it may answer first.
        if let MutterSender::Libei(emulated) = &self.sender {
            emulated.sync().map_err(|error| self.explained(error))?;
        }
        let asked = idle_ms(self.session.bus());
        asked.map_err(|error| self.failure(&error))
    }

    fn failure(&self, error: &zbus::Error) -> DesktopError {
        // Without the session, the bus does not know the object.
        let is_gone = matches!(error, zbus::Error::MethodError(name, ..)
            if ["UnknownMethod", "UnknownObject"].iter().any(|it| name.ends_with(it)));
        match is_gone || self.session.has_ended() {
            true => self.ended(),
            false => DesktopError::Input(format!("Mutter: {error}")),
        }
    }

    /// Why Mutter has ended the session. It does so too when PipeWire ends.
    fn ended(&self) -> DesktopError {
        if self.history.has_lost_pipewire() || !self.mutter.pipewire().answers() {
            return DesktopError::Lost(LOST.to_owned());
        }
        let over = "it has ended the control of the mouse: in GNOME, its indicator in the panel does that, and a change of the \
                    monitors";
        DesktopError::Lost(over.to_owned())
    }

    /// With its session, the emulated input ends too.
    fn explained(&self, error: DesktopError) -> DesktopError {
        match (&error, self.check_session()) {
            (DesktopError::Lost(_), Err(ended)) => ended,
            _ => error,
        }
    }

    /// Whether Mutter still knows the session.
    fn check_session(&self) -> Result<()> {
        let asked = control(&self.session)
            .and_then(|control| self.session.bus().property(control, "SessionId"));
        match asked {
            Ok(_) => Ok(()),
            Err(error) => Err(self.failure(&error)),
        }
    }
}

/// Input through libei. `None`: this Mutter has it not.
fn emulated(session: &MutterSession, displays: &[Display]) -> Result<Option<EmulatedInput>> {
    let monitors = displays.iter().map(|display| EmulatedMonitor {
        place: display.monitor.place,
        // Its regions are where the monitors are.
        mapping_id: None,
    });
    match session.connect_to_eis() {
        Ok(socket) => {
            let monitors: Vec<_> = monitors.collect();
            EmulatedInput::connect(socket, &monitors, true).map(Some)
        }
        Err(NoSocket::NotOffered) => Ok(None),
        Err(NoSocket::Refused(error)) => Err(error),
    }
}

fn beyond([x, y]: [i32; 2]) -> DesktopError {
    DesktopError::Input(format!(
        "{x}, {y} is beyond the monitors that were there at the start"
    ))
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
        self.will_put(at)?;
        match self.send_place(at)? {
            true => Ok(()),
            false => Err(beyond(at)),
        }
    }

    fn is_passed_on(&mut self) -> Result<bool> {
        if !self.passing_on.is_awaited() {
            return Ok(true);
        }
        let asked = Instant::now();
        let idle_ms = self.idle_ms()?;
        match self.passing_on.after(asked, idle_ms) {
            Next::Done => return Ok(true),
            Next::Wait => {}
            Next::SendAgain => self.send_again()?,
            Next::SendNothing => self.send_nothing()?,
        }
        Ok(false)
    }

    fn press(&mut self, input: Input) -> Result<()> {
        // With other monitors, the same place is elsewhere on them. They are not asked for here: a press must follow what has
        // decided on it.
        let has_changed = std::mem::take(&mut self.has_changed);
        if has_changed || self.mutter.has_changed_since(&self.displays) {
            return Err(DesktopError::MonitorsChanged);
        }
        match (input, self.history.last()) {
            // The seat has one pointer for all mice: a person may have moved it.
            (Input::Button(number), Some(at)) => self.press_at(at, number),
            _ => self.send_input(input, true),
        }
    }

    fn prepare_keys(&mut self) -> Result<bool> {
        match &mut self.sender {
            MutterSender::Methods(_) => Ok(false),
            MutterSender::Libei(emulated) => {
                let prepared = emulated.prepare_keys();
                prepared.map_err(|error| self.explained(error))
            }
        }
    }

    fn check(&mut self) -> Result<()> {
        if self.session.has_ended() {
            return Err(self.ended());
        }
        match &self.sender {
            MutterSender::Methods(_) => Ok(()),
            MutterSender::Libei(emulated) => {
                emulated.check().map_err(|error| self.explained(error))
            }
        }
    }

    fn wait_for_answer(&mut self) -> Result<()> {
        let displays = self.mutter.last_displays()?;
        self.has_changed |= displays != self.displays;
        self.displays = displays;
        match &self.sender {
            MutterSender::Methods(_) => Ok(()),
            MutterSender::Libei(emulated) => emulated.sync().map_err(|error| self.explained(error)),
        }
    }

    fn release(&mut self, input: Input) -> Result<()> {
        self.send_input(input, false)
    }

    fn way(&self) -> Option<&'static str> {
        Some(match &self.sender {
            MutterSender::Methods(_) => METHODS,
            MutterSender::Libei(_) => LIBEI,
        })
    }

    fn display_server(&self) -> Option<DisplayServer> {
        let guarded = match &self.sender {
            MutterSender::Methods(methods) => Arc::clone(&methods.guarded),
            MutterSender::Libei(emulated) => emulated.guarded(),
        };
        Some(DisplayServer::Shared(guarded))
    }
}
