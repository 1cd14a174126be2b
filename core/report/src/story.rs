//! The story of a recording, message by message in the order of time.

use std::collections::HashMap;

use flowpipe_message::{FRAME, FrameNote, METRICS, Metrics, OVERLAY};
use flowpipe_puzzle::message::{
    BoardResult, OUTCOME, Outcome, RESULT, SIGHTING, SOLVED, STROKES, Sighting, Solved, Strokes,
};
use flowpipe_recording::entry::Call;
use flowpipe_recording::{Body, Entry, RecordedMessage, Recording, Topic};
use serde::de::DeserializeOwned;

use crate::boards::{Board, Boards, MessagePosition};
use crate::frames::Frames;
use crate::intervals::{Intervals, ends_ns};
use crate::lineage::Lineage;
use crate::metrics::MetricHistories;
use crate::overlays::{OverlayMessages, Overlays};
use crate::room::{Allowance, Room};
use crate::sentences;
use crate::shapes::Shapes;
use crate::sources::Sources;

/// The mark that actuators set at the first press.
pub const ACTION: &str = "action";

/// The most bytes of metrics and of notes of frames that are read.
const READ: usize = 32 << 20;

/// The most bytes of sentences of metrics and overlays.
const SENTENCES: usize = 1 << 20;

/// What a recording contains about puzzles, and what stages of any pipeline report of their work.
#[derive(Debug)]
pub struct Story {
    /// What was captured.
    pub frames: Frames,
    /// Puzzles and sightings.
    pub shapes: Shapes,
    /// By frame: what vision made of it.
    pub looks: Vec<Option<usize>>,
    /// What was played.
    pub boards: Vec<Board>,
    /// Messages as sentences.
    pub words: HashMap<(Topic, u64), String>,
    /// How many messages are left out, because their boards are too large.
    pub too_large: usize,
    /// What stages report of their work.
    pub metrics: MetricHistories,
    /// What they drew over frames.
    pub overlays: Overlays,
    /// What the frames show.
    pub sources: Sources,
    /// How many messages of metrics and overlays are not valid.
    pub malformed: usize,
    /// How many messages of metrics are left out, because there are too many.
    pub unread: usize,
}

/// A message.
struct StoryMessage<'a> {
    recorded: &'a RecordedMessage,
    topic: &'a Topic,
    sequence: u64,
    at_ns: i64,
    schema: &'a str,
    body: Body<'a>,
}

/// Builds a story from the messages.
struct StoryBuilder<'a> {
    lineage: Lineage<'a>,
    frames: &'a Frames,
    shapes: Shapes,
    looks: Vec<Option<usize>>,
    boards: Boards,
    words: HashMap<(Topic, u64), String>,
    /// By message of strokes: the board and the attempt.
    attempts: HashMap<(Topic, u64), (usize, usize)>,
    room: Room,
    too_large: usize,
    metrics: MetricHistories,
    overlays: OverlayMessages<'a>,
    sources: Sources,
    malformed: usize,
    unread: usize,
    reading: Allowance,
    sentences: Allowance,
}

