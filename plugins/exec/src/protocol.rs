//! The messages of the protocol `flowpipe.exec/1`. Each line is a JSON object; readers ignore unknown keys.

use std::fmt;

use flowpipe_plugin::puzzle::message::{
    Effort, FrameNote, Manner, Pace, Profile, Reading, SeenBoard, Stroke, StrokeEnd, StrokeOutcome,
    Strokes, Verdict, Want,
};
use flowpipe_plugin::puzzle::{Colour, Flow, Puzzle, Rules, Solution, geometry::Point};
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::buffer::BufferFile;
use crate::pixels::Picture;

/// A message with its number, which the answer gives back.
#[derive(Serialize)]
pub struct Request<'a, T> {
    pub id: u64,
    #[serde(flatten)]
    pub message: &'a T,
}

/// The fields that all answers share.
#[derive(Deserialize)]
pub struct ReplyHeader {
    /// The number of the message that it answers.
    #[serde(default)]
    pub id: Value,
    /// Why it can't answer that message.
    #[serde(default)]
    pub error: Option<String>,
    /// Not the answer yet: an event of this name happened.
    #[serde(default)]
    pub mark: Option<String>,
}

/// The first message.
#[derive(Serialize)]
pub struct Hello<'a> {
    protocol: &'static str,
    role: &'static str,
    settings: &'a Map<String, Value>,
    /// A dry run: nothing outside of the program may change.
    dry: bool,
}

impl<'a> Hello<'a> {
    pub fn new(role: &'static str, settings: &'a Map<String, Value>, dry: bool) -> Self {
        Self {
            protocol: "flowpipe.exec/1",
            role,
            settings,
            dry,
        }
    }
}

/// To a capture command.
#[derive(Serialize)]
pub struct CaptureRequest {
    /// How many frames it has sent so far.
    pub tick: u64,
}

#[derive(Deserialize)]
pub struct CaptureReply {
    /// `None`: there is no new frame.
    #[serde(default)]
    pub frame: Option<Picture>,
    #[serde(default)]
    pub note: Option<FrameNote>,
    /// There are no more frames after this one.
    #[serde(default)]
    pub end: bool,
}

/// To a vision command.
#[derive(Serialize)]
pub struct VisionRequest<'a> {
    pub frame: &'a Picture,
    pub note: &'a FrameNote,
}

#[derive(Deserialize)]
pub struct VisionReply {
    pub reading: Reading,
}

/// To a solver command.
#[derive(Serialize)]
pub struct SolverRequest<'a> {
    pub puzzle: &'a Puzzle,
    /// The rules of the puzzle, which `puzzle` has only where they differ from Flow Free's.
    pub rules: Rules,
    pub graph: Graph,
    pub want: Want,
    pub limit: Option<u64>,
}

/// The board as nodes and links: see [`flowpipe_plugin::puzzle::graph`].
#[derive(Serialize)]
pub struct Graph {
    /// The cell of each node. A bridge has two nodes: one for each direction across it.
    cells: Vec<usize>,
    /// The neighbours of each node.
    links: Vec<Vec<usize>>,
    /// The colour of the terminal at each node.
    colours: Vec<Option<Colour>>,
}

#[derive(Deserialize)]
pub struct SolverReply {
    pub answer: Verdict,
    #[serde(default)]
    pub effort: Effort,
}

/// To a planner command.
#[derive(Serialize)]
pub struct PlannerRequest<'a> {
    pub board: &'a SeenBoard,
    pub solution: &'a Solution,
    pub profile: Option<Profile>,
    pub stroke_end: Option<StrokeEnd>,
    /// The centre of each cell, in board units.
    pub centres: Vec<Point>,
}

#[derive(Deserialize)]
pub struct PlannerReply {
    pub strokes: Vec<Stroke>,
    #[serde(default)]
    pub profile: Option<Profile>,
    #[serde(default)]
    pub manner: Option<Manner>,
}

