//! The messages that one run emitted, in bounded memory.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use flowpipe_abi as abi;
use flowpipe_config::pipeline::PortRef;
use flowpipe_host::frame::{Frame, Layout};
use flowpipe_host::message::Message;
use serde_json::Value;
use thiserror::Error;

use crate::compare::messages::json_difference::comparable;

/// The most messages of one run.
pub const MOST_MESSAGES: usize = 2_000_000;
/// The most bytes of JSON that are kept of one run. Of further messages only a hash is kept, so that the comparison
/// finds that they differ, and not where.
const MOST_JSON: usize = 64 << 20;
/// The most bytes of metrics of one run. They are kept as they are, so that parsing them costs the stages no time.
pub const MOST_METRICS: usize = 64 << 20;

/// The first ancestor of a message, a source's: its output and its number there.
pub type Root = (PortRef, u64);

/// The messages of one run.
#[derive(Default)]
pub struct MessageLog {
    /// All but metrics, in the order of emission.
    pub messages: Vec<LoggedMessage>,
    /// The metrics, which are not parsed yet.
    pub metrics: Vec<Message>,
    /// What there was too much of.
    pub excess: Option<Excess>,
    json_bytes: usize,
    metrics_bytes: usize,
}

/// What a run emitted too much of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Excess {
    /// More than [`MOST_MESSAGES`].
    #[error("more than {MOST_MESSAGES} messages")]
    Messages,
    /// More than [`MOST_METRICS`].
    #[error("more than {} MiB of metrics", MOST_METRICS >> 20)]
    Metrics,
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
    /// Whether the JSON of a message is kept. Reserves the space for it.
    pub fn reserve(&mut self, message: &Message) -> bool {
        let length = message.json().len();
        let has_space = length <= MOST_JSON - self.json_bytes;
        if has_space {
            self.json_bytes += length;
        }
        has_space
    }

    /// Adds a message of metrics.
    pub fn add_metrics(&mut self, message: Message) {
        let length = message.json().len();
        if self.messages.len() + self.metrics.len() >= MOST_MESSAGES {
            self.excess = Some(Excess::Messages);
        } else if length > MOST_METRICS - self.metrics_bytes {
            self.excess = Some(Excess::Metrics);
        } else {
            self.metrics_bytes += length;
            self.metrics.push(message);
        }
    }

    /// Adds another message, with what is kept of it.
    pub fn add(&mut self, message: &Message, content: Content) {
        if self.messages.len() + self.metrics.len() >= MOST_MESSAGES {
            self.excess = Some(Excess::Messages);
            return;
        }
        let source = message.source();
        let schema = message.schema();
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
        self.messages.push(LoggedMessage {
            source,
            // Without captured pixels, the lineage has no origin.
            root: root.unwrap_or_else(|| message.root()),
            schema,
            content,
        });
    }
}

impl Content {
    /// The content of a message, with its JSON or with the hash of it.
    pub fn of(message: &Message, keeps_json: bool) -> Self {
        let json = message.json();
        Self {
            json: keeps_json.then(|| json.into()),
            json_hash: (!keeps_json).then(|| json_hash(message.schema(), json)),
            pixels: message.frame().map(pixels_hash),
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

/// The hash of a frame's pixels, with their format and size, or of a buffer.
fn pixels_hash(frame: &Frame) -> u64 {
    let mut hasher = DefaultHasher::new();
    let shape = match frame.layout() {
        Layout::Picture(shape) => shape,
        Layout::Buffer(layout) => {
            (layout.info().to_string(), frame.bytes()).hash(&mut hasher);
            return hasher.finish();
        }
    };
    (shape.format, shape.width, shape.height).hash(&mut hasher);
    // Without the bytes between rows.
    let row_bytes = match shape.format {
        abi::FORMAT_BGRA8 | abi::FORMAT_RGBA8 => shape.width as usize * 4,
        abi::FORMAT_BGR8 | abi::FORMAT_RGB8 => shape.width as usize * 3,
        abi::FORMAT_GREY8 => shape.width as usize,
        _ => usize::MAX,
    };
    for row in frame.bytes().chunks(shape.stride.max(1) as usize) {
        hasher.write(&row[..row_bytes.min(row.len())]);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use flowpipe_message::{GESTURE_OUTCOME, METRICS};
    use serde_json::json;

    use super::*;

    fn logged(log: &mut MessageLog, schema: &str, json: &str) {
        let message = Message::detached(schema, json.as_bytes()).unwrap();
        let keeps_json = log.reserve(&message);
        log.add(&message, Content::of(&message, keeps_json));
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
    fn metrics_are_kept_up_to_a_limit() {
        let metrics = |log: &mut MessageLog| {
            let message = Message::detached(METRICS, br#"{"metrics":[]}"#);
            log.add_metrics(message.unwrap());
        };
        let mut log = MessageLog {
            metrics_bytes: MOST_METRICS - 14,
            ..MessageLog::default()
        };
        metrics(&mut log);
        assert_eq!((log.metrics.len(), log.excess), (1, None));
        metrics(&mut log);
        assert_eq!((log.metrics.len(), log.excess), (1, Some(Excess::Metrics)));
        assert_eq!(Excess::Metrics.to_string(), "more than 64 MiB of metrics");
    }
}
