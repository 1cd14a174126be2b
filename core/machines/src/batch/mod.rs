//! Batches: items, such as puzzles, that are distributed among workers on other machines.
//!
//! The coordinator opens a link to each worker and describes the job ([`Job`]). A worker that runs the same as the
//! coordinator gets chunks of items, and answers each with one result for each item. The results are delivered in the
//! order of the items. When a worker dies, its chunks are given to others. Nothing here knows what an item is.
//!
//! # Layout
//! - `protocol`: what both ends send each other. `schedule`: which worker gets which items, and the order of the results,
//!   as a state machine without threads and clocks.
//! - [`coordinator`]: runs jobs on workers; `remote`: one of them, as the coordinator sees it. `absence`: how long none is
//!   there; `stalls`: when this machine stood still; `take_watch`: whether a worker takes chunks. [`worker`]: the other end.

mod absence;
pub mod coordinator;
mod protocol;
mod remote;
mod schedule;
mod stalls;
mod take_watch;
#[cfg(test)]
mod tests;
pub mod worker;

pub use coordinator::{
    AbsentWorker, BatchError, BatchEvent, Decoded, Encoded, Job, Notice, Workers,
};
pub use protocol::MAX_BODY;
pub use schedule::{MAX_ITEMS, Supply};
pub use worker::{AcceptedJob, RefusedJob, Runner, Work, WorkerEvent, WorkerSettings, serve};
