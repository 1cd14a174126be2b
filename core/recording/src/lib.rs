//! Recordings of runs: MCAP files (<https://mcap.dev>) that Foxglove opens as they are.
//!
//! This crate knows how a recording lies in a file, and neither stages nor puzzles: the runtime says
//! what happened ([`entry`]), a [`Writer`] puts it into a file while it happens, and a [`Recording`]
//! gives it back.
//!
//! # What is in the file
//! - For each output port a topic `/STAGE/PORT`: the messages as JSON, byte for byte as they were
//!   emitted, with their JSON Schema. The number of the MCAP message is the message's own.
//! - Pixels: a topic `/STAGE/PORT/image` of `foxglove.RawImage`, without loss. A picture that is the
//!   same as one before is not stored again: `/flowpipe/pictures` says where it is.
//! - `/flowpipe/calls`: each call of a stage, with the message that it took, what it emitted, the times
//!   that it read from the clock, and how it ended ([`entry::Call`]). From these a run is run again.
//! - `/flowpipe/drops` and `/flowpipe/problems`: what full queues dropped, and what went wrong.
//! - `/flowpipe/dropped-lineages`: what is not in the recording because the recorder could not keep up
//!   ([`entry::DroppedLineages`]).
//! - `/flowpipe/changes`: how the pipeline changed while it ran.
//! - The attachments `pipeline.toml` (as it was written) and `run.json` ([`entry::About`]: stages, edges,
//!   plugins with their versions and hashes).
//!
//! Times are Unix time in nanoseconds: the run's clock on top of [`entry::About::started_unix_ns`].
//! Chunks are closed every half second, so that a process that is killed loses no more. The file is `NAME.partial` until its
//! index is written.

mod bodies;
mod budget;
mod chunk;
pub mod entry;
mod error;
mod file;
mod hash;
mod image;
mod kept;
mod message;
mod name;
mod packed;
mod pictures;
mod reader;
mod record;
mod scan;
mod topic;
mod writer;

/// The version of the layout described above.
pub const FORMAT: u32 = 1;

pub use bodies::Body;
pub use budget::Limits;
pub use error::{ReadError, WriteError};
pub use hash::file_hash;
pub use image::{Encoding, Pixels};
pub use message::RecordedMessage;
pub use name::Name;
pub use packed::Packed;
pub use reader::{Entry, Recording};
pub use scan::{Fault, Place};
pub use topic::{CALLS, Topic};
pub use writer::{Schemas, Writer};
