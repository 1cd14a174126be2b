//! Capture stage: a window, a monitor or a region of the screen, live.
//!
//! # Layout
//! - [`config`]: what a pipeline can set; [`interval`]: times in it.
//! - [`pace`]: when to look; [`target`]: what at; [`target_lookup`]: once that is known; [`sent`]: what of it to send on.
//! - [`stage`]: all of it together, look after look.

mod config;
mod covers;
mod interval;
mod pace;
mod sent;
mod stage;
mod target;
mod target_lookup;

#[cfg(test)]
mod tests;

use stage::CaptureScreen;

flowpipe_plugin::export!(CaptureScreen);
