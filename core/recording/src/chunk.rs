//! Unpacks chunks, one at a time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcap::records::{ChunkHeader, Record};

use crate::budget::Budget;
use crate::file::RecordingFile;
use crate::record::parse;

/// The chunk that was unpacked last: pictures of one are asked for one after the other.
#[derive(Debug, Default)]
pub(crate) struct Unpacked(Mutex<Last>);

/// Where it lies in the file, and its content.
type Last = Option<(usize, Arc<Vec<u8>>)>;

/// Larger chunks are not read by several threads at a time, so that no more than one of them is in memory.
const SHARED: usize = 32 << 20;

impl Unpacked {
    /// Hands the content of the chunk that begins at a byte of the file to `read`.
    ///
    /// # Errors
    /// When it is damaged.
    pub(crate) fn with<T>(
        &self,
        file: &RecordingFile,
        at: usize,
        read: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, String> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let content = content(&mut last, file, at)?;
        let alone = (content.len() > SHARED).then_some(last);
        let done = read(&content);
        drop(alone);
        Ok(done)
    }
}

fn content(
    last: &mut MutexGuard<'_, Last>,
    file: &RecordingFile,
    at: usize,
) -> Result<Arc<Vec<u8>>, String> {
    if let Some((known, content)) = &**last
        && *known == at
    {
        return Ok(content.clone());
    }
    // The one before is given back first.
    **last = None;
    file.records(at, |records| {
        let record = records.next();
        let record = record.ok_or_else(|| "the file is cut off".to_owned())?;
        let Some(Record::Chunk { header, data }) = parse(record.code, record.body) else {
            return Err("there is no chunk".into());
        };
        Budget::of(file.length()).chunk(header.uncompressed_size)?;
        let content = Arc::new(unpack(&header, &data)?);
        **last = Some((at, content.clone()));
        Ok(content)
    })
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
