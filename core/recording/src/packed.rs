//! Pictures and buffers packed in memory, until the recorder decides whether to write them.

use serde::{Deserialize, Serialize};

use crate::image::{Encoding, LONGEST_SIDE, Pixels};
use crate::payload::{Elements, Payload, PayloadKind};
use crate::written_layout::WrittenLayout;

/// A picture or a buffer, packed without loss (LZ4).
#[derive(Clone, Debug)]
pub struct Packed {
    layout: PackedLayout,
    length: usize,
    bytes: Vec<u8>,
}

/// The layout of a packed picture or buffer, to send it elsewhere with [`Packed::bytes`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PackedLayout {
    /// Of a picture.
    Picture(PackedPicture),
    /// Of a buffer.
    Buffer(WrittenLayout),
}

/// The layout of a packed picture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackedPicture {
    encoding: String,
    width: u32,
    height: u32,
    stride: u32,
}

/// LZ4 packs at most so many bytes into one.
const MOST_PACKED: usize = 255;

impl Packed {
    /// Packs a picture or a buffer. `None`: it is larger than LZ4's limit of about 2 GB.
    #[must_use]
    pub fn new(payload: &Payload<'_>) -> Option<Self> {
        let bytes = lz4::block::compress(payload.bytes(), None, false).ok()?;
        Some(Self {
            layout: PackedLayout::of(payload),
            length: payload.bytes().len(),
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
    pub fn layout(&self) -> &PackedLayout {
        &self.layout
    }

    /// A picture or a buffer that was packed elsewhere. `None`: the layout is invalid, or the bytes are too few for it.
    #[must_use]
    pub fn from_elsewhere(layout: PackedLayout, bytes: Vec<u8>) -> Option<Self> {
        let length = layout.length()?;
        (length / MOST_PACKED <= bytes.len()).then_some(Self {
            layout,
            length,
            bytes,
        })
    }

    /// Unpacks it and passes it to `read`.
    ///
    /// # Errors
    /// When memory is short, or when it was packed elsewhere and is malformed.
    pub fn unpack<T>(&self, read: impl FnOnce(&Payload<'_>) -> T) -> std::io::Result<T> {
        let length = i32::try_from(self.length).ok();
        let bytes = lz4::block::decompress(&self.bytes, length)?;
        let payload = self.layout.payload(&bytes);
        let payload = payload.filter(|_| bytes.len() == self.length);
        let malformed = || {
            let what = "its bytes do not fit its layout";
            std::io::Error::new(std::io::ErrorKind::InvalidData, what)
        };
        Ok(read(&payload.ok_or_else(malformed)?))
    }
}

impl PackedLayout {
    /// Whether it is that of a picture or of a buffer.
    #[must_use]
    pub fn kind(&self) -> PayloadKind {
        match self {
            Self::Picture(_) => PayloadKind::Picture,
            Self::Buffer(_) => PayloadKind::Buffer,
        }
    }

    fn of(payload: &Payload<'_>) -> Self {
        match payload {
            Payload::Picture(pixels) => Self::Picture(PackedPicture {
                encoding: pixels.encoding.word().to_owned(),
                width: pixels.width,
                height: pixels.height,
                stride: pixels.stride,
            }),
            Payload::Buffer(elements) => Self::Buffer(WrittenLayout::of(elements.info())),
        }
    }

    /// Bytes of what has this layout. `None`: it is invalid.
    fn length(&self) -> Option<usize> {
        match self {
            Self::Picture(picture) => {
                let encoding = Encoding::of(&picture.encoding)?;
                let row = picture.width.checked_mul(encoding.bytes_per_pixel())?;
                let length = usize::try_from(picture.stride).ok()?;
                let length = length.checked_mul(usize::try_from(picture.height).ok()?)?;
                let is_picture = row > 0
                    && picture.stride >= row
                    && length > 0
                    && picture.width.max(picture.height) <= LONGEST_SIDE;
                is_picture.then_some(length)
            }
            Self::Buffer(layout) => usize::try_from(layout.info().ok()?.size).ok(),
        }
    }

    /// Bytes with this layout. `None`: they do not fit it.
    fn payload<'a>(&self, bytes: &'a [u8]) -> Option<Payload<'a>> {
        match self {
            Self::Picture(picture) => Some(Payload::Picture(Pixels {
                encoding: Encoding::of(&picture.encoding)?,
                width: picture.width,
                height: picture.height,
                stride: picture.stride,
                bytes,
            })),
            Self::Buffer(layout) => Elements::new(&layout.info().ok()?, bytes).map(Payload::Buffer),
        }
    }
}

#[cfg(test)]
mod tests {
    use flowpipe_abi::{BufferInfo, Element};

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
        let pixels = Payload::Picture(pixels);
        let packed = Packed::new(&pixels).unwrap();
        assert!(packed.size() < bytes.len() / 4);
        assert!(packed.unpack(|unpacked| *unpacked == pixels).unwrap());
        let sent = Packed::from_elsewhere(packed.layout().clone(), packed.bytes().to_vec());
        assert!(
            sent.unwrap()
                .unpack(|unpacked| *unpacked == pixels)
                .unwrap()
        );
    }

    #[test]
    fn an_unpacked_buffer_is_unchanged() {
        let info = BufferInfo::new("audio/pcm", Element::F32, &[100, 2]).unwrap();
        let bytes = vec![3; 800];
        let buffer = Payload::Buffer(Elements::new(&info, &bytes).unwrap());
        let packed = Packed::new(&buffer).unwrap();
        assert!(packed.size() < 100);
        assert!(packed.unpack(|unpacked| *unpacked == buffer).unwrap());
        let with_shape = |count: u64| {
            let mut layout = packed.layout().clone();
            if let PackedLayout::Buffer(buffer) = &mut layout {
                buffer.shape[0] = count;
            }
            Packed::from_elsewhere(layout, packed.bytes().to_vec())
        };
        assert!(with_shape(100).unwrap().unpack(|it| *it == buffer).unwrap());
        for other in [99, 101] {
            assert!(
                with_shape(other).unwrap().unpack(|_| ()).is_err(),
                "{other}"
            );
        }
        // None, and more than can be in so many bytes.
        for other in [0, 1 << 20, u64::MAX] {
            assert!(with_shape(other).is_none(), "{other}");
        }
    }

    #[test]
    fn a_malformed_picture_of_elsewhere_is_refused() {
        let layout = PackedPicture {
            encoding: "bgra8".to_owned(),
            width: 50,
            height: 30,
            stride: 200,
        };
        let bytes = vec![7; 1_000];
        let elsewhere = |layout: &PackedPicture, bytes: &[u8]| {
            Packed::from_elsewhere(PackedLayout::Picture(layout.clone()), bytes.to_vec())
        };
        let sent = elsewhere(&layout, &bytes).unwrap();
        assert!(sent.unpack(|_| ()).is_err(), "it is not LZ4");
        let changes: [fn(&mut PackedPicture); 6] = [
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
            assert!(elsewhere(&other, &bytes).is_none(), "{other:?}");
        }
        // Another picture, packed well, with a layout that it does not have.
        let pixels = Pixels {
            encoding: Encoding::Grey8,
            width: 100,
            height: 10,
            stride: 100,
            bytes: &[3; 1_000],
        };
        let packed = Packed::new(&Payload::Picture(pixels)).unwrap();
        for height in [9, 11] {
            let PackedLayout::Picture(mut layout) = packed.layout().clone() else {
                panic!("it is a picture");
            };
            layout.height = height;
            let sent = elsewhere(&layout, packed.bytes()).unwrap();
            assert!(sent.unpack(|_| ()).is_err(), "{height}");
        }
    }
}
