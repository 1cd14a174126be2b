//! Capture stage: frames of videos and cameras. The program ffmpeg decodes them, in a process of its own: videos are
//! hostile, and decoders have many faults.
//!
//! # Layout
//! - [`config`]: what a pipeline can set.
//! - [`command`]: how ffmpeg is run. `confinement`: what it may do. [`decoder`]: its process, and the thread that reads from it.
//! - [`matroska`], [`pixmap`]: what it writes, as pictures with times. [`picture`]: one of them, within limits.
//! - [`play`]: all of it together, round after round.

mod command;
mod config;
mod confinement;
mod decoder;
mod error;
mod matroska;
mod picture;
mod pixmap;
mod play;

#[cfg(test)]
mod tests;

use play::CaptureVideo;

flowpipe_plugin::export!(CaptureVideo);
