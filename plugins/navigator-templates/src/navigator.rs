//! When something is pressed, and when the run is given up. It knows no clock and no picture: every call gets the time,
//! in nanoseconds of the host's clock.

use flowpipe_plugin::message::GestureOutcome;
use flowpipe_plugin::puzzle::Puzzle;
use flowpipe_plugin::puzzle::message::{BoardState, SeenBoard};

use crate::config::Config;
use crate::sweep::Sweep;

/// How often a frame is searched at most: nanoseconds between two.
const SEARCH_EVERY_NS: i64 = 100_000_000;
/// How long the outcome of a press may take before it counts as lost, in nanoseconds.
const LONGEST_PRESS_NS: i64 = 5_000_000_000;

/// What vision saw in a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Seen<'a> {
    /// A board that is not solved. `None`: it is made out, and could not be read.
    Board(Option<&'a SeenBoard>),
    /// A solved board at rest.
    Solved,
    /// A board that moves.
    Moving,
    /// No board.
    Nothing,
}

/// What is to be done about a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Nothing.
    Wait,
    /// Search the frame, and press what is found. `after_win`: without a snippet that is found, what leads on after a win.
    Search { after_win: bool },
    /// End the run, for nothing leads on: why.
    GiveUp(String),
}

/// The navigator of a run.
pub struct Navigator {
    settle_ns: i64,
    react_ns: i64,
    patience_ns: i64,
    most_presses: u32,
    /// How many things there are to press.
    targets: usize,
    pause: Option<Pause>,
    given_up: Option<GivenUp>,
}

/// The board that was given up last. No other one was seen since, it was not restarted, and nothing was pressed.
struct GivenUp {
    puzzle: Puzzle,
    reason: String,
    /// When it was given up.
    at: i64,
    /// It was seen partly drawn since: seen empty afterwards, it was restarted.
    was_partial: bool,
}

/// A time without a board to play.
struct Pause {
    /// When the first frame of it was captured.
    since: i64,
    /// Since when nothing moves and nothing was pressed.
    quiet_since: i64,
    /// Since when nothing leads on.
    idle_since: i64,
    /// A solved board was seen in it.
    won: bool,
    searched_at: Option<i64>,
    /// What is being pressed, since when.
    pending: Option<(usize, i64)>,
    /// How often each was pressed.
    counts: Vec<u32>,
    refusal: Option<String>,
    /// The best that was searched for and not found.
    missed: Option<String>,
    sweep: Sweep,
}

impl Navigator {
    /// Nothing was seen yet. `targets`: how many things there are to press.
    pub fn new(config: &Config, targets: usize) -> Self {
        let ms = |ms: u32| i64::from(ms) * 1_000_000;
        Self {
            settle_ns: ms(config.settle_ms),
            react_ns: ms(config.react_ms),
            patience_ns: (config.patience * 1e9) as i64,
            most_presses: config.presses,
            targets,
            pause: None,
            given_up: None,
        }
    }

    /// Whether no board to play is seen.
    pub fn is_between_boards(&self) -> bool {
        self.pause.is_some()
    }

    /// A frame was read that was captured then.
    pub fn sighting(&mut self, seen: Seen<'_>, captured: i64, now: i64) -> Decision {
        match seen {
            Seen::Board(board) => {
                self.pause = None;
                return self.board(board, now);
            }
            Seen::Moving => {
                if let Some(pause) = &mut self.pause {
                    pause.quiet_since = pause.quiet_since.max(captured);
                    pause.idle_since = pause.idle_since.max(captured);
                }
                return Decision::Wait;
            }
            Seen::Solved | Seen::Nothing => {}
        }
        let targets = self.targets;
        let pause = self.pause.get_or_insert_with(|| Pause {
            since: captured,
            quiet_since: captured,
            idle_since: captured,
            won: false,
            searched_at: None,
            pending: None,
            counts: vec![0; targets],
            refusal: None,
            missed: None,
            sweep: Sweep::default(),
        });
        pause.won |= seen == Seen::Solved;
        if let Some((_, at)) = pause.pending {
            if now.saturating_sub(at) <= LONGEST_PRESS_NS {
                return Decision::Wait;
            }
            // Whoever pressed it died or failed. It may have been pressed.
            pause.pending = None;
            pause.pressed_at(now, self.react_ns);
        }
        if captured.saturating_sub(pause.idle_since) > self.patience_ns {
            return Decision::GiveUp(pause.reason(self.patience_ns, captured));
        }
        let is_settled =
            captured.saturating_sub(pause.since) >= self.settle_ns && captured >= pause.quiet_since;
        let was_searched = pause
            .searched_at
            .is_some_and(|at| captured.saturating_sub(at) < SEARCH_EVERY_NS);
        if !is_settled || was_searched || pause.presses() >= self.most_presses {
            return Decision::Wait;
        }
        pause.searched_at = Some(captured);
        Decision::Search {
            after_win: pause.won,
        }
    }

