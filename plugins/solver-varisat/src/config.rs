//! What a pipeline can set.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Config of solver-varisat.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// How the puzzle becomes clauses. Both encodings find the same solutions.
    pub encoding: Encoding,
    /// Also look for a second solution, and say whether the one found is the only one. Takes about
    /// as long again.
    pub prove_unique: bool,
}

/// How a puzzle becomes clauses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Encoding {
    /// A truth value for each edge, colours as binary numbers, and, where cover and no touching
    /// allow it, the corner-chain clauses. The fast one.
    #[default]
    Binary,
    /// A truth value for each edge and for each cell and colour, without any further lemma, as
    /// published SAT bots have it. For comparison.
    VertexEdge,
}
