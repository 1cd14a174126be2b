//! `flowpipe run --metrics ADDRESS`: serves the counts of the run to Prometheus while it goes on.
//!
//! # Layout
//! - [`address`]: where the program listens.
//! - [`server`]: the thread that answers. `http`: one request, and its response.
//! - `exposition`: the text format.

pub mod address;
mod exposition;
mod http;
pub mod server;
