//! A library's file: its manifests are known, and it is loaded into this process when one of its stages is created
//! here.

use std::path::PathBuf;
use std::sync::OnceLock;

use crate::library::loader::{self, Library};
#[cfg(unix)]
use crate::library::pinned_file::FileState;
use crate::library::pinned_file::PinnedFile;
#[cfg(unix)]
use crate::library::write_access;

/// A file whose manifests were read.
#[derive(Debug)]
pub struct LibraryFile {
    /// Its path.
    pub path: PathBuf,
    /// The file that was inspected.
    pub(crate) pinned: PinnedFile,
    /// The manifests' texts, by stage index, as the scanner read them.
    pub manifests: Vec<String>,
    /// The user named this file: it is loaded from anywhere.
    pub is_named: bool,
    library: OnceLock<Result<&'static Library, String>>,
}

impl LibraryFile {
    pub(crate) fn new(
        path: PathBuf,
        pinned: PinnedFile,
        manifests: Vec<String>,
        is_named: bool,
    ) -> Self {
        Self {
            path,
            pinned,
            manifests,
            is_named,
            library: OnceLock::new(),
        }
    }

    /// Whether both are the same version of the same file.
    pub fn is_same(&self, other: &Self) -> bool {
        self.path == other.path && self.pinned.stamp == other.pinned.stamp
    }

    /// The library, loaded into this process. Its manifests must equal the scanned ones, so that each decision by a
    /// manifest holds for the code that runs. [control-thread]
    pub(crate) fn library(&self) -> Result<&'static Library, String> {
        self.library.get_or_init(|| self.load()).clone()
    }

    fn load(&self) -> Result<&'static Library, String> {
        #[cfg(unix)]
        let library = match self.replaced_file()? {
            None => loader::load(&self.path)?,
            Some(file) => {
                let file = file.try_clone_to_owned();
                let file = file.map_err(|error| format!("can't be read: {error}"))?;
                loader::load_open_file(&self.path, file, |_| {})?
            }
        };
        #[cfg(not(unix))]
        let library = loader::load(&self.path)?;
        match library.manifests == self.manifests {
            true => Ok(library),
            false => Err(format!(
                "{}: its manifests differ from the scanned ones: it is not used; `flowpipe plugins` reads them again",
                self.path.display()
            )),
        }
    }

    /// The open file, if there is another one at its path by now. Fails if the file was overwritten, or if others can
    /// write to it by now.
    #[cfg(unix)]
    pub fn replaced_file(&self) -> Result<Option<std::os::fd::BorrowedFd<'_>>, String> {
        let file = match self.pinned.state(&self.path) {
            FileState::InPlace => None,
            FileState::Replaced(file) => Some(file),
            FileState::Overwritten => {
                let file = self.path.display();
                return Err(format!(
                    "{file} was written into since it was scanned: SIGHUP or --watch reloads it"
                ));
            }
        };
        // A replaced file is read through its descriptor, not through its path.
        if file.is_none() && !self.is_named {
            write_access::check(&self.path).map_err(|error| error.to_string())?;
        }
        Ok(file)
    }
}
