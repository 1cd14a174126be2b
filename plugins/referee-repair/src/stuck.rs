//! Why a run that does not get on ends, in the player's words.

use flowpipe_plugin::puzzle::message::{BoardState, Sighting};

use crate::answers::Answers;
use crate::board::Board;
use crate::calibration::Calibration;
use crate::misfit::LEAVE_MOUSE;

/// What is known when a run does not get on.
pub struct Stuck<'a> {
    /// The current board.
    pub board: Option<&'a Board>,
    /// The newest sighting of a board.
    pub latest: Option<&'a Sighting>,
    /// Why the newest frame shows no board that can be read.
    pub unread: Option<&'a str>,
    /// Why the last strokes were not played.
    pub refused: Option<&'a str>,
    /// The solver's answers.
    pub answers: &'a Answers,
    /// What is found of the game.
    pub calibration: &'a Calibration,
}

impl Stuck<'_> {
    /// Why the run ends after so many seconds: what was seen, what was tried, what to do.
    pub fn in_words(&self, seconds: f64) -> String {
        format!("stuck for {seconds} s: {}", self.hindrance())
    }

    fn hindrance(&self) -> String {
        let Some(board) = self.board else {
            return match self.unread {
                Some(refusal) => format!(
                    "no board is read ({refusal}): show a whole board in the window, with nothing over it"
                ),
                None if self.latest.is_some() => {
                    "the board does not come to rest: stop what moves it".to_owned()
                }
                None => {
                    "no picture came: open the game's window, or name it with --window".to_owned()
                }
            };
        };
        let unread = self
            .unread
            .map(|refusal| format!("; the window shows no board now ({refusal})"));
        let unread = unread.as_deref().unwrap_or_default();
        if board.solved {
            return format!(
                "the last board is solved, and no other one came{unread}: open the next one in the game; where a button \
                 leads on, use the pipeline levels"
            );
        }
        if board.closed {
            let reason = board.given_up.as_deref().unwrap_or("it was given up");
            return format!(
                "the board was not solved: {reason}{}{unread}. Restart the board in the game, or open another one",
                self.tried(board)
            );
        }
        if !unread.is_empty() {
            return format!(
                "the board can't be read any more{}{unread}: close what lies over it, and reload the game if it does not \
                 answer",
                self.tried(board)
            );
        }
        if let Some(refused) = self.refused {
            return format!("the mouse did not play: {refused}");
        }
        match self.latest.and_then(Sighting::board) {
            Some(seen) if seen.state == BoardState::Moving => {
                "the board does not come to rest: stop what moves it".to_owned()
            }
            Some(seen) if self.answers.get(&seen.puzzle).is_none() => {
                "the solver has not answered: name another solver in `plugin`".to_owned()
            }
            _ if board.stopped.is_some() => format!(
                "strokes draw nothing more of the board{}, and the mouse stopped within them: {}",
                self.tried(board),
                board.stopped.as_deref().unwrap_or_default()
            ),
            _ => {
                let hand = match board.is_hand_unreported {
                    true => format!("; {LEAVE_MOUSE}"),
                    false => String::new(),
                };
                format!(
                    "strokes draw nothing more of the board{}. Restart the board in the game; if it takes clicks instead of \
                     drags, use --profile clicks{hand}",
                    self.tried(board)
                )
            }
        }
    }

    /// What was tried on a board.
    fn tried(&self, board: &Board) -> String {
        if board.attempts == 0 {
            return String::new();
        }
        let missing = match board.missing {
            usize::MAX => String::new(),
            1 => "; 1 flow is missing".to_owned(),
            missing => format!("; {missing} flows are missing"),
        };
        let attempts = if board.attempts == 1 {
            "attempt"
        } else {
            "attempts"
        };
        format!(
            "{missing} after {} {attempts} (flows taken by profile: {})",
            board.attempts,
            self.calibration.summary()
        )
    }
}
