//! Rules of the system, made and then enforced.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use landlock::RulesetCreated;

use crate::access::Access;
use crate::seccomp::Filters;
use crate::{capabilities, landlock as files, seccomp};

const WITHOUT_SECCOMP: &str =
    "seccomp is not there: they may run commands, and use the network and the display";

/// Rules that confine a process once and for all, with all that it starts. What the system can't enforce is not
/// enforced; see [`gaps`].
#[derive(Debug)]
pub struct Rules {
    ruleset: RulesetCreated,
    filters: Filters,
}

impl Rules {
    /// Permits everything but what only an administrator needs, and access to other processes.
    ///
    /// # Errors
    /// When the system refuses what it can do.
    pub fn loose() -> io::Result<Self> {
        Ok(Self {
            ruleset: files::loose().map_err(io::Error::other)?,
            filters: seccomp::loose().map_err(io::Error::other)?,
        })
    }

    /// Permits this and nothing else.
    ///
    /// # Errors
    /// When the system refuses what it can do.
    pub fn only(access: &Access) -> io::Result<Self> {
        Ok(Self {
            ruleset: files::only(access).map_err(io::Error::other)?,
            filters: seccomp::only(access).map_err(io::Error::other)?,
        })
    }

    /// Confines this process. To be called before it has a second thread: one that runs already is not confined.
    ///
    /// # Errors
    /// When the system refuses what it can do. Nothing of others may run in this process then.
    pub fn enforce(self) -> io::Result<()> {
        enforce(self.ruleset, &self.filters)
    }

    /// Confines the program that a command starts. If the system refuses that, the command does not start.
    pub fn enforce_on(self, command: &mut Command) {
        let mut ruleset = Some(self.ruleset);
        let filters = self.filters;
        let confine = move || {
            // Each process takes it from a copy of its own.
            let ruleset = ruleset.take().ok_or(io::ErrorKind::PermissionDenied)?;
            enforce(ruleset, &filters)
        };
        // SAFETY: between fork and exec it makes system calls alone, and neither allocates nor frees memory.
        unsafe { command.pre_exec(confine) };
    }
}

/// Makes system calls alone: it also runs between fork and exec.
fn enforce(ruleset: RulesetCreated, filters: &Filters) -> io::Result<()> {
    files::enforce(ruleset)?;
    capabilities::give_up()?;
    seccomp::enforce(filters)
}

/// What this system can't enforce, each as a sentence about confined processes.
#[must_use]
pub fn gaps() -> Vec<String> {
    let without_seccomp = (!seccomp::is_there()).then(|| WITHOUT_SECCOMP.to_owned());
    files::gap().into_iter().chain(without_seccomp).collect()
}
