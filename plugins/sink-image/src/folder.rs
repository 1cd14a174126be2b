//! The files, a bounded number of them.

use std::collections::VecDeque;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use flowpipe_output::OutputFile;
use flowpipe_plugin::{Error, Result, tracing};

use crate::config::WhenFull;
use crate::pattern::{Number, Pattern};

/// The most pictures of other stages that are skipped at once.
const MOST_OTHERS: u64 = 100_000;

/// The largest number that the next picture continues. No run writes so many pictures: a file with a larger number is of
/// others, and behind the largest of all there is none.
const LARGEST_NUMBER: u64 = 1_000_000_000_000;

/// A folder of pictures.
pub struct Pictures {
    folder: PathBuf,
    pattern: Pattern,
    most: usize,
    when_full: WhenFull,
    /// `None`: no picture has come. Until then, a stage that this one replaces may write.
    found: Option<FoundPictures>,
    /// That no further picture is written was logged.
    is_reported: bool,
}

/// The pictures in a folder.
struct FoundPictures {
    /// Their names, the oldest first.
    names: VecDeque<String>,
    /// The number of the next one.
    next: u64,
}

impl Pictures {
    /// Creates the folder if it is not there.
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
        std::fs::read_dir(folder).map_err(unusable)?;
        Ok(Self {
            folder: folder.into(),
            pattern,
            most,
            when_full,
            found: None,
            is_reported: false,
        })
    }

    /// Whether a further picture is written.
    ///
    /// # Errors
    /// When the folder can't be read.
    pub fn has_room(&mut self, frame: u64) -> Result<bool> {
        let most = self.most;
        let drops_newest = self.when_full == WhenFull::DropNewest;
        let (found, pattern) = self.found()?;
        let count = found.names.len();
        let is_full =
            drops_newest && count >= most && !found.names.contains(&found.name(pattern, frame));
        if is_full && !std::mem::replace(&mut self.is_reported, true) {
            let folder = self.folder.display();
            tracing::warn!("{folder} has {count} pictures: no further one is written (`most`)");
        }
        Ok(!is_full)
    }

    /// Writes a picture of the frame of that number. The file has its name only when it is whole. One with the number of
    /// the picture replaces none.
    ///
    /// # Errors
    /// When it can't be written, or an old one can't be removed.
    pub fn write(&mut self, frame: u64, content: &[u8]) -> Result<()> {
        let (most, folder) = (self.most, self.folder.clone());
        let (found, pattern) = self.found()?;
        let name = found.name(pattern, frame);
        let replaced = found.names.iter().rposition(|it| *it == name);
        while replaced.is_none() && found.names.len() >= most {
            found.remove_oldest(&folder)?;
        }
        let path = folder.join(&name);
        let failed = |error: io::Error| {
            Error::from(error).context(format!("can't write {}", path.display()))
        };
        if pattern.number() == Some(Number::Picture) {
            let numbers = found.next..found.next.saturating_add(MOST_OTHERS);
            let names = numbers.map(|number| (number, pattern.name(number)));
            let (number, name) = write_new(&folder, names, content).map_err(failed)?;
            found.names.push_back(name);
            found.next = number.saturating_add(1);
            return Ok(());
        }
        write_derived(&path, content).map_err(failed)?;
        if let Some(place) = replaced {
            found.names.remove(place);
        }
        found.names.push_back(name);
        Ok(())
    }

    /// The pictures that lie there: those of earlier runs, and of a stage that this one replaces.
    fn found(&mut self) -> Result<(&mut FoundPictures, &Pattern)> {
        let Self {
            folder,
            pattern,
            found,
            ..
        } = self;
        let found = match found {
            Some(found) => found,
            none => none.insert(FoundPictures::in_folder(folder, pattern).map_err(|error| {
                Error::from(error).context(format!("can't read {}", folder.display()))
            })?),
        };
        Ok((found, &*pattern))
    }
}

impl FoundPictures {
    fn in_folder(folder: &Path, pattern: &Pattern) -> io::Result<Self> {
        let mut found = found(folder, pattern)?;
        found.sort();
        let numbers = found.iter().map(|(_, number, _)| *number);
        let newest = numbers.filter(|number| *number <= LARGEST_NUMBER).max();
        Ok(Self {
            names: found.into_iter().map(|(_, _, name)| name).collect(),
            next: newest.map_or(1, |number| number.saturating_add(1)),
        })
    }

    fn name(&self, pattern: &Pattern, frame: u64) -> String {
        pattern.name(match pattern.number() {
            Some(Number::Frame) => frame,
            _ => self.next,
        })
    }

    fn remove_oldest(&mut self, folder: &Path) -> Result<()> {
        let Some(name) = self.names.front() else {
            return Ok(());
        };
        let path = folder.join(name);
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

/// Writes a file with the first one of these names that nothing has: another stage may write into the folder. Returns
/// its number and name. A link of the first name is refused.
fn write_new(
    folder: &Path,
    mut names: impl Iterator<Item = (u64, String)>,
    content: &[u8],
) -> io::Result<(u64, String)> {
    let none = || io::Error::from(io::ErrorKind::AlreadyExists);
    let first = names.next().ok_or_else(none)?;
    let mut file = OutputFile::create_whole(&folder.join(&first.1))?;
    file.write_all(content)?;
    let mut last = None;
    let all = std::iter::once(first).chain(names);
    file.commit_new(all.map(|named| folder.join(&last.insert(named).1)))?;
    last.ok_or_else(none)
}

/// Writes a file whose name was derived: a link there is not followed.
fn write_derived(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = OutputFile::create_derived(path)?;
    file.write_all(content)?;
    file.commit()
}
