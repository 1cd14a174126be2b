//! Two pipelines that do not concern boards, compared message by message.
//!
//! # Layout
//! - [`log`]: what one run emitted.
//! - [`joined`]: the messages of both, joined by frame, schema and stage; [`json_difference`]: where two differ first.
//! - [`stage_metrics`]: the metrics of one run; [`compared_metrics`]: of both.
//! - [`comparison`]: the whole result; [`text`]: as text.

pub mod compared_metrics;
pub mod comparison;
pub mod joined;
mod json_difference;
pub mod log;
mod stage_metrics;
pub mod text;
