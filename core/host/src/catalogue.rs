//! The plugins that were found, and the files that were refused.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flowpipe_config::manifest::{Manifest, read_accepted_manifest, read_manifest};
use flowpipe_config::reader::Plugins;
use serde_json::Value;

use crate::library::inspect::{self, Unloadable};
use crate::library::library_file::LibraryFile;
use crate::library::loader;
use crate::library::pinned_file::PinnedFile;
use crate::library::write_access;

/// The result of a search through plugin folders.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    stages: Vec<Found>,
    refused: Vec<Refused>,
    not_plugins: Vec<Refused>,
    /// The program's own folders.
    own: OwnFolders,
}

/// A stage that can be used.
#[derive(Clone, Debug)]
pub struct Found {
    /// What it declares.
    pub manifest: Manifest,
    /// The library that it comes from.
    pub path: PathBuf,
    /// That library, loaded when its first stage is created.
    pub file: Arc<LibraryFile>,
    /// Its place among the stages of the library.
    pub index: u32,
    /// Whether the library lies in one of the program's own folders: see [`Catalogue::scan_with`].
    pub is_own: bool,
}

/// The folders of plugins that belong to the program.
#[derive(Clone, Debug, Default)]
struct OwnFolders(Vec<PathBuf>);

impl OwnFolders {
    fn new(folders: &[PathBuf]) -> Self {
        let resolved = folders.iter().filter_map(|it| it.canonicalize().ok());
        Self(folders.iter().cloned().chain(resolved).collect())
    }

    /// Whether a library lies in one of them.
    fn contain(&self, library: &Path) -> bool {
        let is_in = |path: &Path| {
            let folder = path.parent();
            folder.is_some_and(|folder| self.0.iter().any(|own| own == folder))
        };
        is_in(library) || library.canonicalize().is_ok_and(|path| is_in(&path))
    }
}

impl Found {
    /// The stage with a config, which may declare ports: see [`Manifest::with_config`].
    #[must_use]
    pub fn with_config(&self, config: &Value) -> Self {
        let mut found = self.clone();
        if let Cow::Owned(manifest) = self.manifest.with_config(config) {
            found.manifest = manifest;
        }
        found
    }

    /// Whether both are the same stage of the same version of a library.
    #[must_use]
    pub fn is_same_code(&self, other: &Self) -> bool {
        self.file.is_same(&other.file) && self.index == other.index
    }

    /// The manifest as the library has it.
    #[cfg(unix)]
    pub fn manifest_text(&self) -> &str {
        let texts = &self.file.manifests;
        texts.get(self.index as usize).map_or("", |text| text)
    }
}

/// A file, or a stage in it, that can't be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The file or folder.
    pub path: PathBuf,
    /// The stage's name, if the file itself is valid.
    pub name: Option<String>,
    /// Why, in a sentence that fits after the file's name.
    pub reason: String,
    /// Whether its code was run to find that out.
    pub was_loaded: bool,
}

/// Reads the manifests of libraries. It has to load them for that.
pub trait Scan {
    /// The manifests of these files, one after the other.
    fn scan(&self, paths: &[&Path]) -> Vec<Scanned>;

    /// The manifests of an open file, if they were read before and accepted by [`read_manifest`], and the file has not
    /// changed since. It is neither inspected nor scanned again.
    fn known(&self, path: &Path, file: &File) -> Option<Vec<String>> {
        let _ = (path, file);
        None
    }
}

/// The manifests' texts by stage index, or why they can't be read.
pub type Scanned = Result<Vec<String>, String>;

/// A library that may be loaded.
struct Candidate {
    path: PathBuf,
    pinned: PinnedFile,
    /// Its manifests, if they were accepted before.
    known: Option<Vec<String>>,
}

impl Catalogue {
    /// Finds the stages of all dynamic libraries in these folders (not in folders below them). An entry may also be a
    /// file. When two stages have one name, that of the earlier folder is used; within a folder files go by name.
    ///
    /// Loads no file that does not export the entry symbol of a plugin, and none that other users can write, or whose
    /// folders they can write. The scanner loads the rest, to read their manifests. This process loads a library when
    /// one of its stages is created here.
    ///
    /// Each call reads the folders again. A file that has changed is loaded beside its old version, which is never
    /// unloaded. Files must be replaced (as linkers, package managers and `mv` do), not written in place: writing to a
    /// loaded library changes code that is running.
    #[must_use]
    pub fn scan(folders: &[PathBuf], scanner: &dyn Scan) -> Self {
        Self::scan_with(folders, &[], scanner)
    }

    /// As [`Self::scan`]. `own`: those of the folders that belong to the program. Checks in them judge every message of
    /// their schemas, and no plugin of another folder takes their names.
    #[must_use]
    pub fn scan_with(folders: &[PathBuf], own: &[PathBuf], scanner: &dyn Scan) -> Self {
        let mut catalogue = Self {
            own: OwnFolders::new(own),
            ..Self::default()
        };
        let mut seen = HashSet::new();
        let mut candidates = Vec::new();
        for folder in folders {
            match libraries(folder) {
                Ok(paths) => {
                    for path in paths {
                        // Two folders may be one, and files may be links to each other.
                        if seen.insert(path.canonicalize().unwrap_or_else(|_| path.clone())) {
                            candidates.extend(catalogue.candidate(path, scanner, false));
                        }
                    }
                }
                Err(reason) => catalogue.refuse(folder, None, reason, false),
            }
        }
        catalogue.add(candidates, scanner, false);
        catalogue
    }

