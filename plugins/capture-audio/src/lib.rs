//! Source of sound: WAV files in blocks of samples.
//!
//! # Layout
//! - [`config`]: what a pipeline can set. [`wave`]: a file, block by block.
//! - [`play`]: all of it together, round after round.

mod config;
mod play;
mod wave;

#[cfg(test)]
mod tests;

use play::CaptureAudio;

flowpipe_plugin::export!(CaptureAudio);
