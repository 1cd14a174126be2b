//! A file that a sink writes. It has whole lines, also after a failure. Nothing in it changes before the first line.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use flowpipe_plugin::{Error, Result};

use crate::config::IfExists;

/// The files that this program has written: a stage that is restarted goes on with its own file.
static WRITTEN: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// An open file.
pub struct TargetFile {
    file: File,
    /// Its path without links.
    place: PathBuf,
    /// What is to be done before the first line. `None`: the file is the run's own.
    pending: Option<Pending>,
}

/// What is to be done with what is in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pending {
    /// Its last line has no end.
    EndLastLine,
    /// It is removed: so many bytes.
    Truncate(u64),
}

impl TargetFile {
    /// Opens or creates a file.
    ///
    /// # Errors
    /// When it is there and must not be changed, is no file, or can't be written.
    pub fn open(path: &Path, if_exists: IfExists) -> Result<Self> {
        let failed = |error: io::Error| {
            // The file is created, and no folder is.
            let advice = match error.kind() {
                io::ErrorKind::NotFound => "; its folder must exist",
                _ => "",
            };
            Error::bad_config(format!("can't write {}: {error}{advice}", path.display()))
        };
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt;
            // A named pipe that nobody reads would keep it waiting.
            options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
        }
        let file = options.open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if !metadata.is_file() {
            return Err(Error::bad_config(format!(
                "{} is no file: use stdout, unix or tcp",
                path.display()
            )));
        }
        let place = path.canonicalize().map_err(failed)?;
        let mut written = WRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
        let mut pending = None;
        if !written.contains(&place) && metadata.len() > 0 {
            match if_exists {
                IfExists::Append => {
                    let has_end = ends_with_line_feed(path).map_err(failed)?;
                    pending = (!has_end).then_some(Pending::EndLastLine);
                }
                IfExists::Overwrite => pending = Some(Pending::Truncate(metadata.len())),
                IfExists::Fail => {
                    return Err(Error::bad_config(format!(
                        "{} is there already: remove it, choose another name, or set if_exists to \"append\" or \"overwrite\"",
                        path.display()
                    )));
                }
            }
        }
        if pending.is_none() {
            written.insert(place.clone());
        }
        Ok(Self {
            file,
            place,
            pending,
        })
    }

    /// Does with what is in the file what the config says, if that is not done yet. Writing a line does so too.
    ///
    /// # Errors
    /// When the file can't be changed.
    pub fn begin(&mut self) -> io::Result<()> {
        let Some(pending) = self.pending else {
            return Ok(());
        };
        let mut written = WRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
        // Another stage may have begun to write it.
        if !written.contains(&self.place) {
            match pending {
                Pending::EndLastLine => self.file.write_all(b"\n")?,
                // Otherwise a worker in another process has begun it.
                Pending::Truncate(length) if self.file.metadata()?.len() == length => {
                    self.file.set_len(0)?;
                }
                Pending::Truncate(_) => {}
            }
            written.insert(self.place.clone());
        }
        self.pending = None;
        Ok(())
    }

    /// Whether the file is the run's own: what is in it stays.
    pub fn is_own(&self) -> bool {
        self.pending.is_none()
    }

    /// The stage that this one replaces has begun the file.
    pub fn take_over(&mut self) {
        self.pending = None;
        let mut written = WRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
        written.insert(self.place.clone());
    }

    /// Writes a line. What a full disk takes of it is removed again.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn write_line(&mut self, line: &[u8]) -> io::Result<()> {
        self.begin()?;
        let (count, result) = write_counted(&mut self.file, line);
        if result.is_err() && count > 0 {
            let length = self.file.metadata()?.len();
            self.file.set_len(length.saturating_sub(count as u64))?;
        }
        result
    }
}

