//! A file that a sink writes. It has whole lines at any time, also after a failure or a kill.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use flowpipe_plugin::{Error, Result};

use crate::config::IfExists;

/// The files that this program has written: a stage that is restarted or replaced goes on with its own file.
static WRITTEN: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// An open file.
pub struct TargetFile {
    file: File,
}

impl TargetFile {
    /// Opens or creates a file.
    ///
    /// # Errors
    /// When it is there and must not be changed, is no file, or can't be written.
    pub fn open(path: &Path, if_exists: IfExists) -> Result<Self> {
        let failed = |error: io::Error| {
            Error::bad_config(format!("can't write {}: {error}", path.display()))
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
        if !written.contains(&place) && metadata.len() > 0 {
            match if_exists {
                IfExists::Append => end_last_line(path, &file).map_err(failed)?,
                IfExists::Overwrite => file.set_len(0).map_err(failed)?,
                IfExists::Fail => {
                    return Err(Error::bad_config(format!(
                        "{} is there already: remove it, choose another name, or set if_exists to \"append\" or \"overwrite\"",
                        path.display()
                    )));
                }
            }
        }
        written.insert(place);
        Ok(Self { file })
    }

    /// Writes a line. What a full disk takes of it is removed again.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn write_line(&mut self, line: &[u8]) -> io::Result<()> {
        let count = loop {
            match self.file.write(line) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                written => break written?,
            }
        };
        if count == line.len() {
            return Ok(());
        }
        let rest = self.file.write_all(&line[count..]);
        if let Err(error) = rest {
            let length = self.file.metadata()?.len();
            self.file.set_len(length.saturating_sub(count as u64))?;
            return Err(error);
        }
        Ok(())
    }
}

/// Ends the last line of a file, if it has no end.
fn end_last_line(path: &Path, mut file: &File) -> io::Result<()> {
    use std::io::{Read, Seek, SeekFrom};
    let mut reader = File::open(path)?;
    reader.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    reader.read_exact(&mut last)?;
    match last {
        [b'\n'] => Ok(()),
        _ => file.write_all(b"\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
