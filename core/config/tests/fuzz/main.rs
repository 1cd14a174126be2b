//! Malformed input of the readers: pipeline files, manifests, and JSON Schemas of messages.
#![allow(
    clippy::unwrap_used,
    reason = "what fails in a test's helper fails the test"
)]

#[path = "../../../../tests/fuzz/bounds.rs"]
mod bounds;
mod manifests;
mod message_schemas;
mod pipelines;
#[path = "../../../../tests/fuzz/spoil.rs"]
mod spoil;

#[global_allocator]
static COUNTING: bounds::Counting = bounds::Counting;
