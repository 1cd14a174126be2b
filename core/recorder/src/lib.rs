//! Observers that record and trace a run. They do not change it.
//!
//! # Layout
//! - [`record`]: a recording, from which the run can be replayed.
//! - [`trace`]: who worked on what, when, as a trace that browsers show.

pub mod record;
pub mod trace;
