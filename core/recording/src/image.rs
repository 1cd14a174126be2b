//! Pictures as `foxglove.RawImage`: Protocol Buffers, so that pixels need no base64.
//!
//! Source: <https://docs.foxglove.dev/docs/visualization/message-schemas/raw-image>.

use prost::Message as _;
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{DescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet};

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

/// Field 6, bytes.
const DATA_KEY: u8 = 6 << 3 | 2;

impl Pixels<'_> {
    /// Writes the message to `buffer`, whose content is replaced. `unix_ns`: when the picture was captured.
    pub(crate) fn encode(&self, frame_id: &str, unix_ns: u64, buffer: &mut Vec<u8>) {
        let head = RawImage {
            timestamp: Some(prost_types::Timestamp {
                seconds: i64::try_from(unix_ns / 1_000_000_000).unwrap_or(i64::MAX),
                // Less than a second.
                nanos: i32::try_from(unix_ns % 1_000_000_000).unwrap_or(0),
            }),
            width: self.width,
            height: self.height,
            encoding: self.encoding.word().to_owned(),
            step: self.stride,
            frame_id: frame_id.to_owned(),
        };
        buffer.clear();
        buffer.reserve(head.encoded_len() + self.bytes.len() + 16);
        // Writing to a vector can't fail.
        let _ = head.encode(buffer);
        buffer.push(DATA_KEY);
        prost::encoding::encode_varint(self.bytes.len() as u64, buffer);
        buffer.extend_from_slice(self.bytes);
    }

    /// Reads a message of [`Self::encode`].
    pub(crate) fn decode(message: &[u8]) -> Result<Pixels<'_>, String> {
        let wrong = |what: &str| what.to_owned();
        let mut rest = message;
        let mut bytes = None;
        // The pixels are borrowed; the fields before them are the head.
        let mut head_length = message.len();
        while !rest.is_empty() {
            let at = message.len() - rest.len();
            let key = prost::encoding::decode_varint(&mut rest).map_err(|e| e.to_string())?;
            let length = match key & 7 {
                5 => 4,
                1 => 8,
                2 => prost::encoding::decode_varint(&mut rest).map_err(|e| e.to_string())?,
                0 => {
                    prost::encoding::decode_varint(&mut rest).map_err(|e| e.to_string())?;
                    0
                }
                _ => return Err(wrong("not Protocol Buffers")),
            };
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            let field = rest
                .get(..length)
                .ok_or_else(|| wrong("it ends in the middle"))?;
            rest = rest.get(length..).unwrap_or_default();
            if key == u64::from(DATA_KEY) {
                bytes = Some(field);
                head_length = at;
            }
        }
        let head = RawImage::decode(message.get(..head_length).unwrap_or_default())
            .map_err(|error| error.to_string())?;
        let encoding = Encoding::of(&head.encoding)
            .ok_or_else(|| format!("pixels of a kind unknown here: {:?}", head.encoding))?;
        let bytes = bytes.ok_or_else(|| wrong("it has no pixels"))?;
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

/// The schema, as MCAP wants it: a `FileDescriptorSet` with everything that it needs.
pub(crate) fn descriptor() -> Vec<u8> {
    let field =
        |name: &str, number: i32, kind: Type, type_name: Option<&str>| FieldDescriptorProto {
            name: Some(name.to_owned()),
            number: Some(number),
            label: Some(Label::Optional as i32),
            r#type: Some(kind as i32),
            type_name: type_name.map(str::to_owned),
            json_name: Some(name.to_owned()),
            ..FieldDescriptorProto::default()
        };
    let timestamp = FileDescriptorProto {
        name: Some("google/protobuf/timestamp.proto".to_owned()),
        package: Some("google.protobuf".to_owned()),
        message_type: vec![DescriptorProto {
            name: Some("Timestamp".to_owned()),
            field: vec![
                field("seconds", 1, Type::Int64, None),
                field("nanos", 2, Type::Int32, None),
            ],
            ..DescriptorProto::default()
        }],
        syntax: Some("proto3".to_owned()),
        ..FileDescriptorProto::default()
    };
    let image = FileDescriptorProto {
        name: Some("foxglove/RawImage.proto".to_owned()),
        package: Some("foxglove".to_owned()),
        dependency: vec!["google/protobuf/timestamp.proto".to_owned()],
        message_type: vec![DescriptorProto {
            name: Some("RawImage".to_owned()),
            field: vec![
                field(
                    "timestamp",
                    1,
                    Type::Message,
                    Some(".google.protobuf.Timestamp"),
                ),
                field("frame_id", 7, Type::String, None),
                field("width", 2, Type::Fixed32, None),
                field("height", 3, Type::Fixed32, None),
                field("encoding", 4, Type::String, None),
                field("step", 5, Type::Fixed32, None),
                field("data", 6, Type::Bytes, None),
            ],
            ..DescriptorProto::default()
        }],
        syntax: Some("proto3".to_owned()),
        ..FileDescriptorProto::default()
    };
    FileDescriptorSet {
        file: vec![timestamp, image],
    }
    .encode_to_vec()
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
