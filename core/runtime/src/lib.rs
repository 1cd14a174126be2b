//! Loads stages from dynamic libraries, joins them with queues and runs each on a thread. It moves
//! messages and does not read them: what it needs to judge them is handed in ([`check`]).
//!
//! # Layout
//! - [`config`]: a pipeline file with its errors, read into a [`pipeline`]. [`schema`] and [`graph`]
//!   show it to editors and to people.
//! - [`plugin`]: libraries found, loaded, made into stages, by their [`manifest`]. [`effects`]: what they do to the world.
//! - [`message`], [`document`], [`frame`] (with `pool` and `clock`): what flows.
//! - `edge`: the queues. [`run`]: threads, races, timeouts, the watchdog.
//! - [`isolation`]: stages in processes of their own. [`confinement`]: what these may do.
//! - [`record`] and [`replay`]: a run is written down, and run again.
//! - [`trace`]: who worked on what, when, as a trace that browsers show.
//! - [`report`] and [`problem`]: what happened.
//! - [`trial`]: one stage outside of a pipeline.

pub mod check;
pub mod clock;
pub mod config;
pub mod confinement;
pub mod document;
mod edge;
pub mod effects;
pub mod frame;
pub mod graph;
pub mod isolation;
pub mod manifest;
pub mod message;
pub mod pipeline;
pub mod plugin;
mod pool;
pub mod problem;
pub mod record;
pub mod replay;
pub mod report;
pub mod run;
pub mod schema;
mod sync;
pub mod trace;
pub mod trial;
