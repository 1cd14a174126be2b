//! Pictures as `foxglove.RawImage`: Protocol Buffers, so that pixels need no base64.
//!
//! Source: <https://docs.foxglove.dev/docs/visualization/message-schemas/raw-image>.

use prost::Message as _;
use prost_types::field_descriptor_proto::Type;

use crate::protobuf;

/// The layout of a pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Blue, green, red, alpha: a byte each.
    Bgra8,
    /// Red, green, blue, alpha.
    Rgba8,
    /// Blue, green, red.
    Bgr8,
    /// Red, green, blue.
    Rgb8,
    /// Brightness.
    Grey8,
}

/// A picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pixels<'a> {
    /// The layout of a pixel.
    pub encoding: Encoding,
    /// Pixels from left to right.
    pub width: u32,
    /// Rows from top to bottom.
    pub height: u32,
    /// Bytes from one row to the next.
    pub stride: u32,
    /// `stride * height` bytes.
    pub bytes: &'a [u8],
}

/// The schema's name.
pub(crate) const SCHEMA: &str = "foxglove.RawImage";

impl Encoding {
    /// Bytes of one pixel.
    #[must_use]
    pub fn bytes_per_pixel(self) -> u32 {
        match self {
            Self::Bgra8 | Self::Rgba8 => 4,
            Self::Bgr8 | Self::Rgb8 => 3,
            Self::Grey8 => 1,
        }
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Bgra8 => "bgra8",
            Self::Rgba8 => "rgba8",
            Self::Bgr8 => "bgr8",
            Self::Rgb8 => "rgb8",
            Self::Grey8 => "mono8",
        }
    }

    pub(crate) fn of(word: &str) -> Option<Self> {
        [
            Self::Bgra8,
            Self::Rgba8,
            Self::Bgr8,
            Self::Rgb8,
            Self::Grey8,
        ]
        .into_iter()
        .find(|encoding| encoding.word() == word)
    }
}

/// The message without its pixels, which are long and come last.
#[derive(prost::Message)]
struct RawImage {
    #[prost(message, optional, tag = "1")]
    timestamp: Option<prost_types::Timestamp>,
    #[prost(fixed32, tag = "2")]
    width: u32,
    #[prost(fixed32, tag = "3")]
    height: u32,
    #[prost(string, tag = "4")]
    encoding: String,
    #[prost(fixed32, tag = "5")]
    step: u32,
    #[prost(string, tag = "7")]
    frame_id: String,
}

/// A longer side, in pixels, is no screen's: work on a picture can take memory for each of its columns and rows.
pub(crate) const LONGEST_SIDE: u32 = 1 << 15;

impl Pixels<'_> {
    /// Writes the message to `buffer`, whose content is replaced. `unix_ns`: when the picture was captured.
    pub(crate) fn encode(&self, frame_id: &str, unix_ns: u64, buffer: &mut Vec<u8>) {
        let head = RawImage {
            timestamp: Some(protobuf::timestamp(unix_ns)),
            width: self.width,
            height: self.height,
            encoding: self.encoding.word().to_owned(),
            step: self.stride,
            frame_id: frame_id.to_owned(),
        };
        protobuf::encode(&head, self.bytes, buffer);
    }

    /// Reads a message of [`Self::encode`].
    pub(crate) fn decode(message: &[u8]) -> Result<Pixels<'_>, String> {
        let (head, bytes) = protobuf::split(message)?;
        let head = RawImage::decode(head).map_err(|error| error.to_string())?;
        let encoding = Encoding::of(&head.encoding)
            .ok_or_else(|| format!("pixels of a kind unknown here: {:?}", head.encoding))?;
        let bytes = bytes.ok_or("it has no pixels")?;
        let row = u64::from(head.width) * u64::from(encoding.bytes_per_pixel());
        let size = u64::from(head.step) * u64::from(head.height);
        if row == 0 || u64::from(head.step) < row || size != bytes.len() as u64 || size == 0 {
            return Err(format!(
                "{} bytes are no {} x {} pixels of {}",
                bytes.len(),
                head.width,
                head.height,
                head.encoding
            ));
        }
        if head.width.max(head.height) > LONGEST_SIDE {
            return Err(format!(
                "{} x {} pixels, where a side of {LONGEST_SIDE} can be read",
                head.width, head.height
            ));
        }
        Ok(Pixels {
            encoding,
            width: head.width,
            height: head.height,
            stride: head.step,
            bytes,
        })
    }
}

/// The schema, as MCAP wants it.
pub(crate) fn descriptor() -> Vec<u8> {
    let stamp = Some(protobuf::TIMESTAMP);
    let fields = vec![
        protobuf::field("timestamp", 1, Type::Message, stamp),
        protobuf::field("frame_id", 7, Type::String, None),
        protobuf::field("width", 2, Type::Fixed32, None),
        protobuf::field("height", 3, Type::Fixed32, None),
        protobuf::field("encoding", 4, Type::String, None),
        protobuf::field("step", 5, Type::Fixed32, None),
        protobuf::field("data", protobuf::DATA, Type::Bytes, None),
    ];
    protobuf::descriptor("foxglove", "RawImage", fields)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_side_has_a_longest_length() {
        let decoded = |width: u32| {
            let pixels = Pixels {
                encoding: Encoding::Grey8,
                width,
                height: 1,
                stride: width,
                bytes: &vec![0; width as usize],
            };
            let mut buffer = Vec::new();
            pixels.encode("", 0, &mut buffer);
            Pixels::decode(&buffer).map(|it| it.width)
        };
        assert_eq!(decoded(LONGEST_SIDE), Ok(LONGEST_SIDE));
        assert!(decoded(LONGEST_SIDE + 1).is_err());
    }

    #[test]
    fn a_picture_survives_a_round_trip() {
        let bytes: Vec<u8> = (0..60).collect();
        let pixels = Pixels {
            encoding: Encoding::Bgr8,
            width: 6,
            height: 3,
            stride: 20,
            bytes: &bytes,
        };
        let mut buffer = vec![1, 2, 3];
        pixels.encode("screen", 1_700_000_000_123_456_789, &mut buffer);
        assert_eq!(Pixels::decode(&buffer).unwrap(), pixels);
        assert!(Pixels::decode(&buffer[..buffer.len() - 1]).is_err());
    }

    proptest! {
        #[test]
        fn malformed_input_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Pixels::decode(&bytes);
        }
    }
}
