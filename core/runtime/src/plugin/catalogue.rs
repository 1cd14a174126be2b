//! The plugins that were found, and the files that were refused.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::config::Plugins;
use crate::manifest::{Manifest, Port, config_schema};
use crate::plugin::loader::{self, Library};

/// What a search through plugin folders brought.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    stages: Vec<Found>,
    refused: Vec<Refused>,
}

/// A stage that can be used.
#[derive(Clone, Debug)]
pub struct Found {
    /// What it says of itself.
    pub manifest: Manifest,
    /// The library that it comes from.
    pub path: PathBuf,
    pub(crate) library: &'static Library,
    pub(crate) index: u32,
}

impl Found {
    /// The manifest as the library has it.
    #[cfg(unix)]
    pub(crate) fn manifest_text(&self) -> &str {
        let texts = &self.library.manifests;
        texts.get(self.index as usize).map_or("", |text| text)
    }
}

/// A file, or a stage in it, that can't be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The file or folder.
    pub path: PathBuf,
    /// The stage's name, where the file as such is sound.
    pub name: Option<String>,
    /// Why, in a sentence that fits behind the file's name.
    pub reason: String,
}

const ROLES: [&str; 6] = [
    "capture", "vision", "solver", "planner", "actuator", "stage",
];

impl Catalogue {
    /// Loads every dynamic library in these folders (not in folders below them). When two stages
    /// have one name, that of the earlier folder is used; within a folder files go by name.
    ///
    /// Called again it gives the libraries that are loaded already, and of files that have changed those of now: these
    /// are loaded beside the old ones, which are never unloaded. Files must be replaced (as linkers, package managers and `mv` do),
    /// not written into: what is written into a loaded library changes it as it runs.
    #[must_use]
    pub fn scan(folders: &[PathBuf]) -> Self {
        let mut catalogue = Self::default();
        let mut seen = HashSet::new();
        for folder in folders {
            match libraries(folder) {
                Ok(paths) => {
                    for path in paths {
                        // Two folders may be one, and files may be links to each other.
                        if seen.insert(path.canonicalize().unwrap_or_else(|_| path.clone())) {
                            catalogue.add(&path);
                        }
                    }
                }
                Err(error) => catalogue.refuse(folder, None, format!("can't be listed: {error}")),
            }
        }
        catalogue
    }

    /// Loads a single dynamic library.
    #[must_use]
    pub fn of_file(path: &Path) -> Self {
        let mut catalogue = Self::default();
        // A name without a folder is looked for elsewhere by the system.
        catalogue.add(&std::path::absolute(path).unwrap_or_else(|_| path.to_owned()));
        catalogue
    }

    /// The stages that can be used, in the order in which they were found.
    #[must_use]
    pub fn stages(&self) -> &[Found] {
        &self.stages
    }

    /// What can't be used, and why.
    #[must_use]
    pub fn refused(&self) -> &[Refused] {
        &self.refused
    }

    /// The stage of that name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Found> {
        self.stages.iter().find(|found| found.manifest.name == name)
    }

    /// Lets every library without living stages clean up. Call it once, at the end of the program:
    /// the libraries are of no use afterwards.
    pub fn close(self) {
        loader::deinit_all();
    }

    fn add(&mut self, path: &Path) {
        let library = match loader::load(path) {
            Ok(library) => library,
            Err(reason) => return self.refuse(path, None, reason),
        };
        for (index, text) in (0..).zip(&library.manifests) {
            match read_manifest(text) {
                Err(reason) => {
                    self.refuse(
                        path,
                        None,
                        format!("the manifest of stage {index}: {reason}"),
                    );
                }
                Ok(manifest) => match self.find(&manifest.name) {
                    Some(first) => {
                        let reason = format!("hidden by {}", first.path.display());
                        self.refuse(path, Some(manifest.name), reason);
                    }
                    None => {
                        self.stages.push(Found {
                            manifest,
                            path: path.to_owned(),
                            library,
                            index,
                        });
                    }
                },
            }
        }
    }

    fn refuse(&mut self, path: &Path, name: Option<String>, reason: String) {
        tracing::debug!(path = %path.display(), reason, "refused");
        self.refused.push(Refused {
            path: path.to_owned(),
            name,
            reason,
        });
    }
}

impl From<Found> for Catalogue {
    fn from(found: Found) -> Self {
        Self {
            stages: vec![found],
            refused: Vec::new(),
        }
    }
}

impl Plugins for Catalogue {
    fn manifest(&self, name: &str) -> Option<&Manifest> {
        self.find(name).map(|found| &found.manifest)
    }

    fn names(&self) -> Vec<&str> {
        self.stages
            .iter()
            .map(|found| found.manifest.name.as_str())
            .collect()
    }

