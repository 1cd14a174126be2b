//! What a recording tells, message by message in the order of time.

use std::collections::HashMap;

use flowpipe_puzzle::message::{
    BoardResult, OUTCOME, Outcome, RESULT, SIGHTING, SOLVED, STROKES, Sighting, Solved, Strokes,
};
use flowpipe_recording::entry::Call;
use flowpipe_recording::{Body, Entry, RecordedMessage, Recording, Topic};
use serde::de::DeserializeOwned;

use crate::boards::{At, Board, Boards};
use crate::frames::Frames;
use crate::lineage::Lineage;
use crate::room::Room;
use crate::shapes::Shapes;
use crate::words;

/// The mark that actuators set at the first press.
pub const ACTION: &str = "action";

/// What a recording tells of puzzles.
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
}

/// A message.
struct Told<'a> {
    topic: &'a Topic,
    sequence: u64,
    at_ns: i64,
    schema: &'a str,
    body: Body<'a>,
}

/// On the way through the messages.
struct Teller<'a> {
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
}

impl Story {
    /// That of a recording. Messages of other kinds than ours have none.
    pub fn of(recording: &Recording) -> Self {
        let frames = Frames::of(recording);
        let messages = recording.entries().iter().filter_map(message);
        let mut messages: Vec<&RecordedMessage> = messages.collect();
        messages.sort_by_key(|message| message.at_ns());
        let refereed = messages.iter().any(|it| **it.schema() == *RESULT);
        let mut teller = Teller {
            lineage: Lineage::of(recording, &frames),
            looks: vec![None; frames.all.len()],
            frames: &frames,
            shapes: Shapes::default(),
            boards: Boards::new(refereed),
            words: HashMap::new(),
            attempts: HashMap::new(),
            room: Room::default(),
            too_large: 0,
        };
        for message in messages {
            teller.take(&told(recording, message));
        }
        let Teller {
            shapes,
            looks,
            boards,
            words,
            too_large,
            ..
        } = teller;
        Self {
            frames,
            shapes,
            looks,
            boards: boards.all,
            words,
            too_large,
        }
    }
}

fn message(entry: &Entry) -> Option<&RecordedMessage> {
    match entry {
        Entry::Message(message) => Some(message),
        _ => None,
    }
}

fn told<'a>(recording: &'a Recording, message: &'a RecordedMessage) -> Told<'a> {
    Told {
        topic: message.topic(),
        sequence: message.sequence(),
        at_ns: message.at_ns(),
        schema: message.schema(),
        body: recording.body(message),
    }
}

impl Told<'_> {
    /// `None`: it is not what its schema id says.
    fn parse<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_str(&self.body).ok()
    }

    fn key(&self) -> (Topic, u64) {
        (self.topic.clone(), self.sequence)
    }
}

impl Teller<'_> {
    fn take(&mut self, told: &Told<'_>) {
        if !self.room.is_left(told.body.len(), self.shapes.cells()) {
            self.too_large += 1;
            return;
        }
        let sentence = match told.schema {
            SIGHTING => self.sighting(told),
            SOLVED => self.solved(told),
            STROKES => self.strokes(told),
            OUTCOME => self.outcome(told),
            RESULT => self.result(told),
            _ => None,
        };
        if let Some(sentence) = sentence {
            self.words.insert(told.key(), sentence);
        }
    }

    fn at(&self, told: &Told<'_>) -> At {
        let lineage = &self.lineage;
        let frame = lineage.frame_or_last(told.topic, told.sequence, told.at_ns);
        let captured = frame.and_then(|frame| self.frames.all.get(frame));
        At {
            frame,
            at_ns: told.at_ns,
            captured_ns: captured.map_or(told.at_ns, |frame| frame.captured_ns),
        }
    }

    fn sighting(&mut self, told: &Told<'_>) -> Option<String> {
        let sighting: Sighting = told.parse()?;
        self.room.read(&sighting);
        let at = self.at(told);
        // The first is vision's own; others hand it on.
        let first = at.frame.and_then(|frame| self.looks.get_mut(frame));
        if let Some(first) = first.filter(|first| first.is_none()) {
            let look = self.shapes.look(&sighting);
            *first = Some(look);
            self.boards.sighting(at, look, &sighting, &mut self.shapes);
        }
        Some(words::sighting(&sighting))
    }

    fn solved(&mut self, told: &Told<'_>) -> Option<String> {
        let solved: Solved = told.parse()?;
        self.room.read(&solved.sighting);
        let at = self.at(told);
        let call = self.lineage.call(told.topic, told.sequence);
        let worked = call.map(solving_ns);
        self.boards.solved(at, &solved, worked, &mut self.shapes);
        Some(words::solved(&solved))
    }

    fn strokes(&mut self, told: &Told<'_>) -> Option<String> {
        let strokes: Strokes = told.parse()?;
        self.room.read(&strokes.sighting);
        let at = self.at(told);
        if let Some(place) = self.boards.strokes(at, &strokes, &mut self.shapes) {
            self.attempts.insert(told.key(), place);
        }
        Some(words::strokes(&strokes))
    }

    fn outcome(&mut self, told: &Told<'_>) -> Option<String> {
        let outcome: Outcome = told.parse()?;
        let at = self.at(told);
        let call = self.lineage.call(told.topic, told.sequence);
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
        Some(words::outcome(&outcome))
    }

    fn result(&mut self, told: &Told<'_>) -> Option<String> {
        let result: BoardResult = told.parse()?;
        self.room.cells += result.puzzle.board().len();
        let at = self.at(told);
        self.boards.result(at, &result, &mut self.shapes);
        Some(words::result(&result))
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
