//! Stages that are a command in any language: it gets a JSON message a line on its standard input, and gives an answer a
//! line on its standard output. docs/stages-in-any-language.md specifies both.
//!
//! # Layout
//! - [`config`]: what a pipeline can set. [`effects`]: what the manifests declare of a command.
//! - [`solver`], [`planner`], [`actuator`], [`capture`], [`vision`], and [`stage`] for what is none of them.
//!   [`ports`]: what the config of that one declares.
//! - [`protocol`]: the messages. [`pixels`]: frames, in files. [`error`]: the errors. [`shorten`]: long lines in them.
//! - [`session`]: one answer to each message, from a command that is restarted when it ends.
//! - [`process`]: its threads and its end.

mod actuator;
mod buffer;
mod capture;
mod config;
mod effects;
mod error;
mod pixels;
mod planner;
mod ports;
mod process;
mod protocol;
mod session;
mod shorten;
mod solver;
mod stage;
mod vision;

#[cfg(test)]
mod tests;

use actuator::ActuatorExec;
use capture::CaptureExec;
use planner::PlannerExec;
use solver::SolverExec;
use stage::Exec;
use vision::VisionExec;

flowpipe_plugin::export!(
    CaptureExec,
    VisionExec,
    SolverExec,
    PlannerExec,
    ActuatorExec,
    Exec
);
