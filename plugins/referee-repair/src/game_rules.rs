//! By which rules the boards of the current game are won: what is kept of that, and what vision is to know.
//!
//! Vision plays a board by looser rules where it has no solution by Flow Free's, and a board that was misread is such a
//! one. So only boards count that were won.

use flowpipe_plugin::puzzle::Rules;
use flowpipe_plugin::puzzle::message::{FrameNote, GameRules};
use flowpipe_plugin::tracing;
use serde::{Deserialize, Serialize};

use crate::games::Games;

/// After so many won boards in a row that needed less, looser rules are forgotten.
const FORGOTTEN_AFTER: usize = 5;

/// The rules of the current game.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleRecord {
    /// The game, by the source of its frames.
    game: Option<String>,
    /// The loosest rules that its boards were won by. `None`: no board was won.
    rules: Option<Rules>,
    /// The loosest rules of the boards that were won since one needed all of [`Self::rules`], and how many those are.
    since: Option<(Rules, usize)>,
}

impl RuleRecord {
    /// The rules that are known of the current game.
    pub fn rules(&self) -> Option<Rules> {
        self.rules
    }

    /// A frame shows a game. Returns what vision is to know of it.
    pub fn meet(&mut self, frame: &FrameNote, games: &Games) -> Option<GameRules> {
        // A source other than a window has no lasting name.
        frame.window?;
        if self.game.as_ref() == Some(&frame.source) {
            return None;
        }
        *self = Self {
            game: Some(frame.source.clone()),
            rules: games.rules(&frame.source),
            since: None,
        };
        let known = self.for_vision()?;
        let (game, words) = (&known.source, known.rules.in_short());
        tracing::info!("{game}: begins with rules \"{words}\", found earlier");
        Some(known)
    }

    /// What vision is to know of the current game. One that was restarted knows Flow Free's rules only.
    pub fn for_vision(&self) -> Option<GameRules> {
        let rules = self.rules.filter(|rules| *rules != Rules::default())?;
        Some(GameRules::new(self.game.clone()?, rules))
    }

    /// A board of the current game was won that was played by these rules. Returns what vision is to know now.
    pub fn won(&mut self, rules: Rules, games: &Games) -> Option<GameRules> {
        let game = self.game.clone()?;
        let before = self.rules;
        let known = before.map_or(rules, |before| before.or(rules));
        if before != Some(known) || rules == known {
            (self.rules, self.since) = (Some(known), None);
        } else {
            let (least, won) = self.since.unwrap_or((rules, 0));
            let since = (least.or(rules), won + 1);
            self.since = Some(since);
            if since.1 >= FORGOTTEN_AFTER {
                (self.rules, self.since) = (Some(since.0), None);
            }
        }
        let rules = self
            .rules
            .filter(|rules| *rules != before.unwrap_or_default())?;
        games.keep_rules(&game, rules);
        Some(GameRules::new(game, rules))
    }
}

#[cfg(test)]
mod tests;