impl Story {
    /// That of a recording. Messages of other kinds than ours have none.
    pub fn of(recording: &Recording) -> Self {
        let frames = Frames::of(recording);
        let messages = recording.entries().iter().filter_map(message);
        let mut messages: Vec<&RecordedMessage> = messages.collect();
        messages.sort_by_key(|message| message.at_ns());
        let refereed = messages.iter().any(|it| **it.schema() == *RESULT);
        let mut builder = StoryBuilder {
            lineage: Lineage::of(recording, &frames),
            looks: vec![None; frames.all.len()],
            frames: &frames,
            shapes: Shapes::default(),
            boards: Boards::new(refereed),
            words: HashMap::new(),
            attempts: HashMap::new(),
            room: Room::default(),
            too_large: 0,
            metrics: MetricHistories::new(Intervals::until(ends_ns(recording))),
            overlays: OverlayMessages::default(),
            sources: Sources::default(),
            malformed: 0,
            unread: 0,
            reading: Allowance::of(READ),
            sentences: Allowance::of(SENTENCES),
        };
        for message in messages {
            builder.take(&story_message(recording, message));
        }
        let overlays = std::mem::take(&mut builder.overlays);
        let overlays = overlays.read(recording, |message, shapes| {
            let key = (message.topic().clone(), message.sequence());
            builder.say(key, flowpipe_terminal::counted(shapes, "shape"));
        });
        let StoryBuilder {
            shapes,
            looks,
            boards,
            words,
            too_large,
            metrics,
            sources,
            malformed,
            unread,
            ..
        } = builder;
        Self {
            frames,
            shapes,
            looks,
            boards: boards.all,
            words,
            too_large,
            malformed: malformed + overlays.malformed,
            metrics,
            overlays,
            sources,
            unread,
        }
    }
}

fn message(entry: &Entry) -> Option<&RecordedMessage> {
    match entry {
        Entry::Message(message) => Some(message),
        _ => None,
    }
}

fn story_message<'a>(recording: &'a Recording, message: &'a RecordedMessage) -> StoryMessage<'a> {
    StoryMessage {
        recorded: message,
        topic: message.topic(),
        sequence: message.sequence(),
        at_ns: message.at_ns(),
        schema: message.schema(),
        body: recording.body(message),
    }
}

impl StoryMessage<'_> {
    /// `None`: it does not match its schema id.
    fn parse<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_str(&self.body).ok()
    }

    fn key(&self) -> (Topic, u64) {
        (self.topic.clone(), self.sequence)
    }
}

impl<'a> StoryBuilder<'a> {
    fn take(&mut self, message: &StoryMessage<'a>) {
        match message.schema {
            FRAME => return self.frame_note(message),
            METRICS => return self.metrics(message),
            OVERLAY => return self.overlay(message),
            _ => {}
        }
        if !self.room.is_left(message.body.len(), self.shapes.cells()) {
            self.too_large += 1;
            return;
        }
        let sentence = match message.schema {
            SIGHTING => self.sighting(message),
            SOLVED => self.solved(message),
            STROKES => self.strokes(message),
            OUTCOME => self.outcome(message),
            RESULT => self.result(message),
            _ => None,
        };
        if let Some(sentence) = sentence {
            self.words.insert(message.key(), sentence);
        }
    }

    /// The sentence of a message of metrics or an overlay, while there is room for it.
    fn say(&mut self, key: (Topic, u64), sentence: String) {
        if self.sentences.take(sentence.len()) {
            self.words.insert(key, sentence);
        }
    }

    fn frame_note(&mut self, message: &StoryMessage<'_>) {
        if !self.reading.take(message.body.len()) {
            return;
        }
        if let Some(note) = message.parse::<FrameNote>() {
            self.sources.add(&note.source);
        }
    }

    fn metrics(&mut self, message: &StoryMessage<'_>) {
        if !self.reading.take(message.body.len()) {
            self.unread += 1;
            return;
        }
        let metrics = message.parse::<Metrics>();
        let Some(metrics) = metrics.filter(|metrics| metrics.check().is_ok()) else {
            self.malformed += 1;
            return;
        };
        let frame = self.at(message).frame;
        let stage = &message.topic.stage;
        self.metrics.add(stage, message.at_ns, frame, &metrics);
        self.say(message.key(), sentences::metrics(&metrics));
    }

    fn overlay(&mut self, message: &StoryMessage<'a>) {
        if let Some(frame) = self.at(message).frame {
            self.overlays.add(frame, message.recorded, &message.body);
        }
    }