/// Writes all bytes. How many were written, also when it fails.
fn write_counted(to: &mut impl Write, bytes: &[u8]) -> (usize, io::Result<()>) {
    let mut count = 0;
    while count < bytes.len() {
        match to.write(&bytes[count..]) {
            Ok(0) => return (count, Err(io::ErrorKind::WriteZero.into())),
            Ok(more) => count += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (count, Err(error)),
        }
    }
    (count, Ok(()))
}

/// As in a process that has not written the file.
#[cfg(test)]
pub fn forget(path: &Path) {
    let place = path.canonicalize().unwrap_or_default();
    let mut written = WRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
    written.remove(&place);
}

/// Whether the last line of a file that is not empty has an end.
fn ends_with_line_feed(path: &Path) -> io::Result<bool> {
    use std::io::{Read, Seek, SeekFrom};
    let mut reader = File::open(path)?;
    reader.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    reader.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It takes a few bytes at a time, and no more than it has room for.
    struct FullDisk(usize);

    impl Write for FullDisk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let count = bytes.len().min(2).min(self.0);
            self.0 -= count;
            match count {
                0 => Err(io::ErrorKind::StorageFull.into()),
                _ => Ok(count),
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// They are what is removed again.
    #[test]
    fn all_bytes_that_a_full_disk_takes_are_counted() {
        let (count, result) = write_counted(&mut FullDisk(5), b"12345678\n");
        assert_eq!(count, 5);
        assert_eq!(result.unwrap_err().kind(), io::ErrorKind::StorageFull);
        let (count, result) = write_counted(&mut FullDisk(9), b"12345678\n");
        assert_eq!(count, 9);
        result.unwrap();
    }

    /// Workers in processes of their own open the file before any of them writes.
    #[test]
    fn what_another_worker_has_written_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.jsonl");
        std::fs::write(&path, "old").unwrap();
        let open = || TargetFile::open(&path, IfExists::Overwrite).unwrap();
        let (mut one, mut other) = (open(), open());
        one.write_line(b"1\n").unwrap();
        forget(&path);
        other.write_line(b"2\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "1\n2\n");
    }

    #[test]
    fn several_stages_write_one_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.jsonl");
        std::fs::write(&path, "old\n").unwrap();
        let open = || TargetFile::open(&path, IfExists::Overwrite).unwrap();
        let (mut one, mut other) = (open(), open());
        one.write_line(b"1\n").unwrap();
        other.write_line(b"2\n").unwrap();
        one.write_line(b"3\n").unwrap();
        // One that starts later.
        let mut last = TargetFile::open(&path, IfExists::Fail).unwrap();
        last.write_line(b"4\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "1\n2\n3\n4\n");
    }

    #[test]
    fn an_existing_file_is_kept_unless_the_config_says_otherwise() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, "old").unwrap();
            path
        };
        let write = |path: &Path, if_exists| {
            let mut file = TargetFile::open(path, if_exists)?;
            Ok::<_, Error>(file.write_line(b"new\n")?)
        };
        let (kept, appended, replaced) = (path("kept"), path("appended"), path("replaced"));
        let text = write(&kept, IfExists::Fail).unwrap_err().to_string();
        assert!(text.contains("is there already"), "{text}");
        write(&appended, IfExists::Append).unwrap();
        write(&replaced, IfExists::Overwrite).unwrap();
        let read = |path: &Path| std::fs::read_to_string(path).unwrap();
        assert_eq!(
            [read(&kept), read(&appended), read(&replaced)],
            ["old", "old\nnew\n", "new\n"]
        );
        // A stage that is restarted goes on.
        write(&replaced, IfExists::Overwrite).unwrap();
        write(&replaced, IfExists::Fail).unwrap();
        assert_eq!(read(&replaced), "new\nnew\nnew\n");
        // Nothing is lost in an empty one: the host creates it for a confined stage.
        let empty = folder.path().join("empty");
        std::fs::write(&empty, "").unwrap();
        write(&empty, IfExists::Fail).unwrap();
        write(folder.path(), IfExists::Overwrite).unwrap_err();
    }
}
