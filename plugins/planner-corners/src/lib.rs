//! Planner stage: strokes in few straight segments, by a search over corners and centres of cells.

use flowpipe_path::{Config, Method};
use flowpipe_plugin::puzzle::Solution;
use flowpipe_plugin::puzzle::message::{GameNeeds, SeenBoard};
use flowpipe_plugin::{Cancel, Effect, Host, Plan, Planner, Result};

struct Corners(Config);

impl Planner for Corners {
    const NAME: &'static str = "planner-corners";
    const DOC: &'static str = "Plans strokes in few straight segments: a breadth-first search over the centres of cells and, \
         where the flow turns, the corners of their middle parts, as the best known bot does it in its fifth version. It may \
         need more segments than planner-minlink. Takes every kind of board. Where a game has to be led along the grid, \
         it plans as planner-grid does.";
    const EFFECTS: Option<&'static [Effect]> = Some(&[]);
    type Config = Config;

    fn new(config: Config, _: &Host) -> Result<Self> {
        Ok(Self(config))
    }

    fn plan(
        &mut self,
        board: &SeenBoard,
        solution: &Solution,
        needs: GameNeeds,
        _: &Cancel<'_>,
    ) -> Result<Plan> {
        let (config, profile) = self.0.for_game(needs);
        let flows = &solution.flows;
        let strokes = flowpipe_path::plan(&board.puzzle, flows, Method::Corners, &config, profile);
        Ok(Plan::of(profile, strokes))
    }
}

flowpipe_plugin::export!(Corners);

#[cfg(test)]
mod tests;
