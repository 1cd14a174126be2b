//! Messages that a stage keeps, and the one that it makes of several.

use std::ffi::CString;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flowpipe_plugin::{Buffer, Context, Element, Error, Host, Message, Result};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::gathered::{Kept, body};

/// A message's body, and what it carries if that is a buffer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct KeptMessage {
    body: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    elements: Option<Elements>,
}

/// The content of a buffer.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Elements {
    media_type: String,
    #[serde(with = "element_name")]
    element: Element,
    shape: Vec<u64>,
    #[serde(with = "base64_bytes")]
    bytes: Vec<u8>,
}

/// Several messages as one.
pub struct JoinedMessage {
    array: String,
    buffer: Option<Buffer>,
}

impl KeptMessage {
    /// A message as it came.
    ///
    /// # Errors
    /// When its body is no text, which the host excludes.
    pub fn of(message: &Message<'_>) -> Result<Self> {
        let elements = message.buffer().map(|buffer| Elements {
            media_type: buffer.media_type().to_owned(),
            element: buffer.element(),
            shape: buffer.shape().to_vec(),
            bytes: buffer.bytes().to_vec(),
        });
        Ok(Self {
            body: body(message)?,
            elements,
        })
    }
}

impl Kept for KeptMessage {
    fn bytes(&self) -> usize {
        let elements = self.elements.as_ref();
        self.body.len() + elements.map_or(0, |it| it.bytes.len())
    }
}

impl JoinedMessage {
    /// Joins messages, oldest first: the bodies as an array, and the buffers along their first dimension.
    ///
    /// # Errors
    /// When only some of them have a buffer, the buffers differ in more than the length of the first dimension, or memory is
    /// short.
    pub fn of<'k>(kept: impl Iterator<Item = &'k KeptMessage>, host: Host) -> Result<Self> {
        let mut array = String::from("[");
        let mut all = Vec::new();
        for (index, message) in kept.enumerate() {
            if index > 0 {
                array.push(',');
            }
            array.push_str(&message.body);
            all.push(message.elements.as_ref());
        }
        array.push(']');
        Ok(Self {
            array,
            buffer: joined(&all, host)?,
        })
    }

    /// Sends it by the first output.
    ///
    /// # Errors
    /// When no stage receives it any more, and when the host refuses it.
    pub fn send(self, schema: &CString, context: &mut Context<'_>) -> Result<()> {
        let carried = self.buffer.as_ref().map(Buffer::as_frame);
        context.emit_document(0, schema, self.array.as_bytes(), carried, 0)
    }
}

impl Elements {
    /// Elements of the first dimension. A buffer without dimensions has one.
    fn length(&self) -> u64 {
        self.shape.first().copied().unwrap_or(1)
    }

    fn other_dimensions(&self) -> &[u64] {
        self.shape.get(1..).unwrap_or_default()
    }

    fn can_be_joined_to(&self, other: &Self) -> bool {
        (&self.media_type, self.element) == (&other.media_type, other.element)
            && self.other_dimensions() == other.other_dimensions()
    }

    fn describe(&self) -> String {
        format!("{} of {} {:?}", self.media_type, self.element, self.shape)
    }
}

fn joined(all: &[Option<&Elements>], host: Host) -> Result<Option<Buffer>> {
    let Some(first) = all.iter().copied().flatten().next() else {
        return Ok(None);
    };
    let mut length = 0_u64;
    for elements in all {
        let Some(elements) = elements else {
            return Err(Error::new(format!(
                "only some of the messages carry a buffer ({}): they are not joined",
                first.describe()
            )));
        };
        if !elements.can_be_joined_to(first) {
            return Err(Error::new(format!(
                "the messages carry buffers that can't be joined: {} and {}",
                first.describe(),
                elements.describe()
            )));
        }
        length = length.saturating_add(elements.length());
    }
    let mut shape = vec![length];
    shape.extend(first.other_dimensions());
    let mut buffer = host.new_buffer(&first.media_type, first.element, &shape)?;
    let mut rest = buffer.bytes_mut()?;
    for elements in all.iter().flatten() {
        // Only a state of another instance can have other bytes than its shape says.
        let Some((part, behind)) = rest.split_at_mut_checked(elements.bytes.len()) else {
            return Err(Error::new("a kept buffer has more bytes than its shape"));
        };
        part.copy_from_slice(&elements.bytes);
        rest = behind;
    }
    match rest.is_empty() {
        true => Ok(Some(buffer)),
        false => Err(Error::new("a kept buffer has fewer bytes than its shape")),
    }
}

mod element_name {
    use super::*;

    pub fn serialize<S: Serializer>(element: &Element, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(element.as_str())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Element, D::Error> {
        let name = String::deserialize(from)?;
        let unknown = |_| serde::de::Error::custom(format!("{name:?} is no type of elements"));
        name.parse().map_err(unknown)
    }
}

mod base64_bytes {
    use super::*;

    pub fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&STANDARD.encode(bytes))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(from)?;
        STANDARD.decode(text).map_err(serde::de::Error::custom)
    }
}
