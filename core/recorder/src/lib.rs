//! What is written of a run while it goes on: observers, which change nothing of it.
//!
//! # Layout
//! - [`record`]: a recording, from which the run can be replayed.
//! - [`trace`]: who worked on what, when, as a trace that browsers show.

pub mod record;
pub mod trace;
