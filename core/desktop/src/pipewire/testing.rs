//! Streams of a real PipeWire: what a compositor may send, and what is received of it.

mod canvas;
mod daemon;
mod memory;
mod producer;
mod regions;
mod streams;
mod streams_of_changes;
