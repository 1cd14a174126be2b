//! The planner role: turns solutions into strokes.

use flowpipe_puzzle::Solution;
use flowpipe_puzzle::message::{BoardState, SOLVED, STROKES, SeenBoard, Solved, Stroke, Strokes};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::context::Context;
use crate::error::Result;
use crate::host::Host;
use crate::stage::{Input, Next, Port, Stage};

/// Plans the mouse's way.
pub trait Planner: Sized + Send + 'static {
    /// The name that pipelines use: `planner-…`.
    const NAME: &'static str;
    /// A paragraph for people. Empty: the doc comment of the config stands in.
    const DOC: &'static str = "";
    /// Whether the same solution always gets the same strokes.
    const DETERMINISTIC: bool = true;
    /// See [`Stage::Config`].
    type Config: DeserializeOwned + JsonSchema;

    /// Makes the stage.
    ///
    /// # Errors
    /// When the config can't be used or something is missing.
    fn new(config: Self::Config, host: &Host) -> Result<Self>;

    /// Plans the strokes that draw a solution, in board units (see
    /// [`flowpipe_puzzle::geometry`]). The host checks them against the board. Flows that stand on
    /// the board already are left out of the solution.
    ///
    /// # Errors
    /// When it can't plan for this board.
    fn plan(&mut self, board: &SeenBoard, solution: &Solution) -> Result<Vec<Stroke>>;
}

/// A [`Planner`] as a [`Stage`]: takes answers, gives strokes that carry solution and sighting on.
/// Flows that stand as the solution has them are not drawn again. An answer without a solution, or a
/// board that stands solved already or still moves, gives nothing.
pub struct PlannerStage<T>(T);

impl<T: Planner> Stage for PlannerStage<T> {
    const NAME: &'static str = T::NAME;
    const DOC: &'static str = T::DOC;
    const ROLE: &'static str = "planner";
    const DETERMINISTIC: bool = T::DETERMINISTIC;
    type Config = T::Config;

    fn inputs() -> Vec<Port> {
        vec![Port::new("in", SOLVED)]
    }

    fn outputs() -> Vec<Port> {
        vec![Port::new("out", STROKES)]
    }

    fn new(config: Self::Config, host: &Host) -> Result<Self> {
        T::new(config, host).map(Self)
    }

    fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
        let Input::Message(message) = input else {
            return Ok(Next::More);
        };
        let solved: Solved = message.parse()?;
        let (Some(board), Some(solution)) = (solved.sighting.board(), solved.solution()) else {
            return Ok(Next::More);
        };
        let missing = solution.missing(&board.drawn);
        let at_rest = !matches!(board.state, BoardState::Solved | BoardState::Moving);
        if !at_rest || missing.flows.is_empty() {
            return Ok(Next::More);
        }
        let strokes = self.0.plan(board, &missing)?;
        let solution = solution.clone();
        let planner = T::NAME.to_owned();
        context.emit(
            0,
            &Strokes {
                planner,
                strokes,
                solution,
                sighting: solved.sighting,
            },
        )?;
        Ok(Next::More)
    }
}
