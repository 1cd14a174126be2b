//! Streams of a real PipeWire: what a compositor may send, and what is received of it.

mod daemon;
mod memory;
mod producer;
mod streams;
