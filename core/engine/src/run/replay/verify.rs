//! Compares the messages of a replay with the recorded ones.

use std::sync::{Arc, Mutex};

use flowpipe_host::message::Message;
use flowpipe_recording::{Entry, Recording, Topic};
use flowpipe_sync::lock;
use serde_json::Value;

use crate::pixels::pixels;
use crate::run::Observer;
use crate::run::replay::Replay;

/// Compares each message of a replay with the recorded one.
pub struct Verifier {
    replay: Arc<Replay>,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    messages: std::collections::HashSet<(Topic, u64)>,
    same: usize,
    differences: Vec<Difference>,
}

/// A message that differs from the recorded one.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Difference {
    /// The edges of the message, such as `vision.out -> solver.in`, or its output if it has no edge.
    pub edge: String,
    /// The message's sequence number.
    pub sequence: u64,
    /// The place in the message, as a JSON Pointer. Empty: the whole message.
    pub field: String,
    /// The recorded value.
    pub recorded: String,
    /// The value in the replay.
    pub now: String,
    /// When the recorded message was emitted, by the run's clock; `i64::MAX` if it was not recorded.
    #[serde(skip)]
    at_ns: i64,
}

/// The result of a comparison.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Verdict {
    /// Messages that are identical, byte for byte.
    pub same: usize,
    /// Messages that differ, ordered by their recorded time.
    pub differences: Vec<Difference>,
    /// Calls that were skipped.
    pub skipped: usize,
    /// Recorded messages of stages that were not rerun. They were not compared.
    pub from_recording: usize,
    /// Recorded messages of rerun stages that were not compared: the recording lacks the calls that emitted them, or
    /// these calls were skipped.
    pub without_call: usize,
}

impl Verdict {
    /// Whether at least one message was compared, and all are identical.
    #[must_use]
    pub fn is_verified(&self) -> bool {
        self.same > 0 && self.differences.is_empty()
    }
}

/// The value shown for a missing message.
const NOTHING: &str = "(no message)";
/// Longer values are cut when they are shown.
const SHOWN: usize = 200;

impl Verifier {
    /// Creates a verifier of this replay.
    #[must_use]
    pub fn new(replay: Arc<Replay>) -> Arc<Self> {
        Arc::new(Self {
            replay,
            seen: Mutex::default(),
        })
    }

    /// Returns the result, once the replay is over.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let recording = self.replay.recording();
        let seen = lock(&self.seen);
        let mut differences = seen.differences.clone();
        let (mut from_recording, mut without_call) = (0, 0);
        for entry in recording.entries() {
            let Entry::Message {
                topic,
                sequence,
                at_ns,
                body,
                ..
            } = entry
            else {
                continue;
            };
            if seen.messages.contains(&(topic.clone(), *sequence)) {
                continue;
            }
            if !self.replay.is_rerun_output(topic) {
                from_recording += 1;
            } else if !self.expects(topic, *sequence) {
                without_call += 1;
            } else {
                differences.push(Difference {
                    edge: self.edge(topic),
                    sequence: *sequence,
                    field: String::new(),
                    recorded: cut(body),
                    now: NOTHING.into(),
                    at_ns: *at_ns,
                });
            }
        }
        differences.sort_by_key(|difference| (difference.at_ns, difference.sequence));
        Verdict {
            same: seen.same,
            differences,
            skipped: self.replay.skipped(),
            from_recording,
            without_call,
        }
    }

    /// Whether the replay must emit this message: its stage is rerun, and the call that emitted it is recorded and not
    /// skipped.
    fn expects(&self, topic: &Topic, sequence: u64) -> bool {
        self.replay.must_emit(topic, sequence)
    }

    /// The edges that messages of an output go over.
    fn edge(&self, topic: &Topic) -> String {
        let about = self.replay.recording().about();
        let from = format!("{}.{}", topic.stage, topic.port);
        let mut to = Vec::new();
        for edge in &about.edges {
            if edge.from.0 == topic.stage && edge.from.1 == topic.port {
                to.push(format!("{}.{}", edge.to.0, edge.to.1));
            }
        }
        match to.is_empty() {
            true => from,
            false => format!("{from} -> {}", to.join(", ")),
        }
    }

    fn compare(&self, topic: &Topic, message: &Message) -> Option<Difference> {
        let recording: &Recording = self.replay.recording();
        let sequence = message.lineage().sequence;
        let difference = |field: &str, recorded: String, now: String| Difference {
            edge: self.edge(topic),
            sequence,
            field: field.to_owned(),
            recorded: cut(&recorded),
            now: cut(&now),
            at_ns: self.replay.emitted_at(topic, sequence).unwrap_or(i64::MAX),
        };
        let Some((schema, body)) = recording.message(topic, sequence) else {
            if recording.is_cut_off() {
                // It may have come after the cut.
                return None;
            }
            return Some(difference("", NOTHING.into(), message.json().to_owned()));
        };
        if **schema != *message.schema() {
            return Some(difference(
                "",
                format!("schema {schema}"),
                format!("schema {}", message.schema()),
            ));
        }
        if body != message.json() {
            let then = serde_json::from_str(body).unwrap_or_default();
            let (field, then, now) = first_difference(&then, message.value(), String::new())
                .unwrap_or_else(|| (String::new(), body.to_owned(), message.json().to_owned()));
            return Some(difference(&field, then, now));
        }
        let now = message.frame().and_then(pixels);
        let has = recording.has_pixels(topic, sequence);
        if has != now.is_some() {
            let word = |has: bool| if has { "with pixels" } else { "without pixels" };
            return Some(difference("", word(has).into(), word(now.is_some()).into()));
        }
        let now = now?;
        match recording.pixels(topic, sequence, |then| *then == now) {
            Ok(Some(false)) => Some(difference("", "pixels".into(), "other pixels".into())),
            // Left out, or the same.
            Ok(_) => None,
            Err(error) => Some(difference("", error.to_string(), "pixels".into())),
        }
    }
}

