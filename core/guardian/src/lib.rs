//! A guardian: a small process that releases the mouse buttons and keys that a program has pressed, however that
//! program dies.
//!
//! A display server keeps what a program pressed pressed when the program is gone. So whoever presses notes it with
//! [`Guardian::pressed`] first, and [`Guardian::released`] once the display server has released it. When the program
//! ends while something is noted, the guardian releases that, and nothing else.
//!
//! ```no_run
//! use flowpipe_guardian::{Guardian, Input};
//!
//! let mut guardian = Guardian::start()?;
//! guardian.pressed(Input::Button(1))?;
//! // Press and release the button.
//! guardian.released(Input::Button(1));
//! # Ok::<(), flowpipe_guardian::GuardianError>(())
//! ```
//!
//! # Layout
//! - [`guardian`]: the whole of it, [`Guardian`]. [`input`]: what can be pressed. [`error`]: what can go wrong.
//! - `record`: what is pressed, in memory that both processes see. `robust_futex`: how the kernel tells there that the process
//!   that presses dies.
//! - `release`: what a platform has to do. `x11`: how X11 does it.
//! - `process`: starting and ending the guardian's process. `child`: what that process does; `detach`: how it lets go of
//!   everything that it inherits. `holder`: the thread by whose death the guardian notices that of its process. `priority`:
//!   how both run as soon as they have to.
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
mod x11;

#[cfg(not(target_os = "linux"))]
pub use absent::Guardian;
pub use error::GuardianError;
#[cfg(target_os = "linux")]
pub use guardian::Guardian;
pub use input::Input;
