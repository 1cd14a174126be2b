//! Moving the pointer, and pressing buttons and keys.

pub(crate) mod system;

use std::time::Duration;

pub use flowpipe_guardian::{DisplayServer, Input};

#[cfg(all(
    any(feature = "mutter", feature = "wlroots"),
    unix,
    not(target_os = "macos")
))]
use crate::error::DesktopError;
use crate::error::Result;

/// Ways of [`InputDevice::way`].
#[cfg(all(feature = "mutter", target_os = "linux"))]
pub(crate) const LIBEI: &str = "libei";
#[cfg(all(feature = "mutter", target_os = "linux"))]
pub(crate) const METHODS: &str = "the methods of the desktop's RemoteDesktop";

/// The code of a button under Wayland.
///
/// # Errors
/// [`DesktopError::UnknownButton`].
#[cfg(all(
    any(feature = "mutter", feature = "wlroots"),
    unix,
    not(target_os = "macos")
))]
pub(crate) fn button_code(number: u8) -> Result<u32> {
    flowpipe_guardian::button_code(number).ok_or(DesktopError::UnknownButton { number })
}

/// The longest time between what decides that something may be pressed and the press: after more, something else may be
/// there.
pub const MAX_STALL: Duration = Duration::from_millis(700);

/// How a system reports where the pointer is.
pub enum PlaceReports {
    /// [`InputDevice::place`] asks for it.
    OnDemand,
    /// Places are reported some time later.
    Later(Box<dyn LateReports>),
    /// Not at all, and why.
    Never(String),
}

/// Where a system has reported the pointer, compared with where a device has put it.
pub trait LateReports: Send {
    /// The place that was reported last, in screen pixels. `None`: none was yet.
    fn place(&self) -> Option<[i32; 2]>;
    /// Whether the pointer was reported where the device has not put it: a person has moved it.
    fn was_moved(&self) -> bool;
}

/// A mouse and a keyboard that this program controls.
pub trait InputDevice: Send {
    /// Where the pointer is now, in screen pixels. `None`: the system can't be asked.
    ///
    /// # Errors
    /// When the system does not answer.
    fn place(&mut self) -> Result<Option<[i32; 2]>>;
    /// The buttons that were down when [`InputDevice::place`] was asked last, whoever has pressed them: 1 is the left one, 2
    /// the middle one and 3 the right one. Empty where the system does not report it.
    fn held_buttons(&self) -> Vec<u8> {
        Vec::new()
    }
    /// How it becomes known where the pointer is. Where reports come later, they begin to come.
    ///
    /// # Errors
    /// When the system does not answer.
    fn place_reports(&mut self) -> Result<PlaceReports> {
        Ok(PlaceReports::OnDemand)
    }
    /// Puts the pointer somewhere, in screen pixels.
    ///
    /// # Errors
    /// When the system does not answer.
    fn put(&mut self, at: [i32; 2]) -> Result<()>;
    /// Prepares to press keys: some desktops create this program's keyboard only now, because its keymap stays active in
    /// other programs until a person presses a key. Returns whether [`InputDevice::display_server`] has changed by that: a
    /// guardian has to guard on the new one before a key is pressed.
    ///
    /// # Errors
    /// When the system lets this program press no keys.
    fn prepare_keys(&mut self) -> Result<bool> {
        Ok(false)
    }
    /// Presses a button or a key. Where the system can't be asked for the pointer's place, a button is pressed where the pointer
    /// was put last: it is put there again, because a person may have moved it.
    ///
    /// # Errors
    /// Those of [`DesktopError::is_refused_press`] when nothing was pressed because the system has answered too late, or the
    /// monitors have changed since the pointer was put. Others when it does not answer, or has no such button or key.
    ///
    /// [`DesktopError::is_refused_press`]: crate::DesktopError::is_refused_press
    fn press(&mut self, input: Input) -> Result<()>;
    /// Looks whether the system still takes input from this device: some systems end a device at any moment.
    ///
    /// # Errors
    /// When it has ended it: what was pressed is released.
    fn check(&mut self) -> Result<()> {
        Ok(())
    }
    /// Waits for an answer of the system, where nothing else is asked before a press: one that stands still would do the press
    /// only later, and its pictures look like those of a screen that does not change. What a press has to know is asked for
    /// here: the press itself asks nothing.
    ///
    /// # Errors
    /// When it does not answer: then nothing that is pressed later arrives.
    fn wait_for_answer(&mut self) -> Result<()> {
        Ok(())
    }
    /// Releases a button or a key. Returns when the display server has done it.
    ///
    /// # Errors
    /// When the system does not answer.
    fn release(&mut self, input: Input) -> Result<()>;
    /// Whether all that was sent was passed on to the program below the pointer. Some compositors do that once for each frame
    /// that they draw. Most do it at once.
    ///
    /// # Errors
    /// When the system does not answer.
    fn is_passed_on(&mut self) -> Result<bool> {
        Ok(true)
    }
    /// Whether pictures of the screen may contain the pointer, so that it should not rest on what is to be read.
    fn is_captured(&self) -> bool {
        false
    }
    /// How the device acts, where the system offers several ways. `None`: there is one.
    fn way(&self) -> Option<&'static str> {
        None
    }
    /// What a guardian has to release for, when this program dies. `None`: there is none for this system.
    fn display_server(&self) -> Option<DisplayServer>;
}