impl Observer for Verifier {
    fn message(&self, stage: usize, port: usize, message: &Arc<Message>) {
        let Some(topic) = self.replay.topic_of(stage, port) else {
            return;
        };
        let difference = self.compare(&topic, message);
        let mut seen = lock(&self.seen);
        seen.messages.insert((topic, message.lineage().sequence));
        seen.same += usize::from(difference.is_none());
        seen.differences.extend(difference);
    }
}

/// The first place where two values differ, as a JSON Pointer, with both values.
fn first_difference(then: &Value, now: &Value, at: String) -> Option<(String, String, String)> {
    match (then, now) {
        (Value::Object(then), Value::Object(now)) => {
            let keys = then
                .keys()
                .chain(now.keys().filter(|key| !then.contains_key(*key)));
            for key in keys {
                let place = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
                match (then.get(key), now.get(key)) {
                    (Some(then), Some(now)) => {
                        if let Some(found) = first_difference(then, now, place) {
                            return Some(found);
                        }
                    }
                    (then, now) => return Some((place, shown(then), shown(now))),
                }
            }
            None
        }
        (Value::Array(then), Value::Array(now)) => {
            for index in 0..then.len().max(now.len()) {
                let place = format!("{at}/{index}");
                match (then.get(index), now.get(index)) {
                    (Some(then), Some(now)) => {
                        if let Some(found) = first_difference(then, now, place) {
                            return Some(found);
                        }
                    }
                    (then, now) => return Some((place, shown(then), shown(now))),
                }
            }
            None
        }
        (then, now) if then != now => Some((at, then.to_string(), now.to_string())),
        _ => None,
    }
}

fn shown(value: Option<&Value>) -> String {
    value.map_or_else(|| "(nothing)".to_owned(), Value::to_string)
}

fn cut(text: &str) -> String {
    if text.chars().count() <= SHOWN {
        return text.to_owned();
    }
    let mut text: String = text.chars().take(SHOWN).collect();
    text.push('…');
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_difference_has_a_pointer() {
        let then = json!({ "a": [1, { "b/c": 2 }], "d": 3 });
        let now = json!({ "a": [1, { "b/c": 5 }], "d": 4 });
        assert_eq!(
            first_difference(&then, &now, String::new()),
            Some(("/a/1/b~1c".into(), "2".into(), "5".into()))
        );
        assert_eq!(first_difference(&then, &then, String::new()), None);
        assert_eq!(
            first_difference(&json!([1]), &json!([1, 2]), String::new()),
            Some(("/1".into(), "(nothing)".into(), "2".into()))
        );
    }
}
