//! The host's side of the plugin boundary: finds libraries, loads them, makes stages of them, and gives them what the ABI
//! promises. What a run does with the stages is the engine's.
//!
//! # Layout
//! - [`catalogue`]: the plugins that were found; [`library`]: a file, inspected and loaded.
//! - [`instance`]: one instance of a stage, in this process or, by the trait, in another one.
//! - [`table`]: the functions that a plugin may call; [`call`]: those of one `process` call; [`run`]: what it may know of
//!   its run.
//! - [`message`], [`document`], [`frame`]: what flows. [`clock`] and [`stage_clock`]: the time.
//! - [`problem`]: what went wrong.

pub mod call;
pub mod catalogue;
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