    fn refused(&self, name: &str) -> Option<String> {
        let refused = self.refused.iter().find(|refused| refused.is_named(name))?;
        Some(format!("{}: {}", refused.path.display(), refused.reason))
    }
}

impl Refused {
    /// Whether this is what the user means by a plugin's name: by its manifest, or by the file's
    /// name where there is none to be read.
    fn is_named(&self, name: &str) -> bool {
        let stem = self
            .path
            .file_stem()
            .and_then(OsStr::to_str)
            .unwrap_or_default();
        let stem = stem
            .strip_prefix(std::env::consts::DLL_PREFIX)
            .unwrap_or(stem);
        match &self.name {
            Some(of) => of == name,
            None => stem.replace('_', "-") == name,
        }
    }
}

/// The dynamic libraries in a folder, by name. No such folder: none.
fn libraries(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let extension = path.extension().and_then(OsStr::to_str);
        if extension == Some(std::env::consts::DLL_EXTENSION) && path.is_file() {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// Reads and checks a manifest, as a library gives it.
///
/// # Errors
/// Why it can't be used, in words.
pub fn read_manifest(text: &str) -> Result<Manifest, String> {
    let manifest: Manifest =
        serde_json::from_str(text).map_err(|error| format!("it can't be read: {error}"))?;
    if !is_name(&manifest.name) {
        return Err(format!(
            "the name {:?} is not made of lower-case letters, digits and single hyphens",
            manifest.name
        ));
    }
    if !ROLES.contains(&manifest.role.as_str()) {
        let roles = ROLES.join(", ");
        return Err(format!("the role {:?} is none of {roles}", manifest.role));
    }
    check_ports(&manifest.inputs, "input")?;
    check_ports(&manifest.outputs, "output")?;
    if manifest
        .config
        .get("type")
        .is_none_or(|kind| kind != "object")
    {
        return Err("the config schema is not of type object".into());
    }
    config_schema(&manifest.config)
        .map_err(|error| format!("the config schema is not a JSON Schema: {error}"))?;
    Ok(manifest)
}

fn check_ports(ports: &[Port], kind: &str) -> Result<(), String> {
    let mut names = HashSet::new();
    for port in ports {
        if !is_name(&port.name) {
            return Err(format!("the {kind} name {:?} is not a name", port.name));
        }
        if !names.insert(&port.name) {
            return Err(format!("two {kind}s are named {:?}", port.name));
        }
        if !is_schema(&port.schema) {
            return Err(format!(
                "the {kind} {:?} has the schema {:?}, which is neither `*` nor like `maker.name/1`",
                port.name, port.schema
            ));
        }
    }
    Ok(())
}

fn is_name(name: &str) -> bool {
    let word = |word: &str| {
        !word.is_empty()
            && word
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    name.len() <= 64 && name.split('-').all(word)
}

fn is_schema(schema: &str) -> bool {
    let sound = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    schema == "*"
        || schema.split_once('/').is_some_and(|(name, version)| {
            !name.is_empty()
                && name.bytes().all(sound)
                && !version.is_empty()
                && version.bytes().all(|byte| byte.is_ascii_digit())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(text: &str) -> String {
        read_manifest(text).unwrap_err()
    }

    #[test]
    fn a_short_manifest_is_enough() {
        let manifest = read_manifest(r#"{"name": "sink-2", "role": "stage"}"#).unwrap();
        assert!(manifest.inputs.is_empty());
        assert_eq!(manifest.panic, "unwind");
    }

    #[test]
    fn bad_manifests_are_refused_with_the_reason() {
        assert!(reason("no").starts_with("it can't be read"));
        for name in ["", "A", "a_b", "-a", "a--b", "a b", "ä"] {
            let text = format!(r#"{{"name": "{name}", "role": "stage"}}"#);
            assert!(reason(&text).starts_with("the name"), "{name}");
        }
        assert!(reason(r#"{"name": "a", "role": "cook"}"#).starts_with("the role \"cook\""));
        let ports = |inputs: &str| {
            reason(&format!(
                r#"{{"name":"a","role":"stage","inputs":[{inputs}]}}"#
            ))
        };
        assert!(ports(r#"{"name":"in","schema":"x"}"#).contains("neither"));
        assert!(ports(r#"{"name":"In","schema":"*"}"#).contains("not a name"));
        assert!(
            ports(r#"{"name":"in","schema":"*"},{"name":"in","schema":"x/1"}"#)
                .contains("two inputs")
        );
        let config = |schema: &str| {
            reason(&format!(
                r#"{{"name":"a","role":"stage","config":{schema}}}"#
            ))
        };
        assert!(config("true").contains("not of type object"));
        assert!(config(r#"{"type":"string"}"#).contains("not of type object"));
        assert!(config(r#"{"type":"object","properties":3}"#).contains("not a JSON Schema"));
    }
}
