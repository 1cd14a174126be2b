//! The rules of a buffer's layout: its elements, its shape and its media type.

use core::fmt;
use core::str::FromStr;

use crate::{
    BUFFER_MAX_RANK, BUFFER_MAX_SIZE, BufferInfo, ELEMENT_F16, ELEMENT_F32, ELEMENT_F64,
    ELEMENT_I8, ELEMENT_I16, ELEMENT_I32, ELEMENT_I64, ELEMENT_U8, ELEMENT_U16, ELEMENT_U32,
    ELEMENT_U64, ElementNumber, MEDIA_TYPE_CAPACITY,
};

/// The type of a buffer's elements, which are little-endian.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Element {
    /// Unsigned, 1 byte.
    U8,
    /// Signed, 1 byte.
    I8,
    /// Unsigned, 2 bytes.
    U16,
    /// Signed, 2 bytes.
    I16,
    /// Unsigned, 4 bytes.
    U32,
    /// Signed, 4 bytes.
    I32,
    /// Unsigned, 8 bytes.
    U64,
    /// Signed, 8 bytes.
    I64,
    /// IEEE 754 binary16, 2 bytes.
    F16,
    /// IEEE 754 binary32, 4 bytes.
    F32,
    /// IEEE 754 binary64, 8 bytes.
    F64,
}

/// Why a layout is none of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidBuffer {
    /// The struct is shorter than [`BufferInfo`].
    Short,
    /// No element type has this number.
    Element(ElementNumber),
    /// This many dimensions are too many.
    Rank(usize),
    /// The dimension of this index has no elements.
    Dimension(usize),
    /// It has more than [`BUFFER_MAX_SIZE`] bytes.
    Size,
    /// The media type is not one.
    MediaType,
}

/// The error for a name that is none of an [`Element`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownElement;

impl Element {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::U8,
        Self::I8,
        Self::U16,
        Self::I16,
        Self::U32,
        Self::I32,
        Self::U64,
        Self::I64,
        Self::F16,
        Self::F32,
        Self::F64,
    ];

    /// The number in a [`BufferInfo`].
    #[must_use]
    pub const fn number(self) -> ElementNumber {
        match self {
            Self::U8 => ELEMENT_U8,
            Self::I8 => ELEMENT_I8,
            Self::U16 => ELEMENT_U16,
            Self::I16 => ELEMENT_I16,
            Self::U32 => ELEMENT_U32,
            Self::I32 => ELEMENT_I32,
            Self::U64 => ELEMENT_U64,
            Self::I64 => ELEMENT_I64,
            Self::F16 => ELEMENT_F16,
            Self::F32 => ELEMENT_F32,
            Self::F64 => ELEMENT_F64,
        }
    }

    /// The type of a number. `None`: there is none.
    #[must_use]
    pub fn from_number(number: ElementNumber) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|element| element.number() == number)
    }

    /// The name in manifests and in JSON, such as `f32`. [`str::parse`] is the opposite.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::U8 => "u8",
            Self::I8 => "i8",
            Self::U16 => "u16",
            Self::I16 => "i16",
            Self::U32 => "u32",
            Self::I32 => "i32",
            Self::U64 => "u64",
            Self::I64 => "i64",
            Self::F16 => "f16",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }

    /// Bytes of one element.
    #[must_use]
    pub const fn size(self) -> usize {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 | Self::F16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
        }
    }
}

impl fmt::Display for Element {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for Element {
    type Err = UnknownElement;