    /// The referee reported what became of a board; `given_up`: why it was given up, if it was.
    pub fn result(&mut self, puzzle: Puzzle, given_up: Option<String>, now: i64) {
        // A pause may be a single frame in which the board was not made out: what is given up is remembered in it, too.
        self.given_up = given_up.map(|reason| GivenUp {
            puzzle,
            reason,
            at: now,
            was_partial: false,
        });
        if let (None, Some(pause)) = (&self.given_up, &mut self.pause) {
            pause.won = true;
        }
    }

    /// How far the snippets were searched in this pause.
    pub fn sweep(&mut self) -> Option<&mut Sweep> {
        self.pause.as_mut().map(|pause| &mut pause.sweep)
    }

    /// Chooses among what was found, in its order of preference: what was pressed least in this pause.
    pub fn choose(&self, found: &[usize]) -> Option<usize> {
        let counts = &self.pause.as_ref()?.counts;
        let found = found.iter().copied().filter(|&it| it < counts.len());
        // Of equals the first.
        found.min_by_key(|&it| counts[it])
    }

    /// Something is pressed.
    pub fn press(&mut self, target: usize, now: i64) {
        // It may lead to the same board, to be played again.
        self.given_up = None;
        if let Some(pause) = &mut self.pause {
            pause.pending = Some((target, now));
            pause.missed = None;
            pause.sweep.begin_again();
            if let Some(count) = pause.counts.get_mut(target) {
                *count += 1;
            }
        }
    }

    /// Nothing was found in the frame that was to be searched: what came nearest, for people.
    pub fn miss(&mut self, missed: String) {
        if let Some(pause) = &mut self.pause {
            pause.missed = Some(missed);
        }
    }

    /// The frame that was to be searched is not there: why, for people. What was missed in another frame says more.
    pub fn miss_frame(&mut self, why: &str) {
        if let Some(pause) = &mut self.pause {
            pause.missed.get_or_insert_with(|| why.to_owned());
        }
    }

    /// What is being pressed was pressed, or refused for a reason.
    pub fn outcome(&mut self, outcome: &GestureOutcome, now: i64) {
        let Some(pause) = &mut self.pause else { return };
        let Some((target, _)) = pause.pending.take() else {
            return;
        };
        match &outcome.refused {
            Some(reason) if outcome.act_ns == 0 => {
                // Nothing was pressed: it may be tried again.
                if let Some(count) = pause.counts.get_mut(target) {
                    *count = count.saturating_sub(1);
                }
                pause.quiet_since = pause.quiet_since.max(now);
                pause.refusal = Some(reason.clone());
            }
            // The mouse may have let go in the middle of a click, which then is one.
            _ => pause.pressed_at(now, self.react_ns),
        }
    }

    /// A board to play is seen.
    fn board(&mut self, seen: Option<&SeenBoard>, now: i64) -> Decision {
        if let (Some(seen), Some(given_up)) = (seen, &mut self.given_up) {
            given_up.was_partial |= seen.state == BoardState::Partial;
            // The referee plays a board again that was restarted.
            let is_restarted = given_up.was_partial && seen.state == BoardState::Empty;
            if is_restarted || !is_same(&seen.puzzle, &given_up.puzzle) {
                self.given_up = None;
            }
        }
        match &self.given_up {
            Some(GivenUp { reason, at, .. }) if now.saturating_sub(*at) > self.patience_ns => {
                Decision::GiveUp(format!(
                    "the board was given up ({reason}), and no other board followed"
                ))
            }
            _ => Decision::Wait,
        }
    }
}

/// Whether two puzzles are one board. Vision may find out later by which rules it is played.
fn is_same(puzzle: &Puzzle, other: &Puzzle) -> bool {
    puzzle.board() == other.board() && puzzle.terminals() == other.terminals()
}

impl Pause {
    fn presses(&self) -> u32 {
        self.counts.iter().sum()
    }

    fn pressed_at(&mut self, now: i64, react_ns: i64) {
        self.quiet_since = now.saturating_add(react_ns);
        self.idle_since = now;
        self.refusal = None;
    }

    fn reason(&self, patience_ns: i64, now: i64) -> String {
        let seconds = now.saturating_sub(self.idle_since).max(patience_ns) / 1_000_000_000;
        let presses = match self.presses() {
            0 => String::new(),
            1 => " after 1 press".to_owned(),
            presses => format!(" after {presses} presses"),
        };
        let why = match (&self.refusal, &self.missed) {
            (Some(refusal), _) => format!(": nothing was pressed, because {refusal}"),
            (None, Some(missed)) => format!(": {missed}"),
            (None, None) => String::new(),
        };
        format!("nothing leads on to the next board: none was seen for {seconds} s{presses}{why}")
    }
}

#[cfg(test)]
mod tests;
