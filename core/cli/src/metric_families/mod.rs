//! What a run counts and measures, as families of samples for monitoring systems.
//!
//! # Layout
//! - [`family`]: samples with labels.
//! - [`source`]: the families of a run.

pub mod family;
pub mod source;
