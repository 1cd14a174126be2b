//! A link between two machines.
//!
//! A link moves messages in both directions, each on one of its channels. While both programs live, every message
//! arrives once and in the order of its channel, however often the connection breaks. When a program dies, the other
//! end learns which messages it had and did not finish.
//!
//! # Layout
//! - [`session`] is the protocol as a state machine without threads, clocks and I/O. `packet` has its packets,
//!   [`violation`] what a peer can do wrong, [`clock_offset`] the difference between the clocks of the two machines.
//! - [`transport`] is what moves packets. [`tcp`] does it without encryption, on the machine itself only; [`library`]
//!   loads one that does it between machines.
//! - [`link`] runs a session over a transport, with threads. [`signal`] wakes who waits for several links.

pub mod clock_offset;
pub mod library;
pub mod link;
mod packet;
mod ranges;
pub mod session;
pub mod signal;
pub mod tcp;
pub mod transport;
pub mod violation;

pub use packet::{Incarnation, MAX_PACKET};
