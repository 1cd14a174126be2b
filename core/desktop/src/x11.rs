//! X11, used directly.
//!
//! Requests whose answers do not depend on each other are sent together, so that most questions
//! cost one round trip.

mod clients;
mod focus;
mod front;
mod grab;
#[cfg(feature = "input")]
mod input;
mod keyboard;
mod monitors;
mod place;
mod segment;
mod xwayland;

use std::sync::{Arc, OnceLock};

use x11rb::errors::{ConnectError, ConnectionError, ReplyError, ReplyOrIdError};
use x11rb::protocol::ErrorKind;
use x11rb::protocol::xproto::{ConnectionExt as _, GetKeyboardMappingReply, Window};
use x11rb::reexports::x11rb_protocol::parse_display::{ParsedDisplay, parse_display};
use x11rb::rust_connection::RustConnection;

use crate::backend::Backend;
use crate::capabilities::Capabilities;
use crate::error::{DesktopError, Result};
use crate::grabber::Grab;
use crate::hotkey::Hotkey;
use crate::key::Key;
use crate::monitor::Monitor;
use crate::own::OwnProcesses;
use crate::press_obstacle::PressObstacle;
use crate::rect::Rect;
use crate::window::{Titled, WindowId};

x11rb::atom_manager! {
    /// Names of properties and what is in them.
    Atoms: AtomsCookie {
        _NET_ACTIVE_WINDOW,
        _NET_CLIENT_LIST,
        _NET_CLIENT_LIST_STACKING,
        _NET_SUPPORTED,
        _NET_SUPPORTING_WM_CHECK,
        _NET_WM_NAME,
        _NET_WM_PID,
        _NET_WM_STATE,
        _NET_WM_STATE_HIDDEN,
    }
}

/// A connection to an X server.
pub(crate) struct X11 {
    connection: RustConnection,
    screen: usize,
    root: Window,
    atoms: Atoms,
    /// As displays are named, without a screen that is the first one.
    display: String,
    /// Whether the display's name is that of a server on this machine.
    is_local: bool,
    is_xwayland: bool,
    own: OwnProcesses,
    /// Asked when first needed.
    keyboard: OnceLock<GetKeyboardMappingReply>,
}

impl X11 {
    /// Connects to a display by name.
    pub(crate) fn connect(display: &str) -> Result<Self> {
        let no_desktop = |reason: String| DesktopError::NoDesktop { reason };
        let parsed = parse_display(Some(display)).map_err(|_| {
            no_desktop(format!(
                "DISPLAY is {display:?}, which is no display's name: one is \":0\""
            ))
        })?;
        let (connection, screen) =
            RustConnection::connect(Some(display)).map_err(|error: ConnectError| {
                no_desktop(match error {
                    ConnectError::IoError(error) => {
                        format!("no X server answers at the display {display:?}: {error}")
                    }
                    ConnectError::InvalidScreen => {
                        format!("the display {display:?} has no screen of that number")
                    }
                    error => format!("the X server of the display {display:?} refuses: {error}"),
                })
            })?;
        let atoms = Atoms::new(&connection).map_err(lost)?.reply();
        let mut x11 = Self {
            screen,
            root: x11rb::connection::Connection::setup(&connection).roots[screen].root,
            atoms: atoms.map_err(lost)?,
            // Whatever has a host in its name may be another machine, or a tunnel to one.
            display: display_name(&parsed),
            is_local: parsed.host.is_empty(),
            is_xwayland: false,
            own: OwnProcesses::find(),
            connection,
            keyboard: OnceLock::new(),
        };
        x11.is_xwayland = xwayland::is_xwayland(&x11)?;
        Ok(x11)
    }

    /// Whether the server belongs to a Wayland session.
    pub(crate) fn is_xwayland(&self) -> bool {
        self.is_xwayland
    }

    /// The display's name.
    pub(crate) fn display(&self) -> &str {
        &self.display
    }
}

/// Two names of one display, such as `:0` and `:0.0`, give one.
fn display_name(display: &ParsedDisplay) -> String {
    let ParsedDisplay {
        host,
        display,
        screen,
        ..
    } = display;
    match screen {
        0 => format!("{host}:{display}"),
        _ => format!("{host}:{display}.{screen}"),
    }
}

