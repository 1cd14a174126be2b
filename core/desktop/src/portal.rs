//! Wayland desktops through the desktop portal, on the session's bus: KDE, GNOME and others.
//!
//! `org.freedesktop.portal.ScreenCast` asks the person which monitor or window may be seen, and sends pictures of it through
//! PipeWire whenever something has changed, without the pointer. `org.freedesktop.portal.RemoteDesktop`, which not every
//! desktop has, moves and presses, from its version 2 on through libei where the desktop has it. What was allowed is asked once: the portal gives a token for the next time.
//!
//! A [`Desktop`](crate::Desktop) has one session. One that only captures asks for nothing else; one that takes
//! control of the mouse first uses the same session for pictures.
//!
//! Places are in the compositor's own units, as far as the portal says where a monitor is. Where a window is, it does not
//! say: see [`source`].

mod chosen;
mod grab;
mod layout;
pub mod offer;
#[cfg(feature = "input")]
mod pointer;
mod request;
mod session;
mod signals;
mod source;
mod tokens;

use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::backend::{Backend, IsOver};
use crate::bus::{self, Bus, Object};
use crate::capabilities::Capabilities;
use crate::error::{DesktopError, Result};
use crate::grabber::Grab;
use crate::monitor::Monitor;
use crate::rect::Rect;
use crate::window::WindowId;
use chosen::Chosen;
use offer::PortalOffer;
use session::{PortalSession, Use};
use tokens::Tokens;

/// The name of the portal on the bus.
const SERVICE: &str = "org.freedesktop.portal.Desktop";
const PATH: &str = "/org/freedesktop/portal/desktop";
const SCREEN_CAST: Object<'_> = main("org.freedesktop.portal.ScreenCast");
const REMOTE_DESKTOP: Object<'_> = main("org.freedesktop.portal.RemoteDesktop");

const fn main(interface: &str) -> Object<'_> {
    Object {
        service: SERVICE,
        path: PATH,
        interface,
    }
}

/// The desktop through its portal.
pub(crate) struct Portal {
    address: Option<String>,
    tokens: Tokens,
    reports_pointer: bool,
    /// What the person has chosen, once asked.
    chosen: Mutex<Option<Arc<Chosen>>>,
    /// Whether nobody waits for the person any more.
    is_over: OnceLock<IsOver>,
}

impl Portal {
    /// Connects to the portal of the session that this program runs in. `Ok(None)`: there is none that shows the screen.
    pub(crate) fn of_session() -> Result<Option<Self>> {
        // Without a bus, there is no portal.
        let Ok(bus) = Bus::connect(None) else {
            return Ok(None);
        };
        let shown = PortalOffer::ask(&bus).filter(PortalOffer::shows_screen);
        Ok(shown.map(|offer| Self::new(None, Tokens::of_user(), &offer)))
    }

    /// Connects to a portal by the address of its bus. `folder`: for what is kept until the next time.
    pub(crate) fn connect(address: &str, folder: &Path) -> Result<Self> {
        let bus = Bus::connect(Some(address))?;
        let shown = PortalOffer::ask(&bus).filter(PortalOffer::shows_screen);
        let offer = shown.ok_or_else(|| DesktopError::NoDesktop {
            reason: format!("no desktop portal that shows the screen answers on the bus {address}"),
        })?;
        Ok(Self::new(
            Some(address.to_owned()),
            Tokens::in_folder(folder),
            &offer,
        ))
    }

    fn new(address: Option<String>, tokens: Tokens, offer: &PortalOffer) -> Self {
        Self {
            address,
            tokens,
            reports_pointer: offer.reports_pointer(),
            chosen: Mutex::default(),
            is_over: OnceLock::new(),
        }
    }

    /// What the person has chosen to be seen. Asks, the first time.
    fn seen(&self) -> Result<Arc<Chosen>> {
        let mut chosen = self.chosen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(chosen) = &*chosen {
            return Ok(Arc::clone(chosen));
        }
        let opened = self
            .open(Use::Screen)
            .map_err(|reason| DesktopError::Grab { reason })?;
        Ok(Arc::clone(chosen.insert(opened)))
    }

    /// What the person lets this program control. Asks, the first time.
    #[cfg(feature = "input")]
    fn controlled(&self) -> Result<Arc<Chosen>> {
        let mut chosen = self.chosen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(chosen) = &*chosen
            && chosen.session().controls()
        {
            return Ok(Arc::clone(chosen));
        }
        let opened = self
            .open(Use::Mouse)
            .map_err(|reason| DesktopError::NoInput { reason })?;
        Ok(Arc::clone(chosen.insert(opened)))
    }

    fn open(&self, for_use: Use) -> std::result::Result<Arc<Chosen>, String> {
        let bus = Bus::connect(self.address.as_deref()).map_err(|error| error.to_string())?;
        let is_over = || self.is_over.get().is_some_and(|is_over| is_over());
        let session = PortalSession::open(bus, for_use, &self.tokens, &is_over)?;
        Ok(Arc::new(Chosen::new(session)))
    }
}

fn no_windows() -> DesktopError {
    DesktopError::Unsupported(
        "where windows are (the desktop portal does not report it: set `monitor = 1`, which is the monitor or the window \
         that you choose in its dialog)",
    )
}

impl Backend for Portal {
    fn session_name(&self) -> String {
        format!("portal {}", bus::address(self.address.as_deref()))
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            pointer: self.reports_pointer,
            ..Capabilities::PORTAL
        }
    }

    fn no_windows(&self) -> DesktopError {
        no_windows()
    }

    fn others_over(&self, _window: WindowId, _rect: Rect) -> Result<Vec<Rect>> {
        Ok(Vec::new())
    }

    fn give_up_when(&self, is_over: IsOver) {
        // The first one counts.
        let _ = self.is_over.set(is_over);
    }

    /// The one that was chosen; a window that was chosen counts as one.
    fn monitors(&self) -> Result<Vec<Monitor>> {
        Ok(vec![self.seen()?.monitor()?])
    }

    /// Once the mouse was asked for.
    #[cfg(feature = "input")]
    fn key_code(&self, key: crate::key::Key) -> Result<Option<u8>> {
        if self.controlled()?.session().controls_keys() {
            return Ok(crate::key_code::of(key));
        }
        Err(DesktopError::Unsupported(
            "pressing keys (the desktop portal has no keyboard, or it was not allowed in its dialog)",
        ))
    }

    #[cfg(feature = "input")]
    fn input(self: Arc<Self>) -> Result<Box<dyn crate::input::InputDevice>> {
        Ok(Box::new(pointer::PortalPointer::new(
            self.controlled()?,
            true,
        )?))
    }

    #[cfg(feature = "input")]
    fn input_without_libei(self: Arc<Self>) -> Result<Box<dyn crate::input::InputDevice>> {
        Ok(Box::new(pointer::PortalPointer::new(
            self.controlled()?,
            false,
        )?))
    }

    fn grabber(self: Arc<Self>, _plain: bool) -> Result<Box<dyn Grab>> {
        Ok(Box::new(grab::PortalGrabber::new(self)))
    }
}
