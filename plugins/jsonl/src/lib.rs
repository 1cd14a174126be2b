//! Stages that read and write messages as JSON lines: a message is a line of JSON.
//!
//! # Layout
//! - [`config`]: what a pipeline can set. [`address`]: which of the ends of a config it names, and whether it may be used.
//! - [`lines`]: the lines of a stream, with a bounded length. [`line`]: a line as a message.
//! - [`stream`]: files, pipes and connections, without waiting for long. [`readiness`]: how long.
//! - [`reader`]: the bytes of a source's end, [`writer`]: the lines to a sink's end. [`target_file`]: a file that a sink
//!   writes.
//! - [`source`], [`sink`]: the stages.

mod address;
mod config;
mod line;
mod lines;
mod reader;
mod readiness;
mod sink;
mod source;
mod stream;
mod target_file;
mod writer;

#[cfg(test)]
mod tests;

use sink::SinkJsonl;
use source::SourceJsonl;

flowpipe_plugin::export!(SourceJsonl, SinkJsonl);
