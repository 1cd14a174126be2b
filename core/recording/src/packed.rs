//! Pictures packed in memory, until the recorder decides whether to write them.

use crate::image::{Encoding, Pixels};

/// A picture, packed without loss (LZ4).
#[derive(Clone, Debug)]
pub struct Packed {
    encoding: Encoding,
    width: u32,
    height: u32,
    stride: u32,
    length: usize,
    bytes: Vec<u8>,
}

impl Packed {
    /// Packs a picture. `None`: it is larger than LZ4's limit of about 2 GB.
    #[must_use]
    pub fn new(pixels: &Pixels<'_>) -> Option<Self> {
        let bytes = lz4::block::compress(pixels.bytes, None, false).ok()?;
        Some(Self {
            encoding: pixels.encoding,
            width: pixels.width,
            height: pixels.height,
            stride: pixels.stride,
            length: pixels.bytes.len(),
            bytes,
        })
    }

    /// Its bytes in memory.
    #[must_use]
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Unpacks the picture and passes it to `read`.
    ///
    /// # Errors
    /// When memory is short.
    pub fn unpack<T>(&self, read: impl FnOnce(&Pixels<'_>) -> T) -> std::io::Result<T> {
        let length = i32::try_from(self.length).ok();
        let bytes = lz4::block::decompress(&self.bytes, length)?;
        Ok(read(&Pixels {
            encoding: self.encoding,
            width: self.width,
            height: self.height,
            stride: self.stride,
            bytes: &bytes,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unpacked_picture_is_unchanged() {
        let bytes: Vec<u8> = (0..4 * 50 * 30).map(|byte| (byte / 97) as u8).collect();
        let pixels = Pixels {
            encoding: Encoding::Bgra8,
            width: 50,
            height: 30,
            stride: 200,
            bytes: &bytes,
        };
        let packed = Packed::new(&pixels).unwrap();
        assert!(packed.size() < bytes.len() / 4);
        assert!(packed.unpack(|unpacked| *unpacked == pixels).unwrap());
    }
}
