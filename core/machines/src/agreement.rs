//! What the machines of a run must have in common.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// What a machine runs: the name of each thing, such as `the plugin solver-search`, with its hash or version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts(pub BTreeMap<String, String>);

/// What a machine wants to have of the whole run. At most one machine of a run wants something: the observer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Wanted {
    /// The others send what it needs for a recording.
    pub recording: bool,
    /// The others send what it needs for a trace.
    pub trace: bool,
}

impl Wanted {
    /// Whether it wants anything.
    #[must_use]
    pub fn is_any(self) -> bool {
        self.recording || self.trace
    }
}

/// The machines that want to observe the whole run, and what.
pub type Observers = BTreeMap<usize, Wanted>;

/// What two machines do not have in common.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Difference {
    /// A machine lacks something.
    Missing {
        /// The machine.
        machine: String,
        /// What it lacks.
        what: String,
    },
    /// Both have it, and it differs.
    Differs {
        /// What differs.
        what: String,
        /// Each machine, with its hash or version.
        machines: [(String, String); 2],
    },
}

/// What the facts of plugins and of options begin with.
const PLUGIN: &str = "the plugin ";
const OPTION: &str = "the option ";

impl Facts {
    /// The fact of the pipeline file.
    pub const PIPELINE_FILE: &str = "the pipeline file";
    /// The fact of all that is set besides the file.
    pub const SETTINGS: &str = "what is set besides the file";

    /// The fact of a plugin.
    #[must_use]
    pub fn plugin(name: &str) -> String {
        format!("{PLUGIN}{name}")
    }

    /// The fact of an option of the command line, a part of [`Self::SETTINGS`].
    #[must_use]
    pub fn option(name: &str) -> String {
        format!("{OPTION}{name}")
    }

    /// The differences between two machines, each with its name, without those that follow from others.
    #[must_use]
    pub fn differences(&self, own: &str, other: &Self, peer: &str) -> Vec<Difference> {
        let missing = |machine: &str, what: &String| Difference::Missing {
            machine: machine.to_owned(),
            what: what.clone(),
        };
        let mut found = Vec::new();
        for (what, value) in &self.0 {
            match other.0.get(what) {
                None => found.push(missing(peer, what)),
                Some(theirs) if theirs == value => {}
                Some(theirs) => found.push(Difference::Differs {
                    what: what.clone(),
                    machines: [
                        (own.to_owned(), value.clone()),
                        (peer.to_owned(), theirs.clone()),
                    ],
                }),
            }
        }
        let unknown = other.0.keys().filter(|what| !self.0.contains_key(*what));
        found.extend(unknown.map(|what| missing(own, what)));
        let files_differ = found.iter().any(|it| it.what() == Self::PIPELINE_FILE);
        let names_options = found.iter().any(|it| it.what().starts_with(OPTION));
        found.retain(|it| match it {
            // A plugin that only the other file names is not missing.
            Difference::Missing { what, .. } if what.starts_with(PLUGIN) => !files_differ,
            _ => !names_options || it.what() != Self::SETTINGS,
        });
        found
    }
}

impl Difference {
    /// What is missing or differs.
    fn what(&self) -> &str {
        match self {
            Self::Missing { what, .. } | Self::Differs { what, .. } => what,
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { machine, what } => write!(formatter, "{machine} lacks {what}"),
            Self::Differs { what, machines } => {
                let [(one, its), (other, theirs)] = machines;
                write!(
                    formatter,
                    "{what} differs: {its} on {one}, {theirs} on {other}"
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(facts: &[(&str, &str)]) -> Facts {
        let facts = facts
            .iter()
            .map(|&(what, value)| (what.to_owned(), value.to_owned()));
        Facts(facts.collect())
    }

    fn differences(desk: &Facts, rack: &Facts) -> Vec<String> {
        let found = desk.differences("desk", rack, "rack");
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn every_difference_names_its_machine() {
        let desk = facts(&[
            ("the file", "1"),
            ("the plugin a", "2"),
            ("the plugin b", "3"),
        ]);
        let rack = facts(&[
            ("the file", "1"),
            ("the plugin b", "4"),
            ("the plugin c", "5"),
        ]);
        let expected = [
            "rack lacks the plugin a",
            "the plugin b differs: 3 on desk, 4 on rack",
            "desk lacks the plugin c",
        ];
        assert_eq!(differences(&desk, &rack), expected);
        assert_eq!(desk.differences("desk", &desk, "rack"), []);
    }

    #[test]
    fn a_plugin_that_only_another_file_names_is_not_missing() {
        let desk = facts(&[
            ("the pipeline file", "1"),
            ("the plugin a", "2"),
            ("the plugin b", "3"),
        ]);
        let rack = facts(&[
            ("the pipeline file", "2"),
            ("the plugin b", "4"),
            ("the plugin c", "5"),
        ]);
        let expected = [
            "the pipeline file differs: 1 on desk, 2 on rack",
            "the plugin b differs: 3 on desk, 4 on rack",
        ];
        assert_eq!(differences(&desk, &rack), expected);
    }

    #[test]
    fn options_that_differ_are_named() {
        let desk = facts(&[
            ("the option --dry-run", "1"),
            ("what is set besides the file", "2"),
        ]);
        let rack = facts(&[
            ("the option --set frames.fps", "3"),
            ("what is set besides the file", "4"),
        ]);
        let expected = [
            "rack lacks the option --dry-run",
            "desk lacks the option --set frames.fps",
        ];
        assert_eq!(differences(&desk, &rack), expected);
        // The order of the same options.
        let other = facts(&[
            ("the option --dry-run", "1"),
            ("what is set besides the file", "5"),
        ]);
        let expected = ["what is set besides the file differs: 2 on desk, 5 on rack"];
        assert_eq!(differences(&desk, &other), expected);
    }
}