    fn at(&self, message: &StoryMessage<'_>) -> MessagePosition {
        let lineage = &self.lineage;
        let frame = lineage.frame_or_last(message.topic, message.sequence, message.at_ns);
        let captured = frame.and_then(|frame| self.frames.all.get(frame));
        MessagePosition {
            frame,
            at_ns: message.at_ns,
            captured_ns: captured.map_or(message.at_ns, |frame| frame.captured_ns),
        }
    }

    fn sighting(&mut self, message: &StoryMessage<'_>) -> Option<String> {
        let sighting: Sighting = message.parse()?;
        self.room.read(&sighting);
        let at = self.at(message);
        // The first is vision's own; others hand it on.
        let first = at.frame.and_then(|frame| self.looks.get_mut(frame));
        if let Some(first) = first.filter(|first| first.is_none()) {
            let look = self.shapes.look(&sighting);
            *first = Some(look);
            self.boards.sighting(at, look, &sighting, &mut self.shapes);
        }
        Some(sentences::sighting(&sighting))
    }

    fn solved(&mut self, message: &StoryMessage<'_>) -> Option<String> {
        let solved: Solved = message.parse()?;
        self.room.read(&solved.sighting);
        let at = self.at(message);
        let call = self.lineage.call(message.topic, message.sequence);
        let worked = call.map(solving_ns);
        self.boards.solved(at, &solved, worked, &mut self.shapes);
        Some(sentences::solved(&solved))
    }

    fn strokes(&mut self, message: &StoryMessage<'_>) -> Option<String> {
        let strokes: Strokes = message.parse()?;
        self.room.read(&strokes.sighting);
        let at = self.at(message);
        if let Some(place) = self.boards.strokes(at, &strokes, &mut self.shapes) {
            self.attempts.insert(message.key(), place);
        }
        Some(sentences::strokes(&strokes))
    }

    fn outcome(&mut self, message: &StoryMessage<'_>) -> Option<String> {
        let outcome: Outcome = message.parse()?;
        let at = self.at(message);
        let call = self.lineage.call(message.topic, message.sequence);
        let took = call.and_then(|call| call.took.as_ref());
        let played = took.and_then(|took| {
            let topic = Topic::new(took.from.clone(), took.output.clone());
            self.attempts.get(&(topic, took.sequence)).copied()
        });
        if let Some(place) = played {
            let mark = call.and_then(|call| call.marks.iter().find(|mark| mark.name == ACTION));
            let pressed = mark.map(|mark| mark.at_ns - at.captured_ns);
            self.boards
                .outcome(at, place, &outcome, pressed, &self.shapes);
        }
        Some(sentences::outcome(&outcome))
    }

    fn result(&mut self, message: &StoryMessage<'_>) -> Option<String> {
        let result: BoardResult = message.parse()?;
        self.room.cells += result.puzzle.board().len();
        let at = self.at(message);
        self.boards.result(at, &result, &mut self.shapes);
        Some(sentences::result(&result))
    }
}

/// How long a solver worked: between its own marks, where it sets them.
fn solving_ns(call: &Call) -> i64 {
    let mark = |name: &str| call.marks.iter().find(|mark| mark.name == name);
    match (mark("solving"), mark("answered")) {
        (Some(from), Some(to)) => to.at_ns - from.at_ns,
        _ => work_ns(call),
    }
}

