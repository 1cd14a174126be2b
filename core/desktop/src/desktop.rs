//! The desktop.

use std::sync::Arc;

use crate::backend::Backend;
use crate::capabilities::Capabilities;
use crate::choice::DesktopChoice;
use crate::error::DesktopError;
use crate::grabber::Grabber;
use crate::hotkey::Hotkey;
use crate::key::Key;
use crate::monitor::Monitor;
use crate::press_obstacle::PressObstacle;
use crate::rect::Rect;
use crate::session;
use crate::window::{self, WindowId};

/// A connection to the desktop. Cloning shares it.
#[derive(Clone)]
pub struct Desktop {
    backend: Arc<dyn Backend>,
}

impl Desktop {
    /// Connects to the desktop of the session that this program runs in.
    ///
    /// # Errors
    /// [`DesktopError::NoDesktop`] when there is none that can be reached.
    pub fn connect() -> Result<Self, DesktopError> {
        Self::connect_by(DesktopChoice::Auto)
    }

    /// Connects to the desktop by a way that is chosen.
    ///
    /// # Errors
    /// [`DesktopError::NoDesktop`] when there is none that can be reached; [`DesktopError::Xwayland`] for
    /// the X server of a Wayland session under `auto`; [`DesktopError::Unfit`] when it is another one than
    /// was chosen.
    pub fn connect_by(choice: DesktopChoice) -> Result<Self, DesktopError> {
        let backend = session::connect(choice)?;
        Ok(Self { backend })
    }

    /// Connects to the desktop of the Wayland session that this program runs in, as [`DesktopChoice::Auto`] does. `None`: it
    /// has no interface that is used here. Nobody is asked for anything.
    ///
    /// # Errors
    /// As [`Desktop::connect_by`].
    pub fn connect_wayland() -> Result<Option<Self>, DesktopError> {
        let wayland = session::Variables::of_process().wayland;
        let found = session::of_wayland_session(&wayland)?;
        Ok(found.map(|backend| Self { backend }))
    }

    /// Connects to an X11 display by name, such as `:1`.
    ///
    /// # Errors
    /// [`DesktopError::NoDesktop`] when it can't be reached.
    #[cfg(all(unix, not(target_os = "macos")))]
    pub fn connect_x11(display: &str) -> Result<Self, DesktopError> {
        let backend = Arc::new(crate::x11::X11::connect(display)?);
        Ok(Self { backend })
    }

    /// Connects to a Wayland compositor with wlroots' protocols by the path of its socket, and by that of sway's own
    /// interface, if it is sway.
    ///
    /// # Errors
    /// [`DesktopError::NoDesktop`] when it can't be reached, or has not these protocols.
    #[cfg(all(feature = "wlroots", unix, not(target_os = "macos")))]
    pub fn connect_wlroots(
        socket: &std::path::Path,
        sway: Option<&std::path::Path>,
    ) -> Result<Self, DesktopError> {
        let backend = Arc::new(crate::wlroots::Wlroots::connect(socket, sway)?);
        Ok(Self { backend })
    }

    /// Connects to a Mutter, GNOME's Wayland compositor, by the address of its session's bus and by the path of PipeWire's
    /// socket.
    ///
    /// # Errors
    /// [`DesktopError::NoDesktop`] when it can't be reached.
    #[cfg(all(feature = "mutter", target_os = "linux"))]
    pub fn connect_mutter(bus: &str, pipewire: &std::path::Path) -> Result<Self, DesktopError> {
        let backend = Arc::new(crate::mutter::Mutter::connect(bus, pipewire)?);
        Ok(Self { backend })
    }

    /// Connects to the desktop portal by the address of its session's bus. What it gives for the next time is kept in a
    /// folder.
    ///
    /// # Errors
    /// [`DesktopError::NoDesktop`] when it can't be reached.
    #[cfg(all(feature = "portal", target_os = "linux"))]
    pub fn connect_portal(bus: &str, folder: &std::path::Path) -> Result<Self, DesktopError> {
        let backend = Arc::new(crate::portal::Portal::connect(bus, folder)?);
        Ok(Self { backend })
    }

    /// Whether a person is asked what may be seen, when it is wanted for the first time: then that may take minutes. Where
    /// another stage of the same run has asked for the mouse by then, its answer serves for both.
    #[must_use]
    pub fn asks(&self) -> bool {
        self.backend.asks()
    }

    /// Gives up questions to a person and waits for a picture once this is true, as when the run ends: the dialog of a desktop
    /// portal may stay open for minutes. What was asked for fails then. The first call counts.
    pub fn give_up_when(&self, is_over: impl Fn() -> bool + Send + Sync + 'static) {
        self.backend.give_up_when(Box::new(is_over));
    }

