//! The host's side of the plugin boundary: finds libraries, loads them, creates stages, and implements the host's side
//! of the ABI. The engine runs the stages.
//!
//! # Layout
//! - [`catalogue`]: the plugins that were found; [`library`]: a file, inspected and loaded.
//! - [`instance`]: one instance of a stage, in this process or, through the trait, in another one.
//! - [`table`]: the functions that a plugin may call; [`call`]: those of one `process` call; [`run`]: the run as a
//!   stage sees it.
//! - [`check`]: plugins that judge messages.
//! - [`message`], [`document`], [`frame`]: what stages exchange. [`clock`] and [`stage_clock`]: the time.
//! - [`problem`]: what went wrong.

pub mod call;
pub mod catalogue;
pub mod check;
pub mod clock;
pub mod document;
pub mod frame;
pub mod instance;
pub mod library;
pub mod message;
pub mod problem;
pub mod run;
pub mod stage_clock;
pub mod table;