/// To an actuator command.
#[derive(Serialize)]
pub struct ActuatorRequest<'a> {
    pub strokes: &'a [Stroke],
    /// The points of each stroke, in pixels of the screen.
    pub pixels: Vec<Vec<Point>>,
    pub profile: Option<Profile>,
    pub manner: Option<&'a Manner>,
    pub board: &'a SeenBoard,
    pub note: &'a FrameNote,
}

#[derive(Deserialize)]
pub struct ActuatorReply {
    #[serde(default)]
    pub solved: Option<bool>,
    #[serde(default)]
    pub strokes: Vec<StrokeOutcome>,
    #[serde(default)]
    pub drawn: Option<Vec<Flow>>,
    #[serde(default)]
    pub refused: Option<String>,
    #[serde(default)]
    pub pace: Option<Pace>,
}

/// To a command of any other kind.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StageRequest<'a> {
    /// A message arrived.
    Message(IncomingMessage<'a>),
    /// A source is asked for messages, for this time.
    Tick(u64),
    /// There are no more messages: the reply may have the last ones.
    Finish(bool),
}

#[derive(Serialize)]
pub struct IncomingMessage<'a> {
    /// The name of the input.
    pub port: &'a str,
    pub schema: &'a str,
    pub body: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame: Option<&'a Picture>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<&'a BufferFile>,
    /// Its number, and that of the frame that it descends from (0: none).
    pub sequence: u64,
    pub frame_sequence: u64,
    /// When that frame was captured, nanoseconds since the run began.
    pub captured_ns: i64,
}

#[derive(Deserialize)]
pub struct StageReply {
    #[serde(default, deserialize_with = "at_most")]
    pub messages: Vec<OutgoingMessage>,
    /// The stage is done.
    #[serde(default)]
    pub end: bool,
}

/// The most messages of an answer: as many as a stage may emit for one message.
pub const MOST_MESSAGES: usize = 100_000;

/// Reads the messages of an answer, and no more than there may be.
fn at_most<'de, D: Deserializer<'de>>(answer: D) -> Result<Vec<OutgoingMessage>, D::Error> {
    struct Messages;

    impl<'de> Visitor<'de> for Messages {
        type Value = Vec<OutgoingMessage>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("a list of messages")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            let mut messages = Vec::new();
            while let Some(message) = list.next_element()? {
                if messages.len() == MOST_MESSAGES {
                    return Err(A::Error::custom(format!(
                        "it has more than {MOST_MESSAGES} messages: send them with several answers"
                    )));
                }
                messages.push(message);
            }
            Ok(messages)
        }
    }

    answer.deserialize_seq(Messages)
}

#[derive(Deserialize)]
pub struct OutgoingMessage {
    /// The name of the output. Without: the only one.
    #[serde(default)]
    pub port: Option<String>,
    /// Without: the one that the config declares.
    #[serde(default)]
    pub schema: Option<String>,
    pub body: Box<RawValue>,
    #[serde(default)]
    pub frame: Option<Picture>,
    #[serde(default)]
    pub buffer: Option<BufferFile>,
}

impl Graph {
    pub fn of(puzzle: &Puzzle) -> Self {
        let graph = puzzle.board().graph();
        let nodes = 0..graph.len();
        let links = |node| graph.links(node).iter().map(|link| link.node).collect();
        let colour = |node| puzzle.terminal_at(graph.cell_of(node));
        Self {
            cells: nodes.clone().map(|node| graph.cell_of(node)).collect(),
            links: nodes.clone().map(links).collect(),
            colours: nodes.map(colour).collect(),
        }
    }
}

impl<'a> ActuatorRequest<'a> {
    pub fn of(strokes: &'a Strokes, board: &'a SeenBoard) -> Self {
        let note = &strokes.sighting.frame;
        let pixel = |&point: &Point| {
            let [x, y] = board.geometry.to_frame(point);
            [
                note.origin[0] + x / note.scale,
                note.origin[1] + y / note.scale,
            ]
        };
        let pixels = |stroke: &Stroke| stroke.points.iter().map(pixel).collect();
        Self {
            strokes: &strokes.strokes,
            pixels: strokes.strokes.iter().map(pixels).collect(),
            profile: strokes.profile,
            manner: strokes.manner.as_ref(),
            board,
            note,
        }
    }
}
