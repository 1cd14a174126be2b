//! The SDK for plugin authors: a trait for each role, and [`export!`].
//!
//! ```
//! # #[cfg(feature = "flowfree")]
//! # mod pessimist {
//! use flowpipe_plugin::puzzle::{Puzzle, message::Verdict};
//! use flowpipe_plugin::{Cancel, Host, JsonSchema, Result, Solver};
//! use serde::Deserialize;
//!
//! /// Answers that no puzzle has a solution.
//! #[derive(Default, Deserialize, JsonSchema)]
//! #[serde(deny_unknown_fields, default)]
//! struct Config {
//!     /// The reason that it gives.
//!     reason: Option<String>,
//! }
//!
//! struct Pessimist(Config);
//!
//! impl Solver for Pessimist {
//!     const NAME: &'static str = "solver-pessimist";
//!     type Config = Config;
//!
//!     fn new(config: Config, _host: &Host) -> Result<Self> {
//!         Ok(Self(config))
//!     }
//!
//!     fn solve(&mut self, _puzzle: &Puzzle, _cancel: &Cancel) -> Result<Verdict> {
//!         Ok(Verdict::unsolvable(self.0.reason.clone()))
//!     }
//! }
//!
//! flowpipe_plugin::export!(Pessimist);
//! # }
//! ```
//!
//! No Rust type crosses the ABI to the host (see `flowpipe.h`): the SDK turns messages into JSON and back, returns
//! every panic as an error, and sends `tracing` events to the host's log.
//!
//! # Features
//! - `flowfree` (default): the roles of Flow Free, and the crate of puzzles. Without it a plugin implements [`Stage`],
//!   [`Capture`] or [`Check`].
//!
//! # Layout
//! - [`capture`], [`vision`], [`solver`], [`planner`], [`actuator`]: the five roles, a trait each.
//! - [`check`]: judges the messages of other stages.
//! - [`tally`]: answers of solvers that enumerate solutions.
//! - [`stage`]: the general trait behind the roles, for other stages. [`message`]: messages that belong to no domain.
//!   [`acting`]: the context of what acts.
//! - [`effects`]: what a stage declares to do to the world. [`carried`]: what the messages of its ports carry.
//! - [`host`], [`frame`], [`buffer`], [`context`], [`cancel`], [`watch`], [`error`]: what a stage uses.
//! - [`mod@harness`]: runs a stage without a pipeline, for tests.
//! - [`export!`]: the C side.
//!
//! # Threads
//! The host calls the methods of one instance one at a time. *The stage's thread* runs the work of a stage: `process`,
//! `reset`, and the methods of the roles. *The control thread* creates, activates, saves, loads, deactivates and drops
//! stages, never while the stage's thread is in a call of that stage. Neither is the same thread for ever. A [`Host`],
//! a [`Frame`], a [`Buffer`] and, during its call, a [`Cancel`] may be used on any thread.

pub mod acting;
#[cfg(feature = "flowfree")]
pub mod actuator;
pub mod buffer;
pub mod cancel;
pub mod capture;
pub mod carried;
pub mod check;
pub mod context;
pub mod effects;
pub mod error;
#[doc(hidden)]
pub mod export;
pub mod frame;
mod handle;
pub mod harness;
pub mod host;
mod logging;
mod manifest;
mod panic_guard;
mod parse;
#[cfg(feature = "flowfree")]
pub mod planner;
mod role;
#[cfg(feature = "flowfree")]
pub mod solver;
pub mod stage;
#[cfg(feature = "flowfree")]
mod supports;
#[cfg(feature = "flowfree")]
pub mod tally;
#[cfg(feature = "flowfree")]
pub mod vision;
pub mod watch;

pub use acting::Acting;
#[cfg(feature = "flowfree")]
pub use actuator::{Actuator, Played};
pub use buffer::{Buffer, BufferElement, Element};
pub use cancel::Cancel;
pub use capture::{Capture, FrameSink};
pub use carried::{BufferPattern, Carried};
pub use check::{Check, Judgement};
pub use context::{Context, Message};
pub use effects::{Effect, EffectKind};
pub use error::{Error, Result};
pub use frame::{Format, Frame, PixelInfo};
pub use host::{Ending, Host};
#[cfg(feature = "flowfree")]
pub use planner::{Plan, Planner};
#[cfg(feature = "flowfree")]
pub use solver::{Solver, Supports, Want};
pub use stage::{Input, Next, NoConfig, Port, Stage};
#[cfg(feature = "flowfree")]
pub use tally::Tally;
#[cfg(feature = "flowfree")]
pub use vision::{Captured, Vision};
pub use watch::Watch;

pub use flowpipe_abi as abi;
pub use flowpipe_message as message;
#[cfg(feature = "flowfree")]
pub use flowpipe_puzzle as puzzle;
pub use schemars::{self, JsonSchema};
pub use tracing;

/// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
