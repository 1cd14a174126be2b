//! A file, read as far as it is asked for. However it contradicts itself, no more than so much of it is read.

use std::cell::Cell;
use std::fs::File;
use std::ops::Range;

use object::read::{ReadCache, ReadRef};

/// Bytes that are read of one file at most: its tables of sections and symbols.
const MOST_READ: u64 = 128 << 20;

/// What a symbol's name costs at least: names are read in pieces of this length.
const NAME: u64 = 256;

/// A file, and what was read of it.
pub(super) struct Source<'file> {
    cache: ReadCache<&'file File>,
    left: Cell<u64>,
}

/// A part of a file.
#[derive(Clone, Copy)]
pub(super) struct Part<'data> {
    cache: &'data ReadCache<&'data File>,
    left: &'data Cell<u64>,
    start: u64,
    pub(super) length: u64,
}

impl<'file> Source<'file> {
    pub(super) fn of(file: &'file File) -> Self {
        Self {
            cache: ReadCache::new(file),
            left: Cell::new(MOST_READ),
        }
    }

    /// All of the file, which has so many bytes.
    pub(super) fn whole(&'file self, length: u64) -> Part<'file> {
        Part {
            cache: &self.cache,
            left: &self.left,
            start: 0,
            length,
        }
    }
}

impl Part<'_> {
    /// A part of this part. `None`: it lies beyond its end.
    pub(super) fn within(self, offset: u64, length: u64) -> Option<Self> {
        let end = offset.checked_add(length)?;
        (end <= self.length).then(|| Self {
            start: self.start + offset,
            length,
            ..self
        })
    }

    fn pay(&self, bytes: u64) -> Result<(), ()> {
        self.left.set(self.left.get().checked_sub(bytes).ok_or(())?);
        Ok(())
    }
}

impl<'data> ReadRef<'data> for Part<'data> {
    fn len(self) -> Result<u64, ()> {
        Ok(self.length)
    }

    fn read_bytes_at(self, offset: u64, size: u64) -> Result<&'data [u8], ()> {
        let end = offset.checked_add(size).ok_or(())?;
        if end > self.length {
            return Err(());
        }
        self.pay(size)?;
        self.cache.read_bytes_at(self.start + offset, size)
    }

    fn read_bytes_at_until(self, range: Range<u64>, delimiter: u8) -> Result<&'data [u8], ()> {
        if range.start > range.end || range.end > self.length {
            return Err(());
        }
        let range = self.start + range.start..self.start + range.end;
        let name = self.cache.read_bytes_at_until(range, delimiter)?;
        self.pay(NAME.max(name.len() as u64))?;
        Ok(name)
    }
}
