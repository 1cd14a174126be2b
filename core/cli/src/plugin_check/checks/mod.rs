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
    /// Runs it, and reports its findings.
    run: fn(&Subject, &Reporter),
}

impl PluginTest {
    /// Runs it, and reports its findings.
    pub fn run(&self, subject: &Subject, report: &Reporter) {
        if !subject.manifest().is_check() {
            return (self.run)(subject, report);
        }
        match self.name {
            "answers" => judging::answers(subject, report),
            "repeatable" => judging::repeatable(subject, report),
            "malformed" => judging::malformed(subject, report),
            "threads" => judging::threads(subject, report),
            "state" | "cancel" | "leaks" => report.skip(judging::NOT_CALLED),
            _ => (self.run)(subject, report),
        }
    }
}

/// The check that the later ones require.
pub const CREATE: &str = "create";

/// All checks, in the order of the report.
pub const ALL: [PluginTest; 10] = [
    PluginTest {
        name: "manifest",
        run: manifest::check,
    },
    PluginTest {
        name: CREATE,
        run: create::check,
    },
    PluginTest {
        name: "config",
        run: config::check,
    },
    PluginTest {
        name: "answers",
        run: answers::check,
    },
    PluginTest {
        name: "repeatable",
        run: repeatable::check,
    },
    PluginTest {
        name: "malformed",
        run: malformed::check,
    },
    PluginTest {
        name: "state",
        run: state::check,
    },
    PluginTest {
        name: "cancel",
        run: cancel::check,
    },
    PluginTest {
        name: "threads",
        run: threads::check,
    },
    PluginTest {
        name: "leaks",
        run: leaks::check,
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
