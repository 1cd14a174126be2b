//! GNOME on Wayland, by the interfaces of its compositor, Mutter, on the session's bus.
//!
//! The monitors come by `org.gnome.Mutter.DisplayConfig`. `org.gnome.Mutter.ScreenCast` sends pictures of a monitor through
//! PipeWire whenever something has changed on it, without the pointer. `org.gnome.Mutter.RemoteDesktop` moves and presses, from
//! GNOME 45 on through libei.
//! No interface says where the windows of others are: there are monitors and regions alone.
//!
//! Places are in the units in which the compositor lays out monitors. They are pixels, unless GNOME is set to scale by
//! fractions: then they are logical pixels, and a monitor of scale 2 has two pixels for each ([`crate::Picture::scale`]).

pub(crate) mod displays;
mod grab;
mod known_displays;
#[cfg(feature = "input")]
mod methods;
pub mod offer;
#[cfg(feature = "input")]
pub(crate) mod passing_on;
#[cfg(feature = "input")]
mod pointer;
mod session;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::backend::{Backend, IsOver};
use crate::bus::{self, Bus};
use crate::capabilities::Capabilities;
use crate::error::{DesktopError, Result};
use crate::grabber::Grab;
use crate::monitor::Monitor;
use crate::pipewire::{Remote, presence};
use crate::rect::Rect;
use crate::window::WindowId;
use displays::Display;
use known_displays::KnownDisplays;

/// The interfaces that are needed, which are also the names by which Mutter is found.
const NEEDED: [&str; 3] = [
    "org.gnome.Mutter.DisplayConfig",
    "org.gnome.Mutter.RemoteDesktop",
    "org.gnome.Mutter.ScreenCast",
];

/// A session of the compositor.
pub(crate) struct Mutter {
    bus: Bus,
    address: Option<String>,
    /// The path of PipeWire's socket; `None`: as the environment names it.
    pipewire: Option<PathBuf>,
    known_displays: KnownDisplays,
    /// Whether nobody waits for pictures any more.
    is_over: OnceLock<IsOver>,
}

impl Mutter {
    /// Connects to the compositor of the session that this program runs in. `Ok(None)`: it is another one, or there is no
    /// bus.
    pub(crate) fn of_session() -> Result<Option<Self>> {
        bus::check_session_address()?;
        // Without a bus, it is not GNOME.
        let Ok(bus) = Bus::connect(None) else {
            return Ok(None);
        };
        Ok(is_on(&bus)?.then(|| Self {
            known_displays: KnownDisplays::listen(&bus),
            bus,
            address: None,
            pipewire: None,
            is_over: OnceLock::new(),
        }))
    }

    /// Connects to a compositor by the address of its bus and the path of PipeWire's socket.
    pub(crate) fn connect(address: &str, pipewire: &Path) -> Result<Self> {
        let bus = Bus::connect(Some(address))?;
        if !is_on(&bus)? {
            return Err(DesktopError::NoDesktop {
                reason: format!("no Mutter answers on the bus {address}"),
            });
        }
        Ok(Self {
            known_displays: KnownDisplays::listen(&bus),
            bus,
            address: Some(address.to_owned()),
            pipewire: Some(pipewire.to_owned()),
            is_over: OnceLock::new(),
        })
    }

    fn is_over(&self) -> bool {
        self.is_over.get().is_some_and(|is_over| is_over())
    }

    /// The process of the compositor. `None`: the bus does not know it.
    #[cfg(feature = "wlroots")]
    pub(crate) fn process(&self) -> Option<u32> {
        let [name, ..] = NEEDED;
        self.bus.process(name).ok()
    }

    /// Another connection. The compositor ends what was begun on it when it ends.
    fn bus(&self) -> Result<Bus> {
        Bus::connect(self.address.as_deref())
    }

    fn pipewire(&self) -> Remote {
        match &self.pipewire {
            Some(socket) => Remote::Socket(socket.clone()),
            None => Remote::Session,
        }
    }

    /// Why something failed that needs PipeWire: that it does not run, or else this reason.
    fn unless_without_pipewire(&self, reason: String) -> String {
        match self.pipewire().answers() {
            true => reason,
            false => presence::absent(&reason),
        }
    }

    /// The monitors as they are now, the main one first.
    fn displays(&self) -> Result<Vec<Display>> {
        self.known_displays.ask(&self.bus)
    }

    /// The same, without a question to Mutter where it has reported no change since.
    fn last_displays(&self) -> Result<Vec<Display>> {
        self.known_displays.last(&self.bus)
    }

    /// Whether Mutter has reported a change since it described these monitors.
    #[cfg(feature = "input")]
    fn has_changed_since(&self, displays: &[Display]) -> bool {
        self.known_displays.have_changed_since(displays)
    }
}

/// Whether it is on a bus.
fn is_on(bus: &Bus) -> Result<bool> {
    for name in NEEDED {
        if !bus.has_owner(name).map_err(lost)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn lost(error: impl std::fmt::Display) -> DesktopError {
    DesktopError::Lost(format!("Mutter: {error}"))
}

fn no_windows() -> DesktopError {
    DesktopError::Unsupported("where windows are (GNOME does not report it under Wayland)")
}

impl Backend for Mutter {
    fn session_name(&self) -> String {
        format!("mutter {}", bus::address(self.address.as_deref()))
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::MUTTER
    }

    fn no_windows(&self) -> DesktopError {
        no_windows()
    }

    fn give_up_when(&self, is_over: IsOver) {
        // The first one counts.
        let _ = self.is_over.set(is_over);
    }

    fn others_over(&self, _window: WindowId, _rect: Rect) -> Result<Vec<Rect>> {
        Ok(Vec::new())
    }

    fn monitors(&self) -> Result<Vec<Monitor>> {
        let displays = self.displays()?.into_iter();
        Ok(displays.map(|display| display.monitor).collect())
    }

    #[cfg(feature = "input")]
    fn key_code(&self, key: crate::key::Key) -> Result<Option<u8>> {
        Ok(crate::key_code::of(key))
    }

    #[cfg(feature = "input")]
    fn input(self: Arc<Self>) -> Result<Box<dyn crate::input::InputDevice>> {
        Ok(Box::new(pointer::MutterPointer::new(self, true)?))
    }

    #[cfg(feature = "input")]
    fn input_without_libei(self: Arc<Self>) -> Result<Box<dyn crate::input::InputDevice>> {
        Ok(Box::new(pointer::MutterPointer::new(self, false)?))
    }

    fn grabber(self: Arc<Self>, _plain: bool) -> Result<Box<dyn Grab>> {
        Ok(Box::new(grab::MutterGrabber::new(self)))
    }
}
