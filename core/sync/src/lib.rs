//! Hand-written protocols between threads. Each is a type without its payload, so that loom can try every order of
//! events and Miri can run it.
//!
//! # Layout
//! - [`revocable`]: a pointer that many threads may use until its owner revokes it.
//! - [`wake_up`]: how the two ends of a queue wake each other.
//! - [`gate`]: a place where a worker can be paused.
//! - [`calls`]: which call of a worker is in progress, and what is known of it.
//! - [`tickets`]: whose turn it is among the workers of one queue.

pub mod calls;
pub mod gate;
mod lock;
#[cfg(all(test, loom))]
mod model;
pub mod revocable;
mod sync;
mod ticket_list;
pub mod tickets;
pub mod wake_up;

pub use lock::lock;
