//! Wayland compositors with wlroots' protocols, such as sway and labwc, used directly.
//!
//! Pictures come by `wlr-screencopy` into shared memory, the monitors by `xdg-output`. No protocol says where the windows
//! of others are: sway's own interface does. Under other compositors there are monitors and regions alone.
//!
//! Places are in logical pixels, the units in which the compositor lays out monitors: a monitor of scale 2 has two pixels
//! for each ([`crate::Picture::scale`]).

mod buffer;
mod grab;
#[cfg(feature = "input")]
mod keyboard;
mod outputs;
#[cfg(feature = "input")]
mod pointer;
mod sway;

#[cfg(all(feature = "mutter", target_os = "linux"))]
use std::os::fd::AsFd as _;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use flowpipe_wayland::{compositors, socket};
use wayland_client::Connection;

use crate::backend::Backend;
use crate::capabilities::{Capabilities, SWAY};
use crate::error::{DesktopError, Result};
use crate::grabber::Grab;
use crate::hotkey::Hotkey;
use crate::key::Key;
use crate::monitor::Monitor;
use crate::own::OwnProcesses;
use crate::press_obstacle::PressObstacle;
use crate::rect::Rect;
use crate::window::{Hidden, Titled, WindowId};
#[cfg(all(feature = "portal", target_os = "linux"))]
pub(crate) use outputs::Output;
pub(crate) use outputs::Outputs;
use sway::{Sway, SwayHotkey};

/// A session of the compositor. Whoever waits for its events has a connection of its own, so that no thread waits for
/// another one to read them.
pub(crate) struct Wlroots {
    /// The path of its socket.
    socket: PathBuf,
    outputs: Mutex<Outputs>,
    /// `None`: windows are not known.
    sway: Option<Arc<Sway>>,
    /// The path of sway's own socket, where SWAYSOCK does not name it.
    unnamed_sway: Option<PathBuf>,
    /// Why sway's own socket does not work, where SWAYSOCK names it.
    sway_failure: Option<String>,
    own: OwnProcesses,
    /// What the death of this program would leave at sway.
    #[cfg(feature = "input")]
    clean_up: Mutex<Option<Arc<flowpipe_guardian::CleanUp>>>,
}

impl Wlroots {
    /// Connects to the compositor of the session that this program runs in. `Ok(None)`: it has not these protocols.
    pub(crate) fn of_session() -> Result<Option<Self>> {
        let path = std::env::var_os("SWAYSOCK").filter(|path| !path.is_empty());
        Self::at(session_socket()?, path.as_deref().map(Path::new))
    }

    /// Connects to a compositor by the path of its socket, and by that of sway's own interface.
    pub(crate) fn connect(socket: &Path, sway: Option<&Path>) -> Result<Self> {
        Self::at(socket.to_owned(), sway)?.ok_or_else(|| DesktopError::NoDesktop {
            reason: "the compositor lets no program see the screen by wlroots' protocols"
                .to_owned(),
        })
    }

    fn at(socket: PathBuf, sway: Option<&Path>) -> Result<Option<Self>> {
        let connection = connection(&socket)?;
        let Some(outputs) = Outputs::new(&connection)? else {
            return Ok(None);
        };
        let backend = connection.backend();
        let mut found = Self {
            unnamed_sway: None,
            sway_failure: None,
            socket,
            outputs: Mutex::new(outputs),
            sway: None,
            own: OwnProcesses::find(),
            #[cfg(feature = "input")]
            clean_up: Mutex::default(),
        };
        let connected = sway.map(|path| (path, Sway::connect(path, backend.poll_fd())));
        let failed = match connected {
            Some((_, Ok(sway))) => {
                found.sway = Some(Arc::new(sway));
                return Ok(Some(found));
            }
            Some((path, Err(error))) => Some((path, error)),
            None => None,
        };
        found.unnamed_sway = found.find_sway(backend.poll_fd());
        if let Some((path, error)) = failed {
            // To name a socket again that has just failed would help nobody.
            let named = found.unnamed_sway.take_if(|own| is_same_file(own, path));
            let remedy = found.missing_variable().map(|it| format!(": {it}"));
            let failure = format!("SWAYSOCK={}: {error}", path.display());
            tracing::warn!(
                "{failure}: windows are not known{}",
                remedy.unwrap_or_default()
            );
            found.sway_failure = named.map(|_| failure);
        }
        Ok(Some(found))
    }

    /// The path of sway's own socket, which is beside the compositor's, if it is sway.
    fn find_sway(&self, compositor: BorrowedFd<'_>) -> Option<PathBuf> {
        compositors::sway_socket(self.socket.parent()?, socket::peer(compositor)?)
    }

    /// Another connection.
    fn connection(&self) -> Result<Connection> {
        connection(&self.socket)
    }

    fn outputs(&self) -> MutexGuard<'_, Outputs> {
        // What is in it is asked for again each time.
        self.outputs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sway(&self) -> Result<&Arc<Sway>> {
        self.sway.as_ref().ok_or(DesktopError::Unsupported(
            "where windows are (under Wayland, only sway reports it, at SWAYSOCK)",
        ))
    }
}

impl Backend for Wlroots {
    fn session_name(&self) -> String {
        let way = match self.sway {
            Some(_) => SWAY,
            None => "wlroots",
        };
        format!("{way} {}", self.socket.display())
    }

