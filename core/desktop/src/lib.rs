//! The desktop, as programs that watch and play in a window need it: which windows there are, where one
//! lies, whether it is in front, and what the screen shows.
//!
//! All places are in *screen pixels*: the system's own, from the top left corner of its first screen,
//! x to the right and y down. (Under Wayland these are logical pixels, the units in which the compositor lays out
//! monitors, on macOS points; see [`Picture::scale`].)
//!
//! ```no_run
//! use flowpipe_desktop::{Desktop, Capture};
//!
//! let desktop = Desktop::connect()?;
//! let mut grabber = desktop.grabber()?;
//! if let Some(window) = desktop.find("Flow Free")?
//!     && let Capture::Shown(picture) = grabber.grab_window(window)?
//! {
//!     println!("{:?}: {} bytes", picture.place, picture.pixels.len());
//! }
//! # Ok::<(), flowpipe_desktop::DesktopError>(())
//! ```
//!
//! # Layout
//! - [`desktop`]: the whole of it, [`Desktop`]. [`grabber`]: pixels, [`Grabber`].
//! - `input` (with the feature of that name): the mouse and the keyboard, those of X11, Windows and macOS in
//!   `input::system`. `pointer_history`: whether a person moves the pointer, where its place is reported later.
//! - [`rect`], [`window`], [`monitor`], [`key`]: the parts of a desktop. [`hotkey`]: a key that is watched. `key_code`: keys under Wayland. [`error`]: what
//!   can go wrong.
//! - [`capabilities`]: what a desktop reports while the mouse plays. [`acceptance`]: what to set where that is not all.
//!   [`stop`]: what ends a run. [`press_obstacle`]: what a press would meet in place of a window. [`permission`]: what systems want to be asked before they show anything.
//! - [`choice`]: which of them is used. [`session`]: which one fits. [`advice`]: what to set where none does. `backend`: what each of them does. `own`: which
//!   windows are those of this program.
//! - `x11`: X11, used directly, because that is many times faster. `wlroots`: Wayland compositors with wlroots' protocols.
//!   `mutter`: GNOME on Wayland. `portal`: other Wayland desktops, through the portal that asks the person. `bus`, `pipewire`:
//!   what both use, and `libei`: their emulated input. `number`: names what is new. `xcap`: Windows and macOS, through the crate of that name.

pub mod acceptance;
pub mod advice;
mod backend;
#[cfg(all(feature = "mutter", target_os = "linux"))]
mod bus;
pub mod capabilities;
pub mod choice;
pub mod desktop;
pub mod error;
pub mod grabber;
pub mod hotkey;
#[cfg(feature = "input")]
pub mod input;
pub mod key;
#[cfg(all(
    feature = "input",
    any(feature = "mutter", feature = "wlroots"),
    unix,
    not(target_os = "macos")
))]
mod key_code;
#[cfg(all(feature = "input", feature = "mutter", target_os = "linux"))]
mod libei;
pub mod monitor;
#[cfg(all(feature = "mutter", target_os = "linux"))]
mod mutter;
#[cfg(all(feature = "mutter", target_os = "linux"))]
mod number;
mod own;
pub mod permission;
#[cfg(all(feature = "mutter", target_os = "linux"))]
mod pipewire;
#[cfg(all(feature = "mutter", feature = "input", target_os = "linux"))]
mod pointer_history;
#[cfg(all(feature = "portal", target_os = "linux"))]
pub mod portal;
pub mod press_obstacle;
pub mod rect;
pub mod session;
pub mod stop;
pub mod window;
#[cfg(all(feature = "wlroots", unix, not(target_os = "macos")))]
mod wlroots;
#[cfg(all(unix, not(target_os = "macos")))]
mod x11;
#[cfg(all(feature = "xcap", any(windows, target_os = "macos")))]
mod xcap;

pub use acceptance::Acceptance;
pub use capabilities::{Capabilities, Unreported};
pub use choice::DesktopChoice;
pub use desktop::Desktop;
pub use error::DesktopError;
pub use grabber::{Capture, Grabber, Picture};
pub use hotkey::Hotkey;
pub use monitor::Monitor;
#[cfg(all(feature = "mutter", target_os = "linux"))]
pub use mutter::offer::offers_libei as mutter_offers_libei;
#[cfg(all(feature = "mutter", target_os = "linux"))]
pub use pipewire::presence::answers_in_session as pipewire_answers;
pub use press_obstacle::PressObstacle;
pub use rect::Rect;
pub use stop::Stop;
pub use window::WindowId;
