//! `flowpipe run --otlp URL`: sends the calls of a run as spans, and what it counts as metrics, to an OpenTelemetry
//! collector, by OTLP over HTTP. Without the feature `otlp` the option is an error.
//!
//! No stage waits for the collector. Each signal has a thread of its own, and what can't be sent is counted. The end of a
//! run waits a few seconds at most.
//!
//! # Layout
//! - `export`: what is sent of a run. `absent`: the same without the feature.
//! - `endpoint`: where the collector is, and what is sent with each request.
//! - `client`: one request. `status`: what became of all.
//! - `resource`: whom the data is of. `span_export`: the spans of calls. `metric_export`, `metric_points`: metrics.

#[cfg(not(feature = "otlp"))]
mod absent;
#[cfg(feature = "otlp")]
mod client;
#[cfg(feature = "otlp")]
mod endpoint;
#[cfg(feature = "otlp")]
mod export;
#[cfg(feature = "otlp")]
mod metric_export;
#[cfg(feature = "otlp")]
mod metric_points;
#[cfg(feature = "otlp")]
mod resource;
#[cfg(feature = "otlp")]
mod span_export;
#[cfg(feature = "otlp")]
mod status;

#[cfg(not(feature = "otlp"))]
pub use absent::OtlpExport;
#[cfg(feature = "otlp")]
pub use export::OtlpExport;
