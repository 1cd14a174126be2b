//! Two pipelines that do not concern boards, compared message by message.
//!
//! # Layout
//! - [`log`]: what one run emitted. [`metric_totals`]: its metrics, summed up.
//! - [`joined`]: the messages of both, joined by frame, schema and stage; [`json_difference`]: where two differ first.
//! - [`metric_rows`]: the metrics of both.
//! - [`comparison`]: the whole result; [`text`]: as text.

pub mod comparison;
pub mod joined;
mod json_difference;
pub mod log;
mod metric_rows;
mod metric_totals;
pub mod text;
