//! The checks, one a file.

mod answers;
mod call;
mod cancel;
mod config;
mod create;
mod judging;
mod leaks;
mod malformed;
mod manifest;
mod repeatable;
mod state;
mod threads;

use super::protocol::Reporter;
use super::subject::Subject;

/// One check.
pub struct PluginTest {
    /// Its name in the report.
    pub name: &'static str,
    /// Runs it on a stage, and reports its findings.
    of_stage: Test,
    /// The same on a plugin of the role `check`.
    of_check: Test,
}

type Test = fn(&Subject, &Reporter);

impl PluginTest {
    /// Runs it, and reports its findings.
    pub fn run(&self, subject: &Subject, report: &Reporter) {
        let test = match subject.manifest().is_check() {
            true => self.of_check,
            false => self.of_stage,
        };
        test(subject, report);
    }
}

/// The check that the later ones require.
pub const CREATE: &str = "create";

/// All checks, in the order of the report.
pub const ALL: [PluginTest; 10] = [
    PluginTest {
        name: "manifest",
        of_stage: manifest::check,
        of_check: manifest::check,
    },
    PluginTest {
        name: CREATE,
        of_stage: create::check,
        of_check: create::check,
    },
    PluginTest {
        name: "config",
        of_stage: config::check,
        of_check: config::check,
    },
    PluginTest {
        name: "answers",
        of_stage: answers::check,
        of_check: judging::answers,
    },
    PluginTest {
        name: "repeatable",
        of_stage: repeatable::check,
        of_check: judging::repeatable,
    },
    PluginTest {
        name: "malformed",
        of_stage: malformed::check,
        of_check: judging::malformed,
    },
    PluginTest {
        name: "state",
        of_stage: state::check,
        of_check: judging::skip,
    },
    PluginTest {
        name: "cancel",
        of_stage: cancel::check,
        of_check: judging::skip,
    },
    PluginTest {
        name: "threads",
        of_stage: threads::check,
        of_check: judging::threads,
    },
    PluginTest {
        name: "leaks",
        of_stage: leaks::check,
        of_check: judging::skip,
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::CHECK_NAMES;

    #[test]
    fn the_command_line_names_every_check() {
        assert_eq!(ALL.map(|check| check.name), CHECK_NAMES);
    }
}
