//! The current board is not in a frame: it was solved, or can't be read, or nobody knows.

use flowpipe_plugin::puzzle::message::{BoardState, Draw, Reading, Sighting, Solved, StrokeEnd};

use super::{Action, Referee};
use crate::board::GoneAs;
use crate::vanishing::{Absence, Evidence, Fate};

/// A picture in which vision makes out so much of a board may show the current one.
const MADE_OUT: f64 = 0.5;
/// A board that can't be read is cleared so often.
const MOST_CLEARED: usize = 3;

impl Referee {
    /// A frame shows no board that can be read.
    pub(super) fn no_board(
        &mut self,
        sighting: &Sighting,
        captured: i64,
        now: i64,
        actions: &mut Vec<Action>,
    ) {
        let mut is_made_out = false;
        if let Reading::Refused {
            step,
            reason,
            confidence,
            ..
        } = &sighting.reading
        {
            is_made_out = *confidence >= MADE_OUT;
            self.refusal = Some(format!("{reason} (step: {step})"));
        }
        self.note_lost(now);
        let (Some(acted_at), Some(board)) = (self.acted_at, &mut self.session.board) else {
            return;
        };
        let may_be_solved = board.may_vanish() && board.window == sighting.frame.window;
        if self.acting.is_waiting()
            || captured <= acted_at
            || !may_be_solved
            || board.is_covered(&sighting.frame)
        {
            return;
        }
        // A game whose partly drawn boards can't be read may show one.
        let may_be_there = is_made_out && !self.session.calibration.reads_partial();
        let may_try = is_made_out && board.cleared < MOST_CLEARED;
        let fate = board.vanishing.note(Absence {
            captured,
            acted_at,
            evidence: Evidence {
                unseen: board.unseen,
                drawn: board.missing,
                was_asked_whole: board.was_asked_whole(),
                confidence: match may_be_there {
                    true => (0.0, 0),
                    false => self.session.calibration.confidence(),
                },
            },
        });
        match fate {
            Fate::Open => {}
            Fate::Solved => {
                board.counted_gone = Some(GoneAs::Solved);
                self.session.close(None, actions);
            }
            Fate::Unknown { unseen } => {
                if !(may_try && self.clear(sighting, captured, now, actions)) {
                    self.session.close_unknown(unseen, actions);
                }
            }
        }
    }

    /// The current board can't be read after strokes that were to draw it: has it cleared, or drawn again, more slowly.
    /// Returns whether it does: not where another board was seen since, or the window has another size.
    fn clear(
        &mut self,
        sighting: &Sighting,
        captured: i64,
        now: i64,
        actions: &mut Vec<Action>,
    ) -> bool {
        let Some(board) = &mut self.session.board else {
            return false;
        };
        let latest = self.latest.as_ref().map(|(latest, _)| latest);
        let latest = latest.filter(|it| it.frame.size == sighting.frame.size);
        let seen = latest.and_then(Sighting::board).cloned();
        let answer = self.answers.get(&board.puzzle).cloned();
        let (Some(mut seen), Some(answer)) = (seen, answer) else {
            return false;
        };
        if seen.puzzle != board.puzzle {
            return false;
        }
        board.vanishing.end();
        board.cleared += 1;
        (board.unseen, board.is_seen_after) = (None, false);
        self.session.calibration.spoil();
        let mut colours: Vec<_> = seen.puzzle.terminals().iter().map(|it| it.colour).collect();
        colours.sort_unstable();
        colours.dedup();
        // A message of the game may lie over a board of a game whose boards are read: a click could press its button, a
        // drag presses none. What it changes of the board can be read.
        let draw = match self.session.calibration.reads_partial() {
            true => {
                board.ask_for(colours.clone(), &colours);
                Draw::All
            }
            false => {
                board.ask_for(Vec::new(), &colours);
                Draw::Clear(colours)
            }
        };
        // The board as it was read, in the newest frame of its window, of unknown content.
        seen.drawn.clear();
        seen.state = BoardState::Partial;
        let before = Sighting::new(sighting.frame.clone(), Reading::board(seen));
        let mut asked = Solved::new(answer.solver, answer.verdict, before).with_draw(draw);
        asked.profile = Some(self.session.calibration.profile());
        asked.stroke_end = Some(StrokeEnd::InTerminal);
        self.acting.begin(captured, now);
        actions.push(Action::Play(Box::new(asked)));
        true
    }
}
