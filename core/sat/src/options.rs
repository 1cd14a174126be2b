//! What is asked, and how the puzzle becomes clauses.

pub use flowpipe_puzzle::message::Want;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The config of a solver by SAT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// How the puzzle becomes clauses. All encodings find the same solutions.
    pub encoding: Encoding,
    /// What is asked: "one" solution, whether it is "unique" too, the "count" of solutions, or "all" of
    /// them. Each further solution costs at least one more run of the SAT solver.
    pub want: Want,
    /// Stop counting or listing after so many solutions.
    pub limit: Option<u64>,
}

impl Default for Options {
    /// One solution, by the encoding that was measured to be the fastest.
    fn default() -> Self {
        Self {
            encoding: Encoding::default(),
            want: Want::One,
            limit: None,
        }
    }
}

/// How a puzzle becomes clauses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Encoding {
    /// The one below that was measured to be the fastest for the solver and the rules.
    #[default]
    Best,
    /// A truth value for each edge, colours as binary numbers, and, where cover and no touching
    /// allow it, the corner-chain clauses.
    Binary,
    /// A truth value for each edge and no colours, with the corner-chain clauses where they hold. Wrong joins
    /// and flows that touch themselves are cut as they appear, as rings are.
    Edges,
    /// A truth value for each edge and for each cell and colour, without any further lemma, as
    /// published SAT bots have it. For comparison.
    VertexEdge,
}
