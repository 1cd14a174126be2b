//! Stages that are a command in any language: it gets a JSON message a line on its standard input, and gives an answer a
//! line on its standard output. docs/exec.md specifies both.
//!
//! # Layout
//! - [`config`]: what a pipeline can set. [`effects`]: what the manifests declare of a command.
//! - [`solver`], [`planner`], [`actuator`], [`capture`], [`vision`], and [`stage`] for what is none of them.
//! - [`protocol`]: the messages. [`pixels`]: frames, in files. [`error`]: what goes wrong.
//! - [`session`]: one answer to each message, from a command that is restarted when it dies.
//! - [`process`]: its threads and its end. [`pipes`]: its pipes. [`group`]: it and what it starts. [`lines`]: its output.

mod actuator;
mod capture;
mod config;
mod effects;
mod error;
mod group;
mod lines;
mod pipes;
mod pixels;
mod planner;
mod process;
mod protocol;
mod session;
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
