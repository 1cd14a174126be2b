//! What was played: each board from first sight to the end.

use std::collections::HashMap;

use flowpipe_message::Tone;
use flowpipe_puzzle::message::{
    BoardResult, BoardState, Outcome, Reading, Sighting, Solved, Stroke, Strokes, Verdict,
};
use serde::Serialize;

use crate::sentences;
use crate::shapes::{Pipe, Shapes, flat};

/// A board that was seen, and what became of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Board {
    /// Index of its puzzle.
    pub shape: usize,
    /// The window, or the file.
    pub source: String,
    /// The first frame that shows it, at rest if one does.
    pub before: Option<View>,
    /// The last frame that shows it at rest, solved if one does. `None`: there is but one frame.
    pub after: Option<View>,
    /// The solution that was played.
    pub solution: Vec<Pipe>,
    /// Pipes at the end, as the actuator reports them.
    pub drawn: Option<Vec<Pipe>>,
    /// Each time that strokes were planned.
    pub attempts: Vec<Attempt>,
    /// Its outcome.
    pub outcome: BoardOutcome,
    /// The solver's answer, in words.
    pub answer: String,
    /// Who solved it.
    pub solver: String,
    /// How long the solver worked, nanoseconds.
    pub solved_ns: Option<i64>,
    /// Flows drawn again.
    pub repeated: usize,
    /// From first sight at rest to the end of the last stroke, nanoseconds.
    pub took_ns: Option<i64>,
    /// From the capture of the frame that was acted on to the first press, nanoseconds.
    pub pressed_ns: Option<i64>,
    /// When the first frame that shows it was captured, and the first that shows it at rest.
    #[serde(skip)]
    began_ns: i64,
    #[serde(skip)]
    rest_ns: i64,
    #[serde(skip)]
    before_moves: bool,
    #[serde(skip)]
    after_rank: u8,
}

/// A board in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct View {
    /// The frame.
    pub frame: usize,
    /// How the board lies in it.
    pub look: usize,
    /// Its picture among those of boards; filled in once pictures are made.
    pub picture: Option<usize>,
}

/// Strokes that were planned together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Attempt {
    /// In the order of play.
    pub strokes: Vec<Drag>,
    /// Straight lines of all strokes.
    pub segments: usize,
    /// Who planned.
    pub planner: String,
    /// What became of them, in words.
    pub outcome: Option<String>,
    /// From first press to last release, nanoseconds.
    pub act_ns: Option<i64>,
}

/// A stroke.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Drag {
    /// The flow's colour.
    colour: u16,
    /// Board units: `x, y, x, y …`.
    points: Vec<f32>,
}

/// The outcome of a board.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BoardOutcome {
    /// Whether that is good, bad or neither.
    pub tone: Tone,
    /// In a word or two.
    pub text: String,
    /// The reason, where it is bad and one is known.
    pub reason: String,
}

/// Collects boards from messages in the order of time.
#[derive(Debug, Default)]
pub struct Boards {
    /// In the order in which they were seen.
    pub all: Vec<Board>,
    /// By puzzle: its boards.
    of_shape: HashMap<usize, Vec<usize>>,
    /// A referee counts boards: then a window that gets another title shows no other board.
    refereed: bool,
}

/// The position of a message: where and when it was emitted.
#[derive(Clone, Copy, Debug)]
pub struct MessagePosition {
    /// The frame that it descends from.
    pub frame: Option<usize>,
    /// When it was emitted, nanoseconds of the run's clock.
    pub at_ns: i64,
    /// When its frame was captured.
    pub captured_ns: i64,
}

impl Boards {
    /// None yet.
    pub fn new(refereed: bool) -> Self {
        Self {
            refereed,
            ..Self::default()
        }
    }

    /// What vision made of a frame.
    pub fn sighting(
        &mut self,
        at: MessagePosition,
        look: usize,
        sighting: &Sighting,
        shapes: &mut Shapes,
    ) {
        let Reading::Board(seen) = &sighting.reading else {
            return;
        };
        let shape = shapes.shape(&seen.puzzle);
        let source = &sighting.frame.source;
        let goes_on = self
            .all
            .last()
            .is_some_and(|last| last.shape == shape && (self.refereed || last.source == *source));
        if !goes_on {
            let of_shape = self.of_shape.entry(shape).or_default();
            of_shape.push(self.all.len());
            self.all.push(Board {
                shape,
                source: source.clone(),
                began_ns: at.captured_ns,
                rest_ns: at.captured_ns,
                ..Board::default()
            });
        }
        let (Some(board), Some(frame)) = (self.all.last_mut(), at.frame) else {
            return;
        };
        board.show(frame, look, seen.state, at.captured_ns);
    }

    /// The last board of a puzzle that had begun by then, among the newest few of it.
    fn last(&self, shape: usize, at_ns: i64) -> Option<usize> {
        const FEW: usize = 100;
        let newest = self.of_shape.get(&shape)?.iter().rev().take(FEW);
        let has_begun = |place: &usize| self.all.get(*place).is_some_and(|it| it.began_ns <= at_ns);
        newest.copied().find(has_begun)
    }

    /// The board that a message is about: the last one of its puzzle, a new one where none was seen.
    fn find(
        &mut self,
        at: MessagePosition,
        sighting: &Sighting,
        shapes: &mut Shapes,
    ) -> Option<usize> {
        let seen = sighting.board()?;
        let shape = shapes.shape(&seen.puzzle);
        self.last(shape, at.at_ns).or_else(|| {
            let look = shapes.look(sighting);
            self.sighting(at, look, sighting, shapes);
            self.all.len().checked_sub(1)
        })
    }

