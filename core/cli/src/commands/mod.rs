//! One module for each subcommand.

pub mod check;
pub mod completions;
pub mod graph;
pub mod play;
pub mod plugins;
pub mod run;
pub mod schema;
pub mod solve;