    /// The way to the desktop and the session that it leads to, such as `x11 :0`, `wlroots /run/user/1000/wayland-1` or
    /// `wlroots (sway) /run/user/1000/wayland-1`.
    /// Places and windows of desktops with other names are others.
    #[must_use]
    pub fn session_name(&self) -> String {
        self.backend.session_name()
    }

    /// What this desktop reports while the mouse plays.
    #[must_use]
    pub fn capabilities(&self) -> Capabilities {
        self.backend.capabilities()
    }

    /// What to set so that this desktop reports more, as a clause: sway reports windows and the hotkey only where SWAYSOCK
    /// names its own socket. Where it names it and the socket does not work, why. `None`: nothing.
    #[must_use]
    pub fn missing_variable(&self) -> Option<String> {
        self.backend.missing_variable()
    }

    /// The window that is meant by a title: one of just that title, else one whose title contains
    /// it, in capitals or not; of several the one in front. Windows that are minimised, or on
    /// another virtual desktop, are not found. Neither are those of this program, and of those that it was started by:
    /// the title of a terminal may be the command that was typed in it.
    ///
    /// # Errors
    /// [`DesktopError::Lost`].
    pub fn find(&self, title: &str) -> Result<Option<WindowId>, DesktopError> {
        Ok(window::find(&self.backend.windows()?, title))
    }

    /// Reports that there is no window of a title that is to be seen: on sway why the one with this title is not, else which
    /// windows there are, and which one may be meant.
    ///
    /// # Errors
    /// [`DesktopError::Lost`].
    pub fn missing(&self, title: &str) -> Result<String, DesktopError> {
        let (windows, hidden) = (self.backend.windows()?, self.backend.hidden()?);
        Ok(window::missing(title, &windows, &hidden))
    }

    /// The title of a window. `None`: it has none, or is not to be seen.
    ///
    /// # Errors
    /// [`DesktopError::Lost`].
    pub fn title(&self, window: WindowId) -> Result<Option<String>, DesktopError> {
        let mut windows = self.backend.windows()?.into_iter();
        let found = windows.find(|other| other.window == window);
        Ok(found.map(|found| found.title))
    }

    /// The titles of all windows that [`Desktop::find`] finds, from front to back.
    ///
    /// # Errors
    /// [`DesktopError::Lost`].
    pub fn titles(&self) -> Result<Vec<String>, DesktopError> {
        let windows = self.backend.windows()?.into_iter();
        let others = windows.filter(|window| !window.is_own);
        Ok(others.map(|window| window.title).collect())
    }

    /// Where a window's inside lies: on X11 and sway without its frame and title, through xcap with them. Parts of it may
    /// lie beyond the screen. `None`: it is gone, or minimised.
    ///
    /// # Errors
    /// [`DesktopError::Lost`].
    pub fn place(&self, window: WindowId) -> Result<Option<Rect>, DesktopError> {
        self.backend.place(window)
    }

    /// The part of a window's inside that a picture of it shows: what lies beyond the screen is not in it. `None`: it is
    /// gone, minimised, or wholly beyond the screen.
    ///
    /// # Errors
    /// [`DesktopError::Lost`].
    pub fn shown_part(&self, window: WindowId) -> Result<Option<Rect>, DesktopError> {
        match self.backend.place(window)? {
            Some(place) => self.backend.shown_part(place),
            None => Ok(None),
        }
    }

    /// On X11 and sway: whether a window is to be seen and nothing lies over a rectangle of the screen that belongs to it.
    /// Through xcap: whether it has the keyboard.
    ///
    /// # Errors
    /// [`DesktopError::Lost`].
    pub fn is_in_front(&self, window: WindowId, rect: Rect) -> Result<bool, DesktopError> {
        self.backend.is_in_front(window, rect)
    }

    /// Why a press in a rectangle of a window may go to something else than is meant. `None`: [`Desktop::is_in_front`], and on
    /// sway the window has the keyboard. `title`: a text that its title has to contain, in capitals or not, on X11 and sway.
    ///
    /// # Errors
    /// [`DesktopError::Lost`].
    pub fn press_obstacle(
        &self,
        window: WindowId,
        rect: Rect,
        title: Option<&str>,
    ) -> Result<Option<PressObstacle>, DesktopError> {
        self.backend.press_obstacle(window, rect, title)
    }

    /// The parts of a rectangle of a window over which windows of other programs lie, in screen pixels. A window that is
    /// declared to belong to this one, or to its process, is none of another program. Elsewhere than on X11 and sway:
    /// nothing.
    ///
    /// # Errors
    /// [`DesktopError::Lost`].
    pub fn others_over(&self, window: WindowId, rect: Rect) -> Result<Vec<Rect>, DesktopError> {
        self.backend.others_over(window, rect)
    }

