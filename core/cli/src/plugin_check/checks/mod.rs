//! What is tried, one check a file.

mod answers;
mod ask;
mod cancel;
mod config;
mod leaks;
mod make;
mod manifest;
mod repeatable;
mod rubbish;
mod state;
mod threads;

use super::subject::Subject;
use super::telling::Teller;

/// One check.
pub struct Check {
    /// As it is called in the report.
    pub name: &'static str,
    /// Tries it and tells what it found.
    pub run: fn(&Subject, &Teller),
}

/// The check without which the later ones make no sense.
pub const MAKE: &str = "make";

/// All checks, in the order of the report.
pub const ALL: [Check; 10] = [
    Check {
        name: "manifest",
        run: manifest::check,
    },
    Check {
        name: MAKE,
        run: make::check,
    },
    Check {
        name: "config",
        run: config::check,
    },
    Check {
        name: "answers",
        run: answers::check,
    },
    Check {
        name: "repeatable",
        run: repeatable::check,
    },
    Check {
        name: "rubbish",
        run: rubbish::check,
    },
    Check {
        name: "state",
        run: state::check,
    },
    Check {
        name: "cancel",
        run: cancel::check,
    },
    Check {
        name: "threads",
        run: threads::check,
    },
    Check {
        name: "leaks",
        run: leaks::check,
    },
];

/// What the checks are called.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|check| check.name)
}
