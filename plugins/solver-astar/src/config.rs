//! What a pipeline can set.

use flowpipe_plugin::puzzle::Cell;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Config of solver-astar. None of it but `max_states` changes whether there is an answer; all of it
/// changes how long it takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("allOf" = [
    {
        "if": { "properties": { "heuristic": { "const": "misplaced" } }, "required": ["heuristic"] },
        "then": { "required": ["goal"] },
    },
    {
        "if": { "properties": { "heuristic": { "const": "misplaced-first" } }, "required": ["heuristic"] },
        "then": { "required": ["goal"] },
    },
]))]
pub struct Config {
    /// What is left to do on a partial board.
    pub heuristic: Heuristic,
    /// Where to grow a partial board.
    pub choice: Choice,
    /// Drop a board at once where a flow touches itself against the rules, an end is cut off, or a
    /// cell can't be covered any more.
    pub prune: bool,
    /// Which of equally promising boards comes first.
    pub ties: Ties,
    /// The solution that `misplaced` and `misplaced-first` compare with: its flows as lists of cells
    /// (the `paths` that `flowpipe solve --json` writes), or a Flow Free level line with that solution.
    pub goal: Option<GoalText>,
    /// Give up when so many boards are kept. A million take about 60 MB.
    pub max_states: u32,
}

/// A guess at how many cells must still be drawn before the board is solved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Heuristic {
    /// What is known to be left: every cell that is still empty where all must be covered, otherwise
    /// as `manhattan`.
    #[default]
    Remaining,
    /// The cells between the two ends of each colour, on an empty board.
    Manhattan,
    /// The cells that are not yet as in the goal.
    Misplaced,
    /// The same as the A* notebook computes it, where each cell is looked up at the first cell of its
    /// row with the same content, and the ends of pipes always count.
    MisplacedFirst,
    /// The coloured cells without an empty one beside them.
    Trapped,
}

/// Which flow grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Choice {
    /// The end, of either side of a flow, with the fewest ways on.
    #[default]
    MostConstrained,
    /// The colour whose ends are closest to each other, from its first terminal on.
    Closest,
}

/// Which of equally promising boards comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ties {
    /// The one with the most cells drawn, of these the latest.
    #[default]
    Deepest,
    /// As a binary heap has them, which is that of the A* notebook.
    Heap,
}

/// A solution as it is written in the config.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum GoalText {
    /// The cells of each flow from end to end.
    Paths(Vec<Vec<Cell>>),
    /// A Flow Free level line.
    Level(String),
}

impl Default for Config {
    fn default() -> Self {
        Self {
            heuristic: Heuristic::default(),
            choice: Choice::default(),
            prune: true,
            ties: Ties::default(),
            goal: None,
            max_states: 4_000_000,
        }
    }
}
