//! Uncompressed frames in Matroska, as ffmpeg writes them: their size, their times and their pixels.
//!
//! Matroska is a tree of elements. What this reads is the same whatever element it lies in, so that the ends of those
//! that contain others are not looked at.

use std::io::{self, Read};

use flowpipe_plugin::Host;

use crate::error::DecodeError;
use crate::picture::{Limits, Picture, Size};

/// Elements that contain those that are read.
const CONTAINERS: [u64; 7] = [
    0x1853_8067, // Segment
    0x1549_a966, // Info
    0x1654_ae6b, // Tracks
    0xae,        // TrackEntry
    0xe0,        // Video
    0x1f43_b675, // Cluster
    0xa0,        // BlockGroup
];
const TIMESTAMP_SCALE: u64 = 0x2a_d7b1;
const WIDTH: u64 = 0xb0;
const HEIGHT: u64 = 0xba;
const TIMESTAMP: u64 = 0xe7;
const BLOCK: u64 = 0xa1;
const SIMPLE_BLOCK: u64 = 0xa3;

/// Nanoseconds of a unit of time, if the file does not say.
const DEFAULT_SCALE: u64 = 1_000_000;

/// Reads frames.
pub struct Matroska<R> {
    from: R,
    limits: Limits,
    width: u64,
    height: u64,
    scale: u64,
    /// Of the cluster, in units.
    time: u64,
}

impl<R: Read> Matroska<R> {
    /// Reads from its start.
    pub fn new(from: R, limits: Limits) -> Self {
        Self {
            from,
            limits,
            width: 0,
            height: 0,
            scale: DEFAULT_SCALE,
            time: 0,
        }
    }

    /// The next frame. `None`: the end.
    ///
    /// # Errors
    /// When it can't be read.
    pub fn next(&mut self, host: Host) -> Result<Option<Picture>, DecodeError> {
        while let Some(id) = self.id()? {
            let size = self.number()?;
            if CONTAINERS.contains(&id) {
                continue;
            }
            // Only containers may be as long as the rest.
            let size = size.ok_or(DecodeError::Malformed("an element has no length"))?;
            match id {
                WIDTH => self.width = self.unsigned(size)?,
                HEIGHT => self.height = self.unsigned(size)?,
                TIMESTAMP_SCALE => self.scale = self.unsigned(size)?,
                TIMESTAMP => self.time = self.unsigned(size)?,
                BLOCK | SIMPLE_BLOCK => return self.block(size, host).map(Some),
                _ => self.skip(size)?,
            }
        }
        Ok(None)
    }

    fn block(&mut self, size: u64, host: Host) -> Result<Picture, DecodeError> {
        let picture = Size::within(self.limits, self.width, self.height)?;
        // The number of the track has one byte: ffmpeg is asked for one track.
        let mut header = [0; 4];
        if size != picture.bytes() + header.len() as u64 {
            return Err(DecodeError::Malformed(
                "a frame has another size than the first one",
            ));
        }
        self.from.read_exact(&mut header)?;
        let relative = i16::from_be_bytes([header[1], header[2]]);
        let units = i128::from(self.time) + i128::from(relative);
        let time_ns = units.saturating_mul(i128::from(self.scale));
        Ok(Picture {
            frame: picture.read(host, &mut self.from)?,
            time_ns: Some(i64::try_from(time_ns).unwrap_or(i64::MAX).max(0)),
        })
    }

    /// The id of an element. `None`: the end.
    fn id(&mut self) -> Result<Option<u64>, DecodeError> {
        let mut first = [0];
        loop {
            match self.from.read(&mut first) {
                Ok(0) => return Ok(None),
                Ok(_) => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        let length = first[0].leading_zeros();
        if length > 3 {
            return Err(DecodeError::Malformed("it has no element where one begins"));
        }
        self.rest(u64::from(first[0]), length).map(Some)
    }

    /// A length. `None`: it is not known.
    fn number(&mut self) -> Result<Option<u64>, DecodeError> {
        let mut first = [0];
        self.from.read_exact(&mut first)?;
        let length = first[0].leading_zeros();
        if length > 7 {
            return Err(DecodeError::Malformed(
                "the length of an element has more than 8 bytes",
            ));
        }
        let value_bits = 7 * (length + 1);
        let marked = self.rest(u64::from(first[0]), length)?;
        let value = marked & ((1 << value_bits) - 1);
        Ok((value != (1 << value_bits) - 1).then_some(value))
    }

    /// Adds so many bytes to a number.
    fn rest(&mut self, first: u64, length: u32) -> Result<u64, DecodeError> {
        let mut bytes = [0; 7];
        let bytes = &mut bytes[..length as usize];
        self.from.read_exact(bytes)?;
        Ok(bytes
            .iter()
            .fold(first, |all, &byte| all << 8 | u64::from(byte)))
    }

    fn unsigned(&mut self, size: u64) -> Result<u64, DecodeError> {
        if size > 8 {
            return Err(DecodeError::Malformed("a number has more than 8 bytes"));
        }
        let mut bytes = [0; 8];
        let bytes = &mut bytes[..size as usize];
        self.from.read_exact(bytes)?;
        Ok(bytes
            .iter()
            .fold(0, |all, &byte| all << 8 | u64::from(byte)))
    }

    fn skip(&mut self, size: u64) -> Result<(), DecodeError> {
        let skipped = io::copy(&mut (&mut self.from).take(size), &mut io::sink())?;
        match skipped == size {
            true => Ok(()),
            false => Err(DecodeError::Pipe(io::ErrorKind::UnexpectedEof.into())),
        }
    }
}
