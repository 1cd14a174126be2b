//! Loads stages from dynamic libraries, joins them with queues and runs each on a thread.

pub mod check;
mod clock;
pub mod config;
pub mod document;
mod edge;
pub mod frame;
pub mod graph;
pub mod manifest;
pub mod message;
pub mod pipeline;
pub mod plugin;
mod pool;
pub mod problem;
pub mod report;
pub mod run;
pub mod schema;
mod sync;
