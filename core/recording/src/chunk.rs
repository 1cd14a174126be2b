//! Unpacks chunks, with a cache of the last ones.

use std::collections::{HashSet, VecDeque};
use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

use mcap::records::{ChunkHeader, Record};

use crate::budget::Budget;
use crate::file::RecordingFile;
use crate::record::parse;

/// A cache of the chunks that were unpacked last: readers ask for pictures of one chunk in sequence, and a screen often
/// alternates between few pictures.
#[derive(Debug, Default)]
pub(crate) struct ChunkStore(Mutex<ChunkCache>);

#[derive(Debug, Default)]
struct ChunkCache {
    /// The position of each in the file, and its content; the latest last.
    chunks: VecDeque<(usize, Arc<Vec<u8>>)>,
    bytes: usize,
    work: Work,
}

/// The amount of unpacking. Two chunks with interleaved accesses must not be unpacked for each message: their 64 MiB
/// take
/// 300 kB of a file, and a message that repeats a picture takes a few bytes.
#[derive(Debug, Default)]
struct Work {
    known: HashSet<usize>,
    /// Bytes of chunks that were unpacked again.
    again: u64,
    /// Bytes of all requested pictures.
    asked: u64,
}

/// The most bytes of cached chunks; the last one stays in any case.
const KEPT: usize = 64 << 20;
/// Chunks may be unpacked again up to this many bytes, and this many times the requested pictures. A recording whose
/// chunks contain little but requested pictures never reaches that.
const AGAIN_FLOOR: u64 = 2 << 30;
const AGAIN_SHARE: u64 = 4;

/// Larger chunks are read by one thread at a time, so that only one of them is in memory.
const SHARED: usize = 32 << 20;

impl ChunkStore {
    /// Passes the content of the chunk at a byte of the file to `read`, which needs this many bytes of it.
    ///
    /// # Errors
    /// When it is damaged, or chunks were unpacked too often.
    pub(crate) fn with<T>(
        &self,
        file: &RecordingFile,
        at: usize,
        wanted: usize,
        read: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, String> {
        let mut cache = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        cache.work.asked = cache.work.asked.saturating_add(wanted as u64);
        let content = cache.content(file, at)?;
        let alone = (content.len() > SHARED).then_some(cache);
        let done = read(&content);
        drop(alone);
        Ok(done)
    }
}

impl ChunkCache {
    fn content(&mut self, file: &RecordingFile, at: usize) -> Result<Arc<Vec<u8>>, String> {
        let known = self.chunks.iter().position(|(known, _)| *known == at);
        if let Some(found) = known.and_then(|place| self.chunks.remove(place)) {
            let content = found.1.clone();
            self.chunks.push_back(found);
            return Ok(content);
        }
        let content = file.records(at, |records| {
            let record = records.next();
            let record = record.ok_or_else(|| "the file is cut off".to_owned())?;
            let Some(Record::Chunk { header, data }) = parse(record.code, record.body) else {
                return Err("there is no chunk".to_owned());
            };
            Budget::of(file.length(), file.limits()).chunk(header.uncompressed_size)?;
            self.work.take(at, header.uncompressed_size)?;
            // The earlier ones are freed first.
            let size = usize::try_from(header.uncompressed_size).unwrap_or(usize::MAX);
            while self.bytes.saturating_add(size) > KEPT
                && let Some((_, oldest)) = self.chunks.pop_front()
            {
                self.bytes -= oldest.len();
            }
            Ok(Arc::new(unpack(&header, &data)?))
        })?;
        self.bytes += content.len();
        self.chunks.push_back((at, content.clone()));
        Ok(content)
    }
}

impl Work {
    /// Accounts for a chunk of this many bytes that is about to be unpacked.
    fn take(&mut self, at: usize, bytes: u64) -> Result<(), String> {
        if self.known.insert(at) {
            return Ok(());
        }
        let again = self.again.saturating_add(bytes);
        let most = AGAIN_FLOOR.saturating_add(self.asked.saturating_mul(AGAIN_SHARE));
        if again > most {
            return Err(format!(
                "chunks would be unpacked again for more than {} MB, which is much more than their pictures",
                most / 1_000_000
            ));
        }
        self.again = again;
        Ok(())
    }
}

/// The content of a chunk, checked against its checksum. The caller has checked its size.
///
/// # Errors
/// When it is damaged.
fn unpack(header: &ChunkHeader, data: &[u8]) -> Result<Vec<u8>, String> {
    let mut content = Vec::new();
    let length = unpack_into(&mut content, header, data)?.len();
    content.truncate(length);
    Ok(content)
}

/// As [`unpack`], at the start of a buffer that serves many chunks: it grows to the largest of them.
///
/// # Errors
/// When the chunk is damaged.
pub(crate) fn unpack_into<'a>(
    buffer: &'a mut Vec<u8>,
    header: &ChunkHeader,
    data: &[u8],
) -> Result<&'a [u8], String> {
    let size = header.uncompressed_size;
    // LZ4 unpacks one byte to at most 255. One byte more shows that the content is longer than declared.
    let most = size.min(data.len() as u64 * 255);
    let room = usize::try_from(most).unwrap_or_default() + 1;
    if buffer.len() < room {
        buffer.reserve_exact(room - buffer.len());
        buffer.resize(room, 0);
    }
    let buffer = buffer.get_mut(..room).unwrap_or_default();
    let length = match header.compression.as_str() {
        "" => fill(buffer, data),
        "lz4" => lz4::Decoder::new(data).and_then(|decoder| fill(buffer, decoder)),
        other => return Err(format!("a chunk packed by {other:?}, not by lz4")),
    };
    let length = length.map_err(|error| error.to_string())?;
    let content = buffer.get(..length).unwrap_or_default();
    if content.len() as u64 != size {
        return Err("a chunk does not have its declared length".into());
    }
    if header.uncompressed_crc != 0 && crc32fast::hash(content) != header.uncompressed_crc {
        return Err("a chunk's checksum is wrong".into());
    }
    Ok(content)
}

/// Reads to the end of what there is, or of the buffer. Returns how many bytes were read.
fn fill(mut buffer: &mut [u8], mut from: impl Read) -> io::Result<usize> {
    let mut length = 0;
    while !buffer.is_empty() {
        let count = from.read(buffer)?;
        if count == 0 {
            break;
        }
        length += count;
        buffer = buffer.get_mut(count..).unwrap_or_default();
    }
    Ok(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHUNK: u64 = 64 << 20;

    /// How often one of two chunks can be unpacked for a picture of this many bytes.
    fn times(picture: u64) -> u64 {
        let mut work = Work::default();
        let unpacked = (0..10_000).take_while(|it| {
            work.asked += picture;
            work.take(1 + it % 2, CHUNK).is_ok()
        });
        unpacked.count() as u64
    }

    #[test]
    fn repeated_unpacking_has_a_limit() {
        assert_eq!(times(0), 2 + AGAIN_FLOOR / CHUNK);
        assert_eq!(times(CHUNK / AGAIN_SHARE), 10_000);
    }
}
