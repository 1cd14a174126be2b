//! The files that a pipeline names.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use flowpipe_config::manifest::effects::PathUse;
use flowpipe_config::message_schema::MAX_BYTES;
use flowpipe_config::reader::{self, FileIdentity};
use flowpipe_output::open_regular;

use super::paths::{ToRead, joined, to_read};
use crate::outputs;

/// Files whose relative paths start at a folder. Those that are read here are never written by this process.
pub struct NamedFiles {
    folder: PathBuf,
}

impl NamedFiles {
    /// The files of a pipeline in a folder; `None`: in the working directory.
    pub fn of(folder: Option<&Path>) -> Self {
        Self {
            folder: folder.map(Path::to_owned).unwrap_or_default(),
        }
    }
}

impl reader::NamedFiles for NamedFiles {
    fn read(&self, file: &str) -> Result<Vec<u8>, String> {
        if file.is_empty() {
            return Err("its name is empty".to_owned());
        }
        let path = self.folder.join(file);
        let read = || {
            let mut bytes = Vec::new();
            // One byte more shows that the file is too large.
            let mut file = open_regular(&path)?.take(MAX_BYTES as u64 + 1);
            file.read_to_end(&mut bytes)?;
            std::io::Result::Ok(bytes)
        };
        let bytes = read().map_err(|error| format!("{}: {error}", path.display()))?;
        outputs::note_input(path);
        Ok(bytes)
    }

    fn leads_to(&self, path: &str, used: PathUse) -> Vec<FileIdentity> {
        let folder = self.folder.to_str().unwrap_or_default();
        if used == PathUse::Written {
            let path = joined(folder, path).unwrap_or_else(|| path.to_owned());
            let path = Path::new(&path);
            return identity(path)
                .or_else(|| folder_at(path))
                .into_iter()
                .collect();
        }
        let path = match to_read(folder, path) {
            ToRead::Beside(beside) => beside,
            ToRead::AsWritten | ToRead::Here { .. } => path.to_owned(),
        };
        let path = Path::new(&path);
        let mut files = outputs::files_of(path);
        let mut used = folders_of(path, &files);
        if files.is_empty() {
            files.push(path.to_owned());
        }
        used.extend(files.iter().filter_map(|it| identity(it)));
        used
    }
}

/// The folders all of whose files are read at a path that leads to these files: the one there, or those of a pattern of
/// any names. A pattern such as `board-*.png` may be for some of the files of a folder.
fn folders_of(path: &Path, files: &[PathBuf]) -> Vec<FileIdentity> {
    let name = path.file_name().and_then(OsStr::to_str);
    let is_any = name.is_some_and(|it| it.starts_with('*'));
    let of_files = files.iter().filter_map(|it| it.parent());
    let named = of_files.chain(path.parent()).filter(|_| is_any);
    let named: BTreeSet<&Path> = named.chain([path]).collect();
    named.into_iter().filter_map(folder_at).collect()
}

/// The folder at a path.
fn folder_at(path: &Path) -> Option<FileIdentity> {
    let path = match path.as_os_str().is_empty() {
        true => Path::new("."),
        false => path,
    };
    let path = path.canonicalize().ok()?;
    path.is_dir().then_some(FileIdentity::Folder(path))
}

/// A regular file, or one that is not there. `None`: something else is, or its folder is not there.
fn identity(path: &Path) -> Option<FileIdentity> {
    let Ok(metadata) = std::fs::metadata(path) else {
        let folder = match path.parent()? {
            folder if folder.as_os_str().is_empty() => Path::new("."),
            folder => folder,
        };
        let folder = folder.canonicalize().ok()?;
        return Some(FileIdentity::Path(folder.join(path.file_name()?)));
    };
    if !metadata.is_file() {
        return None;
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        Some(FileIdentity::Inode(metadata.dev(), metadata.ino()))
    }
    #[cfg(not(unix))]
    path.canonicalize().ok().map(FileIdentity::Path)
}

