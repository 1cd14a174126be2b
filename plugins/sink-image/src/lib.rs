//! Stage that writes frames to picture files.
//!
//! # Layout
//! - [`config`]: what a pipeline can set. [`pattern`]: the names of the files.
//! - [`pixels`]: the pixels of a frame. [`drawing`]: what is drawn over them. [`encode`]: the bytes of a file.
//! - [`folder`]: the files, a bounded number of them.
//! - [`waiting`]: frames that wait for a message that chooses them.
//! - [`sink`]: the stage.

mod config;
mod drawing;
mod encode;
mod folder;
mod pattern;
mod pixels;
mod sink;
mod waiting;

#[cfg(test)]
mod tests;

use sink::SinkImage;

flowpipe_plugin::export!(SinkImage);
