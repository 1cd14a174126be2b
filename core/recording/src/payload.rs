//! What a message carries besides its JSON: a picture or a buffer.

use flowpipe_abi::BufferInfo;
use prost::Message as _;
use prost_types::field_descriptor_proto::{Label, Type};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use crate::image::Pixels;
use crate::protobuf;
use crate::written_layout::WrittenLayout;

/// A picture or a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload<'a> {
    /// A picture.
    Picture(Pixels<'a>),
    /// A buffer.
    Buffer(Elements<'a>),
}

/// Whether a payload is a picture or a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PayloadKind {
    /// A picture.
    Picture,
    /// A buffer.
    Buffer,
}

/// A buffer: its layout is valid, and its bytes are as many as the layout states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elements<'a> {
    info: BufferInfo,
    bytes: &'a [u8],
}

/// The schema's name of a buffer.
pub(crate) const BUFFER_SCHEMA: &str = "flowpipe.Buffer";

/// The longest message without its elements: names, and a shape of at most 8 dimensions.
const LONGEST_HEAD: usize = 4096;

/// The message without its elements, which are long and come last, in field [`protobuf::DATA`].
#[derive(prost::Message)]
struct BufferHead {
    #[prost(message, optional, tag = "1")]
    timestamp: Option<prost_types::Timestamp>,
    #[prost(string, tag = "2")]
    media_type: String,
    #[prost(string, tag = "3")]
    element: String,
    #[prost(uint64, repeated, tag = "4")]
    shape: Vec<u64>,
    #[prost(string, tag = "7")]
    frame_id: String,
}

impl Payload<'_> {
    /// A picture or a buffer.
    #[must_use]
    pub fn kind(&self) -> PayloadKind {
        match self {
            Self::Picture(_) => PayloadKind::Picture,
            Self::Buffer(_) => PayloadKind::Buffer,
        }
    }

    /// The pixels or elements.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Picture(pixels) => pixels.bytes,
            Self::Buffer(elements) => elements.bytes,
        }
    }

    /// XXH3 of it. Payloads with the same hash are treated as equal: by chance two different ones have the same hash
    /// once in 2^64.
    #[must_use]
    pub fn hash(&self) -> u128 {
        match self {
            Self::Picture(pixels) => pixels.hash(),
            Self::Buffer(elements) => {
                let layout = elements.info.to_string();
                xxh3_128(elements.bytes) ^ xxh3_128(layout.as_bytes()).rotate_left(1)
            }
        }
    }

    /// Writes the message to `buffer`, whose content is replaced. `unix_ns`: when it was captured.
    pub(crate) fn encode(&self, frame_id: &str, unix_ns: u64, buffer: &mut Vec<u8>) {
        match self {
            Self::Picture(pixels) => pixels.encode(frame_id, unix_ns, buffer),
            Self::Buffer(elements) => elements.encode(frame_id, unix_ns, buffer),
        }
    }

    /// Reads a message of [`Self::encode`].
    pub(crate) fn decode(kind: PayloadKind, message: &[u8]) -> Result<Payload<'_>, String> {
        match kind {
            PayloadKind::Picture => Pixels::decode(message).map(Payload::Picture),
            PayloadKind::Buffer => Elements::decode(message).map(Payload::Buffer),
        }
    }
}

impl<'a> Elements<'a> {
    /// A buffer with this layout. `None`: the layout is invalid, or has another size.
    #[must_use]
    pub fn new(info: &BufferInfo, bytes: &'a [u8]) -> Option<Self> {
        let info = info.checked().ok()?;
        (info.size == bytes.len() as u64).then_some(Self { info, bytes })
    }

    /// The layout.
    #[must_use]
    pub fn info(&self) -> &BufferInfo {
        &self.info
    }

    /// The elements, little-endian.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    fn encode(&self, frame_id: &str, unix_ns: u64, buffer: &mut Vec<u8>) {
        let layout = WrittenLayout::of(&self.info);
        let head = BufferHead {
            timestamp: Some(protobuf::timestamp(unix_ns)),
            media_type: layout.media_type,
            element: layout.element,
            shape: layout.shape,
            frame_id: frame_id.to_owned(),
        };
        protobuf::encode(&head, self.bytes, buffer);
    }

    pub(crate) fn decode(message: &'a [u8]) -> Result<Self, String> {
        let (head, bytes) = protobuf::split(message)?;
        if head.len() > LONGEST_HEAD {
            return Err("its layout is too long".to_owned());
        }
        let head = BufferHead::decode(head).map_err(|error| error.to_string())?;
        let layout = WrittenLayout {
            media_type: head.media_type,
            element: head.element,
            shape: head.shape,
        };
        let info = layout
            .info()
            .map_err(|error| format!("its layout is none of a buffer: {error}"))?;
        let bytes = bytes.ok_or("it has no elements")?;
        Self::new(&info, bytes).ok_or_else(|| format!("{} bytes are no buffer {info}", bytes.len()))
    }
}

