//! Reports stages that write a file that another stage on the same machine reads, or into a folder all of which another one
//! reads: what is there would be destroyed before it is read, or read without end.

use super::Surroundings;
use super::error::Findings;
use super::given_key::GivenKey;
use super::known_contestants::{KnownContestant, known_contestants};
use super::named_files::FileIdentity;
use super::problem::Problem;
use super::written::stage::WrittenStage;
use crate::manifest::effects::{EffectKind, PathUse};
use crate::pipeline::Pipeline;

/// A path in the config of a stage.
pub(super) struct NamedPath<'a> {
    pub of: KnownContestant<'a>,
    pub path: &'a str,
    pub used: PathUse,
    /// The stage both reads and writes it.
    is_both: bool,
    pub key: GivenKey<'a>,
}

/// Reports each stage that writes what another one on its machine reads. Files that stages keep something in, which they
/// both read and write, may be shared.
pub(super) fn check(
    written: &[WrittenStage<'_, '_>],
    pipeline: &Pipeline,
    given: Surroundings<'_>,
    findings: &mut Findings,
) {
    let contestants = known_contestants(written, pipeline, given);
    let paths: Vec<_> = contestants.flat_map(named_paths).collect();
    let leads_to = |it: &NamedPath<'_>| given.files.leads_to(it.path, it.used);
    let (writers, readers): (Vec<_>, Vec<_>) =
        paths.iter().partition(|it| it.used == PathUse::Written);
    let files: Vec<_> = writers.iter().map(|it| leads_to(it)).collect();
    if files.iter().all(Vec::is_empty) {
        return;
    }
    let read: Vec<_> = readers.iter().map(|it| leads_to(it)).collect();
    for (writer, writes) in writers.iter().zip(&files) {
        let may_share = |reader: &NamedPath<'_>| {
            reader.of.number != writer.of.number
                && pipeline.machines.share(reader.of.number, writer.of.number)
                && !(reader.is_both && writer.is_both)
        };
        let candidates = readers.iter().zip(&read).filter(|(it, _)| may_share(it));
        let mut shared = candidates.filter_map(|(reader, reads)| {
            let shared = reads.iter().find(|it| writes.contains(it))?;
            Some((reader, matches!(shared, FileIdentity::Folder(_))))
        });
        if let Some((reader, is_folder)) = shared.next() {
            let [(writes, written), (reads, read)] =
                [writer, reader].map(|it| (it.of.stage.name.clone(), it.path.to_owned()));
            let problem = Problem::ReadAndWritten {
                writer: writes,
                written,
                reader: reads,
                read,
                is_folder,
            };
            writer
                .key
                .report_beside(&reader.key, "it is read here", problem, findings);
        }
    }
}

