//! The story of a recording, message by message in the order of time.

use std::collections::HashMap;

use flowpipe_message::{
    FRAME, FrameNote, GESTURE_OUTCOME, GESTURES, GestureOutcome, Gestures, METRICS, Metrics,
    OVERLAY,
};
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

/// The most bytes of metrics and of notes of frames that are read, and of gestures with their outcomes.
const READ: usize = 32 << 20;

/// The most bytes of sentences of messages that are not about boards.
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
    /// How many messages of metrics, overlays and gestures are not valid.
    pub malformed: usize,
    /// How many messages of metrics are left out, because there are too many.
    pub unread: usize,
    /// How many messages have no sentence, because there are too many.
    pub without_sentence: usize,
    /// How many overlays are left out, because they descend from no frame.
    pub overlays_without_frame: usize,
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
    /// By message of gestures: how many they are.
    gestures: HashMap<(Topic, u64), usize>,
    malformed: usize,
    unread: usize,
    without_sentence: usize,
    overlays_without_frame: usize,
    reading: Allowance,
    reading_gestures: Allowance,
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
            gestures: HashMap::new(),
            malformed: 0,
            unread: 0,
            without_sentence: 0,
            overlays_without_frame: 0,
            reading: Allowance::of(READ),
            reading_gestures: Allowance::of(READ),
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
            without_sentence,
            overlays_without_frame,
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
            without_sentence,
            overlays_without_frame,
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
            GESTURES | GESTURE_OUTCOME => return self.gesture_message(message),
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

    /// The sentence of a message that is not about boards, while there is room for it.
    fn say(&mut self, key: (Topic, u64), sentence: String) {
        if self.sentences.take(sentence.len()) {
            self.words.insert(key, sentence);
        } else {
            self.without_sentence += 1;
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
        } else {
            self.overlays_without_frame += 1;
        }
    }

    fn gesture_message(&mut self, message: &StoryMessage<'_>) {
        if !self.reading_gestures.take(message.body.len()) {
            self.without_sentence += 1;
            return;
        }
        let sentence = match message.schema {
            GESTURES => self.gestures(message),
            _ => self.gesture_outcome(message),
        };
        match sentence {
            Some(sentence) => self.say(message.key(), sentence),
            None => self.malformed += 1,
        }
    }

    /// Those that an actuator refuses as a whole have a sentence too: their outcome says why.
    fn gestures(&mut self, message: &StoryMessage<'_>) -> Option<String> {
        let gestures: Gestures = message.parse()?;
        self.gestures.insert(message.key(), gestures.gestures.len());
        Some(sentences::gestures(&gestures))
    }

    fn gesture_outcome(&self, message: &StoryMessage<'_>) -> Option<String> {
        let outcome: GestureOutcome = message.parse()?;
        let planned = self.taken(message);
        let planned = planned.and_then(|taken| self.gestures.get(&taken).copied());
        Some(sentences::gesture_outcome(&outcome, planned))
    }

    /// The message that the call took which emitted this one.
    fn taken(&self, message: &StoryMessage<'_>) -> Option<(Topic, u64)> {
        let call = self.lineage.call(message.topic, message.sequence)?;
        let taken = call.took.as_ref()?;
        let topic = Topic::new(taken.from.clone(), taken.output.clone());
        Some((topic, taken.sequence))
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
        let taken = self.taken(message);
        let played = taken.and_then(|taken| self.attempts.get(&taken).copied());
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
mod tests;
