//! The messages that one run emitted, in bounded memory.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use flowpipe_abi as abi;
use flowpipe_config::pipeline::PortRef;
use flowpipe_host::frame::Frame;
use flowpipe_host::message::Message;
use flowpipe_message::METRICS;
use serde_json::Value;

use crate::compare::messages::json_difference::comparable;
use crate::metrics::RunMetrics;

/// The most messages of one run.
pub const MOST_MESSAGES: usize = 2_000_000;
/// The most bytes of JSON that are kept of one run. Of further messages only a hash is kept, so that the comparison
/// finds that they differ, and not where.
const MOST_JSON: usize = 64 << 20;

/// The first ancestor of a message, a source's: its output and its number there.
pub type Root = (PortRef, u64);

/// The messages of one run, but metrics, which are summed up.
#[derive(Default)]
pub struct MessageLog {
    /// In the order of emission.
    pub messages: Vec<LoggedMessage>,
    /// The metrics.
    pub metrics: RunMetrics,
    /// Whether there were more than [`MOST_MESSAGES`].
    pub is_full: bool,
    json_bytes: usize,
}

/// A message.
pub struct LoggedMessage {
    /// Its output.
    pub source: PortRef,
    /// The message of a source that it descends from.
    pub root: Root,
    /// Its schema.
    pub schema: Arc<str>,
    /// Its content.
    pub content: Content,
}

/// What is kept of a message's content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// Its JSON. `None`: too much was kept already.
    pub json: Option<Box<str>>,
    /// The hash of what is compared of the JSON. `None`: the JSON is kept.
    pub json_hash: Option<u64>,
    /// The hash of its pixels, with their format and size.
    pub pixels: Option<u64>,
}

impl MessageLog {
    /// Adds a message of a stage, with the hash of its pixels.
    pub fn add(&mut self, message: &Message, pixels: Option<u64>) {
        let source = message.source();
        let schema = message.schema();
        // Metrics that do not parse are compared like messages of any schema.
        if schema == METRICS && self.metrics.add(message).is_some() {
            return;
        }
        if self.messages.len() >= MOST_MESSAGES {
            self.is_full = true;
            return;
        }
        let schema = match self.messages.last() {
            Some(last) if *last.schema == *schema => last.schema.clone(),
            _ => schema.into(),
        };
        let origin = message.lineage().origin;
        let root = origin.map(|origin| {
            let source = PortRef {
                stage: origin.stage,
                port: 0,
            };
            (source, origin.sequence)
        });
        let content = self.content(message, pixels);
        self.messages.push(LoggedMessage {
            source,
            // Without captured pixels, the lineage has no origin.
            root: root.unwrap_or_else(|| message.root()),
            schema,
            content,
        });
    }

    fn content(&mut self, message: &Message, pixels: Option<u64>) -> Content {
        let json = message.json();
        let has_space = json.len() <= MOST_JSON - self.json_bytes;
        if has_space {
            self.json_bytes += json.len();
        }
        Content {
            json: has_space.then(|| json.into()),
            json_hash: (!has_space).then(|| json_hash(message.schema(), json)),
            pixels,
        }
    }
}

/// The hash of what is compared of a message's JSON, whatever its spaces and the order of its keys.
pub fn json_hash(schema: &str, json: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    match serde_json::from_str::<Value>(json) {
        Ok(value) => comparable(schema, value).to_string().hash(&mut hasher),
        // Nested too deeply to be parsed.
        Err(_) => json.hash(&mut hasher),
    }
    hasher.finish()
}

/// The hash of a frame's pixels, with their format and size.
pub fn pixels_hash(frame: &Frame) -> u64 {
    let shape = frame.shape();
    let mut hasher = DefaultHasher::new();
    (shape.format, shape.width, shape.height).hash(&mut hasher);
    // Without the bytes between rows.
    let row_bytes = match shape.format {
        abi::FORMAT_BGRA8 | abi::FORMAT_RGBA8 => shape.width as usize * 4,
        abi::FORMAT_BGR8 | abi::FORMAT_RGB8 => shape.width as usize * 3,
        abi::FORMAT_GREY8 => shape.width as usize,
        _ => usize::MAX,
    };
    for row in frame.pixels().chunks(shape.stride.max(1) as usize) {
        hasher.write(&row[..row_bytes.min(row.len())]);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use flowpipe_message::GESTURE_OUTCOME;
    use serde_json::json;

    use super::*;

    fn logged(log: &mut MessageLog, schema: &str, json: &str) {
        log.add(&Message::detached(schema, json.as_bytes()).unwrap(), None);
    }

    #[test]
    fn what_does_not_fit_is_hashed() {
        let mut log = MessageLog {
            json_bytes: MOST_JSON - 10,
            ..MessageLog::default()
        };
        logged(&mut log, "spots/1", "{\"a\":1}");
        logged(&mut log, "spots/1", "{\"a\":1, \"b\":2}");
        logged(&mut log, "spots/1", "{}");
        let kept: Vec<Option<&str>> = log
            .messages
            .iter()
            .map(|it| it.content.json.as_deref())
            .collect();
        assert_eq!(kept, [Some("{\"a\":1}"), None, Some("{}")]);
        let hash = log.messages[1].content.json_hash.unwrap();
        assert_eq!(hash, json_hash("spots/1", "{\"b\":2,\"a\":1}"));
        assert_ne!(hash, json_hash("spots/1", "{\"b\":3,\"a\":1}"));
    }

    #[test]
    fn the_hash_leaves_out_the_time_of_an_outcome() {
        let outcome = |act_ns: i64| json!({ "played": 1, "act_ns": act_ns }).to_string();
        let hash = |schema| [1, 2].map(|act_ns| json_hash(schema, &outcome(act_ns)));
        let [one, other] = hash(GESTURE_OUTCOME);
        assert_eq!(one, other);
        let [one, other] = hash("spots/1");
        assert_ne!(one, other);
    }

    #[test]
    fn metrics_are_summed_up_and_malformed_ones_logged() {
        let mut log = MessageLog::default();
        let counter = r#"{"metrics":[{"kind":"counter","name":"won","add":2}]}"#;
        logged(&mut log, METRICS, counter);
        logged(&mut log, METRICS, counter);
        logged(&mut log, METRICS, "[1]");
        assert_eq!(log.messages.len(), 1);
        assert_eq!(log.metrics.rows()[0].text(), "4");
    }
}
