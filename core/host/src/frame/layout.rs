//! What the bytes of a frame are: the pixels of a picture, or the elements of a buffer.

use flowpipe_abi as abi;
use flowpipe_config::manifest::Content;
use serde::{Deserialize, Serialize};

/// The layout of a frame's memory. One that another process or machine has sent is valid once it is deserialized.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "WireLayout", into = "WireLayout")]
pub enum Layout {
    /// Pixels.
    Picture(Shape),
    /// Elements.
    Buffer(BufferLayout),
}

/// The layout of a picture in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// One of the ABI's formats (`flowpipe_abi::FORMAT_…`).
    pub format: abi::Format,
    /// Pixels from left to right, at least 1.
    pub width: u32,
    /// Rows from top to bottom, at least 1.
    pub height: u32,
    /// Bytes from one row to the next.
    pub stride: u64,
}

/// The layout of a buffer, which is valid: its size is that of its shape, and at most [`abi::BUFFER_MAX_SIZE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferLayout(abi::BufferInfo);

/// A layout in a packet.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum WireLayout {
    Picture {
        format: abi::Format,
        width: u32,
        height: u32,
        stride: u64,
    },
    Buffer {
        media_type: String,
        element: abi::ElementNumber,
        shape: Vec<u64>,
    },
}

/// The largest allowed picture in bytes: 16,384 x 16,384 pixels of 4 bytes.
const LARGEST: u64 = 1 << 30;

impl Layout {
    /// Bytes in all, at least 1.
    #[must_use]
    pub fn size(&self) -> usize {
        match self {
            Self::Picture(shape) => shape.size(),
            Self::Buffer(layout) => layout.size(),
        }
    }

    /// What a message with it carries.
    #[must_use]
    pub fn content(&self) -> Content<'_> {
        match self {
            Self::Picture(_) => Content::Picture,
            Self::Buffer(layout) => Content::Buffer(&layout.0),
        }
    }

    /// As the ABI's struct of pictures. A buffer has its size alone, which no reader takes for pixels.
    #[must_use]
    pub fn info(&self) -> abi::FrameInfo {
        match self {
            Self::Picture(shape) => shape.info(),
            Self::Buffer(layout) => abi::FrameInfo {
                struct_size: size_of::<abi::FrameInfo>() as u32,
                format: 0,
                width: 0,
                height: 0,
                stride: 0,
                size: layout.0.size,
            },
        }
    }
}

impl From<Layout> for WireLayout {
    fn from(layout: Layout) -> Self {
        match layout {
            Layout::Picture(shape) => Self::Picture {
                format: shape.format,
                width: shape.width,
                height: shape.height,
                stride: shape.stride,
            },
            Layout::Buffer(BufferLayout(info)) => Self::Buffer {
                media_type: info.media_type().unwrap_or_default().to_owned(),
                element: info.element,
                shape: info.shape().to_vec(),
            },
        }
    }
}

impl TryFrom<WireLayout> for Layout {
    type Error = String;

    fn try_from(wire: WireLayout) -> Result<Self, String> {
        match wire {
            WireLayout::Picture {
                format,
                width,
                height,
                stride,
            } => Shape::new(&abi::FrameInfo {
                struct_size: size_of::<abi::FrameInfo>() as u32,
                format,
                width,
                height,
                stride,
                size: 0,
            })
            .map(Self::Picture)
            .ok_or_else(|| "the layout is none of a picture".to_owned()),
            WireLayout::Buffer {
                media_type,
                element,
                shape,
            } => {
                let known = abi::Element::from_number(element);
                known
                    .ok_or(abi::InvalidBuffer::Element(element))
                    .and_then(|element| abi::BufferInfo::new(&media_type, element, &shape))
                    .map(|info| Self::Buffer(BufferLayout(info)))
                    .map_err(|error| format!("the layout is none of a buffer: {error}"))
            }
        }
    }
}

impl From<Shape> for Layout {
    fn from(shape: Shape) -> Self {
        Self::Picture(shape)
    }
}

impl From<BufferLayout> for Layout {
    fn from(layout: BufferLayout) -> Self {
        Self::Buffer(layout)
    }
}

impl BufferLayout {
    /// Reads a layout from the ABI.
    ///
    /// # Errors
    /// When it is none of a buffer.
    pub fn new(info: &abi::BufferInfo) -> Result<Self, abi::InvalidBuffer> {
        info.checked().map(Self)
    }

    /// As the ABI's struct.
    #[must_use]
    pub fn info(&self) -> &abi::BufferInfo {
        &self.0
    }

    /// Bytes in all.
    #[must_use]
    pub fn size(&self) -> usize {
        // At most BUFFER_MAX_SIZE, checked when the layout was created.
        usize::try_from(self.0.size).unwrap_or(usize::MAX)
    }
}

