//! Which libraries a confined process may read besides the system's: those that it loads, those beside them, and those in
//! the folders in which the system's loader looks for what they are linked with, and for what that is linked with.
//!
//! Which folders these are is what a library says (DT_RUNPATH, DT_RPATH), and may be anything. So no folder is permitted,
//! but of each the ELF files that are named as libraries: whatever else lies there, or is led to by a link there, stays
//! out of reach. Folders and files that other users can write to are left out, as they are for plugins.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use flowpipe_confinement::SYSTEM;
use flowpipe_host::library::inspect::linking::{Linking, is_elf_library};
use flowpipe_host::library::write_access;

use crate::confinement::Unreadable;

/// So many folders of one library are looked into, and of those that it needs.
const MOST_FOLDERS: usize = 64;
/// So many libraries that one needs are looked into.
const MOST_NEEDED: usize = 512;
/// So many entries of a folder are looked at, and so many libraries in it permitted.
const MOST_ENTRIES: usize = 100_000;
const MOST_LIBRARIES: usize = 4096;

/// What is found.
#[derive(Debug, Default)]
pub(super) struct Libraries {
    pub files: BTreeSet<PathBuf>,
    pub unreadable: Vec<Unreadable>,
}

/// Finds what these libraries need. The libraries of folders in which the system's loader looks are taken in too, and may
/// have folders of their own.
pub(super) fn needed_by(libraries: &[PathBuf]) -> Libraries {
    let permitted = SYSTEM.iter().map(Path::new);
    let permitted = permitted.filter_map(|it| it.canonicalize().ok()).collect();
    let mut search = Search {
        permitted,
        others: Vec::new(),
        beside: HashSet::new(),
        folders: HashMap::new(),
        found: Libraries::default(),
    };
    // What the system's own libraries need lies in the system's folders.
    let others = folders_of_loader().into_iter();
    let others = others.filter_map(|it| it.canonicalize().ok());
    search.others = others.filter(|it| !search.is_permitted(it)).collect();
    for folder in &search.others {
        if write_access::check(folder).is_ok() {
            search.found.files.extend(safe_libraries_in(folder));
        }
    }
    libraries.iter().for_each(|it| search.library(it));
    search.found
}

struct Search {
    permitted: Vec<PathBuf>,
    others: Vec<PathBuf>,
    /// Folders of libraries that are loaded.
    beside: HashSet<PathBuf>,
    /// Those that were looked into, and why nothing in them may be read, where that is so.
    folders: HashMap<PathBuf, Option<String>>,
    found: Libraries,
}

/// One that is going to be loaded, and what it leads to.
struct Loaded<'a> {
    path: &'a Path,
    /// Folders that are left to it.
    folders: usize,
}

impl Search {
    fn library(&mut self, path: &Path) {
        self.found.files.insert(path.to_owned());
        let Ok(absolute) = std::path::absolute(path) else {
            return;
        };
        let folder = absolute.parent().unwrap_or(&absolute);
        if self.beside.insert(folder.to_owned()) {
            self.found.files.extend(libraries_in(folder));
        }
        let mut loaded = Loaded {
            path,
            folders: MOST_FOLDERS,
        };
        let mut seen = HashSet::from([absolute.clone()]);
        // With the folders that what needs them hands down.
        let mut queue = VecDeque::from([(absolute, Vec::new())]);
        while let Some((path, inherited)) = queue.pop_front() {
            let Some(linking) = Linking::of(&path) else {
                continue;
            };
            let (own, handed_down) = match linking.runpath.is_empty() {
                true => {
                    let all = [linking.rpath, inherited].concat();
                    (all.clone(), all)
                }
                // The loader ignores the other list then, but not those of who needs this library.
                false => (linking.runpath, inherited),
            };
            let own: BTreeSet<_> = own
                .iter()
                .filter_map(|folder| self.folder(&mut loaded, folder))
                .collect();
            for name in linking.needed {
                for found in self.places(&own, &name) {
                    if seen.len() < MOST_NEEDED && seen.insert(found.clone()) {
                        self.found.files.insert(found.clone());
                        queue.push_back((found, handed_down.clone()));
                    }
                }
            }
        }
    }

    /// Where a library lies that is needed. More than one: only one of them may be for this processor.
    fn places(&self, own: &BTreeSet<PathBuf>, name: &Path) -> Vec<PathBuf> {
        let places: Vec<PathBuf> = match name.is_absolute() {
            true => vec![name.to_owned()],
            false => {
                let folders = own.iter().chain(&self.others);
                folders.map(|folder| folder.join(name)).collect()
            }
        };
        let is_permitted = |it: &PathBuf| self.is_permitted(it) || write_access::check(it).is_ok();
        let places = places.into_iter();
        places
            .filter(|it| is_elf_library(it) && is_permitted(it))
            .collect()
    }

    /// A folder that a library names, where something in it may be read: its libraries are taken in.
    fn folder(&mut self, loaded: &mut Loaded<'_>, folder: &Path) -> Option<PathBuf> {
        let folder = folder.canonicalize().ok()?;
        if self.is_permitted(&folder) {
            return Some(folder);
        }
        if !self.folders.contains_key(&folder) {
            loaded.folders = loaded.folders.checked_sub(1)?;
            let refused = write_access::check(&folder).err();
            let refused = refused.map(|error| error.to_string());
            if refused.is_none() {
                self.found.files.extend(safe_libraries_in(&folder));
            }
            self.folders.insert(folder.clone(), refused);
        }
        match self.folders.get(&folder)? {
            None => Some(folder),
            Some(reason) => {
                self.found.unreadable.push(Unreadable {
                    library: loaded.path.to_owned(),
                    reason: reason.clone(),
                });
                None
            }
        }
    }

    fn is_permitted(&self, path: &Path) -> bool {
        self.permitted.iter().any(|it| path.starts_with(it))
    }
}

/// Those of [`libraries_in`] that other users can't write to.
fn safe_libraries_in(folder: &Path) -> impl Iterator<Item = PathBuf> {
    libraries_in(folder).filter(|it| write_access::check(it).is_ok())
}

/// The ELF files of a folder that are named as libraries.
fn libraries_in(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let is_library = |path: &PathBuf| {
        let name = path.file_name().and_then(OsStr::to_str);
        name.is_some_and(|name| name.ends_with(".so") || name.contains(".so."))
    };
    let entries = fs::read_dir(folder).into_iter().flatten();
    let paths = entries
        .take(MOST_ENTRIES)
        .flatten()
        .map(|entry| entry.path());
    let libraries = paths.filter(move |path| is_library(path) && is_elf_library(path));
    libraries.take(MOST_LIBRARIES)
}

/// Where else the system's loader looks for libraries.
fn folders_of_loader() -> Vec<PathBuf> {
    let named = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let named = env::split_paths(&named).filter(|path| path.is_absolute());
    named
        .chain(configured(Path::new("/etc/ld.so.conf")))
        .chain(configured_in("/etc/ld.so.conf.d"))
        .collect()
}

fn configured_in(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .flat_map(|entry| configured(&entry.path()))
        .collect()
}

fn configured(file: &Path) -> Vec<PathBuf> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let folders = text
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with('/'));
    folders.map(PathBuf::from).collect()
}