impl Backend for X11 {
    fn session_name(&self) -> String {
        match self.is_xwayland {
            true => format!("xwayland {}", self.display),
            false => format!("x11 {}", self.display),
        }
    }

    fn capabilities(&self) -> Capabilities {
        match self.is_xwayland {
            true => Capabilities::XWAYLAND,
            false => Capabilities::X11,
        }
    }

    fn windows(&self) -> Result<Vec<Titled>> {
        clients::windows(self)
    }

    fn place(&self, window: WindowId) -> Result<Option<Rect>> {
        let Some(window) = number(window) else {
            return Ok(None);
        };
        place::ask(self, window)?.answer(self)
    }

    /// Pictures are of all monitors.
    fn shown_part(&self, rect: Rect) -> Result<Option<Rect>> {
        Ok(rect.intersection(self.screen()?))
    }

    fn is_in_front(&self, window: WindowId, rect: Rect) -> Result<bool> {
        number(window).map_or(Ok(false), |window| front::is_in_front(self, window, rect))
    }

    fn press_obstacle(
        &self,
        window: WindowId,
        rect: Rect,
        title: Option<&str>,
    ) -> Result<Option<PressObstacle>> {
        number(window).map_or(Ok(Some(PressObstacle::Covered)), |window| {
            front::press_obstacle(self, window, rect, title)
        })
    }

    fn others_over(&self, window: WindowId, rect: Rect) -> Result<Vec<Rect>> {
        number(window).map_or(Ok(Vec::new()), |window| {
            front::others_over(self, window, rect)
        })
    }

    fn raise(&self, window: WindowId) -> Result<()> {
        number(window).map_or(Ok(()), |window| front::raise(self, window))
    }

    fn has_keyboard(&self, window: WindowId) -> Result<bool> {
        number(window).map_or(Ok(false), |window| focus::has_keyboard(self, window))
    }

    fn pointer(&self) -> Result<[i32; 2]> {
        let pointer = self.connection.query_pointer(self.root).map_err(lost)?;
        let pointer = pointer.reply().map_err(lost)?;
        Ok([pointer.root_x, pointer.root_y].map(i32::from))
    }

    fn screen(&self) -> Result<Rect> {
        let root = self.connection.get_geometry(self.root).map_err(lost)?;
        let root = root.reply().map_err(lost)?;
        Ok(Rect {
            x: 0,
            y: 0,
            width: root.width.into(),
            height: root.height.into(),
        })
    }

    fn monitors(&self) -> Result<Vec<Monitor>> {
        monitors::monitors(self)
    }

    fn hotkey(self: Arc<Self>, key: Key) -> Result<Box<dyn Hotkey>> {
        Ok(Box::new(keyboard::X11Hotkey { x11: self, key }))
    }

    fn key_code(&self, key: Key) -> Result<Option<u8>> {
        keyboard::code(self, key)
    }

    #[cfg(feature = "input")]
    fn input(self: Arc<Self>) -> Result<Box<dyn crate::input::InputDevice>> {
        Ok(Box::new(input::X11Input::new(self)?))
    }

    fn gives_pixels_at_once(&self) -> bool {
        true
    }

    fn grabber(self: Arc<Self>, plain: bool) -> Result<Box<dyn Grab>> {
        Ok(Box::new(grab::X11Grabber::new(self, plain)?))
    }
}

/// X11's own number; `None`: no window of X11 has that one.
fn number(window: WindowId) -> Option<Window> {
    u32::try_from(window.0).ok()
}

fn id(window: Window) -> WindowId {
    WindowId(u64::from(window))
}

/// An answer about a window; `None` when the window is gone.
fn unless_gone<T>(reply: std::result::Result<T, ReplyError>) -> Result<Option<T>> {
    match reply {
        Ok(reply) => Ok(Some(reply)),
        Err(ReplyError::X11Error(error))
            if matches!(error.error_kind, ErrorKind::Window | ErrorKind::Drawable) =>
        {
            Ok(None)
        }
        Err(error) => Err(lost(error)),
    }
}

/// What x11rb's functions fail with.
trait Failure: std::fmt::Display {}
impl Failure for ConnectionError {}
impl Failure for ReplyError {}
impl Failure for ReplyOrIdError {}

fn lost(error: impl Failure) -> DesktopError {
    DesktopError::Lost(error.to_string())
}
