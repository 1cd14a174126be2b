//! The messages of an output beside what is expected of them, for a test that failed.

use flowpipe_config::manifest::Content;
use flowpipe_config::reader::pipeline_test::{Expectation, TestOutput};
use flowpipe_host::message::Message;
use serde::Serialize;

/// The most messages that are listed.
const MOST_LISTED: usize = 10;
/// How many messages are listed before the first one that differs.
const BEFORE: usize = 2;
/// The longest text of a message, or of what is expected, in characters.
const LONGEST_TEXT: usize = 200;

/// Messages of an output.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Listing {
    /// From the first one that differs on, and a few before it.
    pub listed: Vec<ListedMessage>,
    /// How many there are behind these, emitted or expected.
    pub more: usize,
}

/// A message, and what is expected in its place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ListedMessage {
    /// Its number among those of the output, from 1.
    pub number: usize,
    /// Whether it is as expected.
    pub passed: bool,
    /// The start of what is expected. `None`: any message, or none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// The start of its body, and what it carries. `None`: it did not come.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
}

impl Listing {
    /// The messages of an output. `wrong`: the indexes of those that differ, at least the first [`MOST_LISTED`], in order.
    pub fn of(output: &TestOutput, messages: &[impl AsRef<Message>], wrong: &[usize]) -> Self {
        let expected = output.expect.as_deref().unwrap_or_default();
        let count = match &output.count {
            Some(count) => usize::try_from(count.value).unwrap_or(usize::MAX),
            None => expected.len(),
        };
        let first = wrong.first().copied();
        let first = first.unwrap_or_else(|| count.min(messages.len()));
        let end = expected.len().max(messages.len());
        let from = first.saturating_sub(BEFORE).min(end);
        let to = from.saturating_add(MOST_LISTED).min(end);
        let listed = (from..to).map(|index| ListedMessage {
            number: index + 1,
            passed: index < count && index < messages.len() && !wrong.contains(&index),
            expected: expected.get(index).map(|it| shortened(&written(it))),
            found: messages.get(index).map(|it| found(it.as_ref())),
        });
        Self {
            listed: listed.collect(),
            more: end - to,
        }
    }

    /// Whether nothing is listed.
    pub fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }
}

/// What is expected, in the words of the file.
fn written(expected: &Expectation) -> String {
    let Expectation {
        at: _,
        schema,
        equal,
        contains,
        jq,
        buffer,
    } = expected;
    let mut parts = Vec::new();
    parts.extend(equal.as_ref().map(|it| it.value.to_string()));
    parts.extend(contains.as_ref().map(|it| format!("contains {}", it.value)));
    parts.extend(jq.as_ref().map(|it| format!("jq {:?}", it.value)));
    parts.extend(schema.as_ref().map(|it| format!("schema {:?}", it.value)));
    parts.extend(buffer.as_ref().map(|it| it.value.layout.to_string()));
    parts.join(", ")
}

fn found(message: &Message) -> String {
    let value = message.value();
    // Keys in the order in which those of what is expected are. A body that is nested too deep has no value.
    let body = match value.is_null() {
        true => shortened(message.json()),
        false => shortened(&value.to_string()),
    };
    match message.content() {
        Content::Nothing => body,
        content => format!("{body} with {content}"),
    }
}

/// The start of a text.
pub fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST_TEXT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
