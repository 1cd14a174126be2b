//! A recording's file, record by record.
//!
//! It is read and not mapped: if another program truncates a mapped file, a signal ends the process that reads it.

use std::fs::File;
use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use crate::budget::{Limits, longest_record};
use crate::record::{HEAD, head, is_read};

/// The file, with its length when it was opened.
#[derive(Debug)]
pub(crate) struct RecordingFile {
    file: Mutex<File>,
    length: u64,
    limits: Limits,
}

/// The records of a file in order, from one on.
pub(crate) struct Records<'a> {
    reader: BufReader<&'a File>,
    /// The position of the next one.
    at: u64,
    length: u64,
    /// Bytes of a record at most.
    longest: u64,
    /// The body of the last one.
    body: Vec<u8>,
}

/// A record of a file.
pub(crate) struct FileRecord<'a> {
    /// Its position in the file.
    pub at: usize,
    /// Its kind.
    pub code: u8,
    /// Empty for kinds that are not read.
    pub body: &'a [u8],
}

impl RecordingFile {
    /// # Errors
    /// When it can't be opened, or is no regular file.
    pub(crate) fn open(path: &Path, limits: Limits) -> io::Result<Self> {
        let file = flowpipe_output::open_regular(path)?;
        let length = file.metadata()?.len();
        Ok(Self {
            file: Mutex::new(file),
            length,
            limits,
        })
    }

    pub(crate) fn length(&self) -> usize {
        usize::try_from(self.length).unwrap_or(usize::MAX)
    }

    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }

    /// Whether it starts with these bytes.
    pub(crate) fn starts_with(&self, bytes: &[u8]) -> bool {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let mut first = vec![0; bytes.len()];
        let read = file.rewind().and_then(|()| file.read_exact(&mut first));
        read.is_ok() && first == bytes
    }

    /// Passes the records from a position on to `read`.
    pub(crate) fn records<T>(&self, at: usize, read: impl FnOnce(&mut Records<'_>) -> T) -> T {
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let mut records = Records {
            reader: BufReader::new(&*file),
            at: at as u64,
            length: self.length,
            longest: longest_record(self.limits),
            body: Vec::new(),
        };
        // If it fails, the first read fails too.
        let _ = records.reader.seek(SeekFrom::Start(records.at));
        read(&mut records)
    }
}

impl Records<'_> {
    /// The next one. `None`: the file is cut off, or was truncated since it was opened.
    pub(crate) fn next(&mut self) -> Option<FileRecord<'_>> {
        let mut first = [0; HEAD];
        self.reader.read_exact(&mut first).ok()?;
        let (code, length) = head(first);
        let at = self.at;
        let end = at.checked_add(HEAD as u64)?.checked_add(length)?;
        if end > self.length {
            return None;
        }
        self.body.clear();
        if !is_read(code) {
            self.reader
                .seek_relative(i64::try_from(length).ok()?)
                .ok()?;
        } else if length > self.longest {
            return None;
        } else {
            let read = (&mut self.reader).take(length).read_to_end(&mut self.body);
            read.ok().filter(|&count| count as u64 == length)?;
        }
        self.at = end;
        Some(FileRecord {
            at: usize::try_from(at).ok()?,
            code,
            body: &self.body,
        })
    }
}
