//! What a stage keeps of messages.

use std::collections::VecDeque;
use std::ffi::CString;

use flowpipe_plugin::{Error, Message, Result};
use serde::{Deserialize, Serialize};

/// The most bytes that are kept, by each list of messages.
pub const MOST_BYTES: usize = 64 << 20;

/// What is kept of a message.
pub trait Kept {
    /// How many bytes that are.
    fn bytes(&self) -> usize;
}

/// Its body.
impl Kept for String {
    fn bytes(&self) -> usize {
        self.len()
    }
}

/// What is kept of messages, with a value each, oldest first.
#[derive(Debug, Serialize, Deserialize)]
pub struct Gathered<T, K = String> {
    items: VecDeque<(T, K)>,
}

impl<T, K> Default for Gathered<T, K> {
    fn default() -> Self {
        Self {
            items: VecDeque::new(),
        }
    }
}

impl<T, K: Kept> Gathered<T, K> {
    /// Adds one behind the others.
    pub fn push(&mut self, value: T, kept: K) {
        self.items.push_back((value, kept));
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The bytes of all of them.
    pub fn bytes(&self) -> usize {
        self.items.iter().map(|(_, kept)| kept.bytes()).sum()
    }

    /// The value of the oldest one.
    pub fn first(&self) -> Option<&T> {
        self.items.front().map(|(value, _)| value)
    }

    /// All of them, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &(T, K)> {
        self.items.iter()
    }

    /// Removes the oldest ones.
    pub fn remove_first(&mut self, count: usize) {
        self.items.drain(..count.min(self.items.len()));
    }

    /// All of them, oldest first.
    pub fn into_items(self) -> impl Iterator<Item = (T, K)> {
        self.items.into_iter()
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
