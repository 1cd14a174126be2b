//! The pointer, by `org.freedesktop.portal.RemoteDesktop`. The portal may handle messages at the same time: each one is
//! sent when the one before was answered, so that their order is kept.

use std::sync::Arc;

use flowpipe_guardian::{BusPointer, button_code};

use super::REMOTE_DESKTOP;
use super::chosen::Chosen;
use super::request::Options;
use super::session::PortalSession;
use crate::bus::order;
use crate::error::{DesktopError, Result};
use crate::input::{DisplayServer, Input, InputDevice};
use crate::rect::Rect;

pub(super) struct PortalPointer {
    chosen: Arc<Chosen>,
    /// The monitor on which it is put.
    monitor: Rect,
    guarded: Arc<BusPointer>,
    /// Where it was put last.
    put: Option<[i32; 2]>,
}

const BUTTON: &str = "NotifyPointerButton";
const MOTION: &str = "NotifyPointerMotionAbsolute";

impl PortalPointer {
    pub(super) fn new(chosen: Arc<Chosen>) -> Result<Self> {
        let refused = |reason: String| DesktopError::NoInput { reason };
        let source = chosen.session().source();
        let (Some(_), Some(size)) = (source.position, source.size) else {
            return Err(refused(
                "the desktop portal does not say where the monitor lies, so that no place on it is known".to_owned(),
            ));
        };
        let monitor = source.place(size);
        let guarded = guarded(chosen.session()).map_err(|error| refused(error.to_string()))?;
        Ok(Self {
            chosen,
            monitor,
            guarded: Arc::new(guarded),
            put: None,
        })
    }

    fn send_button(&mut self, input: Input, is_down: bool) -> Result<()> {
        let Input::Button(number) = input else {
            return Err(DesktopError::Unsupported("pressing keys"));
        };
        let session = self.session()?;
        let question = button(session, number, is_down);
        let sent = session.bus().call(REMOTE_DESKTOP, BUTTON, &question);
        sent.map_err(|error| self.failure(&error))
    }

    fn session(&self) -> Result<&PortalSession> {
        let session = self.chosen.session();
        match session.has_ended() {
            true => Err(DesktopError::Lost(session.end())),
            false => Ok(session),
        }
    }

    fn failure(&self, error: &zbus::Error) -> DesktopError {
        // The signal that it has ended may come after the answer.
        let is_gone = matches!(error, zbus::Error::MethodError(name, ..)
            if ["AccessDenied", "UnknownMethod", "UnknownObject"].iter().any(|it| name.ends_with(it)));
        match is_gone || self.chosen.session().has_ended() {
            true => DesktopError::Lost(self.chosen.session().end()),
            false => DesktopError::Input(format!("the desktop portal: {error}")),
        }
    }
}

/// The arguments of NotifyPointerButton.
fn button(
    session: &PortalSession,
    number: u8,
    is_down: bool,
) -> (&zbus::zvariant::OwnedObjectPath, Options<'static>, i32, u32) {
    let code = button_code(number).cast_signed();
    (session.path(), Options::new(), code, u32::from(is_down))
}

/// What releases when this program can't.
fn guarded(session: &PortalSession) -> zbus::Result<BusPointer> {
    let release = |number: u8| -> zbus::Result<Vec<u8>> {
        let message = order(REMOTE_DESKTOP, BUTTON, &button(session, number, false))?;
        Ok(message.data().bytes().to_vec())
    };
    Ok(BusPointer {
        socket: session.bus().socket()?,
        releases: [release(1)?, release(2)?, release(3)?],
    })
}

impl InputDevice for PortalPointer {
    fn place(&mut self) -> Result<[i32; 2]> {
        self.put
            .ok_or(DesktopError::Unsupported("the pointer's place"))
    }

    fn put(&mut self, at: [i32; 2]) -> Result<()> {
        let session = self.session()?;
        if !self.monitor.contains(at) {
            return Err(DesktopError::Input(format!(
                "{}, {} is not on the monitor that was chosen for the mouse in the dialog of the desktop portal",
                at[0], at[1]
            )));
        }
        // The middle of the pixel, in the compositor's units.
        let within = |at: i32, from: i32| f64::from(at.abs_diff(from)) + 0.5;
        let [x, y] = [within(at[0], self.monitor.x), within(at[1], self.monitor.y)];
        let node = session.source().node;
        let question = (session.path(), Options::new(), node, x, y);
        let sent = session
            .bus()
            .call::<_, ()>(REMOTE_DESKTOP, MOTION, &question);
        sent.map_err(|error| self.failure(&error))?;
        self.put = Some(at);
        Ok(())
    }

    fn press(&mut self, input: Input) -> Result<()> {
        self.send_button(input, true)
    }

    fn release(&mut self, input: Input) -> Result<()> {
        self.send_button(input, false)
    }

    fn reports_place(&self) -> bool {
        false
    }

    fn display_server(&self) -> Option<DisplayServer> {
        Some(DisplayServer::Bus(Arc::clone(&self.guarded)))
    }
}
