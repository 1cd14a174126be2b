//! Planner stage: strokes in the fewest straight segments that there are.

use flowpipe_path::{Config, Method};
use flowpipe_plugin::puzzle::Solution;
use flowpipe_plugin::puzzle::message::{GameNeeds, SeenBoard};
use flowpipe_plugin::{Cancel, Effect, Host, Plan, Planner, Result};

struct Minlink(Config);

impl Planner for Minlink {
    const NAME: &'static str = "planner-minlink";
    const DOC: &'static str = "Plans strokes in the fewest straight segments that there are: through the middle parts of \
         the flow's cells and the passages between, turning anywhere, and of the ways with as few segments one that keeps \
         far from the borders. Takes every kind of board. Where a game has to be led along the grid, it plans as \
         planner-grid does.";
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
        let strokes = flowpipe_path::plan(
            &board.puzzle,
            flows,
            Method::FewestSegments,
            &config,
            profile,
        );
        Ok(Plan::of(profile, strokes))
    }
}

flowpipe_plugin::export!(Minlink);

#[cfg(test)]
mod tests;
