//! The bodies of messages that a stage keeps, and the messages that it makes of them.

use std::collections::VecDeque;
use std::ffi::CString;

use flowpipe_plugin::{Context, Error, Message, Result};
use serde::{Deserialize, Serialize};

/// The most bytes of all bodies that are kept, by each list of them.
pub const MOST_BYTES: usize = 64 << 20;

/// Bodies with a value each, oldest first.
#[derive(Debug, Serialize, Deserialize)]
pub struct Gathered<T> {
    items: VecDeque<(T, String)>,
}

impl<T> Default for Gathered<T> {
    fn default() -> Self {
        Self {
            items: VecDeque::new(),
        }
    }
}

impl<T> Gathered<T> {
    /// Adds a body behind the others.
    pub fn push(&mut self, value: T, body: String) {
        self.items.push_back((value, body));
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The bytes of all bodies.
    pub fn bytes(&self) -> usize {
        self.items.iter().map(|(_, body)| body.len()).sum()
    }

    /// The value of the oldest one.
    pub fn first(&self) -> Option<&T> {
        self.items.front().map(|(value, _)| value)
    }

    /// All of them, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &(T, String)> {
        self.items.iter()
    }

    /// Removes the oldest ones.
    pub fn remove_first(&mut self, count: usize) {
        self.items.drain(..count.min(self.items.len()));
    }

    /// Removes one by its place.
    pub fn remove(&mut self, place: usize) -> Option<(T, String)> {
        self.items.remove(place)
    }
}

/// The body of a message as a text.
///
/// # Errors
/// When it is none, which the host excludes.
pub fn body(message: &Message<'_>) -> Result<String> {
    Ok(std::str::from_utf8(message.json())?.to_owned())
}

/// The schema id of a config for the host.
///
/// # Errors
/// When it is none.
pub fn schema(id: &str) -> Result<CString> {
    match id.split_once('/') {
        Some((name, version)) if !name.is_empty() && version.parse::<u32>().is_ok() => {
            Ok(CString::new(id)?)
        }
        _ => Err(Error::bad_config(format!(
            "schema = {id:?}: it is such as \"sensor.batch/1\""
        ))),
    }
}

/// Sends the bodies as one array.
///
/// # Errors
/// When no stage receives it any more, and when the host refuses it.
pub fn send_array<'b>(
    bodies: impl Iterator<Item = &'b String>,
    schema: &CString,
    context: &mut Context<'_>,
) -> Result<()> {
    let mut array = String::from("[");
    for (index, body) in bodies.enumerate() {
        if index > 0 {
            array.push(',');
        }
        array.push_str(body);
    }
    array.push(']');
    context.emit_document(0, schema, array.as_bytes(), None, 0)
}