    fn capabilities(&self) -> Capabilities {
        match self.sway {
            Some(_) => Capabilities::SWAY,
            None => Capabilities::WLROOTS,
        }
    }

    fn missing_variable(&self) -> Option<String> {
        if let Some(failure) = &self.sway_failure {
            return Some(format!(
                "this compositor is sway, whose own socket does not work: {failure}: check that `swaymsg -t get_tree` answers"
            ));
        }
        let path = self.unnamed_sway.as_ref()?;
        let variable = compositors::variable("SWAYSOCK", path);
        Some(format!(
            "this compositor is sway, which reports windows and the hotkey at its own socket: `export {variable}`"
        ))
    }

    fn windows(&self) -> Result<Vec<Titled>> {
        Ok(self.sway()?.tree()?.titled(&self.own))
    }

    fn hidden(&self) -> Result<Vec<Hidden>> {
        Ok(self.sway()?.tree()?.hidden(&self.own))
    }

    fn place(&self, window: WindowId) -> Result<Option<Rect>> {
        Ok(self.sway()?.tree()?.place(window))
    }

    fn is_in_front(&self, window: WindowId, rect: Rect) -> Result<bool> {
        Ok(self.sway()?.tree()?.is_in_front(window, rect))
    }

    fn press_obstacle(
        &self,
        window: WindowId,
        rect: Rect,
        title: Option<&str>,
    ) -> Result<Option<PressObstacle>> {
        Ok(self.sway()?.tree()?.press_obstacle(window, rect, title))
    }

    fn others_over(&self, window: WindowId, rect: Rect) -> Result<Vec<Rect>> {
        match &self.sway {
            Some(sway) => Ok(sway.tree()?.others_over(window, rect)),
            None => Ok(Vec::new()),
        }
    }

    fn raise(&self, window: WindowId) -> Result<()> {
        self.sway()?.focus(window)
    }

    fn has_keyboard(&self, window: WindowId) -> Result<bool> {
        Ok(self.sway()?.tree()?.has_keyboard(window))
    }

    fn monitors(&self) -> Result<Vec<Monitor>> {
        self.outputs().monitors()
    }

    fn hotkey(self: Arc<Self>, key: Key) -> Result<Box<dyn Hotkey>> {
        let Some(sway) = &self.sway else {
            return Err(DesktopError::Unsupported("the hotkey"));
        };
        let hotkey = SwayHotkey::new(Arc::clone(sway), key)?;
        #[cfg(feature = "input")]
        {
            let clean_up = Arc::new(hotkey.clean_up()?);
            let mut last = self.clean_up.lock().unwrap_or_else(PoisonError::into_inner);
            *last = Some(clean_up);
        }
        Ok(Box::new(hotkey))
    }

    #[cfg(feature = "input")]
    fn key_code(&self, key: Key) -> Result<Option<u8>> {
        match self.outputs().has_keyboards() {
            true => Ok(crate::key_code::of(key)),
            false => Err(DesktopError::Unsupported(
                "pressing keys (the compositor has no virtual keyboards)",
            )),
        }
    }

    #[cfg(feature = "input")]
    fn input(self: Arc<Self>) -> Result<Box<dyn crate::input::InputDevice>> {
        Ok(Box::new(pointer::WlrootsPointer::new(self)?))
    }

    fn grabber(self: Arc<Self>, _plain: bool) -> Result<Box<dyn Grab>> {
        Ok(Box::new(grab::WlrootsGrabber::new(self)?))
    }
}

/// The monitors of the compositor of the session that this program runs in, whichever protocols for pictures it has.
#[cfg(all(feature = "portal", target_os = "linux"))]
pub(crate) fn outputs_of_session() -> Result<Vec<Output>> {
    match follow_outputs_of_session()? {
        Some(mut outputs) => outputs.all(),
        None => Ok(Vec::new()),
    }
}

/// The same, to be asked again. `Ok(None)`: the compositor does not report where its monitors are.
#[cfg(all(feature = "portal", target_os = "linux"))]
pub(crate) fn follow_outputs_of_session() -> Result<Option<Outputs>> {
    Outputs::without_pictures(&connection(&session_socket()?)?)
}

/// The process of the compositor of the session that this program runs in. `None`: it is not known, as across containers.
#[cfg(all(feature = "mutter", target_os = "linux"))]
pub(crate) fn process_of_session() -> Option<u32> {
    let socket = socket::open(&session_socket().ok()?).ok()?;
    let process = socket::peer(socket.as_fd())?;
    u32::try_from(process.as_raw_nonzero().get()).ok()
}

/// Whether two paths lead to the same file.
fn is_same_file(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}

fn connection(socket: &Path) -> Result<Connection> {
    let place = socket.display();
    let stream =
        socket::open(socket).map_err(|error| no_compositor(format!(" at {place}: {error}")))?;
    Connection::from_socket(stream).map_err(|error| no_compositor(format!(" at {place}: {error}")))
}

fn session_socket() -> Result<PathBuf> {
    socket::of_session().map_err(|error| no_compositor(format!(": {error}")))
}

fn no_compositor(why: String) -> DesktopError {
    DesktopError::NoCompositor {
        reason: format!("no Wayland compositor answers{why}"),
        remedy: crate::advice::choose_socket(),
    }
}