impl Shape {
    /// Reads a shape from the ABI; a stride of 0 becomes rows without gaps.
    ///
    /// `None` if it is invalid: an unknown format, no pixels, rows that overlap, more than 1 GiB.
    #[must_use]
    pub fn new(info: &abi::FrameInfo) -> Option<Self> {
        let row = u64::from(info.width) * bytes_per_pixel(info.format)?;
        let stride = if info.stride == 0 { row } else { info.stride };
        let size = stride.checked_mul(u64::from(info.height))?;
        (row > 0 && stride >= row && size > 0 && size <= LARGEST).then_some(Self {
            format: info.format,
            width: info.width,
            height: info.height,
            stride,
        })
    }

    /// Bytes in all.
    #[must_use]
    pub fn size(&self) -> usize {
        // At most LARGEST, checked when the shape was created.
        usize::try_from(self.stride * u64::from(self.height)).unwrap_or(usize::MAX)
    }

    fn info(&self) -> abi::FrameInfo {
        abi::FrameInfo {
            struct_size: size_of::<abi::FrameInfo>() as u32,
            format: self.format,
            width: self.width,
            height: self.height,
            stride: self.stride,
            size: self.size() as u64,
        }
    }
}

fn bytes_per_pixel(format: abi::Format) -> Option<u64> {
    match format {
        abi::FORMAT_BGRA8 | abi::FORMAT_RGBA8 => Some(4),
        abi::FORMAT_BGR8 | abi::FORMAT_RGB8 => Some(3),
        abi::FORMAT_GREY8 => Some(1),
        _ => None,
    }
}

// Miri takes long for it, and there is no unsafe code here.
#[cfg(all(test, not(miri)))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn layouts_of_elsewhere_are_checked() {
        let audio = abi::BufferInfo::new("audio/pcm", abi::Element::F32, &[16, 2]);
        let audio = BufferLayout::new(&audio.unwrap()).unwrap();
        let grey = abi::FrameInfo {
            struct_size: 0,
            format: abi::FORMAT_GREY8,
            width: 5,
            height: 2,
            stride: 16,
            size: 0,
        };
        for layout in [Layout::from(audio), Shape::new(&grey).unwrap().into()] {
            let sent = serde_json::to_value(layout).unwrap();
            assert_eq!(serde_json::from_value::<Layout>(sent).unwrap(), layout);
        }
        let read = |sent: serde_json::Value| serde_json::from_value::<Layout>(sent).ok();
        let buffer = |element: u32, shape: &[u64]| {
            read(
                serde_json::json!({ "buffer": { "media_type": "a/b", "element": element, "shape": shape } }),
            )
        };
        assert!(buffer(10, &[3]).is_some());
        for shape in [&[0][..], &[1; 9], &[u64::MAX, 3], &[1 << 28, 2]] {
            assert_eq!(buffer(10, shape), None, "{shape:?}");
        }
        assert_eq!(buffer(0, &[3]), None);
        let picture =
            serde_json::json!({ "picture": { "format": 5, "width": 8, "height": 8, "stride": 7 } });
        assert_eq!(read(picture), None);
    }

    proptest! {
        /// A layout that is accepted has the size of its shape, and no other one is accepted.
        #[test]
        fn a_size_is_that_of_the_shape(
            element in 0_u32..14,
            rank in 0_u32..10,
            shape in proptest::array::uniform8(prop_oneof![0_u64..6, Just(u64::MAX), Just(1 << 29), Just(1 << 32)]),
            media_type in "[a-zA-Z/*;]{0,8}",
            size in any::<u64>(),
        ) {
            let mut info = abi::BufferInfo {
                struct_size: size_of::<abi::BufferInfo>() as u32,
                element,
                rank,
                reserved: 0,
                shape,
                size,
                media_type: [0; abi::MEDIA_TYPE_CAPACITY],
            };
            info.media_type[..media_type.len()].copy_from_slice(media_type.as_bytes());
            let counts = shape.get(..rank as usize);
            let element = abi::Element::from_number(element);
            let product = counts.zip(element).and_then(|(counts, element)| {
                let size = u128::from(element.size() as u64);
                counts.iter().try_fold(size, |product, count| product.checked_mul(u128::from(*count)))
            });
            let fits = product.is_some_and(|size| (1..=1 << 30).contains(&size));
            let fits = fits && abi::is_media_type(&media_type);
            match BufferLayout::new(&info) {
                Ok(layout) => {
                    prop_assert!(fits);
                    prop_assert_eq!(layout.size() as u128, product.unwrap());
                    prop_assert_eq!(layout.info().shape(), counts.unwrap());
                    prop_assert_eq!(layout.info().media_type(), Some(&*media_type));
                }
                Err(_) => prop_assert!(!fits),
            }
        }
    }
}
