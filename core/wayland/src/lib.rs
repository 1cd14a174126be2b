//! A connection to a Wayland compositor that is bounded in time and memory, whatever the compositor does: its library waits
//! without a limit, and keeps all that is announced.
//!
//! # Layout
//! - [`socket`]: connects. [`compositors`]: which there are. [`answer`]: waits for the compositor. [`globals`]: what it offers. [`lost`]: why there is no
//!   connection any more.
//! - [`counted`]: objects, which are created through it. `watch`: ends a read that does not end.

#![cfg(all(unix, not(target_os = "macos")))]

pub mod answer;
pub mod compositors;
pub mod counted;
pub mod globals;
pub mod lost;
pub mod socket;
mod watch;

pub use compositors::Compositors;
pub use globals::Globals;
pub use lost::Lost;
pub use watch::LIMIT;
