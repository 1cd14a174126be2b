//! A guardian: a small process that releases the mouse buttons and keys that a program has pressed, however that
//! program dies.
//!
//! A display server keeps buttons and keys pressed when the program that pressed them is gone. So the program records
//! each press with [`Guardian::pressed`] first, and calls [`Guardian::released`] once the display server has released
//! it. When the program ends, the guardian releases what is recorded, and nothing else. When the program dies, it also
//! sends messages that the program has prepared for that ([`CleanUp`]).
//!
//! ```no_run
//! use flowpipe_guardian::{DisplayServer, Guardian, Input};
//!
//! let display = ":0".to_owned();
//! let mut guardian = Guardian::start(DisplayServer::X11 { display })?;
//! guardian.pressed(Input::Button(1))?;
//! // Press and release the button.
//! guardian.released(Input::Button(1));
//! # Ok::<(), flowpipe_guardian::GuardianError>(())
//! ```
//!
//! # Layout
//! - [`guardian`]: the whole of it, [`Guardian`]. [`input`]: what can be pressed, and what is left. [`error`]: its errors.
//! - `record`: what is pressed, in memory that both processes share. `robust_futex`: by which the kernel reports there that
//!   the player dies; `holder`: the thread of the player that holds it.
//! - `release`: the interface of a platform. `x11`, `wlroots`, `shared`: its implementations. `unsent`: requests sent in part.
//!   `prepared`: releases on the connection that pressed.
//! - `process`: starts and ends the guardian's process. `child`: that process's code; `detach`: detaches it from
//!   everything that it inherits. `priority`: has both scheduled soon.
//! - `absent`: systems without a guardian.

#[cfg(not(target_os = "linux"))]
mod absent;
#[cfg(target_os = "linux")]
mod child;
#[cfg(target_os = "linux")]
mod detach;
pub mod error;
#[cfg(target_os = "linux")]
pub mod guardian;
#[cfg(target_os = "linux")]
mod holder;
pub mod input;
#[cfg(target_os = "linux")]
mod prepared;
#[cfg(target_os = "linux")]
mod priority;
#[cfg(target_os = "linux")]
mod process;
#[cfg(target_os = "linux")]
mod record;
#[cfg(target_os = "linux")]
mod release;
#[cfg(target_os = "linux")]
mod robust_futex;
#[cfg(target_os = "linux")]
mod shared;
#[cfg(target_os = "linux")]
mod unsent;
#[cfg(target_os = "linux")]
mod wlroots;
#[cfg(target_os = "linux")]
mod x11;

#[cfg(not(target_os = "linux"))]
pub use absent::Guardian;
pub use error::GuardianError;
#[cfg(target_os = "linux")]
pub use guardian::Guardian;
#[cfg(unix)]
pub use input::{CleanUp, PreparedReleases};
pub use input::{DisplayServer, Input, button_code};
