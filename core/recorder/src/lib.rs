//! Observers that record and trace a run. They change nothing of it, except that a lossless recording makes stages wait.
//!
//! # Layout
//! - [`record`]: a recording, from which the run can be replayed.
//! - [`trace`]: who worked on what, when, as a trace that browsers show.

pub mod record;
pub mod trace;
