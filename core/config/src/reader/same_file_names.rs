//! Reports stages on one machine that write files of the same names into one folder: each would replace those of the
//! other.

use super::Surroundings;
use super::error::Findings;
use super::known_contestants::{KnownContestant, known_contestants};
use super::named_files::FileIdentity;
use super::problem::Problem;
use super::shared_files::{NamedPath, named_paths};
use super::written::stage::WrittenStage;
use crate::manifest::effects::PathUse;
use crate::pipeline::Pipeline;

/// The format of a config key with the names of the files that a stage writes into its folder.
const FILE_NAMES: &str = "file-names";

/// What stands in such names for the next number that no file in the folder has: no file is replaced.
const FREE_NUMBER: &str = "{number}";

/// A stage that writes files into a folder, each of which replaces one of its name.
struct FolderWriter<'a> {
    path: NamedPath<'a>,
    names: &'a str,
    /// Empty: the folder is not there, nor is the one above it.
    folder: Vec<FileIdentity>,
}

/// Reports each stage that writes the same files as an earlier one. Names are the same if they are written alike.
pub(super) fn check(
    written: &[WrittenStage<'_, '_>],
    pipeline: &Pipeline,
    given: Surroundings<'_>,
    findings: &mut Findings,
) {
    let contestants = known_contestants(written, pipeline, given);
    let writers: Vec<_> = contestants.flat_map(|of| writers(of, given)).collect();
    for (at, writer) in writers.iter().enumerate() {
        let number = writer.path.of.number;
        let is_same = |other: &&FolderWriter<'_>| {
            other.path.of.number != number
                && pipeline.machines.share(other.path.of.number, number)
                && other.names == writer.names
                && other.has_folder_of(writer)
        };
        let Some(first) = writers[..at].iter().find(is_same) else {
            continue;
        };
        let problem = Problem::SameFileNames {
            stage: writer.path.of.stage.name.clone(),
            other: first.path.of.stage.name.clone(),
            folder: writer.path.path.to_owned(),
            names: writer.names.to_owned(),
        };
        let label = "they are written here too";
        writer
            .path
            .key
            .report_beside(&first.path.key, label, problem, findings);
    }
}

impl FolderWriter<'_> {
    fn has_folder_of(&self, other: &Self) -> bool {
        match self.folder.is_empty() && other.folder.is_empty() {
            true => self.path.path == other.path.path,
            false => self.folder.iter().any(|it| other.folder.contains(it)),
        }
    }
}

/// The folders into which a plugin writes such files with its config.
fn writers<'a>(of: KnownContestant<'a>, given: Surroundings<'_>) -> Vec<FolderWriter<'a>> {
    let Some(names) = replaced_names(of) else {
        return Vec::new();
    };
    let paths = named_paths(of).into_iter();
    let written = paths.filter(|it| it.used == PathUse::Written);
    let writers = written.map(|path| FolderWriter {
        names,
        folder: given.files.leads_to(path.path, path.used),
        path,
    });
    writers.collect()
}

/// The names of the files that a plugin writes with its config. `None`: it declares none, or no file is replaced.
fn replaced_names(of: KnownContestant<'_>) -> Option<&str> {
    let (manifest, config) = (of.manifest, &of.contestant.config);
    let mut keys = manifest
        .keys()
        .filter(|key| manifest.format(key) == Some(FILE_NAMES));
    let names = keys.find_map(|key| manifest.value(config, key));
    let names = names?.as_str()?;
    (!names.contains(FREE_NUMBER)).then_some(names)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use serde_json::json;

    use super::super::read_bytes;
    use super::super::testing::{FakePlugins, LeadsTo, plugins};
    use super::*;
    use crate::manifest::Manifest;

    /// Each path leads to the folder of its first letter, and `-` to nothing.
    const LETTERS: LeadsTo = LeadsTo(|path| match &path[..1] {
        "-" => Vec::new(),
        name => vec![FileIdentity::Folder(PathBuf::from(name))],
    });

    fn known() -> FakePlugins {
        let manifest = json!({
            "name": "pictures", "role": "stage", "doc": "", "outputs": [],
            "inputs": [{ "name": "in", "schema": "*" }],
            "effects": [{ "effect": "writes-files", "key": "folder" }],
            "config": { "type": "object", "properties": {
                "folder": { "type": "string" },
                "name": { "type": "string", "format": "file-names", "default": "{number}.png" },
            } },
        });
        let manifest: Manifest = serde_json::from_value(manifest).unwrap();
        plugins().with(manifest)
    }

    fn errors_of(text: &str) -> Vec<String> {
        let read = read_bytes("x.toml", text.as_bytes(), &known(), &[], &LETTERS);
        let errors = read.err().unwrap_or_default();
        errors
            .iter()
            .map(|it| match it.help() {
                Some(help) => format!("{it}; {help}"),
                None => it.to_string(),
            })
            .collect()
    }

    fn errors(one: &str, two: &str) -> Vec<String> {
        errors_of(&format!(
            "[stages.in]\nplugin = \"capture-files\"\nconfig = {{ paths = [\"x\"] }}\n\
             [stages.one]\nplugin = \"pictures\"\nfrom = \"in\"\nconfig = {{ {one} }}\n\
             [stages.two]\nplugin = \"pictures\"\nfrom = \"in\"\nconfig = {{ {two} }}\n"
        ))
    }

    #[test]
    fn files_of_one_name_in_one_folder_have_one_writer() {
        let frames = "name = \"{frame}.png\"";
        let of = |folder: &str| format!("folder = \"{folder}\", {frames}");
        let expected = "x.toml:11:21: `two` writes \"{frame}.png\" into the folder \"a/b\", and so does `one`: each would \
                        replace the files of the other; name another folder, or give the files of one of them other names";
        assert_eq!(errors(&of("a"), &of("a/b")), [expected]);
        // A folder that is not there yet has the same path.
        assert_eq!(errors(&of("-a"), &of("-a")).len(), 1);
        let last = "folder = \"a\", name = \"last.png\"";
        assert_eq!(errors(last, last).len(), 1);
        for (one, two) in [
            (of("a"), of("b")),
            (of("-a"), of("-b")),
            (of("-a"), of("a")),
            (of("a"), last.to_owned()),
            (of("a"), "folder = \"a\"".to_owned()),
        ] {
            assert_eq!(errors(&one, &two), [""; 0], "{one} {two}");
        }
        // Numbers that no file has.
        for numbered in ["folder = \"a\"", "folder = \"a\", name = \"b{number}.png\""] {
            assert_eq!(errors(numbered, numbered), [""; 0], "{numbered}");
        }
    }

    #[test]
    fn each_machine_has_folders() {
        let errors = |one: &str, two: &str| {
            let config = "config = { folder = \"a\", name = \"last.png\" }";
            errors_of(&format!(
                "[machines.a]\nlisten = \"tcp/127.0.0.1:7447\"\n[machines.b]\n\
                 listen = \"tcp/127.0.0.1:7448\"\n[machines.c]\n\
                 [stages.in]\nplugin = \"capture-files\"\nconfig = {{ paths = [\"x\"] }}\nmachine = \"c\"\n\
                 [stages.one]\nplugin = \"pictures\"\nfrom = \"in\"\n{config}\nmachine = \"{one}\"\n\
                 [stages.two]\nplugin = \"pictures\"\nfrom = \"in\"\n{config}\nmachine = \"{two}\"\n"
            ))
        };
        let is_refused =
            |errors: Vec<String>| errors.iter().any(|it| it.contains("and so does `one`"));
        assert!(!is_refused(errors("a", "b")));
        assert!(is_refused(errors("a", "a")));
    }
}