    /// A solver's answer; `work_ns`: how long it worked.
    pub fn solved(
        &mut self,
        at: MessagePosition,
        solved: &Solved,
        work_ns: Option<i64>,
        shapes: &mut Shapes,
    ) {
        let place = self.find(at, &solved.sighting, shapes);
        let Some(board) = place.and_then(|place| self.all.get_mut(place)) else {
            return;
        };
        board.answer = sentences::solved(solved);
        board.solver.clone_from(&solved.solver);
        // A referee hands answers on without work.
        board.solved_ns = board.solved_ns.or(work_ns);
        if let Some(reason) = sentences::refusal(&solved.answer) {
            board.outcome = BoardOutcome::new(Tone::Bad, "not solved", reason);
        } else if board.outcome.text.is_empty() {
            board.outcome = BoardOutcome::new(Tone::Plain, "solution found", String::new());
        }
        if let Verdict::Solution { solution, .. } = &solved.answer {
            let pipes = shapes.pipes(board.shape, &solution.flows);
            board.solution = pipes;
        }
    }

    /// What the planner wants. Gives the board and the attempt, for [`Self::outcome`].
    pub fn strokes(
        &mut self,
        at: MessagePosition,
        strokes: &Strokes,
        shapes: &mut Shapes,
    ) -> Option<(usize, usize)> {
        let place = self.find(at, &strokes.sighting, shapes)?;
        let board = self.all.get_mut(place)?;
        let drag = |stroke: &flowpipe_puzzle::message::Stroke| Drag {
            colour: stroke.colour,
            points: flat(stroke.points.iter().copied()),
        };
        board.attempts.push(Attempt {
            strokes: strokes.strokes.iter().map(drag).collect(),
            segments: strokes.strokes.iter().map(Stroke::segments).sum(),
            planner: strokes.planner.clone(),
            outcome: None,
            act_ns: None,
        });
        if board.outcome.tone == Tone::Plain {
            board.outcome = BoardOutcome::new(Tone::Plain, "planned", String::new());
        }
        let pipes = shapes.pipes(board.shape, &strokes.solution.flows);
        board.solution = pipes;
        Some((place, board.attempts.len() - 1))
    }

    /// What became of the strokes of an attempt; `pressed_ns`: how long after the frame's capture the button first went down.
    pub fn outcome(
        &mut self,
        at: MessagePosition,
        (board, attempt): (usize, usize),
        outcome: &Outcome,
        pressed_ns: Option<i64>,
        shapes: &Shapes,
    ) {
        let Some(board) = self.all.get_mut(board) else {
            return;
        };
        if let Some(attempt) = board.attempts.get_mut(attempt) {
            attempt.outcome = Some(sentences::outcome(outcome));
            attempt.act_ns = Some(outcome.act_ns);
        }
        board.pressed_ns = board.pressed_ns.or(pressed_ns);
        board.took_ns = Some(at.at_ns - board.rest_ns);
        if let Some(drawn) = &outcome.drawn {
            board.drawn = Some(shapes.pipes(board.shape, drawn));
        }
        let wrong = outcome.strokes.iter().find_map(|it| it.reason.clone());
        board.outcome = match (outcome.solved, &outcome.refused) {
            (Some(true), _) => BoardOutcome::new(Tone::Good, "solved", String::new()),
            (_, Some(refused)) => BoardOutcome::new(Tone::Bad, "not played", refused.clone()),
            (Some(false), None) => {
                BoardOutcome::new(Tone::Bad, "not solved", wrong.unwrap_or_default())
            }
            (None, None) => BoardOutcome::new(Tone::Plain, "played", String::new()),
        };
    }

    /// The referee's result for a board.
    pub fn result(&mut self, at: MessagePosition, result: &BoardResult, shapes: &mut Shapes) {
        let shape = shapes.shape(&result.puzzle);
        let place = self.last(shape, at.at_ns);
        let Some(board) = place.and_then(|place| self.all.get_mut(place)) else {
            return;
        };
        board.took_ns = Some(result.took_ns);
        board.repeated = result.repeated;
        board.outcome = if result.solved {
            BoardOutcome::new(Tone::Good, "solved", String::new())
        } else if result.unknown {
            let reason = result.reason.clone().unwrap_or_default();
            BoardOutcome::new(Tone::Plain, "unknown", reason)
        } else {
            let reason = result.reason.clone().unwrap_or_default();
            BoardOutcome::new(Tone::Bad, "given up", reason)
        };
    }
}

impl Board {
    /// A further frame that shows it.
    fn show(&mut self, frame: usize, look: usize, state: BoardState, captured_ns: i64) {
        let view = View {
            frame,
            look,
            picture: None,
        };
        let moves = state == BoardState::Moving;
        if self.before.is_none() || (self.before_moves && !moves) {
            // Before it lies at rest it is not to be played, and no time counts.
            self.before = Some(view);
            self.before_moves = moves;
            self.rest_ns = captured_ns;
            self.after = None;
            self.after_rank = 0;
            if self.outcome.text.is_empty() {
                self.outcome = BoardOutcome::new(Tone::Plain, "seen", String::new());
            }
            return;
        }
        let rank = match state {
            BoardState::Solved => 2,
            BoardState::Empty | BoardState::Partial => 1,
            BoardState::Moving => 0,
        };
        if rank >= self.after_rank {
            self.after = Some(view);
            self.after_rank = rank;
        }
        if state == BoardState::Solved {
            self.outcome = BoardOutcome::new(Tone::Good, "solved", String::new());
        }
    }
}

impl BoardOutcome {
    fn new(tone: Tone, text: &str, reason: String) -> Self {
        Self {
            tone,
            text: text.to_owned(),
            reason,
        }
    }
}
