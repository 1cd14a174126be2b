//! The planner role: turns solutions into strokes.

use flowpipe_puzzle::message::{
    BoardState, Draw, GameNeeds, Manner, Profile, SOLVED, STROKES, SeenBoard, Solved, Stroke,
    Strokes,
};
use flowpipe_puzzle::{Colour, Puzzle, Solution, place};

use crate::cancel::Cancel;
use crate::context::Context;
use crate::error::Result;
use crate::role::{role_as_stage, role_items};
use crate::stage::{Input, Next, Stage};

/// Plans the mouse's path.
///
/// One input, [`Solved`]; one output, [`Strokes`]. Flows that are drawn as in the solution, or not to be drawn now
/// ([`Draw`]), are left out; the clicks that clear a board need no planner. An answer without a solution and a board that
/// is solved already or still moves are dropped.
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
    /// The solution has only the flows that are to be drawn. `needs`: what the game was found to need, as far as it is
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
        let mut missing = solution.missing(&board.drawn);
        if let Draw::Only(colours) = &solved.draw {
            missing.flows.retain(|flow| colours.contains(&flow.colour));
        }
        let at_rest = !matches!(board.state, BoardState::Solved | BoardState::Moving);
        if !at_rest || missing.flows.is_empty() {
            return Ok(Next::More);
        }
        context.mark(PLANNING);
        let plan = match &solved.draw {
            Draw::Clear(colours) => Plan::of(Profile::Slow, clicks(&board.puzzle, colours)),
            _ => self
                .0
                .plan(board, &missing, solved.needs(), &context.cancel())?,
        };
        context.mark(PLANNED);
        let solution = solution.clone();
        let mut strokes = Strokes::new(T::NAME, plan.strokes, solution, solved.sighting);
        strokes.profile = plan.profile;
        strokes.manner = plan.manner;
        context.emit(0, &strokes)?;
        Ok(Next::More)
    }
}

/// Two clicks on each terminal of some colours: games clear the pipe of a terminal that is clicked, some only if it was
/// begun there, and some at the second click.
fn clicks(puzzle: &Puzzle, colours: &[Colour]) -> Vec<Stroke> {
    let click = |terminal: &flowpipe_puzzle::Terminal| {
        let points = vec![place::centre(puzzle.board(), terminal.cell)];
        Stroke::new(terminal.colour, vec![terminal.cell], points)
    };
    let terminals = puzzle.terminals().iter();
    let terminals = terminals.filter(|it| colours.contains(&it.colour));
    terminals.flat_map(|it| [click(it), click(it)]).collect()
}

#[cfg(test)]
mod tests {
    use flowpipe_puzzle::Flow;
    use flowpipe_puzzle::stroke_check::check_strokes;
    use serde_json::json;

    use super::*;
    use crate::harness::samples;
    use crate::{Host, NoConfig};

    /// Draws each flow in one stroke through the centres of its cells.
    struct Centres;

    impl Planner for Centres {
        const NAME: &'static str = "planner-centres";
        type Config = NoConfig;

        fn new(_: NoConfig, _: &Host) -> Result<Self> {
            Ok(Self)
        }

        fn plan(
            &mut self,
            board: &SeenBoard,
            solution: &Solution,
            _: GameNeeds,
            _: &Cancel<'_>,
        ) -> Result<Plan> {
            let board = board.puzzle.board();
            let stroke = |flow: &Flow| {
                let points = flow.cells.iter().map(|&cell| place::centre(board, cell));
                Stroke::new(flow.colour, flow.cells.clone(), points.collect())
            };
            Ok(Plan::new(solution.flows.iter().map(stroke).collect()))
        }
    }

    fn planned(draw: Draw) -> Strokes {
        let flow =
            |row: u16| Flow::new(row, (0..3).map(|col| 3 * usize::from(row) + col).collect());
        let solution = Solution::new((0..3).map(flow).collect());
        let puzzle = samples::puzzle("A.A\nB.B\nC.C").unwrap();
        let solved = samples::solved(puzzle, solution).with_draw(draw);
        let mut harness = crate::harness!(Centres, json!({})).unwrap();
        samples::strokes(&mut harness, &solved).unwrap()
    }

    #[test]
    fn only_what_is_to_be_drawn_is_planned() {
        let colours = |draw| {
            let strokes = planned(draw).strokes;
            strokes
                .iter()
                .map(|stroke| stroke.colour)
                .collect::<Vec<_>>()
        };
        assert_eq!(colours(Draw::All), [0, 1, 2]);
        assert_eq!(colours(Draw::Only(vec![2, 1])), [1, 2]);
    }

    #[test]
    fn a_board_is_cleared_by_clicks_on_its_terminals() {
        let planned = planned(Draw::Clear(vec![0, 2]));
        let cells: Vec<_> = planned.strokes.iter().map(|it| it.cells[0]).collect();
        assert_eq!(cells, [0, 0, 2, 2, 6, 6, 8, 8]);
        let puzzle = &planned.sighting.board().unwrap().puzzle;
        assert_eq!(
            check_strokes(puzzle, &planned.solution, &planned.strokes),
            Ok(())
        );
    }
}
