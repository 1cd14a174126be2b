//! Capture stage: what a stage gave in a recorded run, message by message, instead of a screen.
//!
//! # Layout
//! - [`config`]: what a pipeline can set.
//! - [`list`]: which messages are meant.
//! - [`play`]: sends them, at the pace of then or as fast as they are taken.

mod config;
mod list;
mod play;

#[cfg(test)]
mod tests;

use play::CaptureRecording;

flowpipe_plugin::export!(CaptureRecording);
