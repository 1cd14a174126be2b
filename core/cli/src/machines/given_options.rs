//! What a run is given besides its pipeline file, which all of its machines must have in common.

use std::collections::BTreeMap;

use flowpipe_machines::Facts;
use flowpipe_recording::bytes_hash;

use crate::args;

/// The most bytes of the names of options that are compared one by one. More are only compared together: what machines
/// send each other at the start is bounded.
const MOST_NAME_BYTES: usize = 1 << 16;

/// The options that must be the same on all machines, as they were given.
pub struct GivenOptions(Vec<(String, String)>);

impl GivenOptions {
    /// Those of a command line.
    pub fn of(args: &args::Run) -> Self {
        // As they were given: config paths may differ between machines.
        let common = [
            ("--window", args.window.clone()),
            ("--profile", args.profile.clone()),
            ("--seconds", args.seconds.map(|it| it.to_string())),
            ("--boards", args.boards.map(|it| it.to_string())),
            // A dry run on one machine alone would press the mouse of another one.
            ("--dry-run", args.dry_run.then(String::new)),
        ];
        let common = common
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)));
        let set = args.set.iter().map(|it| {
            let name = format!("--set {}.{}", it.stage, it.keys.join("."));
            (name, it.text.clone())
        });
        Self(common.chain(set).collect())
    }

    /// The facts that the machines compare: hashes, since a value may be a secret, and what differs is printed on all
    /// machines.
    pub(super) fn facts(&self) -> BTreeMap<String, String> {
        let hash = |text: &str| bytes_hash(text.as_bytes());
        // The order can matter too: of two settings of one key, the last one counts.
        let whole = hash(&format!("{:?}", self.0));
        let mut facts = BTreeMap::from([(Facts::SETTINGS.to_owned(), whole)]);
        let names = self.0.iter().map(|(name, _)| name.len());
        if names.sum::<usize>() > MOST_NAME_BYTES {
            return facts;
        }
        let mut values: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (name, value) in &self.0 {
            values.entry(name).or_default().push(value);
        }
        for (name, values) in values {
            facts.insert(Facts::option(name), hash(&format!("{values:?}")));
        }
        facts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(options: &[(&str, &str)]) -> Facts {
        let options = options
            .iter()
            .map(|&(name, value)| (name.to_owned(), value.to_owned()));
        Facts(GivenOptions(options.collect()).facts())
    }

    #[test]
    fn the_options_that_differ_are_named_without_their_values() {
        let desk = facts(&[("--dry-run", ""), ("--set log.token", "log.token=secret")]);
        let rack = facts(&[("--set log.token", "log.token=other")]);
        let found = desk.differences("desk", &rack, "rack");
        let found: Vec<_> = found.iter().map(ToString::to_string).collect();
        let [dry_run, set] = found.as_slice() else {
            panic!("{found:?}");
        };
        assert_eq!(dry_run, "rack lacks the option --dry-run");
        assert!(
            set.starts_with("the option --set log.token differs: "),
            "{set}"
        );
        assert!(!set.contains("secret") && !set.contains("other"), "{set}");
    }

    #[test]
    fn the_order_of_settings_counts() {
        let (one, other) = (("--set a.b", "a.b=1"), ("--set a.b.c", "a.b.c=2"));
        let found = facts(&[one, other]).differences("desk", &facts(&[other, one]), "rack");
        assert_eq!(found.len(), 1);
        assert!(found[0].to_string().starts_with(Facts::SETTINGS));
    }

    #[test]
    fn many_options_take_bounded_room() {
        let name = "x".repeat(MOST_NAME_BYTES);
        let (long, other) = (
            facts(&[(name.as_str(), "1"), ("b", "2")]),
            facts(&[(name.as_str(), "3")]),
        );
        assert_eq!(long.0.len(), 1);
        assert_eq!(long.differences("desk", &other, "rack").len(), 1);
    }
}
