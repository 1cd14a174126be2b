//! Which shapes stages have drawn over which frame.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use flowpipe_message::Overlay;
use flowpipe_recording::{Name, RecordedMessage, Recording};
use serde::Serialize;

use crate::drawings::Drawings;
use crate::room::Allowance;

/// The overlays of a recording.
#[derive(Debug, Serialize)]
pub struct Overlays {
    #[serde(flatten)]
    drawings: Drawings,
    /// The stages that drew, in the pipeline's order.
    stages: Vec<String>,
    /// The frame, the stage and its drawing, by frame and in the order of the stages.
    over: Vec<(usize, usize, usize)>,
    /// How many overlays are left out to keep the page small.
    #[serde(skip)]
    pub left_out: usize,
    /// How many messages are no valid overlays.
    #[serde(skip)]
    pub malformed: usize,
}

/// The messages of overlays, by the frame and the stage, each in the order of time.
#[derive(Debug, Default)]
pub struct OverlayMessages<'a>(BTreeMap<(usize, Name), Vec<OverlayMessage<'a>>>);

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
        let key = (frame, message.topic().stage.clone());
        self.0.entry(key).or_default().push(OverlayMessage {
            message,
            hash: hasher.finish(),
            bytes: body.len(),
        });
    }

    /// Reads them. Of those of one stage on one frame the last valid one counts. Where there are too many, those that
    /// are drawn are spread over the run. `drawn`: is given each message that is drawn, with the number of its shapes.
    pub fn read(
        &self,
        recording: &Recording,
        mut drawn: impl FnMut(&RecordedMessage, usize),
    ) -> Overlays {
        let names = self.stages(recording);
        let stages: HashMap<&Name, usize> = names.iter().copied().zip(0..).collect();
        let mut overlays = Overlays {
            drawings: Drawings::new(CHARACTERS),
            stages: names.iter().map(|name| name.to_string()).collect(),
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
        for (((frame, stage), messages), _) in all {
            for message in messages.iter().rev() {
                match reader.read(message, &mut overlays.drawings) {
                    ReadOverlay::Malformed => overlays.malformed += 1,
                    ReadOverlay::LeftOut => {
                        overlays.left_out += 1;
                        break;
                    }
                    ReadOverlay::Drawing(drawing) => {
                        let stage = stages.get(stage).copied().unwrap_or(0);
                        overlays.over.push((*frame, stage, drawing));
                        drawn(message.message, overlays.drawings.shape_count(drawing));
                        break;
                    }
                }
            }
        }
        overlays.over.sort_unstable();
        overlays
    }

    /// The stages that drew, in the pipeline's order.
    fn stages(&self, recording: &Recording) -> Vec<&Name> {
        let places = recording.about().stages.iter().zip(0..);
        let places: HashMap<&str, usize> = places
            .map(|(it, place)| (it.name.as_str(), place))
            .collect();
        let order = |name: &Name| places.get(name.as_str()).copied().unwrap_or(usize::MAX);
        let names: BTreeSet<&Name> = self.0.keys().map(|(_, stage)| stage).collect();
        let mut names: Vec<&Name> = names.into_iter().collect();
        names.sort_by_key(|name| order(name));
        names
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
