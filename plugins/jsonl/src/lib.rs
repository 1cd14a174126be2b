//! Stages that read and write messages as JSON lines: a message is a line of JSON.
//!
//! # Layout
//! - [`config`]: what a pipeline can set. [`address`]: which of the ends of a config it names, and whether it may be used.
//!   [`rules`]: what the JSON Schema has of that.
//! - [`lines`]: the lines of a stream, with a bounded length. [`line`]: a line as a message.
//! - [`stream`]: files, pipes and connections, without waiting for long. [`readiness`]: whether, and how
//!   long. [`idle`]: a source that waits. [`connecting`]: a connection, in steps.
//! - [`reader`]: the bytes of a source's end, [`writer`]: the lines to a sink's end. [`target_kind`]: what a sink's path
//!   leads to. [`target_file`]: a file that a sink writes. [`message_writer`]: messages as lines.
//! - [`source`], [`sink`], [`tee`]: the stages.

mod address;
mod config;
mod connecting;
mod idle;
mod line;
mod lines;
mod message_writer;
mod reader;
mod readiness;
mod rules;
mod sink;
mod source;
mod stream;
mod target_file;
mod target_kind;
mod tee;
mod writer;

#[cfg(test)]
mod tests;

use sink::SinkJsonl;
use source::SourceJsonl;
use tee::Tee;

flowpipe_plugin::export!(SourceJsonl, SinkJsonl, Tee);
