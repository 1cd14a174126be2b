//! The plugins that were found, and the files that were refused.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::config::Plugins;
use crate::manifest::{Manifest, Port, config_schema};
use crate::plugin::inspect::{self, Unloadable};
use crate::plugin::library_file::LibraryFile;
use crate::plugin::loader;
use crate::plugin::origin::Origin;
use crate::plugin::scanner::{Scanned, Scanner};
use crate::plugin::write_access;

/// What a search through plugin folders brought.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    stages: Vec<Found>,
    refused: Vec<Refused>,
    not_plugins: Vec<Refused>,
}

/// A stage that can be used.
#[derive(Clone, Debug)]
pub struct Found {
    /// What it says of itself.
    pub manifest: Manifest,
    /// The library that it comes from.
    pub path: PathBuf,
    pub(crate) file: Arc<LibraryFile>,
    pub(crate) index: u32,
}

impl Found {
    /// The manifest as the library has it.
    #[cfg(unix)]
    pub(crate) fn manifest_text(&self) -> &str {
        let texts = &self.file.manifests;
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
    /// Whether its code was run to find that out.
    pub was_loaded: bool,
}

/// A library that may be loaded.
struct Candidate {
    path: PathBuf,
    origin: Origin,
}

const ROLES: [&str; 6] = [
    "capture", "vision", "solver", "planner", "actuator", "stage",
];

impl Catalogue {
    /// Finds the stages of all dynamic libraries in these folders (not in folders below them). When two stages
    /// have one name, that of the earlier folder is used; within a folder files go by name.
    ///
    /// No file is loaded that does not export the entry symbol of a plugin, and none to which, or to whose folders, other users can
    /// write. The scanner loads what is left, to read its manifests. This process loads a library when one of its stages is made
    /// here.
    ///
    /// Called again it gives what lies there now. Of files that have changed, those of now are loaded beside the old ones, which are
    /// never unloaded. Files must be replaced (as linkers, package managers and `mv` do), not written into: what is written into a
    /// loaded library changes it as it runs.
    #[must_use]
    pub fn scan(folders: &[PathBuf], scanner: &Scanner) -> Self {
        let mut catalogue = Self::default();
        let mut seen = HashSet::new();
        let mut candidates = Vec::new();
        for folder in folders {
            match libraries(folder) {
                Ok(paths) => {
                    for path in paths {
                        // Two folders may be one, and files may be links to each other.
                        if seen.insert(path.canonicalize().unwrap_or_else(|_| path.clone())) {
                            candidates.extend(catalogue.candidate(path, false));
                        }
                    }
                }
                Err(reason) => catalogue.refuse(folder, None, reason, false),
            }
        }
        catalogue.add(candidates, scanner, false);
        catalogue
    }

    /// Finds the stages of a single dynamic library, which the user named: it may lie anywhere.
    #[must_use]
    pub fn of_file(path: &Path, scanner: &Scanner) -> Self {
        let mut catalogue = Self::default();
        // A name without a folder is looked for elsewhere by the system.
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let candidate = catalogue.candidate(path, true);
        catalogue.add(candidate.into_iter().collect(), scanner, true);
        // Whoever names it wants to know.
        let not_plugins = std::mem::take(&mut catalogue.not_plugins);
        catalogue.refused.extend(not_plugins);
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

    /// The files that end like libraries and are no plugins. They were not loaded.
    #[must_use]
    pub fn not_plugins(&self) -> &[Refused] {
        &self.not_plugins
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

    /// Looks into a file.
    fn candidate(&mut self, path: PathBuf, is_named: bool) -> Option<Candidate> {
        let allowed = match is_named {
            true => Ok(()),
            false => write_access::check(&path).map_err(|error| error.to_string()),
        };
        let origin = allowed
            .and_then(|()| Origin::open(&path).map_err(|error| format!("can't be read: {error}")));
        let origin = match origin {
            Ok(origin) => origin,
            Err(reason) => {
                self.refuse(&path, None, reason, false);
                return None;
            }
        };
        match inspect::inspect(origin.file()) {
            Ok(()) => Some(Candidate { path, origin }),
            Err(Unloadable::Damaged(reason)) => {
                self.refuse(&path, None, reason, false);
                None
            }
            Err(Unloadable::NotAPlugin(reason)) => {
                tracing::debug!(path = %path.display(), reason, "no plugin");
                self.not_plugins.push(Refused {
                    path,
                    name: None,
                    reason,
                    was_loaded: false,
                });
                None
            }
        }
    }

    /// Takes the stages of files in.
    fn add(&mut self, candidates: Vec<Candidate>, scanner: &Scanner, is_named: bool) {
        let paths: Vec<_> = candidates.iter().map(|it| it.path.as_path()).collect();
        let all = scanner.scan(&paths);
        for (candidate, scanned) in candidates.into_iter().zip(all) {
            self.add_one(candidate, scanned, is_named);
        }
    }

    fn add_one(&mut self, candidate: Candidate, scanned: Scanned, is_named: bool) {
        let Candidate { path, origin } = candidate;
        let manifests = match scanned {
            Ok(manifests) => manifests,
            Err(reason) => return self.refuse(&path, None, reason, true),
        };
        let file = Arc::new(LibraryFile::new(path, origin, manifests, is_named));
        for (index, text) in (0..).zip(&file.manifests) {
            match read_manifest(text) {
                Err(reason) => {
                    let reason = format!("the manifest of stage {index}: {reason}");
                    self.refuse(&file.path, None, reason, true);
                }
                Ok(manifest) => match self.find(&manifest.name) {
                    Some(first) => {
                        let reason = format!("hidden by {}", first.path.display());
                        self.refuse(&file.path, Some(manifest.name), reason, true);
                    }
                    None => {
                        self.stages.push(Found {
                            manifest,
                            path: file.path.clone(),
                            file: file.clone(),
                            index,
                        });
                    }
                },
            }
        }
    }

    fn refuse(&mut self, path: &Path, name: Option<String>, reason: String, was_loaded: bool) {
        tracing::debug!(path = %path.display(), reason, "refused");
        self.refused.push(Refused {
            path: path.to_owned(),
            name,
            reason,
            was_loaded,
        });
    }
}

impl From<Found> for Catalogue {
    fn from(found: Found) -> Self {
        Self {
            stages: vec![found],
            ..Self::default()
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
fn libraries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let cant = |error: std::io::Error| format!("can't be listed: {error}");
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(cant)?,
    };
    write_access::check(folder).map_err(|error| format!("nothing in it is loaded: {error}"))?;
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(cant)?.path();
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