    fn from_str(name: &str) -> Result<Self, UnknownElement> {
        let known = Self::ALL
            .into_iter()
            .find(|element| element.as_str() == name);
        known.ok_or(UnknownElement)
    }
}

impl BufferInfo {
    /// The layout of a buffer. `shape`: the elements of each dimension, the last of which varies fastest.
    ///
    /// # Errors
    /// When it is none: see [`InvalidBuffer`].
    pub fn new(media_type: &str, element: Element, shape: &[u64]) -> Result<Self, InvalidBuffer> {
        let rank = shape.len();
        if rank > BUFFER_MAX_RANK {
            return Err(InvalidBuffer::Rank(rank));
        }
        if !is_media_type(media_type) {
            return Err(InvalidBuffer::MediaType);
        }
        let mut size = element.size() as u64;
        for (index, &count) in shape.iter().enumerate() {
            if count == 0 {
                return Err(InvalidBuffer::Dimension(index));
            }
            let product = size.checked_mul(count);
            size = product
                .filter(|&size| size <= BUFFER_MAX_SIZE)
                .ok_or(InvalidBuffer::Size)?;
        }
        let mut info = Self {
            struct_size: size_of::<Self>() as u32,
            element: element.number(),
            rank: rank as u32,
            reserved: 0,
            shape: [0; BUFFER_MAX_RANK],
            size,
            media_type: [0; MEDIA_TYPE_CAPACITY],
        };
        for (place, &count) in info.shape.iter_mut().zip(shape) {
            *place = count;
        }
        for (place, &byte) in info.media_type.iter_mut().zip(media_type.as_bytes()) {
            *place = byte;
        }
        Ok(info)
    }

    /// The same layout with what a creator leaves open: the size, and zeros in unused places. Two such layouts are
    /// equal if their elements, shapes and media types are.
    ///
    /// # Errors
    /// When it is no layout of a buffer: see [`InvalidBuffer`].
    pub fn checked(&self) -> Result<Self, InvalidBuffer> {
        if (self.struct_size as usize) < size_of::<Self>() {
            return Err(InvalidBuffer::Short);
        }
        let element = self.element();
        let element = element.ok_or(InvalidBuffer::Element(self.element))?;
        let rank = self.rank as usize;
        let shape = self.shape.get(..rank).ok_or(InvalidBuffer::Rank(rank))?;
        let media_type = self.media_type().ok_or(InvalidBuffer::MediaType)?;
        Self::new(media_type, element, shape)
    }

    /// The type of its elements. `None`: the number is of none.
    #[must_use]
    pub fn element(&self) -> Option<Element> {
        Element::from_number(self.element)
    }

    /// The elements of each dimension.
    #[must_use]
    pub fn shape(&self) -> &[u64] {
        let rank = self.rank as usize;
        self.shape.get(..rank).unwrap_or_default()
    }

    /// The media type, such as `audio/pcm`. `None`: it is no text, or does not end.
    #[must_use]
    pub fn media_type(&self) -> Option<&str> {
        let text = core::ffi::CStr::from_bytes_until_nul(&self.media_type);
        text.ok()?.to_str().ok()
    }
}

/// Such as `audio/pcm f32 [480, 2]`.
impl fmt::Display for BufferInfo {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let element = self.element().map_or("?", Element::as_str);
        let media_type = self.media_type().unwrap_or("?");
        write!(formatter, "{media_type} {element} {:?}", self.shape())
    }
}

/// Whether a text is a media type in lower case without parameters, short enough for a [`BufferInfo`].
#[must_use]
pub fn is_media_type(text: &str) -> bool {
    // RFC 6838, section 4.2.
    let is_name = |name: &str| {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        name.bytes().next().is_some_and(plain)
            && name
                .bytes()
                .all(|byte| plain(byte) || b"!#$&-^_.+".contains(&byte))
    };
    text.len() < MEDIA_TYPE_CAPACITY
        && text
            .split_once('/')
            .is_some_and(|(group, name)| is_name(group) && is_name(name))
}

impl fmt::Display for UnknownElement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the element types are ")?;
        for (number, element) in Element::ALL.into_iter().enumerate() {
            let separator = if number == 0 { "" } else { ", " };
            write!(formatter, "{separator}{element}")?;
        }
        Ok(())
    }
}

