//! What a pipeline can set.

use std::path::PathBuf;

use flowpipe_plugin::{Error, JsonSchema, Result};
use serde::Deserialize;

/// Watches a live board: has each new puzzle solved, asks the planner for the flows that are missing
/// once the board is at rest, looks whether they were drawn, asks again for those that were not,
/// counts the boards, and ends the run.
///
/// It belongs in the middle of a live pipeline: vision feeds `sighting`, the solver `solved` and the
/// actuator `outcome`; `ask` feeds the solver, `play` the planner, and `results` reports what became of
/// each board. `rules` feeds vision, where vision takes the rules that are known of a game.
///
/// What is left of a flow is cleared before the flow is drawn again, by two clicks on each of its terminals. A board in
/// which something stays that is drawn wrongly is given up, and played again once it is empty.
///
/// A board that has gone right after its last stroke, as under a message of the game, counts as solved if
/// the others of its flows were seen drawn, and otherwise as unknown.
///
/// It also finds out what the game needs from the mouse, for planners with `profile = "auto"`: it begins
/// slowly and tries faster profiles on a few flows at a time, begins slowly again once more than a few flows in a
/// hundred are missed, and asks for the best profile where all are too bad. Where pipes end beside their
/// terminals, it asks for strokes into them. A board that can't be read after strokes, in a game of which no
/// partly drawn board was ever read, is cleared and drawn more slowly.
///
/// It keeps the rules by which boards of the game were won: Flow Free's, or looser ones that vision has found. Looser
/// rules are forgotten after five won boards in a row that needed less.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// End the run after so many solved boards. Boards that have gone right after their last stroke count too.
    #[schemars(range(min = 1))]
    pub boards: Option<usize>,
    /// End the run so many seconds after the first stroke, or after its start as long as none is played. A board
    /// that is being played is left as it is.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1_000_000))]
    pub seconds: Option<f64>,
    /// With `boards`: end the run after so many seconds in which no board was solved, no other one came, and no more of
    /// one was drawn, with the reason.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1_000_000))]
    pub stuck_seconds: f64,
    /// How long a game may take to show what was drawn, in milliseconds. What is missing then is drawn again. A game that
    /// was found to be slow gets twice the longest time that one of the latest eight flows took, at most a second.
    #[schemars(range(max = 60_000))]
    pub patience_ms: u64,
    /// Give a board up after so many attempts in which nothing more was drawn, and wait for another.
    #[schemars(range(min = 1))]
    pub attempts: usize,
    /// Play only what was captured within the last so many milliseconds.
    #[schemars(range(max = 60_000))]
    pub fresh_ms: u64,
    /// Keep what the game was found to need and its rules, by the title of its window, and begin with it the next time.
    pub remember: bool,
    /// The file in which that is kept. Without it `flowpipe/games.toml` where programs of the user's keep
    /// their state: on Linux `$XDG_STATE_HOME` or `~/.local/state`.
    pub games: Option<PathBuf>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            boards: None,
            seconds: None,
            stuck_seconds: 120.0,
            patience_ms: 150,
            attempts: 8,
            fresh_ms: 250,
            remember: true,
            games: None,
        }
    }
}

impl Config {
    /// Finds what can't be meant.
    ///
    /// # Errors
    /// What is wrong, naming the key.
    pub fn check(&self) -> Result<()> {
        let wrong = |text: &str| Err(Error::bad_config(text));
        if self.boards == Some(0) {
            return wrong("boards is 0, it must be at least 1");
        }
        let is_time = |seconds: f64| seconds > 0.0 && seconds <= 1e6;
        if self.seconds.is_some_and(|it| !is_time(it)) {
            return wrong("seconds must be more than 0 and at most a million");
        }
        if !is_time(self.stuck_seconds) {
            return wrong("stuck_seconds must be more than 0 and at most a million");
        }
        if self.patience_ms.max(self.fresh_ms) > 60_000 {
            return wrong("patience_ms and fresh_ms must be at most 60000");
        }
        if self.attempts == 0 {
            return wrong("attempts is 0, it must be at least 1");
        }
        Ok(())
    }
}
