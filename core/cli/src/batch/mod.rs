//! Batches on several machines: one distributes puzzles, the others work.
//!
//! # Layout
//! - [`machines_file`]: the file of machines. [`worker_pool`]: the workers, as the command sees them that distributes.
//! - [`task`]: what workers are asked to do. [`solving`]: puzzles ([`puzzle_store`]) and their answers, in both directions,
//!   with `sent_effort`, what an answer cost; [`generating`]: generated puzzles, with `generated_samples`, those that are
//!   generated again.
//! - [`serving`]: `flowpipe machine work`, the other end; [`memory_limit`]: how much memory it takes.

mod generated_samples;
pub mod generating;
pub mod machines_file;
pub mod memory_limit;
pub mod puzzle_store;
mod sent_effort;
pub mod serving;
pub mod solving;
pub mod task;
pub mod worker_pool;
