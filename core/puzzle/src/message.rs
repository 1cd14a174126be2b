//! What flows between the stages: one type for each schema id.
//!
//! As JSON they are canonical: the same value always gives the same bytes, so that runs can be
//! compared. Each message carries the earlier ones that later stages need, so that a straight
//! pipeline needs no joins.
//!
//! Readers ignore fields that they don't know, so that plugins of different ages work together.
//! Within the version of a schema id only such fields are added as may be ignored without harm; what
//! changes the meaning of the others is a new version. Read strictly are the puzzle itself (a
//! puzzle of which a part was ignored is another puzzle) and the pace of the mouse.

mod answer;
mod drag;
mod profile;

use schemars::{JsonSchema, Schema, schema_for};
use serde::{Deserialize, Serialize};

use crate::board::Cell;
use crate::colour::{self, Colour};
use crate::geometry::{Geometry, Point};
use crate::puzzle::Puzzle;
use crate::solution::{Flow, Solution};

use answer::is_false;
pub use answer::{Count, Effort, Verdict, Want};
pub use profile::{Hold, Manner, Pace, Profile, Stops};

/// Schema id of [`FrameNote`], which comes with pixels.
pub const FRAME: &str = "flowpipe.frame/1";
/// Schema id of [`Sighting`].
pub const SIGHTING: &str = "flowpipe.sighting/1";
/// Schema id of [`Solved`].
pub const SOLVED: &str = "flowpipe.solved/1";
/// Schema id of [`Strokes`].
pub const STROKES: &str = "flowpipe.strokes/1";
/// Schema id of [`Outcome`].
pub const OUTCOME: &str = "flowpipe.outcome/1";

/// Schema id of [`BoardResult`].
pub const RESULT: &str = "flowpipe.result/1";

/// The JSON Schema of each message, by schema id.
#[must_use]
pub fn schemas() -> [(&'static str, Schema); 6] {
    [
        (FRAME, schema_for!(FrameNote)),
        (SIGHTING, schema_for!(Sighting)),
        (SOLVED, schema_for!(Solved)),
        (STROKES, schema_for!(Strokes)),
        (OUTCOME, schema_for!(Outcome)),
        (RESULT, schema_for!(BoardResult)),
    ]
}

/// Where a frame's pixels come from: the body of a frame message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FrameNote {
    /// A file, a window's title, a monitor.
    pub source: String,
    /// Where the frame's top left corner lies on the screen, in screen pixels.
    #[serde(default)]
    pub origin: Point,
    /// Frame pixels for one screen pixel (2 on most HiDPI screens).
    #[serde(default = "one")]
    pub scale: f64,
    /// The window that the frame shows, by the system's number for it, where it shows one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
}

fn one() -> f64 {
    1.0
}

impl FrameNote {
    /// A frame that lies at the screen's corner, pixel for pixel.
    #[must_use]
    pub fn of(source: impl Into<String>) -> Self {
        Self {
            source: source.into(),
            origin: [0.0; 2],
            scale: one(),
            window: None,
        }
    }
}

/// What vision made of one frame.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sighting {
    /// The frame looked at.
    pub frame: FrameNote,
    /// What is there.
    pub reading: Reading,
    /// What looking cost, by step. Only where it was asked for: it differs from run to run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepTime>,
}

/// What one step of reading a frame cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepTime {
    /// The step, such as `find board`.
    pub step: String,
    /// Milliseconds of the host's clock, all times that the step was taken together.
    pub ms: f64,
}

/// Exact, or silent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "status", rename_all = "lowercase")]
pub enum Reading {
    /// A board, read exactly.
    Board(Box<SeenBoard>),
    /// Not a board that can be read.
    Refused {
        /// The step that gave up, such as `find board`.
        step: String,
        /// Why, in a sentence.
        reason: String,
        /// From 0 to 1, how much of a board was made out: 0 nothing, near 1 everything but one
        /// thing.
        #[serde(default)]
        confidence: f64,
        /// How far the board is played, where so much was made out: that it is moving.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        state: Option<BoardState>,
    },
}

/// A board in a frame.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeenBoard {
    /// The puzzle.
    pub puzzle: Puzzle,
    /// Where it lies in the frame.
    pub geometry: Geometry,
    /// What the colours look like: red, green, blue by colour number.
    pub palette: Vec<[u8; 3]>,
    /// Pipes already drawn, finished or not, each from a terminal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drawn: Vec<Flow>,
    /// How far the board is played.
    pub state: BoardState,
    /// From 0 to 1.
    pub confidence: f64,
}

