//! Messages as JSON: of each output the first and the last ones. Those that the page shows in another form are left out.

use std::collections::{HashMap, VecDeque};

use flowpipe_message::{FRAME, GESTURE_OUTCOME, GESTURES, METRICS, OVERLAY};
use flowpipe_puzzle::message::{OUTCOME, RESULT, SIGHTING, SOLVED, STROKES};
use flowpipe_recording::{Entry, RecordedMessage, Recording, Topic};
use serde::Serialize;

use crate::room::Allowance;

/// What the page shows in another form.
const SHOWN_ELSEWHERE: [&str; 10] = [
    FRAME,
    METRICS,
    OVERLAY,
    GESTURES,
    GESTURE_OUTCOME,
    SIGHTING,
    SOLVED,
    STROKES,
    OUTCOME,
    RESULT,
];
/// The most outputs, each with a schema, of which messages are shown.
const MOST_OUTPUTS: usize = 100;
/// How many messages are shown of each: as many of the first ones as of the last ones.
const SHOWN_AT_EACH_END: usize = 10;
/// The longest text of a message, in characters.
const LONGEST: usize = 500;
/// The most bytes of all texts.
const TEXTS: usize = 1 << 20;
/// The most bytes of messages that are read.
const READ: usize = 64 << 20;

/// The messages of a recording.
#[derive(Debug, Default, Serialize)]
pub struct Messages {
    /// In the order of their first messages.
    outputs: Vec<OutputMessages>,
    /// How many outputs more there are.
    more_outputs: usize,
    /// Whether messages are left out, because their texts have no room.
    is_cut: bool,
}

/// The messages of an output with one schema.
#[derive(Debug, Serialize)]
struct OutputMessages {
    /// The stage and the output.
    output: String,
    schema: String,
    count: usize,
    first: Vec<ShownMessage>,
    last: Vec<ShownMessage>,
}

#[derive(Debug, Serialize)]
struct ShownMessage {
    /// Its number at the output.
    sequence: u64,
    at_ns: i64,
    /// The start of its body.
    text: String,
    /// How many characters more it has.
    more: usize,
}

/// The messages to show of an output.
#[derive(Default)]
struct Chosen<'a> {
    count: usize,
    first: Vec<&'a RecordedMessage>,
    last: VecDeque<&'a RecordedMessage>,
}

impl Messages {
    /// Those of a recording.
    pub fn of(recording: &Recording) -> Self {
        let mut places: HashMap<(&Topic, &str), usize> = HashMap::new();
        let mut outputs: Vec<Chosen<'_>> = Vec::new();
        for entry in recording.entries() {
            let Entry::Message(message) = entry else {
                continue;
            };
            if SHOWN_ELSEWHERE.contains(&&**message.schema()) {
                continue;
            }
            let next = places.len();
            let place = *places
                .entry((message.topic(), &**message.schema()))
                .or_insert(next);
            if place == outputs.len() && place < MOST_OUTPUTS {
                outputs.push(Chosen::default());
            }
            if let Some(output) = outputs.get_mut(place) {
                output.add(message);
            }
        }
        let mut messages = Self {
            more_outputs: places.len() - outputs.len(),
            ..Self::default()
        };
        let (mut texts, mut reading) = (Allowance::of(TEXTS), Allowance::of(READ));
        let mut show = |all: &mut dyn Iterator<Item = &RecordedMessage>| {
            let mut shown = Vec::new();
            for message in all {
                let body = recording.body(message);
                let (text, more) = shortened(&body);
                if !reading.take(body.len()) || !texts.take(text.len()) {
                    messages.is_cut = true;
                    continue;
                }
                shown.push(ShownMessage {
                    sequence: message.sequence(),
                    at_ns: message.at_ns(),
                    text: text.to_owned(),
                    more,
                });
            }
            shown
        };
        let shown = outputs.iter().filter_map(|chosen| {
            let message = chosen.first.first()?;
            let topic = message.topic();
            Some(OutputMessages {
                output: format!("{}.{}", topic.stage, topic.port),
                schema: message.schema().to_string(),
                count: chosen.count,
                first: show(&mut chosen.first.iter().copied()),
                last: show(&mut chosen.last.iter().copied()),
            })
        });
        let shown = shown.collect();
        messages.outputs = shown;
        messages
    }
}

impl<'a> Chosen<'a> {
    fn add(&mut self, message: &'a RecordedMessage) {
        self.count += 1;
        if self.first.len() < SHOWN_AT_EACH_END {
            self.first.push(message);
            return;
        }
        if self.last.len() == SHOWN_AT_EACH_END {
            self.last.pop_front();
        }
        self.last.push_back(message);
    }
}

/// The start of a text, and how many characters more it has.
fn shortened(text: &str) -> (&str, usize) {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => {
            let (start, rest) = text.split_at(end);
            (start, rest.chars().count())
        }
        None => (text, 0),
    }
}
