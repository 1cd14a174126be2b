//! Pictures in files: the pixels of a frame lie in one, so that a reader maps it into memory or reads it at
//! once, and no line of JSON holds them.

use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use flowpipe_plugin::{Error, Format, Frame, Host, Result};
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

/// A picture in a file: rows from top to bottom, pixels from left to right.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Picture {
    /// Its path. The pixels start with its first byte; more may follow behind them.
    pub file: PathBuf,
    /// How a pixel is laid out.
    pub format: PixelFormat,
    /// Pixels.
    pub width: u32,
    /// Pixels.
    pub height: u32,
    /// Bytes from one row to the next; 0: rows without gaps.
    #[serde(default)]
    pub stride: usize,
}

/// How a pixel is laid out; see [`Format`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PixelFormat {
    Bgra8,
    Rgba8,
    Bgr8,
    Rgb8,
    Grey8,
}

const FORMATS: [(PixelFormat, Format); 5] = [
    (PixelFormat::Bgra8, Format::Bgra8),
    (PixelFormat::Rgba8, Format::Rgba8),
    (PixelFormat::Bgr8, Format::Bgr8),
    (PixelFormat::Rgb8, Format::Rgb8),
    (PixelFormat::Grey8, Format::Grey8),
];

/// The file in which a stage passes its command one frame after the other. It is deleted with the stage.
#[derive(Default)]
pub struct FrameFile(Option<NamedTempFile>);

impl FrameFile {
    /// Writes a frame's pixels. They stay until the next call.
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn show(&mut self, frame: &Frame) -> Result<Picture> {
        let info = frame.info()?;
        let written = self.write(frame.pixels())?;
        let format = FORMATS.iter().find(|(_, it)| *it == info.format);
        Ok(Picture {
            file: written,
            format: format.map_or(PixelFormat::Bgra8, |(name, _)| *name),
            width: info.width,
            height: info.height,
            stride: info.stride,
        })
    }

    /// Writes the pixels of a frame, or the elements of a buffer. They stay until the next call.
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn write(&mut self, bytes: &[u8]) -> Result<PathBuf> {
        self.try_write(bytes).map_err(|error| {
            Error::from(error).context("can't write a frame into a file for the command")
        })
    }

    fn try_write(&mut self, bytes: &[u8]) -> io::Result<PathBuf> {
        if self.0.is_none() {
            self.0 = Some(file()?);
        }
        let Some(file) = &mut self.0 else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let path = file.path().to_owned();
        let file = file.as_file_mut();
        file.seek(SeekFrom::Start(0))?;
        // Never shorter than before: a reader may have mapped it.
        file.write_all(bytes)?;
        Ok(path)
    }
}

/// How the names of the files begin and end.
const PREFIX: &str = "flowpipe-";
const SUFFIX: &str = ".pixels";

/// A file in memory, where the system has a folder for such, that its owner alone may read.
fn file() -> io::Result<NamedTempFile> {
    let memory = Path::new("/dev/shm");
    if memory.is_dir()
        && let Ok(file) = file_in(memory)
    {
        return Ok(file);
    }
    file_in(&std::env::temp_dir())
}

/// Creates a file, and locks it while this process lives. Removes those of processes that were killed.
fn file_in(folder: &Path) -> io::Result<NamedTempFile> {
    remove_stale(folder);
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX).suffix(SUFFIX);
    loop {
        let file = builder.tempfile_in(folder)?;
        // Some file systems have no locks.
        let _ = file.as_file().lock();
        // Another process may have removed it before it was locked.
        if file.path().exists() {
            return Ok(file);
        }
    }
}

/// Removes the files of processes that were killed: nobody has them locked.
fn remove_stale(folder: &Path) {
    // A confined process may not list the folder.
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        let name = path.file_name().and_then(|name| name.to_str());
        if name.is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX))
            && let Ok(file) = flowpipe_output::open_regular(&path)
            && file.try_lock().is_ok()
        {
            // Files of other users stay.
            let _ = std::fs::remove_file(&path);
        }
    }
}

impl Picture {
    /// The bytes of the frame that [`Self::load`] creates.
    pub fn frame_bytes(&self) -> u64 {
        let row = u64::from(self.width).saturating_mul(self.host_format().bytes_per_pixel() as u64);
        row.saturating_mul(u64::from(self.height))
    }

    fn host_format(&self) -> Format {
        let format = FORMATS.iter().find(|(name, _)| *name == self.format);
        format.map_or(Format::Bgra8, |(_, format)| *format)
    }

    /// Reads the picture into a frame of the host.
    ///
    /// # Errors
    /// When the file can't be read or does not hold that much.
    pub fn load(&self, host: Host) -> Result<Frame> {
        let named = |error: Error| error.context(format!("the frame in {}", self.file.display()));
        self.read(host).map_err(named)
    }

    fn read(&self, host: Host) -> Result<Frame> {
        if self.width == 0 || self.height == 0 {
            return Err(Error::new(format!(
                "it is {} x {} pixels large: a frame has at least one",
                self.width, self.height
            )));
        }
        let format = self.host_format();
        let row = self.width as usize * format.bytes_per_pixel();
        let stride = if self.stride == 0 { row } else { self.stride };
        if stride < row {
            return Err(Error::new(format!(
                "rows of {row} bytes do not fit a stride of {stride}"
            )));
        }
        let mut file = flowpipe_output::open_regular(&self.file)?;
        let rows = u64::from(self.height);
        let before_last = (stride as u64).saturating_mul(rows.saturating_sub(1));
        let needed = before_last.saturating_add(row as u64);
        let there = file.metadata()?.len();
        if there < needed {
            return Err(Error::new(format!(
                "it needs {needed} bytes, the file has {there}"
            )));
        }
        let mut frame = host.new_frame(format, self.width, self.height)?;
        let pixels = frame.pixels_mut()?;
        let gap = i64::try_from(stride - row)?;
        for (number, row) in pixels.chunks_exact_mut(row.max(1)).enumerate() {
            if gap > 0 && number > 0 {
                file.seek(SeekFrom::Current(gap))?;
            }
            file.read_exact(row)?;
        }
        Ok(frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_processes_that_were_killed_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let used = file_in(folder.path()).unwrap();
        let stale = folder.path().join("flowpipe-killed.pixels");
        let other = folder.path().join("flowpipe.txt");
        for path in [&stale, &other] {
            std::fs::write(path, "pixels").unwrap();
        }
        let new = file_in(folder.path()).unwrap();
        assert!(!stale.exists());
        assert!(used.path().exists() && new.path().exists() && other.exists());
        drop(used);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
