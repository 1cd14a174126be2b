//! What is played: which board is the current one, and how it ends.

use flowpipe_plugin::puzzle::message::{BoardState, FrameNote, SeenBoard};

use super::Action;
use super::run::Run;
use crate::board::{Board, GoneAs};
use crate::calibration::Calibration;
use crate::misfit::Misfit;
use crate::vanishing::Fate;

/// What is played.
pub struct Session {
    /// Nothing is played: the actuator only reports what it would do.
    pub dry: bool,
    /// The current board.
    pub board: Option<Board>,
    /// What is found of its game.
    pub calibration: Calibration,
    pub misfit: Misfit,
    pub run: Run,
}

impl Session {
    /// Makes the board that is seen the current one.
    pub fn take_in_hand(
        &mut self,
        seen: &SeenBoard,
        frame: &FrameNote,
        captured: i64,
        now: i64,
        actions: &mut Vec<Action>,
    ) {
        self.take_back(seen);
        // A board that was restarted is to be played again: one that was solved, or given up when something was drawn.
        let is_closed = |board: &Board| board.solved || board.closed && board.was_partial;
        let again = |board: &Board| is_closed(board) && seen.state == BoardState::Empty;
        let same = self
            .board
            .as_ref()
            .is_some_and(|board| board.puzzle == seen.puzzle && !again(board));
        if same {
            return;
        }
        self.close_replaced(seen, frame, actions);
        // The game has gone on to another board. One on which something lies may be the same, read otherwise.
        let won = |board: &Board| {
            board.solved
                && board.counted_gone != Some(GoneAs::Unknown)
                && board.window == frame.window
                && board.puzzle != seen.puzzle
                && seen.state == BoardState::Empty
        };
        if self.board.as_ref().is_some_and(won) {
            self.confirm_rules(actions);
        }
        self.misfit.end();
        self.run.progressed_at = Some(now);
        self.calibration.meet(frame);
        // Vision may have been restarted since.
        if !actions.iter().any(|it| matches!(it, Action::Rules(_))) {
            let known = self.calibration.rules_of_game();
            actions.extend(known.map(|known| Action::Rules(Box::new(known))));
        }
        self.board = Some(Board::new(seen, frame, captured));
    }

    /// Another board is seen than the current one, which may have made way for it.
    fn close_replaced(&mut self, seen: &SeenBoard, frame: &FrameNote, actions: &mut Vec<Action>) {
        // One in a window that was closed has not.
        let board = self.board.as_ref();
        let Some(board) = board.filter(|board| board.window == frame.window) else {
            return;
        };
        // Once all was drawn it was solved: no game goes on otherwise.
        if board.complete {
            return self.close(None, actions);
        }
        // One on which something lies may be the same, read otherwise.
        if seen.state != BoardState::Empty {
            return;
        }
        match board.fate_when_replaced(self.calibration.confidence()) {
            Fate::Open => {}
            Fate::Solved => self.close(None, actions),
            Fate::Unknown { unseen } => self.close_unknown(unseen, actions),
        }
    }

    /// Takes back that the current board was counted as gone, where it is seen again and this was wrong.
    fn take_back(&mut self, seen: &SeenBoard) {
        let board = self.board.as_mut().filter(|it| it.puzzle == seen.puzzle);
        let Some((board, gone)) = board.and_then(|it| it.counted_gone.map(|gone| (it, gone)))
        else {
            return;
        };
        match (gone, seen.state) {
            (GoneAs::Solved, BoardState::Partial) => self.run.solved -= 1,
            (GoneAs::Unknown, BoardState::Partial | BoardState::Solved) => self.run.unknown -= 1,
            _ => return,
        }
        (board.closed, board.solved, board.counted_gone) = (false, false, None);
    }

    /// The current board is won: what it was played by are rules of the game. Those of numbers are no finding: vision
    /// reads each such board by the rules of puzzles on paper.
    pub fn confirm_rules(&mut self, actions: &mut Vec<Action>) {
        let board = self.board.as_mut().filter(|board| board.attempts > 0);
        let board = board.filter(|board| !board.confirms_rules && !board.is_of_numbers);
        let Some(board) = board else {
            return;
        };
        board.confirms_rules = true;
        let known = self.calibration.won_by(board.puzzle.rules());
        actions.extend(known.map(|known| Action::Rules(Box::new(known))));
    }

    /// In a dry run, the strokes of the current board were reported: nothing more comes of it.
    pub fn planned(&mut self, actions: &mut Vec<Action>) {
        let board = self.board.as_mut().filter(|board| !board.closed);
        if let Some(board) = board.filter(|_| self.dry) {
            board.closed = true;
            self.run.plan(actions);
        }
    }

    /// The current board is solved, or given up for a reason.
    pub fn close(&mut self, reason: Option<String>, actions: &mut Vec<Action>) {
        let Some(board) = self.board.as_mut().filter(|board| !board.closed) else {
            return;
        };
        let solved = reason.is_none();
        (board.closed, board.solved) = (true, solved);
        board.given_up.clone_from(&reason);
        self.run.reported += 1;
        if solved {
            self.calibration.solved();
            self.misfit.end();
        }
        self.run.solved += usize::from(solved);
        let result = board.result(self.run.reported, reason);
        actions.push(Action::Report(Box::new(result)));
        self.run.end_after_boards(actions);
    }

    /// The current board has gone right after its last stroke, and so many flows were not seen drawn.
    pub fn close_unknown(&mut self, unseen: usize, actions: &mut Vec<Action>) {
        let Some(board) = self.board.as_mut().filter(|board| !board.closed) else {
            return;
        };
        // If it comes back empty it is played again.
        (board.closed, board.solved) = (true, true);
        board.counted_gone = Some(GoneAs::Unknown);
        self.run.reported += 1;
        self.run.unknown += 1;
        let flows = if unseen == 1 {
            "flow was"
        } else {
            "flows were"
        };
        let reason = format!("it is gone, and {unseen} {flows} not seen drawn");
        let result = board.result(self.run.reported, Some(reason)).with_unknown();
        actions.push(Action::Report(Box::new(result)));
        self.run.end_after_boards(actions);
    }
}
