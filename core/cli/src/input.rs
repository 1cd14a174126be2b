//! Opens files that the user names, and reads whole ones: bounded in size and time.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use crate::exit::Failure;

/// The largest file of puzzles, in bytes.
pub const PUZZLES: u64 = 256 << 20;

/// How long to wait for a writer of a named pipe.
const WRITER_TIMEOUT: Duration = Duration::from_secs(10);

/// Reads a file of at most `most` bytes. Devices and pipes are files too; an endless one is too large.
///
/// # Errors
/// When it can't be read, or is larger.
pub fn read(path: &Path, most: u64) -> Result<Vec<u8>, Failure> {
    let bytes = open(path).and_then(|file| read_all(file, most));
    bytes.map_err(|error| failure(path, error))
}

/// Reads the first bytes of a file, `most` at most.
///
/// # Errors
/// When it can't be read.
pub fn read_first(path: &Path, most: u64) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let file = open(path).map_err(|error| failure(path, error))?;
    let read = file.take(most).read_to_end(&mut bytes);
    read.map_err(|error| failure(path, error))?;
    Ok(bytes)
}

/// Checks that a path is a regular file that can be opened. No other file is opened: reading it might never end.
///
/// # Errors
/// When there is none, or it can't be opened.
pub fn is_regular(path: &Path) -> io::Result<()> {
    let kind = std::fs::metadata(path)?.file_type();
    if kind.is_file() {
        return File::open(path).map(|_| ());
    }
    let text = match kind.is_dir() {
        true => "this is a folder",
        false => "this is a device or a pipe, and no regular file",
    };
    Err(io::Error::other(text))
}

fn failure(path: &Path, error: io::Error) -> Failure {
    let path = path.display().to_string();
    Failure::File { path, error }
}

/// Reads everything from a reader, `most` bytes at most.
///
/// # Errors
/// When it can't be read, or is larger.
pub fn read_all(from: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let text = format!("this is larger than the {most} bytes that are read at most");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
    }
    Ok(bytes)
}

/// Opens a file. Waits for a writer of a named pipe, up to [`WRITER_TIMEOUT`].
///
/// # Errors
/// When it can't be opened.
#[cfg(unix)]
pub fn open(path: &Path) -> io::Result<Box<dyn Read + Send>> {
    use std::os::unix::fs::FileTypeExt as _;

    if std::fs::metadata(path)?.file_type().is_fifo() {
        return pipe(path);
    }
    Ok(Box::new(File::open(path)?))
}

#[cfg(unix)]
fn pipe(path: &Path) -> io::Result<Box<dyn Read + Send>> {
    use std::time::Instant;

    use rustix::fs::{Mode, OFlags};

    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut pipe = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let started = Instant::now();
    let mut first = [0];
    loop {
        // Without a writer, the read reports the end of the file. With a writer and no data, it would block.
        let length = match pipe.read(&mut first) {
            Ok(0) if started.elapsed() > WRITER_TIMEOUT => {
                let text = "this pipe has no writer";
                return Err(io::Error::new(io::ErrorKind::TimedOut, text));
            }
            Ok(0) => {
                std::thread::sleep(Duration::from_millis(10));
                continue;
            }
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(error) => return Err(error),
        };
        let flags = rustix::fs::fcntl_getfl(&pipe)? - OFlags::NONBLOCK;
        rustix::fs::fcntl_setfl(&pipe, flags)?;
        let start = first[..length].to_vec();
        return Ok(Box::new(io::Cursor::new(start).chain(pipe)));
    }
}

#[cfg(not(unix))]
pub fn open(path: &Path) -> io::Result<Box<dyn Read + Send>> {
    Ok(Box::new(File::open(path)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_an_end_is_too_large() {
        let error = read_all(io::repeat(b'a'), 1000).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(
            read_all(io::repeat(b'a').take(1000), 1000).unwrap().len(),
            1000
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_is_read_to_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &path,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RWXU,
            0,
        )
        .unwrap();
        let writer = path.clone();
        let writing = std::thread::spawn(move || std::fs::write(writer, "all of it"));
        assert_eq!(read(&path, 100).unwrap(), b"all of it");
        writing.join().unwrap().unwrap();
    }
}
