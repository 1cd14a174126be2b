//! Which shapes outputs of stages have drawn over which frame.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use flowpipe_message::Overlay;
use flowpipe_recording::{RecordedMessage, Recording, Topic};
use serde::Serialize;

use crate::drawings::Drawings;
use crate::room::Allowance;

/// The overlays of a recording.
#[derive(Debug, Serialize)]
pub struct Overlays {
    #[serde(flatten)]
    drawings: Drawings,
    /// The outputs with overlays in the pipeline's order: the stage, and the output too if the stage has several.
    outputs: Vec<String>,
    /// The frame, the output and its drawing, by frame and in the order of the outputs.
    over: Vec<(usize, usize, usize)>,
    /// How many overlays are left out to keep the page small.
    #[serde(skip)]
    pub left_out: usize,
    /// How many messages are no valid overlays.
    #[serde(skip)]
    pub malformed: usize,
}

/// The messages of overlays, by the frame and the output, each in the order of time.
#[derive(Debug, Default)]
pub struct OverlayMessages<'a>(BTreeMap<(usize, Topic), Vec<OverlayMessage<'a>>>);

/// A message that has not been read yet.
#[derive(Clone, Copy, Debug)]
struct OverlayMessage<'a> {
    message: &'a RecordedMessage,
    /// Equal bodies have equal ones.
    hash: u64,
    /// The length of its body.
    bytes: usize,
}

/// The most characters that all drawings take in the page.
const CHARACTERS: usize = 4_000_000;
/// The most bytes of different messages that are read. Real ones have some ten thousand each, and most repeat another.
const READ: usize = 64 << 20;
/// What reading a message takes besides its own bytes: those of its neighbours are unpacked too.
const READ_EACH: usize = 8 << 10;

impl<'a> OverlayMessages<'a> {
    /// A message over a frame, in the order of time, with its body.
    pub fn add(&mut self, frame: usize, message: &'a RecordedMessage, body: &str) {
        let mut hasher = DefaultHasher::new();
        body.hash(&mut hasher);
        let key = (frame, message.topic().clone());
        self.0.entry(key).or_default().push(OverlayMessage {
            message,
            hash: hasher.finish(),
            bytes: body.len(),
        });
    }

    /// Reads them. Of those of one output on one frame the last valid one counts. Where there are too many, those
    /// that are drawn are spread over the run. `drawn`: is given each message that is drawn, with the number of its
    /// shapes.
    pub fn read(
        &self,
        recording: &Recording,
        mut drawn: impl FnMut(&RecordedMessage, usize),
    ) -> Overlays {
        let topics = self.topics(recording);
        let outputs: HashMap<&Topic, usize> = topics.iter().copied().zip(0..).collect();
        let mut overlays = Overlays {
            drawings: Drawings::new(CHARACTERS),
            outputs: topics.iter().map(|topic| label(topic, &topics)).collect(),
            over: Vec::new(),
            left_out: 0,
            malformed: 0,
        };
        let mut all: Vec<_> = self.0.iter().zip(0_u32..).collect();
        // The first ones of this order are spread over the whole, however many they are.
        all.sort_by_key(|(_, place)| place.reverse_bits());
        let mut reader = OverlayReader {
            recording,
            known: HashMap::new(),
            room: Allowance::of(READ),
        };
        for (((frame, topic), messages), _) in all {
            for message in messages.iter().rev() {
                match reader.read(message, &mut overlays.drawings) {
                    ReadOverlay::Malformed => overlays.malformed += 1,
                    ReadOverlay::LeftOut => {
                        overlays.left_out += 1;
                        break;
                    }
                    ReadOverlay::Drawing(drawing) => {
                        let output = outputs.get(topic).copied().unwrap_or(0);
                        overlays.over.push((*frame, output, drawing));
                        drawn(message.message, overlays.drawings.shape_count(drawing));
                        break;
                    }
                }
            }
        }
        overlays.over.sort_unstable();
        overlays
    }

    /// The outputs with overlays, in the pipeline's order.
    fn topics(&self, recording: &Recording) -> Vec<&Topic> {
        let stages = recording.about().stages.iter();
        let all = stages.flat_map(|stage| {
            let outputs = stage.outputs.iter();
            outputs.map(|(output, _)| (stage.name.as_str(), output.as_str()))
        });
        let places: HashMap<(&str, &str), usize> = all.zip(0..).collect();
        let place = |topic: &Topic| {
            let place = places.get(&(topic.stage.as_str(), topic.port.as_str()));
            place.copied().unwrap_or(usize::MAX)
        };
        let topics: BTreeSet<&Topic> = self.0.keys().map(|(_, topic)| topic).collect();
        let mut topics: Vec<&Topic> = topics.into_iter().collect();
        topics.sort_by_key(|topic| place(topic));
        topics
    }
}

/// What the page calls an output: its stage, and the output too if another one of the stage has overlays.
fn label(topic: &Topic, all: &[&Topic]) -> String {
    let has_several = all.iter().filter(|it| it.stage == topic.stage).count() > 1;
    match has_several {
        true => format!("{}.{}", topic.stage, topic.port),
        false => topic.stage.to_string(),
    }
}

/// Reads messages, each of the same bytes once.
struct OverlayReader<'a> {
    recording: &'a Recording,
    known: HashMap<u64, ReadOverlay>,
    room: Allowance,
}

/// What became of a message.
#[derive(Clone, Copy)]
enum ReadOverlay {
    /// It is no valid overlay.
    Malformed,
    /// There is no room for it.
    LeftOut,
    /// The place of its drawing.
    Drawing(usize),
}

impl OverlayReader<'_> {
    fn read(&mut self, message: &OverlayMessage<'_>, drawings: &mut Drawings) -> ReadOverlay {
        if let Some(&known) = self.known.get(&message.hash) {
            return known;
        }
        if !self.room.take(message.bytes + READ_EACH) {
            return ReadOverlay::LeftOut;
        }
        let body = self.recording.body(message.message);
        let overlay = serde_json::from_str::<Overlay>(&body).ok();
        let result = match overlay.filter(|overlay| overlay.check().is_ok()) {
            None => ReadOverlay::Malformed,
            Some(overlay) => match drawings.drawing(&overlay) {
                None => ReadOverlay::LeftOut,
                Some(place) => ReadOverlay::Drawing(place),
            },
        };
        self.known.insert(message.hash, result);
        result
    }
}
