//! Observers that record and trace a run. They change nothing of it, except that a lossless recording makes stages wait.
//!
//! # Layout
//! - [`record`]: a recording, from which the run can be replayed.
//! - [`trace`]: who worked on what, when, as a trace that browsers show.
//! - [`spans`]: the same as spans, one trace for each lineage.
//! - `backlog`: the queue to the thread of an observer.

mod backlog;
pub mod record;
pub mod spans;
pub mod trace;
