//! Malformed input of the runtime: plugin libraries and message bodies.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "tests end by panicking"
)]

#[path = "../../../../tests/fuzz/bounds.rs"]
mod bounds;
#[path = "../common/mod.rs"]
mod common;
#[cfg(unix)]
mod libraries;
#[cfg(unix)]
#[path = "../common/manifests.rs"]
mod manifests;
mod messages;
#[path = "../../../../tests/fuzz/spoil.rs"]
mod spoil;

#[global_allocator]
static COUNTING: bounds::Counting = bounds::Counting;
