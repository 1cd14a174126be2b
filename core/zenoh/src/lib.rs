//! Connections between the machines of a run over zenoh, with mutual TLS.
//!
//! The program loads this library when a machine has an address that is not its own (`flowpipe_link::library`). A
//! machine proves by its certificate which one it is, and zenoh's access control permits each machine to publish under
//! its own name alone.
//!
//! # Layout
//! - [`acceptor`] and [`dialer`] are the two ends of a transport. Both use [`route`], the zenoh session with its two
//!   keys, and [`settings`], how it is configured.
//! - [`connection`] is a connection, [`channel`] what has arrived on it, [`frame`] the content of a message.
//! - [`certificates`] creates certificates and checks one's own. [`log`] gathers why connections fail.
//! - [`exports`] is the C boundary.

pub mod acceptor;
pub mod certificates;
mod channel;
mod connection;
pub mod dialer;
pub mod exports;
mod frame;
pub mod log;
mod route;
pub mod settings;
