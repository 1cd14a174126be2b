//! The files, a bounded number of them.

use std::collections::VecDeque;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use flowpipe_output::OutputFile;
use flowpipe_plugin::{Error, Result, tracing};

use crate::config::WhenFull;
use crate::pattern::{Number, Pattern};

/// A folder of pictures.
pub struct Pictures {
    folder: PathBuf,
    pattern: Pattern,
    most: usize,
    when_full: WhenFull,
    /// The names of the pictures that lie there, the oldest first.
    names: VecDeque<String>,
    /// The number of the next picture.
    next: u64,
    /// That no further picture is written was logged.
    is_reported: bool,
}

impl Pictures {
    /// Creates the folder if it is not there, and finds the pictures of earlier runs.
    ///
    /// # Errors
    /// When it can't be created or read, or contains files of others.
    pub fn open(folder: &str, pattern: Pattern, most: usize, when_full: WhenFull) -> Result<Self> {
        let unusable = |error: io::Error| {
            Error::bad_config(format!(
                "the folder {folder} can't be used for pictures: {error}"
            ))
        };
        flowpipe_output::own_folder(Path::new(folder)).map_err(unusable)?;
        let mut found = found(Path::new(folder), &pattern).map_err(unusable)?;
        found.sort();
        let newest = found.iter().map(|(_, number, _)| *number).max();
        Ok(Self {
            folder: folder.into(),
            pattern,
            most,
            when_full,
            names: found.into_iter().map(|(_, _, name)| name).collect(),
            next: newest.map_or(1, |number| number.saturating_add(1)),
            is_reported: false,
        })
    }

    /// Whether a further picture is written.
    pub fn has_room(&mut self, frame: u64) -> bool {
        let is_full = self.when_full == WhenFull::DropNewest
            && self.names.len() >= self.most
            && !self.names.contains(&self.name(frame));
        if is_full && !std::mem::replace(&mut self.is_reported, true) {
            let folder = self.folder.display();
            tracing::warn!(
                "{folder} has {} pictures: no further one is written (`most`)",
                self.names.len()
            );
        }
        !is_full
    }

    /// Writes a picture of the frame of that number. The file has its name only when it is whole.
    ///
    /// # Errors
    /// When it can't be written, or an old one can't be removed.
    pub fn write(&mut self, frame: u64, content: &[u8]) -> Result<()> {
        let name = self.name(frame);
        let replaced = self.names.iter().rposition(|it| *it == name);
        while replaced.is_none() && self.names.len() >= self.most {
            self.remove_oldest()?;
        }
        let path = self.folder.join(&name);
        write_derived(&path, content).map_err(|error| {
            Error::from(error).context(format!("can't write {}", path.display()))
        })?;
        if let Some(place) = replaced {
            self.names.remove(place);
        }
        self.names.push_back(name);
        self.next = self.next.saturating_add(1);
        Ok(())
    }

    fn name(&self, frame: u64) -> String {
        self.pattern.name(match self.pattern.number() {
            Some(Number::Frame) => frame,
            _ => self.next,
        })
    }

    fn remove_oldest(&mut self) -> Result<()> {
        let Some(name) = self.names.front() else {
            return Ok(());
        };
        let path = self.folder.join(name);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(Error::from(error).context(format!("can't remove {}", path.display())));
            }
            // Who took it away has what is wanted.
            _ => self.names.pop_front(),
        };
        Ok(())
    }
}

/// The pictures in a folder: when they were written, their numbers and names.
fn found(folder: &Path, pattern: &Pattern) -> io::Result<Vec<(SystemTime, u64, String)>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        if let Some(number) = pattern.number_of(&name) {
            let metadata = entry.metadata()?;
            if metadata.is_file() {
                let written = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                found.push((written, number, name));
            }
        }
    }
    Ok(found)
}

/// Writes a file whose name was derived: a link there is not followed.
fn write_derived(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = OutputFile::create_derived(path)?;
    file.write_all(content)?;
    file.commit()
}
