//! Stages for messages of any schema: what streams of messages need everywhere.
//!
//! # Layout
//! - [`filter`], [`map`]: expressions of jq, which `flowpipe_jq` compiles and runs.
//! - [`throttle`], [`sample`], [`dedup`]: fewer messages. [`content`]: what they carry, for comparisons. [`pass`]: those
//!   that are passed on as they came.
//! - [`batch`], [`window`], [`join`]: messages of several. [`gathered`]: the bodies that they keep. [`waiting`]: those
//!   that wait for a partner. [`unpaired`]: the counts of those that found none.
//! - [`ticks`]: messages at an interval, for what has to end on time.

mod batch;
mod content;
mod dedup;
mod filter;
mod gathered;
mod join;
mod kept_message;
mod map;
mod pass;
mod sample;
mod throttle;
mod ticks;
mod unpaired;
mod waiting;
mod window;

#[cfg(test)]
mod tests;

use batch::Batch;
use dedup::Dedup;
use filter::Filter;
use join::Join;
use map::Map;
use sample::Sample;
use throttle::Throttle;
use ticks::Ticks;
use window::Window;

flowpipe_plugin::export!(
    Filter, Map, Throttle, Sample, Dedup, Batch, Window, Join, Ticks
);