/// The schema of a buffer, as MCAP wants it.
pub(crate) fn buffer_descriptor() -> Vec<u8> {
    let stamp = Some(protobuf::TIMESTAMP);
    let fields = vec![
        protobuf::field("timestamp", 1, Type::Message, stamp),
        protobuf::field("frame_id", 7, Type::String, None),
        protobuf::field("media_type", 2, Type::String, None),
        protobuf::field("element", 3, Type::String, None),
        prost_types::FieldDescriptorProto {
            label: Some(Label::Repeated as i32),
            ..protobuf::field("shape", 4, Type::Uint64, None)
        },
        protobuf::field("data", protobuf::DATA, Type::Bytes, None),
    ];
    protobuf::descriptor("flowpipe", "Buffer", fields)
}

#[cfg(test)]
mod tests {
    use flowpipe_abi::Element;
    use proptest::prelude::*;

    use super::*;

    fn encoded(info: &BufferInfo, bytes: &[u8]) -> Vec<u8> {
        let mut buffer = vec![1, 2, 3];
        let elements = Elements::new(info, bytes).unwrap();
        Payload::Buffer(elements).encode("microphone", 1_700_000_000_123_456_789, &mut buffer);
        buffer
    }

    #[test]
    fn a_buffer_survives_a_round_trip() {
        let info = BufferInfo::new("audio/pcm", Element::I16, &[30, 2]).unwrap();
        let bytes: Vec<u8> = (0..120).collect();
        let message = encoded(&info, &bytes);
        let decoded = Payload::decode(PayloadKind::Buffer, &message).unwrap();
        assert_eq!(
            decoded,
            Payload::Buffer(Elements::new(&info, &bytes).unwrap())
        );
        let cut = &message[..message.len() - 1];
        assert!(Payload::decode(PayloadKind::Buffer, cut).is_err());
        assert!(Payload::decode(PayloadKind::Picture, &message).is_err());
    }

    #[test]
    fn a_wrong_layout_is_refused() {
        let head = |media_type: &str, element: &str, shape: &[u64]| BufferHead {
            timestamp: None,
            media_type: media_type.to_owned(),
            element: element.to_owned(),
            shape: shape.to_vec(),
            frame_id: String::new(),
        };
        let decoded = |head: BufferHead| {
            let mut buffer = Vec::new();
            protobuf::encode(&head, &[0; 8], &mut buffer);
            Elements::decode(&buffer).map(|it| it.info)
        };
        assert!(decoded(head("a/b", "f32", &[2])).is_ok());
        for wrong in [
            head("", "f32", &[2]),
            head("a/b", "f33", &[2]),
            head("a/b", "f32", &[3]),
            head("a/b", "f32", &[2, 0]),
            head("a/b", "f32", &[u64::MAX, u64::MAX]),
            head("a/b", "f32", &[1; 9]),
            head("a/b", "f32", &[1; 5000]),
        ] {
            assert!(decoded(wrong).is_err());
        }
    }

    #[test]
    fn layout_and_bytes_make_the_hash() {
        let hash = |info: BufferInfo, bytes: &[u8]| {
            Payload::Buffer(Elements::new(&info, bytes).unwrap()).hash()
        };
        let of = |media_type, element, shape: &[u64]| {
            BufferInfo::new(media_type, element, shape).unwrap()
        };
        let plain = hash(of("a/b", Element::U8, &[4]), &[0; 4]);
        assert_ne!(plain, hash(of("a/c", Element::U8, &[4]), &[0; 4]));
        assert_ne!(plain, hash(of("a/b", Element::U16, &[2]), &[0; 4]));
        assert_ne!(plain, hash(of("a/b", Element::U8, &[4]), &[1; 4]));
    }

    proptest! {
        #[test]
        fn malformed_input_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Payload::decode(PayloadKind::Buffer, &bytes);
        }
    }
}
