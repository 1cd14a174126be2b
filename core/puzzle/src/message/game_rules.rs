//! By which rules a game's boards are known to be played.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::puzzle::Rules;

/// What is known of the rules of a game: the loosest that its boards were won by. Vision needs less evidence for a board
/// that is played by them.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GameRules {
    /// The game, by the `source` of the frames that show it.
    pub source: String,
    /// Its rules.
    pub rules: Rules,
}

impl GameRules {
    /// The rules of the game that frames of this source show.
    #[must_use]
    pub fn new(source: impl Into<String>, rules: Rules) -> Self {
        Self {
            source: source.into(),
            rules,
        }
    }
}
