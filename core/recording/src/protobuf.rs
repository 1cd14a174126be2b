//! Messages of Protocol Buffers that end with their bytes.

use prost::Message;
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{DescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet};

/// The number of the field with the bytes.
pub(crate) const DATA: i32 = 6;
/// Its key: the field is of type bytes.
const DATA_KEY: u8 = (DATA as u8) << 3 | 2;

/// The name of the type of times.
pub(crate) const TIMESTAMP: &str = ".google.protobuf.Timestamp";

/// A Unix time in nanoseconds.
pub(crate) fn timestamp(unix_ns: u64) -> prost_types::Timestamp {
    prost_types::Timestamp {
        seconds: i64::try_from(unix_ns / 1_000_000_000).unwrap_or(i64::MAX),
        // Less than a second.
        nanos: i32::try_from(unix_ns % 1_000_000_000).unwrap_or(0),
    }
}

/// Writes a message to `buffer`, whose content is replaced: the head, and then the bytes.
pub(crate) fn encode(head: &impl Message, bytes: &[u8], buffer: &mut Vec<u8>) {
    buffer.clear();
    buffer.reserve(head.encoded_len() + bytes.len() + 16);
    // Writing to a vector can't fail.
    let _ = head.encode(buffer);
    buffer.push(DATA_KEY);
    prost::encoding::encode_varint(bytes.len() as u64, buffer);
    buffer.extend_from_slice(bytes);
}

/// The head of a message of [`encode`], and its bytes, which are borrowed.
pub(crate) fn split(message: &[u8]) -> Result<(&[u8], Option<&[u8]>), String> {
    let mut rest = message;
    let mut bytes = None;
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
            _ => return Err("not Protocol Buffers".to_owned()),
        };
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let field = rest.get(..length).ok_or("it ends in the middle")?;
        rest = rest.get(length..).unwrap_or_default();
        if key == u64::from(DATA_KEY) {
            bytes = Some(field);
            head_length = at;
        }
    }
    Ok((message.get(..head_length).unwrap_or_default(), bytes))
}

/// A field of a schema.
pub(crate) fn field(
    name: &str,
    number: i32,
    kind: Type,
    type_name: Option<&str>,
) -> FieldDescriptorProto {
    FieldDescriptorProto {
        name: Some(name.to_owned()),
        number: Some(number),
        label: Some(Label::Optional as i32),
        r#type: Some(kind as i32),
        type_name: type_name.map(str::to_owned),
        json_name: Some(name.to_owned()),
        ..FieldDescriptorProto::default()
    }
}

/// A schema, as MCAP wants it: a `FileDescriptorSet` with everything that it needs.
pub(crate) fn descriptor(package: &str, name: &str, fields: Vec<FieldDescriptorProto>) -> Vec<u8> {
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
    let own = FileDescriptorProto {
        name: Some(format!("{package}/{name}.proto")),
        package: Some(package.to_owned()),
        dependency: vec!["google/protobuf/timestamp.proto".to_owned()],
        message_type: vec![DescriptorProto {
            name: Some(name.to_owned()),
            field: fields,
            ..DescriptorProto::default()
        }],
        syntax: Some("proto3".to_owned()),
        ..FileDescriptorProto::default()
    };
    FileDescriptorSet {
        file: vec![timestamp, own],
    }
    .encode_to_vec()
}
