//! Wayland desktops through the desktop portal, on the session's bus: KDE, GNOME and others.
//!
//! `org.freedesktop.portal.ScreenCast` asks the person which monitor or window may be seen, and sends pictures of it through
//! PipeWire whenever something has changed, without the pointer. `org.freedesktop.portal.RemoteDesktop`, which not every
//! desktop has, moves and presses, from its version 2 on through libei where the desktop has it. What was allowed is asked once: the portal gives a token for the next time.
//!
//! A [`Desktop`](crate::Desktop) has one session. One that only captures asks for nothing else; one that takes
//! control of the mouse first uses the same session for pictures. So does the capture of a run whose mouse has a session:
//! that stage has it, and gives its pictures to the other ([`session_server`], [`shared_session`]).
//!
//! Places are in logical pixels, the compositor's units, as far as the portal says where a monitor is. Where a window is, it does not
//! say: see [`source`].

#[cfg(feature = "input")]
mod at_start;
mod chosen;
#[cfg(feature = "input")]
mod gnome;
mod grab;
mod layout;
pub mod offer;
#[cfg(feature = "input")]
mod pointer;
mod request;
mod session;
mod session_server;
mod shared_session;
mod signals;
mod source;
mod tokens;

use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::backend::{Backend, IsOver};
use crate::bus::{self, Bus, Object};
use crate::capabilities::Capabilities;
use crate::error::{DesktopError, Result};
use crate::grabber::Grab;
use crate::monitor::Monitor;
use crate::rect::Rect;
use crate::window::WindowId;
use chosen::{Chosen, SeenSession};
use offer::PortalOffer;
use session::{CAPTURE, DIALOG_PATIENCE, PATIENCE, PortalSession, Use, end_of};
#[cfg(feature = "input")]
use session_server::SessionServer;
use shared_session::{Shared, SharedSession};
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
    is_over: Arc<OnceLock<IsOver>>,
}

impl Portal {
    /// Connects to the portal of the session that this program runs in. `Ok(None)`: there is none that shows the screen.
    pub(crate) fn of_session() -> Result<Option<Self>> {
        bus::check_session_address()?;
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
            is_over: Arc::default(),
        }
    }

    /// Uses what the person has chosen to be seen. A mouse that is restarted meanwhile has another session: then once more.
    fn see<T>(&self, mut with: impl FnMut(&Chosen) -> Result<T>) -> Result<T> {
        let seen = self.seen()?;
        match with(&seen) {
            Err(_) if seen.has_failed_at_its_end() => with(&*self.seen()?),
            result => result,
        }
    }

    /// What the person has chosen to be seen. Asks, the first time, if no mouse of the run has asked.
    fn seen(&self) -> Result<Arc<Chosen>> {
        let mut chosen = self.chosen.lock().unwrap_or_else(PoisonError::into_inner);
        let is_gone = match &*chosen {
            Some(chosen) if !chosen.is_gone() => return Ok(Arc::clone(chosen)),
            before => before.is_some(),
        };
        let opened = match self.shared(is_gone)? {
            Some(session) => SeenSession::Shared(session),
            None => {
                let opened = self.open(Use::Screen);
                let opened = opened.map_err(|reason| DesktopError::Grab { reason })?;
                SeenSession::Own(Arc::new(opened))
            }
        };
        Ok(Arc::clone(chosen.insert(self.choice(opened))))
    }

    /// The session of the mouse of this run, if it has one. While its person is asked, it is waited for. `was_shared`: whether
    /// there was one: then the mouse may be restarted, and it is waited for too.
    fn shared(&self, was_shared: bool) -> Result<Option<SharedSession>> {
        const CHECK: Duration = Duration::from_millis(100);
        let failed = |reason: String| DesktopError::Grab { reason };
        let address = self.address.as_deref();
        let began = Instant::now();
        loop {
            let patience = match SharedSession::ask(address).map_err(failed)? {
                Shared::Opened(session) => {
                    tracing::info!("the capture shares the mouse's session of the desktop portal");
                    return Ok(Some(session));
                }
                Shared::Ended => return Err(DesktopError::Lost(end_of(CAPTURE))),
                Shared::Absent if !was_shared => return Ok(None),
                Shared::Absent => PATIENCE,
                Shared::Pending => DIALOG_PATIENCE,
            };
            if self.is_over() {
                return Err(failed(
                    "the run has ended before the mouse had a session of the desktop portal"
                        .to_owned(),
                ));
            }
            if began.elapsed() > patience {
                return Err(DesktopError::Lost(
                    "the mouse has ended, and with it the session of the desktop portal".to_owned(),
                ));
            }
            std::thread::sleep(CHECK);
        }
    }

    /// The session in which the person lets this program control the mouse. Asks, the first time.
    #[cfg(feature = "input")]
    fn controlled(&self) -> Result<Arc<PortalSession>> {
        let mut chosen = self.chosen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(session) = chosen.as_ref().and_then(|it| it.controlling()) {
            return Ok(Arc::clone(session));
        }
        // Before the person is asked: the capture waits for the answer.
        let server = SessionServer::start(self.address.as_deref());
        let mut session = self
            .open(Use::Mouse)
            .map_err(|reason| DesktopError::NoInput { reason })?;
        let shared = server.and_then(|it| session.share(it).map_err(|error| error.to_string()));
        if let Err(reason) = shared {
            tracing::warn!(
                "the capture can't share the mouse's session of the desktop portal: {reason}"
            );
        }
        let session = Arc::new(session);
        *chosen = Some(self.choice(SeenSession::Own(Arc::clone(&session))));
        Ok(session)
    }

    fn open(&self, for_use: Use) -> std::result::Result<PortalSession, String> {
        let bus = Bus::connect(self.address.as_deref()).map_err(|error| error.to_string())?;
        PortalSession::open(bus, for_use, &self.tokens, &|| self.is_over())
    }

    fn choice(&self, of: SeenSession) -> Arc<Chosen> {
        Arc::new(Chosen::new(of, Arc::clone(&self.is_over)))
    }

    fn is_over(&self) -> bool {
        self.is_over.get().is_some_and(|is_over| is_over())
    }
}

fn no_windows() -> DesktopError {
    DesktopError::Unsupported(
        "where windows are (the desktop portal does not report it: monitor 1 is the monitor or the window that you choose in \
         its dialog)",
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

    fn asks(&self) -> bool {
        true
    }

    fn give_up_when(&self, is_over: IsOver) {
        // The first one counts.
        let _ = self.is_over.set(is_over);
    }

    /// The one that was chosen; a window that was chosen counts as one.
    fn monitors(&self) -> Result<Vec<Monitor>> {
        Ok(vec![self.see(Chosen::monitor)?])
    }

    /// Asks nobody: only `input` does.
    #[cfg(feature = "input")]
    fn key_code(&self, key: crate::key::Key) -> Result<Option<u8>> {
        let chosen = self.chosen.lock().unwrap_or_else(PoisonError::into_inner);
        match chosen.as_ref().and_then(|it| it.controlling()) {
            Some(session) if session.controls_keys() => Ok(crate::key_code::of(key)),
            Some(_) => Err(DesktopError::Unsupported(
                "pressing keys (the desktop portal has no keyboard, or it was not allowed in its dialog)",
            )),
            None => Err(DesktopError::Unsupported(
                "pressing keys (nobody was asked for the mouse and the keyboard)",
            )),
        }
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
