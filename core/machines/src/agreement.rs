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

impl Facts {
    /// All differences between two machines, each with its name.
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
        found
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

    #[test]
    fn every_difference_names_its_machine() {
        let facts = |facts: &[(&str, &str)]| {
            let facts = facts
                .iter()
                .map(|&(what, value)| (what.to_owned(), value.to_owned()));
            Facts(facts.collect())
        };
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
        let found = desk.differences("desk", &rack, "rack");
        let found: Vec<_> = found.iter().map(ToString::to_string).collect();
        let expected = [
            "rack lacks the plugin a",
            "the plugin b differs: 3 on desk, 4 on rack",
            "desk lacks the plugin c",
        ];
        assert_eq!(found, expected);
        assert_eq!(desk.differences("desk", &desk, "rack"), []);
    }
}