impl fmt::Display for InvalidBuffer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short => formatter.write_str("its struct_size is too small"),
            Self::Element(number) => write!(formatter, "no element type has the number {number}"),
            Self::Rank(rank) => write!(
                formatter,
                "it has {rank} dimensions, and a buffer has at most {BUFFER_MAX_RANK}"
            ),
            Self::Dimension(index) => write!(
                formatter,
                "dimension {index} of its shape is 0: send a message without a buffer instead"
            ),
            Self::Size => write!(
                formatter,
                "it has more than {} GiB, the most of a buffer",
                BUFFER_MAX_SIZE >> 30
            ),
            Self::MediaType => write!(
                formatter,
                "its media type is not one like audio/pcm: lower case, no parameters, at most {} bytes",
                MEDIA_TYPE_CAPACITY - 1
            ),
        }
    }
}

impl core::error::Error for UnknownElement {}
impl core::error::Error for InvalidBuffer {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_the_product_of_the_shape() {
        let info = BufferInfo::new("audio/pcm", Element::F32, &[480, 2]).unwrap();
        assert_eq!(
            (info.size, info.rank, info.shape()),
            (3840, 2, &[480, 2][..])
        );
        assert_eq!(info.to_string(), "audio/pcm f32 [480, 2]");
        let scalar = BufferInfo::new("application/x-tensor", Element::I64, &[]).unwrap();
        assert_eq!((scalar.size, scalar.shape()), (8, &[][..]));
        let largest = BufferInfo::new("a/b", Element::U8, &[1 << 15, 1 << 15]).unwrap();
        assert_eq!(largest.size, BUFFER_MAX_SIZE);
    }

    #[test]
    fn invalid_layouts_are_refused() {
        let refused = |shape: &[u64]| BufferInfo::new("a/b", Element::F64, shape).unwrap_err();
        assert_eq!(refused(&[1; 9]), InvalidBuffer::Rank(9));
        assert_eq!(refused(&[3, 0]), InvalidBuffer::Dimension(1));
        assert_eq!(refused(&[u64::MAX, 2]), InvalidBuffer::Size);
        assert_eq!(refused(&[u64::MAX / 8 + 1]), InvalidBuffer::Size);
        assert_eq!(refused(&[1 << 15, 1 << 15]), InvalidBuffer::Size);
        for text in [
            "",
            "audio",
            "audio/",
            "/pcm",
            "Audio/pcm",
            "a/b/c",
            "a/b; c=1",
            "-a/b",
            "ä/b",
        ] {
            assert!(!is_media_type(text), "{text}");
        }
        assert!(is_media_type(&format!("a/{}", "b".repeat(61))));
        assert!(!is_media_type(&format!("a/{}", "b".repeat(62))));
    }

    #[test]
    fn what_a_creator_leaves_open_is_filled_in() {
        let good = BufferInfo::new("text/plain", Element::U8, &[5]).unwrap();
        let mut open = good;
        (open.size, open.reserved, open.shape[3], open.media_type[40]) = (99, 7, 5, b'x');
        assert_eq!(open.checked(), Ok(good));
        let changed = |change: fn(&mut BufferInfo)| {
            let mut info = good;
            change(&mut info);
            info.checked().unwrap_err()
        };
        assert_eq!(changed(|it| it.struct_size = 16), InvalidBuffer::Short);
        assert_eq!(changed(|it| it.element = 0), InvalidBuffer::Element(0));
        assert_eq!(changed(|it| it.element = 12), InvalidBuffer::Element(12));
        let rank = u32::MAX as usize;
        assert_eq!(changed(|it| it.rank = u32::MAX), InvalidBuffer::Rank(rank));
        let endless = InvalidBuffer::MediaType;
        assert_eq!(changed(|it| it.media_type = [b'a'; 64]), endless);
        assert_eq!(changed(|it| it.media_type[2] = 0xff), endless);
    }

    #[test]
    fn elements_have_names_and_numbers() {
        for element in Element::ALL {
            assert_eq!(element.as_str().parse(), Ok(element));
            assert_eq!(Element::from_number(element.number()), Some(element));
        }
        assert_eq!("F32".parse::<Element>(), Err(UnknownElement));
        assert!(UnknownElement.to_string().contains("u8, i8"));
    }
}
