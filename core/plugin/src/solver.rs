//! The solver role: answers puzzles.

use flowpipe_puzzle::Puzzle;
use flowpipe_puzzle::message::{Effort, SIGHTING, SOLVED, Sighting, Solved, Verdict};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::cancel::Cancel;
use crate::context::Context;
use crate::effects::Effect;
use crate::error::{Error, Result};
use crate::host::Host;
use crate::stage::{Input, Next, Port, Stage};
pub use crate::supports::Supports;
pub use flowpipe_puzzle::message::Want;

/// Solves puzzles. It sees nothing of screens: the SDK carries the sighting along.
pub trait Solver: Sized + Send + 'static {
    /// The name that pipelines use: `solver-…`.
    const NAME: &'static str;
    /// A paragraph for people. Empty: the config's doc comment is used.
    const DOC: &'static str = "";
    /// Whether the same puzzle always gets the same answer.
    const DETERMINISTIC: bool = true;
    /// See [`Stage::EFFECTS`].
    const EFFECTS: Option<&'static [Effect]> = None;
    /// The kinds of puzzles that it accepts. All others are refused before they reach it.
    const SUPPORTS: Supports = Supports::EVERYTHING;
    /// See [`Stage::STATE`].
    const STATE: &'static str = "";
    /// See [`Stage::Config`].
    type Config: DeserializeOwned + JsonSchema;

    /// Creates the stage.
    ///
    /// # Errors
    /// When the config can't be used or something is missing.
    fn new(config: Self::Config, host: &Host) -> Result<Self>;

    /// Answers one puzzle. Polls `cancel` at least every 10 ms and returns soon after it is cancelled; the result does
    /// not matter then. The host checks every solution against the rules.
    ///
    /// # Errors
    /// When the solver itself fails. That there is no solution is an answer, not an error.
    fn solve(&mut self, puzzle: &Puzzle, cancel: &Cancel<'_>) -> Result<Verdict>;

    /// The cost of the last answer; called after each [`Solver::solve`].
    fn effort(&mut self) -> Effort {
        Effort::default()
    }

    /// See [`Stage::save`].
    ///
    /// # Errors
    /// When the state can't be serialized.
    fn save(&mut self) -> Result<Value> {
        Ok(Value::Null)
    }

    /// See [`Stage::load`].
    ///
    /// # Errors
    /// When the state can't be used.
    fn load(&mut self, format: &str, state: Value) -> Result<bool> {
        let _ = (format, state);
        Ok(false)
    }
}

/// The name of the mark that a solver's stage sets right before [`Solver::solve`].
pub const SOLVING: &str = "solving";
/// The name of the mark that a solver's stage sets right after [`Solver::solve`]. Between the two is the
/// solver's own work, without reading and writing messages.
pub const ANSWERED: &str = "answered";

/// A [`Solver`] as a [`Stage`]: takes sightings, gives answers that carry the sighting on.
/// It emits nothing for a sighting without a board. A board that still moves is answered, so that it can be played as
/// soon as it is still.
pub struct SolverStage<T>(T);

impl<T: Solver> Stage for SolverStage<T> {
    const NAME: &'static str = T::NAME;
    const DOC: &'static str = T::DOC;
    const ROLE: &'static str = "solver";
    const DETERMINISTIC: bool = T::DETERMINISTIC;
    const EFFECTS: Option<&'static [Effect]> = T::EFFECTS;
    const STATE: &'static str = T::STATE;
    type Config = T::Config;

    fn inputs() -> Vec<Port> {
        vec![Port::new("in", SIGHTING)]
    }

    fn outputs() -> Vec<Port> {
        vec![Port::new("out", SOLVED)]
    }

    fn supports() -> Vec<String> {
        T::SUPPORTS.in_words()
    }

    fn new(config: Self::Config, host: &Host) -> Result<Self> {
        T::new(config, host).map(Self)
    }

    fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
        let Input::Message(message) = input else {
            return Ok(Next::More);
        };
        let sighting: Sighting = message.parse()?;
        let Some(board) = sighting.board() else {
            return Ok(Next::More);
        };
        context.mark(SOLVING);
        let answer = match T::SUPPORTS.refusal(&board.puzzle) {
            Some(reason) => Verdict::Unsupported { reason },
            None => self.0.solve(&board.puzzle, &context.cancel())?,
        };
        context.mark(ANSWERED);
        let answer = match answer {
            Verdict::Solution { .. } => answer.canonical(),
            // After a cancellation any answer but a solution is meaningless.
            _ if context.cancel().is_cancelled() => return Err(Error::cancelled()),
            other => other,
        };
        context.emit(
            0,
            &Solved {
                profile: None,
                solver: T::NAME.to_owned(),
                answer,
                effort: self.0.effort(),
                sighting,
            },
        )?;
        Ok(Next::More)
    }

    fn save(&mut self) -> Result<Value> {
        self.0.save()
    }

    fn load(&mut self, format: &str, state: Value) -> Result<bool> {
        self.0.load(format, state)
    }
}