    /// Brings a window to the front and gives it the keyboard. The system does it when it comes to it,
    /// and some window managers refuse: look with [`Desktop::is_in_front`]. A window that is gone is
    /// no error.
    ///
    /// # Errors
    /// [`DesktopError::Lost`]; [`DesktopError::Unsupported`] elsewhere than on X11 and sway.
    pub fn raise(&self, window: WindowId) -> Result<(), DesktopError> {
        self.backend.raise(window)
    }

    /// Whether a window gets the keys that are pressed now: it has the keyboard, or a window in it has. Where the keyboard
    /// belongs to whatever is under the pointer, or to nothing: whether the pointer is over the window.
    ///
    /// # Errors
    /// [`DesktopError::Lost`]; [`DesktopError::Unsupported`] elsewhere than on X11 and sway.
    pub fn has_keyboard(&self, window: WindowId) -> Result<bool, DesktopError> {
        self.backend.has_keyboard(window)
    }

    /// Where the pointer is.
    ///
    /// # Errors
    /// [`DesktopError::Lost`]; [`DesktopError::Unsupported`] elsewhere than on X11.
    pub fn pointer(&self) -> Result<[i32; 2], DesktopError> {
        self.backend.pointer()
    }

    /// The rectangle around all monitors. Some desktops have monitors at negative places.
    ///
    /// # Errors
    /// [`DesktopError::Lost`].
    pub fn screen(&self) -> Result<Rect, DesktopError> {
        self.backend.screen()
    }

    /// The monitors, the main one first.
    ///
    /// # Errors
    /// [`DesktopError::Lost`].
    pub fn monitors(&self) -> Result<Vec<Monitor>, DesktopError> {
        self.backend.monitors()
    }

    /// Watches a key, whichever window has the keyboard. X11 reports it also with other keys down; sway only without
    /// modifiers, and it gives the key to no window meanwhile. Names: see [`Key::named`].
    ///
    /// # Errors
    /// [`DesktopError::UnknownKey`], [`DesktopError::NoHotkey`], [`DesktopError::Lost`]; [`DesktopError::Unsupported`]
    /// elsewhere than on X11 and sway.
    pub fn hotkey(&self, name: &str) -> Result<Box<dyn Hotkey>, DesktopError> {
        Arc::clone(&self.backend).hotkey(Key::named(name)?)
    }

    /// The code of the key with that name, as the system counts keys; under Wayland, as X11 counts them on a PC. Names: see
    /// [`Key::named`].
    ///
    /// # Errors
    /// [`DesktopError::UnknownKey`], also when the keyboard has no such key; [`DesktopError::Lost`];
    /// [`DesktopError::Unsupported`] where no keys can be pressed.
    pub fn key_code(&self, name: &str) -> Result<u8, DesktopError> {
        let code = self.backend.key_code(Key::named(name)?)?;
        code.ok_or_else(|| DesktopError::UnknownKey {
            name: name.to_owned(),
            suggestion: " on this keyboard".to_owned(),
        })
    }

    /// Whether a picture of a few pixels comes at once, as on X11. Wayland compositors send pictures with their next frame,
    /// which may never come.
    #[must_use]
    pub fn gives_pixels_at_once(&self) -> bool {
        self.backend.gives_pixels_at_once()
    }

    /// What takes pictures of the screen: by shared memory where the X server is on this machine.
    ///
    /// # Errors
    /// [`DesktopError::Grab`] when the screen's pixels are laid out as none is today.
    pub fn grabber(&self) -> Result<Grabber, DesktopError> {
        Arc::clone(&self.backend).grabber(false).map(Grabber::new)
    }

    /// The same without shared memory, as it works with an X server on another machine.
    ///
    /// # Errors
    /// As [`Desktop::grabber`].
    pub fn plain_grabber(&self) -> Result<Grabber, DesktopError> {
        Arc::clone(&self.backend).grabber(true).map(Grabber::new)
    }

    /// The mouse and the keyboard. Under GNOME and through the desktop portal: by libei, where the desktop offers it.
    ///
    /// # Errors
    /// [`DesktopError::NoInput`] when the system does not let this program control them.
    #[cfg(feature = "input")]
    pub fn input(&self) -> Result<Box<dyn crate::input::InputDevice>, DesktopError> {
        Arc::clone(&self.backend).input()
    }

    /// The same without libei.
    ///
    /// # Errors
    /// As [`Desktop::input`].
    #[cfg(feature = "input")]
    pub fn input_without_libei(&self) -> Result<Box<dyn crate::input::InputDevice>, DesktopError> {
        Arc::clone(&self.backend).input_without_libei()
    }
}
