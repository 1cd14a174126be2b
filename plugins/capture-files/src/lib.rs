//! Capture stage: pictures from files, once or in a loop.
//!
//! # Layout
//! - [`config`]: what a pipeline can set.
//! - [`list`]: which files are meant; [`picture`]: one file as a frame; [`pace`]: when it is due.
//! - [`play`]: all of it together, round after round.

mod config;
mod list;
mod pace;
mod picture;
mod play;

#[cfg(test)]
mod tests;

use play::CaptureFiles;

flowpipe_plugin::export!(CaptureFiles);
