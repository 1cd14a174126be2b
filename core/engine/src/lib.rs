//! Runs pipelines: connects stages with queues and runs each on a thread. It moves messages and does not interpret
//! them: plugins of the role `check` judge them ([`check`]).
//!
//! # Layout
//! - [`run`]: threads, races, timeouts, reloads. Replays of recorded runs are in [`run::replay`].
//! - `supervisor`: the lifecycle of every plugin, as a pure state machine.
//! - `edge`: the queues. [`numbers`]: sets of the numbers of messages.
//! - [`report`]: the results of a run.
//! - [`stepped`]: a pipeline on the caller's thread, for tests of pipelines.
//! - [`trial`]: a single stage outside of a pipeline.

pub mod check;
mod edge;
pub mod numbers;
pub mod payload;
pub mod report;
pub mod run;
pub mod stepped;
mod supervisor;
pub mod trial;
mod watch;
