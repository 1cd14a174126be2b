//! The planner role: turns solutions into strokes.

use flowpipe_puzzle::Solution;
use flowpipe_puzzle::message::{
    BoardState, GameNeeds, Manner, Profile, SOLVED, STROKES, SeenBoard, Solved, Stroke, Strokes,
};

use crate::cancel::Cancel;
use crate::context::Context;
use crate::error::Result;
use crate::role::{role_as_stage, role_items};
use crate::stage::{Input, Next, Stage};

/// Plans the mouse's path.
///
/// One input, [`Solved`]; one output, [`Strokes`]. Flows that are drawn as in the solution are not drawn again. An
/// answer without a solution and a board that is solved already or still moves are dropped.
///
/// ```
/// use flowpipe_plugin::harness::samples;
/// use flowpipe_plugin::puzzle::message::{GameNeeds, SeenBoard, Stroke};
/// use flowpipe_plugin::puzzle::{Flow, Solution, place};
/// use flowpipe_plugin::{Cancel, Host, NoConfig, Plan, Planner, Result};
/// use serde_json::json;
///
/// /// Drags through the centre of every cell.
/// struct Centres;
///
/// impl Planner for Centres {
///     const NAME: &'static str = "planner-centres";
///     type Config = NoConfig;
///
///     fn new(_: NoConfig, _: &Host) -> Result<Self> {
///         Ok(Self)
///     }
///
///     fn plan(
///         &mut self,
///         board: &SeenBoard,
///         solution: &Solution,
///         _needs: GameNeeds,
///         _cancel: &Cancel<'_>,
///     ) -> Result<Plan> {
///         let board = board.puzzle.board();
///         let stroke = |flow: &Flow| {
///             let points = flow.cells.iter().map(|&cell| place::centre(board, cell)).collect();
///             Stroke::new(flow.colour, flow.cells.clone(), points)
///         };
///         Ok(Plan::new(solution.flows.iter().map(stroke).collect()))
///     }
/// }
///
/// let mut harness = flowpipe_plugin::harness!(Centres, json!({}))?;
/// let solution = Solution::new(vec![Flow::new(0, vec![0, 1, 2])]);
/// let solved = samples::solved(samples::puzzle("A.A")?, solution);
/// let strokes = samples::strokes(&mut harness, &solved)?.strokes;
/// assert_eq!(strokes[0].points, [[0.5, 0.5], [1.5, 0.5], [2.5, 0.5]]);
/// # Ok::<(), flowpipe_plugin::Error>(())
/// ```
pub trait Planner: Sized + Send + 'static {
    role_items!(
        "planner",
        true,
        "Whether the same solution always gets the same strokes."
    );

    /// Plans the strokes that draw a solution, in board units: x to the right and y down, one unit for each cell, (0, 0)
    /// at the top left corner of the board (see [`flowpipe_puzzle::geometry`]). The host checks them against the board.
    /// The solution has no flows that are drawn already. `needs`: what the game was found to need, as far as it is
    /// known.
    ///
    /// Polls `cancel` at least every 10 ms and returns soon after it is cancelled; the result does not matter then.
    /// Called on the stage's thread.
    ///
    /// # Errors
    /// When it can't plan for this board.
    fn plan(
        &mut self,
        board: &SeenBoard,
        solution: &Solution,
        needs: GameNeeds,
        cancel: &Cancel<'_>,
    ) -> Result<Plan>;
}

/// A planner's result.
#[non_exhaustive]
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
    /// Strokes in the order of play. The actuator decides how to play them.
    #[must_use]
    pub fn new(strokes: Vec<Stroke>) -> Self {
        Self {
            strokes,
            ..Self::default()
        }
    }

    /// Strokes for a game of a profile, played in its manner.
    #[must_use]
    pub fn of(profile: Profile, strokes: Vec<Stroke>) -> Self {
        Self {
            profile: Some(profile),
            ..Self::new(strokes).with_manner(profile.manner())
        }
    }

    /// The same plan, played in a manner.
    #[must_use]
    pub fn with_manner(mut self, manner: Manner) -> Self {
        self.manner = Some(manner);
        self
    }
}

/// The name of the mark that a planner's stage sets right before [`Planner::plan`].
#[doc(hidden)]
pub const PLANNING: &str = "planning";
/// The name of the mark that a planner's stage sets right after [`Planner::plan`]. Between the two is the
/// planner's own work, without reading and writing messages.
#[doc(hidden)]
pub const PLANNED: &str = "planned";

/// A [`Planner`] as a [`Stage`].
#[doc(hidden)]
pub struct PlannerStage<T>(T);

impl<T: Planner> Stage for PlannerStage<T> {
    role_as_stage!(T as "planner", in: [SOLVED], out: STROKES, checked by: flowpipe_puzzle::message::CHECK);

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
            .plan(board, &missing, solved.needs(), &context.cancel())?;
        context.mark(PLANNED);
        let solution = solution.clone();
        let mut strokes = Strokes::new(T::NAME, plan.strokes, solution, solved.sighting);
        strokes.profile = plan.profile;
        strokes.manner = plan.manner;
        context.emit(0, &strokes)?;
        Ok(Next::More)
    }
}