impl SeenBoard {
    /// A puzzle as if it was seen upright in the corner of a picture, with nothing drawn on it. `cell`:
    /// the side of a cell, in frame pixels.
    #[must_use]
    pub fn untouched(puzzle: Puzzle, cell: f64) -> Self {
        let (rows, cols) = (puzzle.board().rows(), puzzle.board().cols());
        let (width, height) = (cell * cols as f64, cell * rows as f64);
        let last = puzzle.colours().last().copied();
        Self {
            geometry: Geometry::axis_aligned(0.0, 0.0, width, height, rows, cols),
            palette: colour::palette(last.map_or(0, |last| usize::from(last) + 1)),
            puzzle,
            drawn: Vec::new(),
            state: BoardState::Empty,
            confidence: 1.0,
        }
    }
}

/// How far a board is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BoardState {
    /// Nothing is drawn.
    Empty,
    /// Some pipes are drawn.
    Partial,
    /// Every flow is joined and every cell covered.
    Solved,
    /// It is still moving: not to be played yet.
    Moving,
}

/// A sighting with a solver's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Solved {
    /// The plugin that answered.
    pub solver: String,
    /// Its answer.
    pub answer: Verdict,
    /// What the answer cost.
    #[serde(default, skip_serializing_if = "Effort::is_empty")]
    pub effort: Effort,
    /// What the game was found to need from the mouse, if it was detected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// The sighting answered to.
    pub sighting: Sighting,
}

/// One press, drag and release.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stroke {
    /// The flow that it draws.
    pub colour: Colour,
    /// The cells that it is meant to pass, first to last.
    pub cells: Vec<Cell>,
    /// Board units: press at the first, drag in straight lines through all, release at the last.
    pub points: Vec<Point>,
    /// The button stays down, and the next stroke goes on from another place: on boards that warp, in
    /// games where a drag goes on from the other side.
    #[serde(default, skip_serializing_if = "is_false")]
    pub held: bool,
}

impl Stroke {
    /// A stroke of its own: the button goes up after it.
    #[must_use]
    pub fn new(colour: Colour, cells: Vec<Cell>, points: Vec<Point>) -> Self {
        Self {
            colour,
            cells,
            points,
            held: false,
        }
    }
}

/// What the mouse should do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Strokes {
    /// The plugin that planned.
    pub planner: String,
    /// In the order of play.
    pub strokes: Vec<Stroke>,
    /// What they take the game to need, where that has a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// How to play them; nothing: as the actuator thinks best.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manner: Option<Manner>,
    /// The solution that they draw.
    pub solution: Solution,
    /// The sighting that they belong to.
    pub sighting: Sighting,
}

/// What became of one stroke.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StrokeOutcome {
    /// The flow that it was to draw.
    pub colour: Colour,
    /// Whether the flow is drawn as planned after all strokes; `null`: the actuator does not know.
    pub accepted: Option<bool>,
    /// What went wrong, if something did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What became of the strokes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outcome {
    /// The plugin that acted.
    pub actuator: String,
    /// The frame that it acted on.
    pub frame: FrameNote,
    /// Whether the game counts the board as solved; `null`: the actuator does not know.
    pub solved: Option<bool>,
    /// By stroke, in the order of play.
    pub strokes: Vec<StrokeOutcome>,
    /// Pipes as they are now, if the actuator knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drawn: Option<Vec<Flow>>,
    /// Why the strokes were not played, or not to their end: the board is not where it was seen, it is
    /// covered, the sighting is too old. Looking again helps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// The profile that the strokes were planned for, where it has a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// How fast the strokes were played, where that can be chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pace: Option<Pace>,
    /// Host clock from first press to last release, nanoseconds.
    pub act_ns: i64,
}

/// What became of one board, from first sight to the end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BoardResult {
    /// Counts the boards from 1.
    pub number: usize,
    /// What was played.
    pub puzzle: Puzzle,
    /// Whether the board was seen solved, or made way for the next one.
    pub solved: bool,
    /// Why it was given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How often strokes were played on it.
    pub attempts: usize,
    /// Strokes played.
    pub strokes: usize,
    /// Of these, strokes for flows that had been drawn before.
    pub repeated: usize,
    /// The profile of the last strokes, where it has a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// The pace of the last strokes, where the actuator chooses one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pace: Option<Pace>,
    /// Host clock from the capture of the first frame that showed it at rest to the end of the last
    /// stroke, nanoseconds.
    pub took_ns: i64,
}

impl Sighting {
    /// What was made of a frame.
    #[must_use]
    pub fn new(frame: FrameNote, reading: Reading) -> Self {
        Self {
            frame,
            reading,
            steps: Vec::new(),
        }
    }

    /// The board, if one was read.
    #[must_use]
    pub fn board(&self) -> Option<&SeenBoard> {
        match &self.reading {
            Reading::Board(board) => Some(board),
            Reading::Refused { .. } => None,
        }
    }
}

impl Solved {
    /// The solution, if there is one.
    #[must_use]
    pub fn solution(&self) -> Option<&Solution> {
        match &self.answer {
            Verdict::Solution { solution, .. } => Some(solution),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
