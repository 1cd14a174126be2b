//! Hashes: of libraries, to identify them, and of pixels, to store a picture once.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use xxhash_rust::xxh3::{Xxh3, xxh3_128};

use crate::image::Pixels;

/// XXH3 of a file's bytes, 128 bits as hexadecimal.
///
/// # Errors
/// When the file can't be read.
pub fn file_hash(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let mut hash = Xxh3::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let read = file.read(&mut buffer)?;
        let Some(bytes) = buffer.get(..read).filter(|bytes| !bytes.is_empty()) else {
            return Ok(format!("{:032x}", hash.digest128()));
        };
        hash.update(bytes);
    }
}

/// XXH3 of bytes, as [`file_hash`] of a file that has them.
#[must_use]
pub fn bytes_hash(bytes: &[u8]) -> String {
    format!("{:032x}", xxh3_128(bytes))
}

impl Pixels<'_> {
    /// XXH3 of the picture. Pictures with the same hash are treated as equal: by chance two different ones have the
    /// same hash once in 2^64 pictures.
    #[must_use]
    pub fn hash(&self) -> u128 {
        xxh3_128(self.bytes)
            ^ u128::from(self.width)
            ^ u128::from(self.height) << 32
            ^ (self.encoding as u128) << 64
    }
}