    /// Finds the stages of a single dynamic library, which the user named: it may be anywhere.
    #[must_use]
    pub fn of_file(path: &Path, scanner: &dyn Scan) -> Self {
        let mut catalogue = Self::default();
        // The system searches other folders for a name without a folder.
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let candidate = catalogue.candidate(path, scanner, true);
        catalogue.add(candidate.into_iter().collect(), scanner, true);
        // The user named it and gets the reason.
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

    /// The files with a library's extension that are no plugins. They were not loaded.
    #[must_use]
    pub fn not_plugins(&self) -> &[Refused] {
        &self.not_plugins
    }

    /// The stage of that name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Found> {
        self.stages.iter().find(|found| found.manifest.name == name)
    }

    /// Whether something was refused because a check of the program has its name.
    #[must_use]
    pub fn has_own_check_for(&self, refused: &Refused) -> bool {
        let found = refused.name.as_deref().and_then(|name| self.find(name));
        found.is_some_and(|found| found.is_own && found.manifest.is_check())
            && !self.own.contain(&refused.path)
    }

    /// Calls `deinit` of every library without live stages. Call it once, at the end of the program: the libraries
    /// can't be used afterwards.
    pub fn close(self) {
        loader::deinit_all();
    }

    /// Inspects a file, unless its manifests are known.
    fn candidate(
        &mut self,
        path: PathBuf,
        scanner: &dyn Scan,
        is_named: bool,
    ) -> Option<Candidate> {
        let allowed = match is_named {
            true => Ok(()),
            false => write_access::check(&path).map_err(|error| error.to_string()),
        };
        let pinned = allowed.and_then(|()| {
            PinnedFile::open(&path).map_err(|error| format!("can't be read: {error}"))
        });
        let pinned = match pinned {
            Ok(pinned) => pinned,
            Err(reason) => {
                self.refuse(&path, None, reason, false);
                return None;
            }
        };
        let known = scanner.known(&path, pinned.file());
        let inspected = match known {
            Some(_) => Ok(()),
            None => inspect::inspect(pinned.file()),
        };
        match inspected {
            Ok(()) => Some(Candidate {
                path,
                pinned,
                known,
            }),
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

    /// Adds the stages of files.
    fn add(&mut self, candidates: Vec<Candidate>, scanner: &dyn Scan, is_named: bool) {
        let unknown = candidates.iter().filter(|it| it.known.is_none());
        let unknown: Vec<_> = unknown.map(|it| it.path.as_path()).collect();
        let scanned = match unknown.is_empty() {
            true => Vec::new(),
            false => scanner.scan(&unknown),
        };
        let mut scanned = scanned.into_iter();
        for candidate in candidates {
            self.add_one(candidate, &mut scanned, is_named);
        }
    }

    /// Adds the stages of a file, with its known manifests or the next ones that were scanned.
    fn add_one(
        &mut self,
        candidate: Candidate,
        scanned: &mut impl Iterator<Item = Scanned>,
        is_named: bool,
    ) {
        let Candidate {
            path,
            pinned,
            known,
        } = candidate;
        let read = match known {
            Some(_) => read_accepted_manifest,
            None => read_manifest,
        };
        let missing = || Err("its manifests were not read".to_owned());
        let manifests = match known.map_or_else(|| scanned.next().unwrap_or_else(missing), Ok) {
            Ok(manifests) => manifests,
            Err(reason) => return self.refuse(&path, None, reason, true),
        };
        let is_own = self.own.contain(&path);
        let file = Arc::new(LibraryFile::new(path, pinned, manifests, is_named));
        for (index, text) in (0..).zip(&file.manifests) {
            match read(text) {
                Err(reason) => {
                    let reason = format!("the manifest of stage {index}: {reason}");
                    self.refuse(&file.path, None, reason, true);
                }
                Ok(manifest) => self.add_stage(Found {
                    manifest,
                    path: file.path.clone(),
                    file: file.clone(),
                    index,
                    is_own,
                }),
            }
        }
    }

    /// Adds a stage, unless one of its name is used. A check of the program takes its name from others.
    fn add_stage(&mut self, found: Found) {
        let name = &found.manifest.name;
        let first = self.stages.iter_mut().find(|it| it.manifest.name == *name);
        let (hidden, reason) = match first {
            None => return self.stages.push(found),
            Some(first) if found.is_own && found.manifest.is_check() && !first.is_own => {
                let own = found.path.display();
                let reason = format!("{own} has the check of this name, which no other replaces");
                (std::mem::replace(first, found), reason)
            }
            Some(first) => {
                let reason = format!("hidden by {}", first.path.display());
                (found, reason)
            }
        };
        self.refuse(&hidden.path, Some(hidden.manifest.name), reason, true);
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
    /// Whether the user means this by a plugin's name: compared with the manifest's name, or with the file's name if
    /// there is no manifest.
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

/// The dynamic libraries in a folder, by name. No such folder: none. A file: itself, whatever its name.
fn libraries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let cant = |error: std::io::Error| format!("can't be listed: {error}");
    if folder.is_file() {
        return Ok(vec![folder.to_owned()]);
    }
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
