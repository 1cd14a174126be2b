//! The planner role: turns solutions into strokes.

use flowpipe_puzzle::Solution;
use flowpipe_puzzle::message::{
    BoardState, Manner, Profile, SOLVED, STROKES, SeenBoard, Solved, Stroke, Strokes,
};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::cancel::Cancel;
use crate::context::Context;
use crate::effects::Effect;
use crate::error::Result;
use crate::host::Host;
use crate::stage::{Input, Next, Port, Stage};

/// Plans the mouse's path.
pub trait Planner: Sized + Send + 'static {
    /// The name that pipelines use: `planner-…`.
    const NAME: &'static str;
    /// A paragraph for people. Empty: the config's doc comment is used.
    const DOC: &'static str = "";
    /// Whether the same solution always gets the same strokes.
    const DETERMINISTIC: bool = true;
    /// See [`Stage::EFFECTS`].
    const EFFECTS: Option<&'static [Effect]> = None;
    /// See [`Stage::STATE`].
    const STATE: &'static str = "";
    /// See [`Stage::Config`].
    type Config: DeserializeOwned + JsonSchema;

    /// Creates the stage.
    ///
    /// # Errors
    /// When the config can't be used or something is missing.
    fn new(config: Self::Config, host: &Host) -> Result<Self>;

    /// Plans the strokes that draw a solution, in board units (see [`flowpipe_puzzle::geometry`]). The host checks them
    /// against the board. The solution has no flows that are drawn already. `asked`: the profile that the game was
    /// found to need, if that is known.
    ///
    /// # Errors
    /// When it can't plan for this board.
    fn plan(
        &mut self,
        board: &SeenBoard,
        solution: &Solution,
        asked: Option<Profile>,
    ) -> Result<Plan>;

    /// The same, with cancellation, for planners that may take long: polls `cancel` at least every 10 ms and returns
    /// soon after it is cancelled. If it is implemented, [`Planner::plan`] is not called.
    ///
    /// # Errors
    /// As [`Planner::plan`], and when it is cancelled.
    fn plan_unless(
        &mut self,
        board: &SeenBoard,
        solution: &Solution,
        asked: Option<Profile>,
        _cancel: &Cancel<'_>,
    ) -> Result<Plan> {
        self.plan(board, solution, asked)
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

/// A planner's result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// In the order of play.
    pub strokes: Vec<Stroke>,
    /// The profile that they assume, if it has a name.
    pub profile: Option<Profile>,
    /// How to play them; `None`: the actuator decides.
    pub manner: Option<Manner>,
}

impl Plan {
    /// Strokes for a game of a profile, played in its manner.
    #[must_use]
    pub fn of(profile: Profile, strokes: Vec<Stroke>) -> Self {
        Self {
            strokes,
            profile: Some(profile),
            manner: Some(profile.manner()),
        }
    }
}

impl From<Vec<Stroke>> for Plan {
    fn from(strokes: Vec<Stroke>) -> Self {
        Self {
            strokes,
            ..Self::default()
        }
    }
}

/// The name of the mark that a planner's stage sets right before [`Planner::plan`].
pub const PLANNING: &str = "planning";
/// The name of the mark that a planner's stage sets right after [`Planner::plan`]. Between the two is the
/// planner's own work, without reading and writing messages.
pub const PLANNED: &str = "planned";

/// A [`Planner`] as a [`Stage`]: takes answers, gives strokes that carry solution and sighting on. Flows that are drawn
/// as in the solution are not drawn again. It emits nothing for an answer without a solution, and for a board that is
/// solved already or still moves.
pub struct PlannerStage<T>(T);

impl<T: Planner> Stage for PlannerStage<T> {
    const NAME: &'static str = T::NAME;
    const DOC: &'static str = T::DOC;
    const ROLE: &'static str = "planner";
    const DETERMINISTIC: bool = T::DETERMINISTIC;
    const EFFECTS: Option<&'static [Effect]> = T::EFFECTS;
    const STATE: &'static str = T::STATE;
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
        context.mark(PLANNING);
        let plan = self
            .0
            .plan_unless(board, &missing, solved.profile, &context.cancel())?;
        context.mark(PLANNED);
        let solution = solution.clone();
        let planner = T::NAME.to_owned();
        context.emit(
            0,
            &Strokes {
                planner,
                strokes: plan.strokes,
                profile: plan.profile,
                manner: plan.manner,
                solution,
                sighting: solved.sighting,
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
