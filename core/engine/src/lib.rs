//! Runs pipelines: joins stages with queues and runs each on a thread. It moves messages and does not read them: what it
//! needs to judge them is handed in ([`check`]).
//!
//! # Layout
//! - [`run`]: threads, races, timeouts, reloads; what a recorded run does again is in [`run::replay`].
//! - `supervisor`: the life of every plugin, as a pure state machine.
//! - `edge`: the queues.
//! - [`report`]: what happened.
//! - [`trial`]: one stage outside of a pipeline.

pub mod check;
mod edge;
pub mod pixels;
pub mod report;
pub mod run;
mod supervisor;
pub mod trial;
mod watch;