/// The paths that a plugin reads and writes with its config.
pub(super) fn named_paths(of: KnownContestant<'_>) -> Vec<NamedPath<'_>> {
    let (manifest, config) = (of.manifest, &of.contestant.config);
    let mut named = Vec::new();
    for effect in manifest.effects_with(config).into_iter().flatten() {
        let used = match effect.kind {
            EffectKind::ReadsFiles => PathUse::Read,
            EffectKind::WritesFiles => PathUse::Written,
            _ => continue,
        };
        let keys = effect.path_keys();
        named.extend(keys.iter().map(|key| (key.as_str(), used)));
    }
    let mut paths = Vec::new();
    for &(key, used) in &named {
        let is_both = named.iter().any(|&(other, it)| other == key && it != used);
        let value = manifest.value(config, key);
        let values = value.and_then(|it| it.as_array().map(Vec::as_slice));
        let values = values.or(value.map(std::slice::from_ref));
        let texts = values.into_iter().flatten().filter_map(|it| it.as_str());
        paths.extend(texts.map(|path| NamedPath {
            of,
            path,
            used,
            is_both,
            key: of.key(key),
        }));
    }
    paths
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use serde_json::{Value, json};

    use super::super::testing::{FakePlugins, LeadsTo, plugins};
    use super::super::{Setting, Target, read_bytes};
    use super::*;
    use crate::manifest::Manifest;

    /// Each path leads to the file of its first letter, or with a `/` behind it to the folder.
    const LETTERS: LeadsTo = LeadsTo(|path| {
        let name = PathBuf::from(&path[..1]);
        vec![match path.contains('/') {
            true => FileIdentity::Folder(name),
            false => FileIdentity::Path(name),
        }]
    });

    fn known() -> FakePlugins {
        let plugin = |name: &str, port: &str, effects: &Value| -> Manifest {
            let mut manifest = json!({
                "name": name, "role": "stage", "doc": "", "effects": effects, "inputs": [], "outputs": [],
                "config": { "type": "object", "properties": { "path": {}, "state": {} } },
            });
            manifest[port] = json!([{ "name": "port", "schema": "frame/1" }]);
            serde_json::from_value(manifest).unwrap()
        };
        let state = |kind: &str| json!({ "effect": kind, "key": "state" });
        let [reads, writes] =
            ["reads-files", "writes-files"].map(|kind| json!({ "effect": kind, "key": "path" }));
        let both = [state("reads-files"), state("writes-files")];
        plugins()
            .with(plugin(
                "reader",
                "outputs",
                &json!([reads, both[0], both[1]]),
            ))
            .with(plugin(
                "writer",
                "inputs",
                &json!([writes, both[0], both[1]]),
            ))
    }

    fn errors(read: &str, write: &str, settings: &[Setting]) -> Vec<String> {
        let text = format!(
            "[stages.in]\nplugin = \"reader\"\nconfig = {{ {read} }}\n\
             [stages.out]\nplugin = \"writer\"\nfrom = \"in\"\nconfig = {{ {write} }}\n"
        );
        let read = read_bytes("x.toml", text.as_bytes(), &known(), settings, &LETTERS);
        let errors = read.err().unwrap_or_default();
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_a_stage_reads_no_other_one_writes() {
        assert_eq!(
            errors("path = [\"b\", \"a\"]", "path = \"a2\"", &[]),
            ["x.toml:7:19: `out` writes \"a2\", which is the file \"a\" that `in` reads"]
        );
        assert_eq!(
            errors("path = \"a\"", "state = \"a\"", &[]),
            ["x.toml:7:20: `out` writes the file \"a\" that `in` reads"]
        );
        assert_eq!(
            errors("path = \"a/*.png\"", "path = \"a/\"", &[]),
            ["x.toml:7:19: `out` writes into the folder \"a/\", from which `in` reads \"a/*.png\""]
        );
        for (read, write) in [
            ("path = \"a/\"", "path = \"b/\""),
            ("path = \"a\"", "path = \"b\""),
            ("path = \"a\"", ""),
            ("", "path = \"a\""),
            ("state = \"a\"", "state = \"a\""),
            ("state = \"a\", path = \"a\"", "path = \"b\""),
        ] {
            assert_eq!(errors(read, write, &[]), [""; 0], "{read} {write}");
        }
    }

    #[test]
    fn a_setting_that_names_the_file_is_named() {
        let setting = Setting {
            flag: "--set out.path=a".to_owned(),
            target: Target::Stage("out".to_owned()),
            keys: vec!["path".to_owned()],
            value: json!("a"),
        };
        assert_eq!(
            errors("path = \"a\"", "path = \"b\"", &[setting]),
            ["--set out.path=a: `out` writes the file \"a\" that `in` reads"]
        );
    }

    #[test]
    fn each_machine_has_files() {
        let errors = |reader: &str, writer: &str| {
            let text = format!(
                "[machines.a]\nlisten = \"tcp/127.0.0.1:7447\"\n[machines.b]\n\
                 listen = \"tcp/127.0.0.1:7448\"\n[machines.c]\n\
                 [stages.other]\nplugin = \"reader\"\nmachine = \"c\"\n\
                 [stages.in]\nplugin = \"reader\"\nconfig = {{ path = \"f\" }}\n{reader}\n\
                 [stages.out]\nplugin = \"writer\"\nfrom = [\"in\", \"other\"]\nconfig = {{ path = \"f\" }}\n{writer}\n"
            );
            let read = read_bytes("x.toml", text.as_bytes(), &known(), &[], &LETTERS);
            let errors = read.err().unwrap_or_default();
            errors.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let is_refused = |errors: &[String]| errors.iter().any(|it| it.contains("writes the file"));
        let apart = errors("machine = \"a\"", "machine = \"b\"");
        assert_eq!(apart, [""; 0]);
        let workers = errors("machine = \"a\"", "machines = [\"b\", \"c\"]");
        assert_eq!(workers, [""; 0]);
        for writer in ["machine = \"a\"", "machines = [\"b\", \"a\"]"] {
            let together = errors("machine = \"a\"", writer);
            assert!(is_refused(&together), "{writer}: {together:?}");
        }
    }
}