/// How long a call took, without what it waited.
pub fn work_ns(call: &Call) -> i64 {
    (call.ended_ns - call.taken_ns - call.waited_ns).max(0)
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use flowpipe_recording::entry::{About, AboutStage};
    use flowpipe_recording::{Schemas, Writer};
    use serde_json::{Value, json};

    use super::*;
    use crate::overview::has_boards;

    /// A run of a source and a stage; each message one millisecond after the one before: output, schema and body.
    fn recorded(outputs: &[&str], messages: &[(&str, &str, Value)]) -> Recording {
        let stage = |name: &str, inputs: &[&str], outputs: &[&str]| AboutStage {
            name: name.to_owned(),
            role: String::new(),
            plugins: Vec::new(),
            inputs: inputs.iter().map(|&it| it.to_owned()).collect(),
            outputs: outputs
                .iter()
                .map(|&it| (it.to_owned(), it.to_owned()))
                .collect(),
            timeout_ns: None,
            isolated: false,
            workers: 1,
        };
        let about = About {
            format: flowpipe_recording::FORMAT,
            flowpipe: String::new(),
            name: String::new(),
            file: String::new(),
            started_unix_ns: 0,
            since_ns: None,
            excerpt: false,
            dry: false,
            stages: vec![
                stage("source", &[], &[FRAME, METRICS]),
                stage("finder", &["in"], outputs),
            ],
            edges: Vec::new(),
        };
        let file = tempfile::NamedTempFile::new().unwrap();
        let to = File::create(file.path()).unwrap();
        let mut writer = Writer::new(to, &about, "", Schemas::new()).unwrap();
        for (number, (stage, schema, body)) in (1..).zip(messages) {
            let at = number as i64 * 1_000_000;
            let topic = Topic::new(*stage, *schema);
            let body = body.to_string();
            writer
                .message(&topic, schema, &body, number, (at, at))
                .unwrap();
        }
        writer.finish().unwrap();
        Recording::open(file.path()).unwrap()
    }

    fn circle(radius: f64) -> Value {
        json!({ "shapes": [{ "form": { "circle": { "at": [1, 1], "radius": radius } } }] })
    }

    #[test]
    fn a_recording_without_boards_has_metrics_and_overlays() {
        let frame = |source: &str| ("source", FRAME, json!({ "source": source }));
        let overlay = |radius: f64| ("finder", OVERLAY, circle(radius));
        let counter = json!({ "metrics": [{ "kind": "counter", "name": "spots", "add": 2 }] });
        let recording = recorded(
            &["spots.spot/1", METRICS, OVERLAY],
            &[
                frame("one"),
                ("source", METRICS, counter.clone()),
                overlay(1.0),
                overlay(2.0),
                // It is not valid, so that it replaces nothing.
                overlay(-3.0),
                frame("two"),
                ("finder", METRICS, counter),
                (
                    "finder",
                    METRICS,
                    json!({ "metrics": [{ "kind": "counter" }] }),
                ),
                frame("one"),
                overlay(2.0),
            ],
        );
        let story = Story::of(&recording);
        assert!(!has_boards(&recording, &story));
        assert_eq!(story.frames.all.len(), 3);
        assert_eq!(story.malformed, 2);
        assert_eq!(
            (story.sources.first.as_str(), story.sources.count()),
            ("one", 2)
        );
        // The second frame has no overlay, and the same one over two frames is stored once.
        let overlays = json!(story.overlays);
        assert_eq!(overlays["over"], json!([[0, 0, 0], [2, 0, 0]]));
        assert_eq!(overlays["stages"], json!(["finder"]));
        assert_eq!(overlays["drawings"], json!([[0, 1]]));
        assert_eq!(overlays["shapes"][0]["numbers"], json!([1.0, 1.0, 2.0]));
        let metrics = json!(story.metrics);
        assert_eq!(metrics["stages"][0]["stage"], "source");
        assert_eq!(metrics["stages"][1]["metrics"][0]["total"], "2");
        let words: Vec<&str> = story.words.values().map(String::as_str).collect();
        assert_eq!(words.iter().filter(|it| **it == "spots +2").count(), 2);
        assert_eq!(words.iter().filter(|it| **it == "1 shape").count(), 2);
    }

    #[test]
    fn outputs_for_boards_are_enough() {
        for (schema, expected) in [
            (SIGHTING, true),
            (RESULT, true),
            (OUTCOME, false),
            ("*", false),
        ] {
            let recording = recorded(&[schema], &[]);
            let story = Story::of(&recording);
            assert_eq!(has_boards(&recording, &story), expected, "{schema}");
        }
    }
}
