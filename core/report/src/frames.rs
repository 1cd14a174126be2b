//! What was captured, in the order of time.

use std::collections::HashMap;

use flowpipe_message::{METRICS, OVERLAY};
use flowpipe_recording::entry::Call;
use flowpipe_recording::{Entry, Name, Recording, Topic};

/// A message that descends from no other one: a picture, mostly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Where it was emitted.
    pub topic: Topic,
    /// Its number there.
    pub sequence: u64,
    /// When it was captured, nanoseconds of the run's clock.
    pub captured_ns: i64,
}

/// All of them.
#[derive(Debug, Default)]
pub struct Frames {
    /// By time of capture.
    pub all: Vec<Frame>,
    /// By stage and number.
    places: HashMap<(Name, u64), usize>,
}

impl Frames {
    /// The frames of a recording: what its sources emitted, and the frames that other messages descend from.
    pub fn of(recording: &Recording) -> Self {
        let mut known: HashMap<(Name, u64), Frame> = HashMap::new();
        let sources = recording.about().stages.iter();
        let sources: Vec<&str> = sources
            .filter(|stage| stage.inputs.is_empty())
            .map(|stage| stage.name.as_str())
            .collect();
        for entry in recording.entries() {
            match entry {
                Entry::Message(message) if sources.contains(&message.topic().stage.as_str()) => {
                    // A source may also report metrics.
                    if [METRICS, OVERLAY].contains(&&**message.schema()) {
                        continue;
                    }
                    let (topic, sequence) = (message.topic(), message.sequence());
                    let key = (topic.stage.clone(), sequence);
                    // Of several outputs the one with a picture is what was captured.
                    if known.contains_key(&key) && !recording.has_pixels(topic, sequence) {
                        continue;
                    }
                    let frame = Frame {
                        topic: topic.clone(),
                        sequence,
                        captured_ns: message.at_ns(),
                    };
                    known.insert(key, frame);
                }
                _ => {}
            }
        }
        for call in recording.calls() {
            note_origins(call, &mut known);
        }
        let mut all: Vec<Frame> = known.into_values().collect();
        all.sort_by(|a, b| {
            let key = |frame: &Frame| (frame.captured_ns, frame.topic.clone(), frame.sequence);
            key(a).cmp(&key(b))
        });
        let places = all.iter().enumerate();
        let places = places
            .map(|(index, frame)| ((frame.topic.stage.clone(), frame.sequence), index))
            .collect();
        Self { all, places }
    }

    /// The frame of a stage with a number.
    pub fn find(&self, stage: &Name, sequence: u64) -> Option<usize> {
        self.places.get(&(stage.clone(), sequence)).copied()
    }
}

/// The time of capture is shown beside what descends from a frame.
fn note_origins(call: &Call, known: &mut HashMap<(Name, u64), Frame>) {
    for emitted in &call.emitted {
        let Some(origin) = &emitted.origin else {
            continue;
        };
        let frame = known
            .entry((origin.stage.clone(), origin.sequence))
            .or_insert_with(|| Frame {
                topic: Topic::new(origin.stage.clone(), "out"),
                sequence: origin.sequence,
                captured_ns: origin.captured_ns,
            });
        frame.captured_ns = origin.captured_ns;
    }
}
