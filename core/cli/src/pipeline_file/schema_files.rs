//! The files with JSON Schemas that a pipeline names.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use flowpipe_config::message_schema::MAX_BYTES;
use flowpipe_config::reader;
use flowpipe_output::open_regular;

use crate::outputs;

/// Files whose relative paths start at a folder. They are never written by this process.
pub struct SchemaFiles {
    folder: PathBuf,
}

impl SchemaFiles {
    /// The files of a pipeline in a folder; `None`: in the working directory.
    pub fn of(folder: Option<&Path>) -> Self {
        Self {
            folder: folder.map(Path::to_owned).unwrap_or_default(),
        }
    }
}

impl reader::SchemaFiles for SchemaFiles {
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
}

#[cfg(test)]
mod tests {
    use flowpipe_config::reader::SchemaFiles as _;

    use super::*;

    #[test]
    fn a_file_is_read_from_its_folder_up_to_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let files = SchemaFiles::of(Some(folder.path()));
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
        let files = SchemaFiles::of(Some(folder.path()));
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
}
