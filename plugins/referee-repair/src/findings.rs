//! What is found about the current game: the experiments, their results, and what is kept.
//!
//! It is judged only by what was played as it was asked for: a planner with a profile of its own
//! is ignored. What a machine missed that was busy says nothing either, nor does a flow that was drawn over leftovers.

use flowpipe_plugin::puzzle::Flow;
use flowpipe_plugin::puzzle::message::{FrameNote, GameNeeds, Outcome, Profile, StrokeEnd};
use flowpipe_plugin::tracing;

use serde::{Deserialize, Serialize};

use crate::finder::Finder;
use crate::games::{Games, KnownGame};
use crate::leftovers::{is_clean, is_short, wrong};

/// After so many attempts in a row that can't be judged, the next one is judged as it is: it may go on like that.
const UNJUDGED: usize = 2;
/// What is drawn wrongly stays if it is there after so many attempts in a row to draw over it.
const STAYS: usize = 3;
/// A confidence that is kept is replaced once it is wrong by more than this.
const NEWS: f64 = 0.1;

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
    /// Where strokes have to end, if that is known.
    #[serde(default)]
    stroke_end: Option<StrokeEnd>,
    /// Attempts in a row that could not be judged.
    #[serde(default)]
    unjudged: usize,
    /// Attempts in a row after which something stayed that is drawn wrongly.
    #[serde(default)]
    stays: usize,
}

/// The current game.
#[derive(Clone, Serialize, Deserialize)]
struct Game {
    window: Option<u64>,
    /// Its window's title when its first board was seen; some change theirs from board to board.
    title: String,
    kept: Option<KnownGame>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Asked {
    profile: Profile,
    #[serde(default)]
    stroke_end: Option<StrokeEnd>,
    /// The flows that were missing.
    flows: Vec<Flow>,
    /// Those of them whose cells were all empty.
    #[serde(default)]
    clean: Vec<Flow>,
    /// What was drawn wrongly.
    #[serde(default)]
    wrong: Vec<Flow>,
    /// Whether they were played to their end.
    is_played: bool,
}

impl Findings {
    pub fn new(games: Games) -> Self {
        Self {
            games,
            found: Found {
                finder: Finder::new(None, false),
                game: None,
                asked: None,
                played: None,
                stroke_end: None,
                unjudged: 0,
                stays: 0,
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

    /// The share of the latest flows that the game took, from 0 to 1, and how many those are.
    pub fn confidence(&self) -> (f64, usize) {
        self.found.finder.confidence()
    }

    /// A new board is seen in a frame.
    pub fn meet(&mut self, frame: &FrameNote) {
        let found = &mut self.found;
        (found.asked, found.played, found.stays) = (None, None, 0);
        let is_known = |game: &Game| game.window == frame.window;
        if found.game.as_ref().is_some_and(is_known) {
            return;
        }
        // A source other than a window has no lasting name.
        let kept = frame.window.and_then(|_| self.games.get(&frame.source));
        let is_careful = kept.as_ref().is_some_and(|kept| kept.careful);
        found.finder = Finder::new(kept.as_ref().and_then(|kept| kept.profile), is_careful);
        found.stroke_end = kept.as_ref().and_then(|kept| kept.stroke_end);
        found.game = Some(Game {
            window: frame.window,
            title: frame.source.clone(),
            kept,
        });
    }

    /// What to ask for, now that these flows of a solution are missing and this is drawn.
    pub fn ask(&mut self, solution: &[Flow], missing: Vec<Flow>, drawn: &[Flow]) -> GameNeeds {
        let profile = self.found.finder.profile();
        let stroke_end = self.found.stroke_end;
        let clean = missing.iter().filter(|flow| is_clean(flow, drawn));
        self.found.asked = Some(Asked {
            profile,
            stroke_end,
            clean: clean.cloned().collect(),
            wrong: wrong(solution, drawn).cloned().collect(),
            flows: missing,
            is_played: false,
        });
        GameNeeds::of(Some(profile)).with_stroke_end(stroke_end)
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

    /// The game has had its time to show what was drawn, these flows are missing, and this is drawn. `is_late`: the machine
    /// was busy meanwhile. Returns whether too many are missing, and there is no other profile to try.
    pub fn look(&mut self, missing: &[Flow], drawn: &[Flow], is_late: bool) -> bool {
        let Some(asked) = self.found.asked.take_if(|asked| asked.is_played) else {
            return false;
        };
        let is_missing = |flow: &&Flow| missing.contains(flow);
        self.look_for_damage(&asked, drawn);
        let ends_beside = asked.stroke_end != Some(StrokeEnd::InTerminal);
        let short = |flow: &&Flow| ends_beside && is_missing(flow) && is_short(flow, drawn);
        if asked.flows.iter().any(|flow| short(&flow)) {
            tracing::info!("pipes end beside their terminals: asks for strokes into them");
            self.found.stroke_end = Some(StrokeEnd::InTerminal);
        }
        // A short one was led through all other cells.
        let judged = |flows: &[Flow]| -> Vec<bool> {
            let flows = flows.iter();
            flows
                .map(|flow| is_missing(&flow) && !short(&flow))
                .collect()
        };
        let mut misses = judged(&asked.clean);
        let is_stuck = misses.is_empty() && !asked.flows.is_empty();
        let is_busy = is_late && misses.contains(&true);
        if is_stuck || is_busy {
            self.found.unjudged += 1;
            if self.found.unjudged <= UNJUDGED {
                return false;
            }
            misses = judged(&asked.flows);
        }
        self.found.unjudged = 0;
        self.found.finder.judge(misses)
    }

    /// Notes what was drawn wrongly, and is still there after strokes that should have replaced it.
    fn look_for_damage(&mut self, asked: &Asked, drawn: &[Flow]) {
        let is_replaced = |pipe: &&Flow| asked.flows.iter().any(|it| it.colour == pipe.colour);
        let stays = asked.wrong.iter().filter(is_replaced);
        let mut stays = stays.filter(|pipe| drawn.contains(pipe));
        self.found.stays = match stays.next() {
            Some(_) => self.found.stays + 1,
            None => 0,
        };
        if self.found.stays == STAYS {
            self.found.finder.be_careful();
        }
    }

    /// The current board is solved: no stroke was missed. What solved it is kept, if it is new.
    pub fn solved(&mut self) {
        self.look(&[], &[], false);
        let found = &mut self.found;
        let Some(game) = found.game.as_mut().filter(|game| game.window.is_some()) else {
            return;
        };
        let profile = found.finder.settled();
        if found.played != Some(profile) {
            return;
        }
        let (share, flows) = found.finder.confidence();
        let known = KnownGame {
            profile: Some(profile),
            stroke_end: found.stroke_end,
            confidence: (flows > 0).then(|| (share * 100.0).round() / 100.0),
            careful: found.finder.is_careful(),
            rules: None,
        };
        let is_same = |kept: &KnownGame| {
            let off = kept.confidence.unwrap_or(1.0) - known.confidence.unwrap_or(1.0);
            let without = |it: &KnownGame| (it.profile, it.stroke_end, it.careful);
            without(kept) == without(&known) && off.abs() <= NEWS
        };
        if !game.kept.as_ref().is_some_and(is_same) {
            self.games.keep(&game.title, &known);
            game.kept = Some(known);
        }
    }
}
