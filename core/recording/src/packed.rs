//! Pictures packed in memory, until the recorder decides whether to write them.

use serde::{Deserialize, Serialize};

use crate::image::{Encoding, LONGEST_SIDE, Pixels};

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

/// The layout of a packed picture, to send it elsewhere with [`Packed::bytes`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackedLayout {
    encoding: String,
    width: u32,
    height: u32,
    stride: u32,
}

/// LZ4 packs at most so many bytes into one.
const MOST_PACKED: usize = 255;

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

    /// Its packed bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Its layout.
    #[must_use]
    pub fn layout(&self) -> PackedLayout {
        PackedLayout {
            encoding: self.encoding.word().to_owned(),
            width: self.width,
            height: self.height,
            stride: self.stride,
        }
    }

    /// A picture that was packed elsewhere. `None`: the layout is not one of a picture, or the bytes are too few for it.
    #[must_use]
    pub fn from_elsewhere(layout: &PackedLayout, bytes: Vec<u8>) -> Option<Self> {
        let encoding = Encoding::of(&layout.encoding)?;
        let row = layout.width.checked_mul(encoding.bytes_per_pixel())?;
        let length = usize::try_from(layout.stride).ok()?;
        let length = length.checked_mul(usize::try_from(layout.height).ok()?)?;
        let is_picture = row > 0
            && layout.stride >= row
            && length > 0
            && layout.width.max(layout.height) <= LONGEST_SIDE
            && length / MOST_PACKED <= bytes.len();
        is_picture.then_some(Self {
            encoding,
            width: layout.width,
            height: layout.height,
            stride: layout.stride,
            length,
            bytes,
        })
    }

    /// Unpacks the picture and passes it to `read`.
    ///
    /// # Errors
    /// When memory is short, or when it was packed elsewhere and is malformed.
    pub fn unpack<T>(&self, read: impl FnOnce(&Pixels<'_>) -> T) -> std::io::Result<T> {
        let length = i32::try_from(self.length).ok();
        let bytes = lz4::block::decompress(&self.bytes, length)?;
        if bytes.len() != self.length {
            let what = "its pixels do not fit its layout";
            return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, what));
        }
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
        let sent = Packed::from_elsewhere(&packed.layout(), packed.bytes().to_vec()).unwrap();
        assert!(sent.unpack(|unpacked| *unpacked == pixels).unwrap());
    }

    #[test]
    fn a_malformed_picture_of_elsewhere_is_refused() {
        let layout = PackedLayout {
            encoding: "bgra8".to_owned(),
            width: 50,
            height: 30,
            stride: 200,
        };
        let bytes = vec![7; 1_000];
        let refused = |layout: &PackedLayout, bytes: &[u8]| {
            Packed::from_elsewhere(layout, bytes.to_vec()).is_none()
        };
        assert!(!refused(&layout, &bytes));
        let sent = Packed::from_elsewhere(&layout, bytes.clone()).unwrap();
        assert!(sent.unpack(|_| ()).is_err(), "it is not LZ4");
        let changes: [fn(&mut PackedLayout); 6] = [
            |it| it.encoding.clear(),
            |it| it.width = 0,
            |it| it.width = u32::MAX,
            |it| it.height = 0,
            |it| it.stride = 199,
            // More than can be in so many bytes: it would take 4 GB.
            |it| (it.stride, it.height) = (1 << 17, 1 << 15),
        ];
        for change in changes {
            let mut other = layout.clone();
            change(&mut other);
            assert!(refused(&other, &bytes), "{other:?}");
        }
        // Another picture, packed well, with a layout that it does not have.
        let pixels = Pixels {
            encoding: Encoding::Grey8,
            width: 100,
            height: 10,
            stride: 100,
            bytes: &[3; 1_000],
        };
        let packed = Packed::new(&pixels).unwrap();
        for height in [9, 11] {
            let mut layout = packed.layout();
            layout.height = height;
            let sent = Packed::from_elsewhere(&layout, packed.bytes().to_vec()).unwrap();
            assert!(sent.unpack(|_| ()).is_err(), "{height}");
        }
    }
}
