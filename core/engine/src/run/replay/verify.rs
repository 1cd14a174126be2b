//! Compares the messages of a replay with the recorded ones.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use flowpipe_host::message::Message;
use flowpipe_recording::entry::Call;
use flowpipe_recording::{Entry, Name, PayloadKind, Recording, Topic};
use flowpipe_sync::lock;
use serde_json::Value;

use crate::payload::{payload, payload_kind};
use crate::run::Observer;
use crate::run::replay::{Expected, OutputId, Replay};

/// Compares each message of a replay with the recorded one.
pub struct Verifier {
    replay: Arc<Replay>,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    /// By entry of the recording, up to the last one that was emitted again.
    entries: Vec<bool>,
    same: usize,
    differing: usize,
    /// The first ones.
    differences: Vec<Difference>,
    /// By output. Many differences share the text.
    edges: HashMap<OutputId, Name>,
}

/// The number of differences that are kept.
const MOST_DIFFERENCES: usize = 10_000;

impl Seen {
    fn add(&mut self, difference: Difference) {
        self.differing += 1;
        if self.differences.len() < MOST_DIFFERENCES {
            self.differences.push(difference);
        }
    }
}

/// A message that differs from the recorded one.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Difference {
    /// The edges of the message, such as `vision.out -> solver.in`, or its output if it has no edge.
    pub edge: Name,
    /// The message's sequence number. One that the recording lacks has a number beyond all recorded ones.
    pub sequence: u64,
    /// Where the message comes from, if no recorded call emitted it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unrecorded: Option<UnrecordedMessage>,
    /// The place in the message, as a JSON Pointer. Empty: the whole message.
    pub field: String,
    /// The recorded value.
    pub recorded: String,
    /// The value in the replay.
    pub now: String,
    /// When the recorded message was emitted, by the run's clock. If it was not recorded, the start of the call that emits
    /// it.
    #[serde(skip)]
    at_ns: i64,
}

/// A message that no recorded call emitted.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct UnrecordedMessage {
    /// The output whose message the call took, such as `vision.out`. `None`: it took none.
    pub took: Option<Name>,
    /// The sequence number of that message.
    pub took_sequence: Option<u64>,
}

/// The result of a comparison.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Verdict {
    /// Messages that are identical, byte for byte.
    pub same: usize,
    /// The number of messages that differ.
    pub differing: usize,
    /// Messages that differ, ordered by their recorded time: the first 10,000 that were found.
    pub differences: Vec<Difference>,
    /// Calls that were skipped.
    pub skipped: usize,
    /// Recorded messages of stages that were not rerun. They were not compared.
    pub from_recording: usize,
    /// Recorded messages of rerun stages that were not compared: the recording lacks the calls that emitted them, or
    /// these calls were skipped.
    pub without_call: usize,
    /// Recorded messages of rerun stages that were not compared: the replay was stopped before.
    pub not_played: usize,
    /// Of those without a call, those for which the recording gives no reason, by output.
    pub missing: Vec<Missing>,
    /// Of the skipped calls, those for which the recording gives no reason.
    pub skipped_without_reason: usize,
}

/// Messages of an output that could not be compared, without a reason in the recording.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Missing {
    /// Their edges, as in [`Difference::edge`].
    pub edge: Name,
    /// The number of messages.
    pub messages: usize,
    /// The sequence number of the first one in the file.
    pub first: u64,
}

impl Verdict {
    /// Whether the whole recording was played, at least one message was compared, all are identical, and none is missing
    /// without a reason in the recording (its own end, or lineages that the recorder dropped).
    #[must_use]
    pub fn is_verified(&self) -> bool {
        self.same > 0 && self.differing == 0 && self.not_played == 0 && self.is_whole()
    }

    /// Whether no message is missing, and no call was skipped, without a reason in the recording.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.missing.is_empty() && self.skipped_without_reason == 0
    }
}

/// The value shown for a missing message.
const NOTHING: &str = "(no message)";
/// The value shown for a message of a call that exceeded a limit, or was not made since one was exceeded.
const EXCEEDED: &str = "(no message: a limit of the replay was exceeded)";
/// Longer values are cut when they are shown, in characters.
const SHOWN: usize = 200;
/// Longer names of edges are cut, in characters.
const EDGE_SHOWN: usize = 2_000;

impl Verifier {
    /// Creates a verifier of this replay.
    #[must_use]
    pub fn new(replay: Arc<Replay>) -> Arc<Self> {
        Arc::new(Self {
            replay,
            seen: Mutex::default(),
        })
    }

    /// Returns the result, once the replay is over. Call it once: it takes the differences. `was_stopped`: the replay was
    /// stopped, and what it did not play is not compared.
    #[must_use]
    pub fn verdict(&self, was_stopped: bool) -> Verdict {
        let recording = self.replay.recording();
        let mut seen = lock(&self.seen);
        let (mut from_recording, mut without_call, mut not_played) = (0, 0, 0);
        let mut missing: BTreeMap<OutputId, Missing> = BTreeMap::new();
        for (place, entry) in recording.entries().iter().enumerate() {
            let Entry::Message(message) = entry else {
                continue;
            };
            let (topic, sequence) = (message.topic(), message.sequence());
            let came = |entry: usize| seen.entries.get(entry) == Some(&true);
            // It may be in the recording several times.
            if came(place) || recording.find(topic, sequence).is_some_and(came) {
                continue;
            }
            let output = self.replay.find_output(topic);
            let output = output.filter(|it| self.replay.is_rerun_output(*it));
            let Some(output) = output else {
                from_recording += 1;
                continue;
            };
            let at_ns = message.at_ns();
            match self.replay.expects(output, sequence, at_ns, was_stopped) {
                Expected::NotPlayed => not_played += 1,
                Expected::Nothing { is_explained } => {
                    without_call += 1;
                    if !is_explained {
                        let missing = missing.entry(output).or_insert_with(|| Missing {
                            edge: self.edge(&mut seen.edges, output, topic),
                            messages: 0,
                            first: sequence,
                        });
                        missing.messages += 1;
                    }
                }
                Expected::Message { exceeds } => {
                    let difference = Difference {
                        edge: self.edge(&mut seen.edges, output, topic),
                        sequence,
                        unrecorded: None,
                        field: String::new(),
                        recorded: cut(&recording.body(message), SHOWN),
                        now: match exceeds {
                            true => EXCEEDED.into(),
                            false => NOTHING.into(),
                        },
                        at_ns,
                    };
                    seen.add(difference);
                }
            }
        }
        let mut differences = std::mem::take(&mut seen.differences);
        differences.sort_by_key(|difference| (difference.at_ns, difference.sequence));
        Verdict {
            same: seen.same,
            differing: seen.differing,
            differences,
            skipped: self.replay.skipped(),
            from_recording,
            without_call,
            not_played,
            missing: missing.into_values().collect(),
            skipped_without_reason: self.replay.skipped_without_reason(),
        }
    }

