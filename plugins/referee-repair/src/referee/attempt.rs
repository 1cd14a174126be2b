//! An attempt on the current board: what it asks for, and what was drawn.

use flowpipe_plugin::puzzle::message::{BoardState, Draw, SeenBoard, Sighting, Solved, Verdict};
use flowpipe_plugin::puzzle::{Colour, Flow, Solution};

use super::Action;
use super::session::Session;
use crate::answers::Answer;
use crate::load::Load;
use crate::misfit::LastStrokes;

/// In what an attempt is judged.
pub struct Context<'a> {
    /// How busy the machine is.
    pub load: &'a Load,
    /// A board is given up after so many attempts that drew nothing more.
    pub attempts: usize,
    pub now: i64,
}

impl Session {
    /// Notes which flows of the current board are seen drawn, also while it is being played. `shown_by`: when the game had
    /// its time to show the last strokes; `None`: they are still played, or none were. Returns whether more of them
    /// appear than since strokes were asked for.
    pub fn look_at_flows(
        &mut self,
        seen: &SeenBoard,
        answer: Option<&Answer>,
        shown_by: Option<i64>,
        captured: i64,
        now: i64,
    ) -> bool {
        let board = self.board.as_mut().filter(|it| it.puzzle == seen.puzzle);
        let Some(board) = board.filter(|_| seen.state != BoardState::Moving) else {
            return false;
        };
        if seen.state == BoardState::Partial {
            self.calibration.note_partial();
            board.was_partial = true;
        }
        board.vanishing.end();
        board.geometry = Some(seen.geometry.clone());
        let Some(missing) = answer.and_then(|answer| answer.missing(&seen.drawn)) else {
            return false;
        };
        let unseen = missing.len();
        board.unseen = Some(unseen);
        board.is_seen_after = shown_by.is_some_and(|by| captured > by);
        if unseen < board.fewest_seen {
            board.fewest_seen = unseen;
            self.run.progressed_at = Some(now);
        }
        let shows_more = unseen < board.fewest_since_asked;
        if shows_more {
            board.fewest_since_asked = unseen;
        }
        shows_more
    }

    /// Judges the last attempt by the flows of a solution that are missing and by what is drawn. Returns whether those
    /// flows are to be asked for.
    pub fn judge_attempt(
        &mut self,
        solution: &Solution,
        missing: &[Flow],
        drawn: &[Flow],
        context: &Context<'_>,
        actions: &mut Vec<Action>,
    ) -> bool {
        let Some(board) = &mut self.board else {
            return false;
        };
        let is_late = context.load.was_late_since(board.asked_at);
        let judgement = self
            .calibration
            .look(&solution.flows, missing, drawn, is_late);
        let missing = missing.len();
        if missing < board.missing {
            board.futile = 0;
            board.stopped = None;
            self.misfit.end();
        }
        board.missing = missing;
        if judgement.is_damaged {
            let reason = "what is drawn wrongly stays in this game".to_owned();
            self.close(Some(reason), actions);
            return false;
        }
        let (profile, was_played) = (board.profile, board.attempts > 0);
        let stopped = board.stopped.as_deref();
        let is_abandoned = board.futile >= context.attempts;
        let strokes = LastStrokes {
            profile,
            stopped,
            is_hand_unreported: board.is_hand_unreported,
        };
        let misfit = match was_played && missing > 0 {
            true if judgement.is_exhausted || is_abandoned => self.misfit.report(strokes),
            true if board.futile > 0 => self.misfit.note(strokes, context.now),
            _ => None,
        };
        actions.extend(misfit.map(Action::Warn));
        if missing == 0 || is_abandoned {
            let reason = if missing == 0 {
                "every flow is drawn, and still it does not count as solved".to_owned()
            } else {
                let stopped = stopped.map(|reason| format!("; the mouse stopped: {reason}"));
                format!(
                    "{missing} flow{} missing, and {} attempt{} drew none of them{}",
                    if missing == 1 { " is" } else { "s are" },
                    board.futile,
                    if board.futile == 1 { "" } else { "s" },
                    stopped.unwrap_or_default()
                )
            };
            // All drawn may be a picture from just before the last pipe was shown as whole.
            if missing > 0 || board.attempts > 0 {
                self.close(Some(reason), actions);
            }
            return false;
        }
        if board.futile > 0 && board.futile == context.attempts / 2 {
            // What lies there may be in the way.
            self.calibration.start_over();
        }
        true
    }

    /// What to ask for, now that these flows of an answer are missing in a sighting.
    pub fn ask(
        &mut self,
        sighting: &Sighting,
        answer: Answer,
        missing: Vec<Flow>,
        now: i64,
    ) -> Option<Solved> {
        let (Some(board), Some(seen)) = (&mut self.board, sighting.board()) else {
            return None;
        };
        let Verdict::Solution { solution, .. } = &answer.verdict else {
            return None;
        };
        board.asked_at = now;
        (board.unseen, board.is_seen_after) = (None, false);
        (board.complete, board.left_out) = (false, usize::MAX);
        board.fewest_since_asked = missing.len();
        let colours: Vec<Colour> = missing.iter().map(|flow| flow.colour).collect();
        let (needs, draw) = self.calibration.ask(&solution.flows, missing, &seen.drawn);
        // Nothing becomes of a dry run: it reports all strokes at once, and no clicks that clear before them.
        let draw = if self.dry { Draw::All } else { draw };
        let asked = match &draw {
            Draw::Only(some) => some.clone(),
            Draw::Clear(_) => Vec::new(),
            _ => colours.clone(),
        };
        board.ask_for(asked, &colours);
        let asked = Solved::new(answer.solver, answer.verdict, sighting.clone());
        let mut asked = asked.with_draw(draw);
        asked.profile = needs.profile;
        asked.stroke_end = needs.stroke_end;
        Some(asked)
    }
}
