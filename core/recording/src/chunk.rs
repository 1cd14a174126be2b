//! Unpacks chunks, and keeps the last ones.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use mcap::records::{ChunkHeader, Record};

use crate::budget::Budget;
use crate::file::RecordingFile;
use crate::record::parse;

/// The chunks that were unpacked last: pictures of one are asked for one after the other, and a screen goes to and fro
/// between few.
#[derive(Debug, Default)]
pub(crate) struct Unpacked(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    /// Where each lies in the file, and its content; the latest last.
    chunks: VecDeque<(usize, Arc<Vec<u8>>)>,
    bytes: usize,
    work: Work,
}

/// How much was unpacked. Two chunks whose pictures are asked for by turns must not be unpacked for each message: their 64 MiB
/// take 300 kB of a file, and a message that shows a picture once more a few bytes.
#[derive(Debug, Default)]
struct Work {
    known: HashSet<usize>,
    /// Bytes of chunks that were unpacked once more.
    again: u64,
    /// Bytes of all pictures that were asked for.
    asked: u64,
}

/// So many bytes of chunks are kept; the last one however large it is.
const KEPT: usize = 64 << 20;
/// Chunks are unpacked once more up to so many bytes, and so many times the pictures that were asked for. Of a recording whose
/// chunks hold little but pictures that are asked for, that is never too little.
const AGAIN_FLOOR: u64 = 2 << 30;
const AGAIN_SHARE: u64 = 4;

/// Larger chunks are not read by several threads at a time, so that no more than one of them is in memory.
const SHARED: usize = 32 << 20;

impl Unpacked {
    /// Hands the content of the chunk that begins at a byte of the file to `read`, which wants so many bytes of it.
    ///
    /// # Errors
    /// When it is damaged, or chunks were unpacked again and again for little.
    pub(crate) fn with<T>(
        &self,
        file: &RecordingFile,
        at: usize,
        wanted: usize,
        read: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, String> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.work.asked = kept.work.asked.saturating_add(wanted as u64);
        let content = kept.content(file, at)?;
        let alone = (content.len() > SHARED).then_some(kept);
        let done = read(&content);
        drop(alone);
        Ok(done)
    }
}

impl Kept {
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
            // Those before are given back first.
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
    /// A chunk of so many bytes is about to be unpacked.
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

/// The content of a chunk, checked against its checksum. How large it may be has been looked at before.
///
/// # Errors
/// When it is damaged.
pub(crate) fn unpack(header: &ChunkHeader, data: &[u8]) -> Result<Vec<u8>, String> {
    use std::io::Read as _;
    let size = header.uncompressed_size;
    let mut content = Vec::new();
    match header.compression.as_str() {
        "" => content.extend_from_slice(data),
        "lz4" => {
            // LZ4 makes at most 255 bytes of one.
            let most = size.min(data.len() as u64 * 255);
            content.reserve_exact(usize::try_from(most).unwrap_or_default() + 1);
            // One byte more than it may be shows that it is longer than it says.
            let decoder = lz4::Decoder::new(data).map_err(|error| error.to_string())?;
            decoder
                .take(size + 1)
                .read_to_end(&mut content)
                .map_err(|error| error.to_string())?;
        }
        other => return Err(format!("a chunk packed by {other:?}, not by lz4")),
    }
    if content.len() as u64 != size {
        return Err("a chunk is not as long as it says".into());
    }
    if header.uncompressed_crc != 0 && crc32fast::hash(&content) != header.uncompressed_crc {
        return Err("a chunk's checksum is wrong".into());
    }
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHUNK: u64 = 64 << 20;

    /// How often one of two chunks is unpacked for a picture of so many bytes.
    fn times(picture: u64) -> u64 {
        let mut work = Work::default();
        let unpacked = (0..10_000).take_while(|it| {
            work.asked += picture;
            work.take(1 + it % 2, CHUNK).is_ok()
        });
        unpacked.count() as u64
    }

    #[test]
    fn chunks_are_unpacked_again_within_bounds() {
        assert_eq!(times(0), 2 + AGAIN_FLOOR / CHUNK);
        assert_eq!(times(CHUNK / AGAIN_SHARE), 10_000);
    }
}