    /// The edges that messages of an output go over.
    fn edge(&self, known: &mut HashMap<OutputId, Name>, output: OutputId, topic: &Topic) -> Name {
        let edge = known.entry(output);
        edge.or_insert_with(|| cut(&self.edge_text(topic), EDGE_SHOWN).into())
            .clone()
    }

    fn edge_text(&self, topic: &Topic) -> String {
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

    /// Where a message comes from that no recorded call emitted, and when that call started.
    fn unrecorded(call: Option<&Call>) -> (UnrecordedMessage, i64) {
        let took = call.and_then(|call| call.took.as_ref());
        let output = took.map(|took| format!("{}.{}", took.from, took.output));
        let unrecorded = UnrecordedMessage {
            took: output.map(|output| cut(&output, EDGE_SHOWN).into()),
            took_sequence: took.map(|took| took.sequence),
        };
        (unrecorded, call.map_or(i64::MAX, |call| call.taken_ns))
    }

    /// `call`: the recorded call that emits the message again.
    fn compare(
        &self,
        (output, topic): (OutputId, &Topic),
        call: Option<&Call>,
        message: &Message,
    ) -> Option<Difference> {
        let recording: &Recording = self.replay.recording();
        let sequence = message.lineage().sequence;
        let difference = |field: &str, recorded: String, now: String| {
            let (unrecorded, at_ns) = match self.replay.emitted_at(output, sequence) {
                Some(at_ns) => (None, at_ns),
                None => {
                    let (unrecorded, at_ns) = Self::unrecorded(call);
                    (Some(unrecorded), at_ns)
                }
            };
            Difference {
                edge: self.edge(&mut lock(&self.seen).edges, output, topic),
                sequence,
                unrecorded,
                field: cut(field, SHOWN),
                recorded: cut(&recorded, SHOWN),
                now: cut(&now, SHOWN),
                at_ns,
            }
        };
        let Some((schema, body)) = recording.message(topic, sequence) else {
            if recording.is_cut_off() {
                // It may have come after the cut.
                return None;
            }
            let failed = call.and_then(|call| call.failed.as_ref());
            let nothing = match failed {
                Some(why) => format!("(no message: the recorded call failed: {why})"),
                None => NOTHING.to_owned(),
            };
            return Some(difference("", nothing, message.json().to_owned()));
        };
        if **schema != *message.schema() {
            return Some(difference(
                "",
                format!("schema {schema}"),
                format!("schema {}", message.schema()),
            ));
        }
        if *body != *message.json() {
            let then = serde_json::from_str(&body).unwrap_or_default();
            let (field, then, now) = first_difference(&then, message.value(), String::new())
                .unwrap_or_else(|| (String::new(), body.to_string(), message.json().to_owned()));
            return Some(difference(&field, then, now));
        }
        let (then, now) = (
            recording.payload_kind(topic, sequence),
            payload_kind(message),
        );
        if then != now {
            let text = |kind| match kind {
                None => "without pixels",
                Some(PayloadKind::Picture) => "with pixels",
                Some(PayloadKind::Buffer) => "with a buffer",
            };
            return Some(difference("", text(then).into(), text(now).into()));
        }
        let now = message.frame().and_then(payload)?;
        let what = match now.kind() {
            PayloadKind::Picture => "pixels",
            PayloadKind::Buffer => "buffer",
        };
        match recording.payload(topic, sequence, |then| *then == now) {
            Ok(Some(false)) => {
                let (then, now) = (format!("the {what}"), format!("another {what}"));
                Some(difference("", then, now))
            }
            // Left out, or the same.
            Ok(_) => None,
            Err(error) => Some(difference("", error.to_string(), what.into())),
        }
    }
}

impl Observer for Verifier {
    fn message(&self, stage: usize, port: usize, message: &Arc<Message>) {
        let output = self.replay.output_of(stage, port);
        let topic = output.and_then(|output| Some((output, self.replay.topic(output)?)));
        let Some((output, topic)) = topic else {
            return;
        };
        // It is emitted in the stage's own thread, which makes one call after the other.
        let call = self.replay.current_call(stage);
        let difference = self.compare((output, topic), call, message);
        let entry = self
            .replay
            .recording()
            .find(topic, message.lineage().sequence);
        let mut seen = lock(&self.seen);
        if let Some(entry) = entry {
            let length = seen.entries.len().max(entry + 1);
            seen.entries.resize(length, false);
            seen.entries[entry] = true;
        }
        match difference {
            None => seen.same += 1,
            Some(difference) => seen.add(difference),
        }
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

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
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
