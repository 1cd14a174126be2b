//! What goes from a run to whoever looks at it: JSON, a line each.
//!
//! First comes [`Hello`], then counts several times a second, the board when it has changed, and at the end why it is over.
//! A line of a kind that the other side does not know is passed over; when the meaning of one changes, [`VERSION`] does.

use flowpipe_config::pipeline;
use flowpipe_engine::report::{Distribution, Progress};
use flowpipe_puzzle::Flow;
use flowpipe_puzzle::message::{Outcome, SeenBoard, Strokes};
use serde::{Deserialize, Serialize};

use crate::show::happenings::Tally;

/// Of what is told.
pub const VERSION: u32 = 1;

/// One line.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Line {
    /// Who speaks.
    Hello(Hello),
    /// How far it is.
    Counts(Box<Counts>),
    /// What it sees and does.
    Board(Box<Board>),
    /// It is over.
    Over(Over),
    /// Something that a later program tells.
    #[serde(other)]
    Unknown,
}

/// Who speaks. Whatever else changes, `version` and `flowpipe` stay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// [`VERSION`].
    pub version: u32,
    /// The program's version.
    pub flowpipe: String,
    /// The process.
    pub pid: u32,
    /// The pipeline's name.
    pub pipeline: String,
    /// When the run began, Unix time in nanoseconds.
    pub started_unix_ns: u64,
    /// It is a recorded run that is run again.
    pub replay: bool,
    /// Nothing outside of the program is touched.
    pub dry: bool,
    /// In the order of the pipeline.
    pub stages: Vec<StageHello>,
}

/// One stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageHello {
    /// Its name in the pipeline.
    pub name: String,
    /// One, or those that race.
    pub plugins: Vec<String>,
}

impl StageHello {
    /// A stage of a pipeline.
    pub fn of(stage: &pipeline::Stage) -> Self {
        let contestants = stage.contestants.iter();
        Self {
            name: stage.name.clone(),
            plugins: contestants.map(|it| it.plugin.clone()).collect(),
        }
    }
}

/// How far a run is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Counts {
    /// The counts of the stages.
    pub progress: Progress,
    /// How long the stages' calls took since the run began, in the order of the pipeline.
    pub times: Vec<Distribution>,
    /// What became of the boards.
    pub boards: Tally,
    /// How the pipeline changed last, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<String>,
}

/// What a run sees and does.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Board {
    /// Where the last frame came from.
    pub source: String,
    /// The last board that was read.
    pub seen: Option<SeenBoard>,
    /// Why nothing was read after it: the step and the reason.
    pub refused: Option<(String, String)>,
    /// Who answered for that board.
    pub solver: Option<String>,
    /// The solution of that board.
    pub flows: Vec<Flow>,
    /// Why there is no solution.
    pub unsolved: Option<String>,
    /// The last strokes that were planned.
    pub strokes: Option<Strokes>,
    /// What became of them; nothing: they are under way.
    pub outcome: Option<Outcome>,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Over {
    /// In words, such as `done`.
    pub how: String,
}
