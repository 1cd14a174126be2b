//! What Foxglove publishes (see README.md), and reading by it.

use std::collections::{BTreeMap, BTreeSet};

use prost::encoding::{WireType, decode_key, decode_varint};
use prost_types::field_descriptor_proto::Type;
use prost_types::{DescriptorProto, FileDescriptorSet};
use serde_json::Value;

/// `foxglove.RawImage` and what it needs, as a `FileDescriptorSet`.
pub const RAW_IMAGE: &[u8] = include_bytes!("RawImage.bin");

/// The JSON Schema of `foxglove.ImageAnnotations`.
pub fn image_annotations() -> Value {
    serde_json::from_str(include_str!("ImageAnnotations.json")).unwrap()
}

/// Seconds and nanoseconds since 1970.
pub type Time = (u64, u64);

/// What the messages of a descriptor set are made of: message, field, number, type, name of the type.
pub fn fields(descriptor: &[u8]) -> BTreeSet<(String, String, i32, i32, String)> {
    let mut fields = BTreeSet::new();
    for (name, message) in messages(descriptor) {
        for field in &message.field {
            fields.insert((
                name.clone(),
                field.name().to_owned(),
                field.number(),
                field.r#type.unwrap(),
                field.type_name().to_owned(),
            ));
        }
    }
    assert!(fields.len() > 7, "{fields:?}");
    fields
}

fn messages(descriptor: &[u8]) -> BTreeMap<String, DescriptorProto> {
    let set: FileDescriptorSet = prost::Message::decode(descriptor).unwrap();
    let mut messages = BTreeMap::new();
    for file in set.file {
        for message in file.message_type {
            let name = format!(".{}.{}", file.package.clone().unwrap(), message.name());
            messages.insert(name, message);
        }
    }
    messages
}

/// A picture, by the published descriptor alone.
#[derive(Debug, Default)]
pub struct Picture {
    pub timestamp: Time,
    pub frame_id: String,
    pub width: u64,
    pub height: u64,
    pub encoding: String,
    pub step: u64,
    pub data: Vec<u8>,
}

impl Picture {
    /// Reads a message to its last byte. Panics at what the descriptor does not know.
    pub fn decode(body: &[u8]) -> Self {
        let messages = messages(RAW_IMAGE);
        let mut fields = read(body, ".foxglove.RawImage", &messages);
        let time = fields.remove("timestamp").unwrap().bytes();
        let time = read(&time, ".google.protobuf.Timestamp", &messages);
        let part = |name: &str| time.get(name).map_or(0, Field::number);
        let mut take = |name: &str| fields.remove(name).unwrap();
        Self {
            timestamp: (part("seconds"), part("nanos")),
            frame_id: take("frame_id").text(),
            width: take("width").number(),
            height: take("height").number(),
            encoding: take("encoding").text(),
            step: take("step").number(),
            data: take("data").bytes(),
        }
    }
}

/// A value on the wire.
#[derive(Debug)]
enum Field {
    Number(u64),
    Bytes(Vec<u8>),
}

impl Field {
    fn number(&self) -> u64 {
        match self {
            Self::Number(number) => *number,
            Self::Bytes(_) => panic!("{self:?} is no number"),
        }
    }

    fn bytes(self) -> Vec<u8> {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Number(_) => panic!("{self:?} are no bytes"),
        }
    }

    fn text(self) -> String {
        String::from_utf8(self.bytes()).unwrap()
    }
}

/// The fields of a message by name, each with the wire type of its type.
fn read(
    mut body: &[u8],
    name: &str,
    messages: &BTreeMap<String, DescriptorProto>,
) -> BTreeMap<String, Field> {
    let mut fields = BTreeMap::new();
    while !body.is_empty() {
        let (number, wire) = decode_key(&mut body).unwrap();
        let field = messages[name].field.iter();
        let field = field
            .clone()
            .find(|field| field.number() == number as i32)
            .unwrap_or_else(|| panic!("{name} has no field {number}"));
        let (wanted, value) = match field.r#type() {
            Type::Fixed32 => {
                let (bytes, rest) = body.split_first_chunk::<4>().unwrap();
                body = rest;
                let number = u64::from(u32::from_le_bytes(*bytes));
                (WireType::ThirtyTwoBit, Field::Number(number))
            }
            Type::Int32 | Type::Int64 => {
                let number = decode_varint(&mut body).unwrap();
                (WireType::Varint, Field::Number(number))
            }
            Type::String | Type::Bytes | Type::Message => {
                let length = decode_varint(&mut body).unwrap() as usize;
                let (bytes, rest) = body.split_at(length);
                body = rest;
                (WireType::LengthDelimited, Field::Bytes(bytes.to_vec()))
            }
            other => panic!("{name} has a field of {other:?}"),
        };
        assert_eq!(wire, wanted, "{name}, field {number}");
        let before = fields.insert(field.name().to_owned(), value);
        assert!(before.is_none(), "{name} has field {number} twice");
    }
    fields
}