#[cfg(test)]
mod tests {
    use flowpipe_config::reader::NamedFiles as _;

    use super::*;

    #[test]
    fn a_file_is_read_from_its_folder_up_to_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let files = NamedFiles::of(Some(folder.path()));
        std::fs::write(folder.path().join("a.json"), "{}").unwrap();
        assert_eq!(files.read("a.json").unwrap(), b"{}");
        assert_eq!(files.read("./a.json").unwrap(), b"{}");
        // A sparse file: none of it is on the disk.
        let large = std::fs::File::create(folder.path().join("large.json")).unwrap();
        large.set_len(100 << 20).unwrap();
        assert_eq!(files.read("large.json").unwrap().len(), MAX_BYTES + 1);
        for missing in ["", "b.json", "a.json/b", "a\0b"] {
            files.read(missing).unwrap_err();
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_to_regular_files_only() {
        use std::os::unix::fs::symlink;

        let folder = tempfile::tempdir().unwrap();
        let files = NamedFiles::of(Some(folder.path()));
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("a.json"), "{}").unwrap();
        for (name, to) in [
            ("good", "a.json"),
            ("dangling", "b.json"),
            ("itself", "itself"),
            ("folder", "."),
            ("endless", "/dev/zero"),
        ] {
            symlink(to, at(name)).unwrap();
        }
        assert_eq!(files.read("good").unwrap(), b"{}");
        let pipe = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), pipe, rustix::fs::Mode::RWXU, 0).unwrap();
        for (name, why) in [
            ("dangling", "No such file"),
            ("itself", "symbolic links"),
            ("folder", "this is a folder"),
            ("endless", "this is a device or a pipe"),
            ("pipe", "this is a device or a pipe"),
        ] {
            let reason = files.read(name).unwrap_err();
            assert!(reason.contains(why), "{name}: {reason}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_file_is_the_same_by_each_of_its_names() {
        use std::os::unix::fs::symlink;

        let folder = tempfile::tempdir().unwrap();
        let files = NamedFiles::of(Some(folder.path()));
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("in")).unwrap();
        std::fs::write(at("in/a"), "").unwrap();
        std::fs::write(at("in/b"), "").unwrap();
        symlink("in/a", at("link")).unwrap();
        std::fs::hard_link(at("in/a"), at("hard")).unwrap();
        symlink("in", at("other")).unwrap();
        let written = |path: &str| files.leads_to(path, PathUse::Written);
        let read = |path: &str| files.leads_to(path, PathUse::Read);
        let whole = at("in/a").display().to_string();
        for name in [
            "in/a",
            "./in/a",
            "link",
            "hard",
            "other/a",
            "in/../in/a",
            &whole,
        ] {
            assert_eq!(written(name), read("in/a"), "{name}");
        }
        assert_ne!(written("in/b"), read("in/a"));
        // One that is not there yet.
        assert_eq!(written("in/c"), read("other/c"));
        assert_ne!(written("in/c"), read("other/d"));
        for all in ["in", "in/*", "other/?"] {
            let found = read(all);
            let names = ["in/a", "in/b"].map(|it| written(it).pop().unwrap());
            assert!(names.iter().all(|it| found.contains(it)), "{all}");
            // Also the folder, unless there may be files in it that are not read.
            let of_folder = written("other").pop().unwrap();
            assert_eq!(found.contains(&of_folder), all != "other/?", "{all}");
            let others = found.iter().filter(|it| !names.contains(it));
            assert!({ others }.all(|it| *it == of_folder), "{all}");
        }
        assert_eq!(written("in"), written("other"));
        assert_ne!(written("in"), written("."));
        assert!(!read("in/a").contains(&written("in")[0]));
        assert_eq!(written("/dev/null"), []);
        assert_eq!(read("/dev/null"), []);
        assert_eq!(written("no/folder"), []);
    }
}
