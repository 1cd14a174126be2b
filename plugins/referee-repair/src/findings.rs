//! What is found about the current game: the experiments, their results, and what is kept.
//!
//! It is judged only by what was played as it was asked for: a planner with a profile of its own
//! is ignored.

use flowpipe_plugin::puzzle::Flow;
use flowpipe_plugin::puzzle::message::{FrameNote, Outcome, Profile};

use serde::{Deserialize, Serialize};

use crate::finder::Finder;
use crate::games::Games;

/// What is found of games.
pub struct Findings {
    games: Games,
    found: Found,
}

/// What is found about the current game.
#[derive(Clone, Serialize, Deserialize)]
pub struct Found {
    finder: Finder,
    game: Option<Game>,
    /// What the planner was asked for last, until it is known what became of it.
    asked: Option<Asked>,
    /// The profile of the last strokes, where they were played as asked.
    played: Option<Profile>,
}

/// The current game.
#[derive(Clone, Serialize, Deserialize)]
struct Game {
    window: Option<u64>,
    /// Its window's title when its first board was seen; some change theirs from board to board.
    title: String,
    kept: Option<Profile>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Asked {
    profile: Profile,
    /// The flows that were missing.
    flows: Vec<Flow>,
    /// Whether they were played to their end.
    is_played: bool,
}

impl Findings {
    pub fn new(games: Games) -> Self {
        Self {
            games,
            found: Found {
                finder: Finder::new(None),
                game: None,
                asked: None,
                played: None,
            },
        }
    }

    /// What is found, for a state transfer.
    pub fn found(&self) -> &Found {
        &self.found
    }

    /// Restores the findings of another referee.
    pub fn take_over(&mut self, found: Found) {
        self.found = found;
    }

    /// A new board is seen in a frame.
    pub fn meet(&mut self, frame: &FrameNote) {
        self.found.asked = None;
        self.found.played = None;
        let is_known = |game: &Game| game.window == frame.window;
        if self.found.game.as_ref().is_some_and(is_known) {
            return;
        }
        // A source other than a window has no lasting name.
        let kept = frame.window.and_then(|_| self.games.get(&frame.source));
        self.found.finder = Finder::new(kept);
        self.found.game = Some(Game {
            window: frame.window,
            title: frame.source.clone(),
            kept,
        });
    }

    /// The profile to ask for, now that these flows are missing.
    pub fn ask(&mut self, missing: Vec<Flow>) -> Profile {
        let profile = self.found.finder.profile();
        self.found.asked = Some(Asked {
            profile,
            flows: missing,
            is_played: false,
        });
        profile
    }

    /// The actuator is done with what was asked for.
    pub fn played(&mut self, outcome: &Outcome) {
        let is_complete = outcome.act_ns > 0 && outcome.refused.is_none();
        self.found.asked = self
            .found
            .asked
            .take()
            .filter(|asked| is_complete && outcome.profile == Some(asked.profile))
            .map(|asked| Asked {
                is_played: true,
                ..asked
            });
        if outcome.act_ns > 0 {
            self.found.played = self.found.asked.as_ref().map(|asked| asked.profile);
        }
    }

    /// The game has had its time to show what was drawn, and these flows are missing. Returns whether too many are,
    /// and there is no other profile to try.
    pub fn look(&mut self, missing: &[Flow]) -> bool {
        let Some(asked) = self.found.asked.take_if(|asked| asked.is_played) else {
            return false;
        };
        let missed = asked.flows.iter().map(|flow| missing.contains(flow));
        self.found.finder.judge(missed)
    }

    /// The current board is solved: no stroke was missed. The profile that solved it is kept, if it
    /// is new.
    pub fn solved(&mut self) {
        self.look(&[]);
        let Some(game) = self
            .found
            .game
            .as_mut()
            .filter(|game| game.window.is_some())
        else {
            return;
        };
        let profile = self.found.finder.profile();
        if self.found.played == Some(profile) && profile != game.kept.unwrap_or(Profile::LADDER[0])
        {
            game.kept = Some(profile);
            self.games.keep(&game.title, profile);
        }
    }
}
