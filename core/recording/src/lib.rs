//! Recordings of runs: MCAP files (<https://mcap.dev>) that Foxglove can open.
//!
//! This crate reads and writes the file format, without knowledge of stages or puzzles: the recorder reports events
//! ([`entry`]), a [`Writer`] appends them to a file, and a [`Recording`] reads them.
//!
//! # What is in the file
//! - For each output port a topic `/STAGE/PORT`: the messages as JSON, byte for byte as they were
//!   emitted, with their JSON Schema. The number of the MCAP message is the message's own.
//! - Pixels: a topic `/STAGE/PORT/image` of `foxglove.RawImage`, without loss. A repeated picture is stored once:
//!   `/flowpipe/pictures` has its position.
//! - `/flowpipe/calls`: each call of a stage, with its message, its output, the times
//!   that it read from the clock, and its result ([`entry::Call`]). A replay repeats them.
//! - `/flowpipe/drops` and `/flowpipe/problems`: messages that full queues dropped, and problems.
//! - `/flowpipe/dropped-lineages`: messages that the recorder dropped because it could not keep up
//!   ([`entry::DroppedLineages`]).
//! - `/flowpipe/changes`: changes of the pipeline while it ran.
//! - The attachments `pipeline.toml` (as it was written) and `run.json` ([`entry::About`]: stages, edges,
//!   plugins with their versions and hashes).
//!
//! Times are Unix time in nanoseconds: the run's clock on top of [`entry::About::started_unix_ns`].
//! Chunks are closed every half second, so that a process that is killed loses at most that much. The file is
//! `NAME.partial` until its index is written.

mod bodies;
mod budget;
mod chunk;
pub mod entry;
mod entry_limits;
mod error;
mod fault;
mod file;
mod hash;
mod image;
mod json_memory;
mod message;
mod name;
mod packed;
mod payload;
mod pictures;
mod protobuf;
mod reader;
mod record;
mod scan;
mod topic;
mod writer;
mod written_layout;

/// The version of the layout described above.
pub const FORMAT: u32 = 1;

pub use bodies::Body;
pub use budget::{LATEST_TIME, Limits};
pub use entry::Entry;
pub use error::{ReadError, WriteError};
pub use fault::{Fault, Place};
pub use hash::{bytes_hash, file_hash};
pub use image::{Encoding, Pixels};
/// The first bytes of a recording.
pub use mcap::MAGIC;
pub use message::RecordedMessage;
pub use name::Name;
pub use packed::{Packed, PackedLayout};
pub use payload::{Elements, Payload, PayloadKind};
pub use reader::Recording;
pub use topic::{CALLS, Topic};
pub use writer::{Schemas, Writer};
pub use written_layout::WrittenLayout;
