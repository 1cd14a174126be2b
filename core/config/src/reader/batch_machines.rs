//! A file of machines that do batches: the tables `[machines.NAME]` of a pipeline file, and nothing else.

use super::error::Findings;
use super::machines;
use super::problem::{MAX_BYTES, Problem};
use super::source::SourceFile;
use super::written::{self, Written};
use super::{ConfigError, alone, nul, syntax};
use crate::pipeline::Machines;

/// The machines of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchMachines {
    /// All of them. None has stages.
    pub machines: Machines,
    /// The one that distributes: it has no `listen`. The others work.
    pub coordinator: usize,
}

/// Whether a text is such a file, and no pipeline: it has machines and no stages.
#[must_use]
pub fn is_batch_machines(text: &str) -> bool {
    let has = |table: &toml::Table, key: &str| table.contains_key(key);
    toml::from_str::<toml::Table>(text)
        .is_ok_and(|table| has(&table, MACHINES) && !has(&table, "stages"))
}

/// Reads a file of machines: its name for messages, and its text.
///
/// # Errors
/// All errors of the file, at least one, in the order of the file.
pub fn read(path_name: &str, text: &str) -> Result<BatchMachines, Vec<ConfigError>> {
    if text.len() > MAX_BYTES {
        return Err(alone("", path_name, 0..0, Problem::TooLarge));
    }
    let mut findings = Findings::new(SourceFile::new(path_name, text));
    let root = syntax::parse(text, &mut findings);
    nul::report(&root, &mut findings);
    let mut keys = written::keys();
    keys.keys.retain(|key| key.row.name == MACHINES);
    let mut written = Written::default();
    keys.read(&mut written, "a file of machines", &root, &mut findings);
    // Batches have limits of their own, and lose nothing with a worker.
    for time in written
        .machines
        .iter()
        .filter_map(|it| it.reconnect_timeout.as_ref())
    {
        findings.report(&time.span(), Problem::ReconnectWithoutPipeline);
    }
    let machines = written.machines.iter();
    let machines = Machines {
        all: machines
            .map(|it| machines::machine(it, &mut findings))
            .collect(),
        of_stages: Vec::new(),
        of_workers: Vec::new(),
    };
    let silent = machines.all.iter().enumerate();
    let silent = silent.filter(|(index, _)| {
        // An address that is wrong is reported, and is one.
        let written = written.machines.get(*index);
        written.is_some_and(|it| it.listen.is_none())
    });
    let silent: Vec<usize> = silent.map(|(index, _)| index).collect();
    match silent[..] {
        [_] if machines.all.len() == 1 => findings.report(&(0..0), Problem::NoWorkers),
        [_] => {}
        _ => {
            let second = silent.get(1).and_then(|index| written.machines.get(*index));
            let span = second.map_or(0..0, |it| it.name.span());
            let found = silent.len();
            findings.report(&span, Problem::Coordinators { found });
        }
    }
    match silent.first() {
        Some(&coordinator) if findings.is_empty() => Ok(BatchMachines {
            machines,
            coordinator,
        }),
        _ => Err(findings.into_errors()),
    }
}

const MACHINES: &str = "machines";

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "[machines.rack1]\nlisten = \"tls/0.0.0.0:7447\"\nconnect = \"tls/rack1:7447\"\n\n\
                        [machines.desk]\ncertificates = \"here\"\n";

    fn errors(text: &str) -> Vec<String> {
        let errors = read("machines.toml", text).unwrap_err();
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_machine_that_does_not_listen_distributes() {
        let read = read("machines.toml", GOOD).unwrap();
        assert_eq!(read.coordinator, 1);
        let names: Vec<_> = read.machines.all.iter().map(|it| &*it.name).collect();
        assert_eq!(names, ["rack1", "desk"]);
        assert_eq!(read.machines.all[1].certificates, "here");
        assert_eq!(read.machines.opens(1, 0), Some(true));
        assert!(is_batch_machines(GOOD));
        assert!(!is_batch_machines("[machines.a]\n[stages.b]\n"));
        assert!(!is_batch_machines("no TOML"));
    }

    #[test]
    fn all_errors_are_reported() {
        let listens = "[machines.a]\nlisten = \"tls/0.0.0.0:1\"\nconnect = \"tls/a:1\"\n";
        for (text, expected) in [
            (
                String::new(),
                vec!["1:1: the file has 0 machines without `listen`"],
            ),
            (
                listens.to_owned(),
                vec!["1:1: the file has 0 machines without `listen`"],
            ),
            (
                "[machines.a]\n".to_owned(),
                vec!["1:1: the file has no machine that works"],
            ),
            (
                format!("{listens}[machines.b]\n[machines.c]\n"),
                vec!["5:11: the file has 2 machines without `listen`"],
            ),
            (
                format!("name = \"x\"\n{listens}[machines.b]\n"),
                vec!["1:1: unknown key `name`"],
            ),
            (
                "[machines.a]\nlisten = \"tcp/127.0.0.1:0\"\n[machines.b]\n".to_owned(),
                vec!["2:10: \"tcp/127.0.0.1:0\" is no address of a machine"],
            ),
            (
                format!("{listens}[machines.ca]\n"),
                vec!["4:11: no machine can have the name of the authority of certificates"],
            ),
            (
                format!(
                    "{listens}reconnect_timeout = \"1m\"\n[machines.b]\nreconnect_timeout = \"0s\"\n"
                ),
                vec![
                    "4:21: `reconnect_timeout` is for pipelines, and a file of machines has none",
                    "6:21: \"0s\" is no duration: it must be longer than zero",
                ],
            ),
            (
                "[machines.a]\nlisten = \"tcp/1.2.3.4:5\"\n[machines.b]\nlisen = 1\n".to_owned(),
                vec![
                    "2:10: \"tcp/1.2.3.4:5\" is no address of a machine",
                    "4:1: unknown key `lisen`",
                ],
            ),
        ] {
            let found = errors(&text);
            assert_eq!(found.len(), expected.len(), "{found:?}");
            for (found, expected) in found.iter().zip(expected) {
                let expected = format!("machines.toml:{expected}");
                assert!(found.starts_with(&expected), "{found} {expected}");
            }
        }
    }
}
