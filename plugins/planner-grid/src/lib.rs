//! Planner stage: strokes along the grid, through the centres of the cells.
//!
//! The first three versions of the pathfinding that the best known bot (M. Gao's flow-solver)
//! describes: every cell, every cell but the last terminal, and turns only.

use flowpipe_path::{Method, Needs, Warps};
use flowpipe_plugin::puzzle::Solution;
use flowpipe_plugin::puzzle::message::{GameNeeds, SeenBoard};
use flowpipe_plugin::{Cancel, Effect, Host, JsonSchema, Plan, Planner, Result};
use serde::{Deserialize, Serialize};

/// Plans strokes along the grid, through the centres of cells. Takes every kind of board.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Config {
    /// Where the pointer stops. A game that needs a stop at every cell gets it in any case.
    strategy: Strategy,
    /// Stop one cell before the last terminal: the real game joins a pipe that ends beside its
    /// other terminal by itself. Where the game was found to need it, the pointer goes into the
    /// terminal anyway.
    skip_last_terminal: bool,
    /// What the game needs from the mouse; "auto": what it was found to need, and "segments" where
    /// nothing is detected.
    profile: Needs,
    /// How a flow goes on over an edge, on boards that warp.
    warps: Warps,
    /// Draw the flows in an order, and each from the end, that has the pointer travel little between
    /// them. If not, they are drawn as in the solution.
    order: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Strategy {
    /// At every cell.
    Cells,
    /// Only where the pipe turns: about a third of the stops.
    #[default]
    Turns,
}

struct Grid {
    method: Method,
    config: flowpipe_path::Config,
}

impl Planner for Grid {
    const NAME: &'static str = "planner-grid";
    const EFFECTS: Option<&'static [Effect]> = Some(&[]);
    type Config = Config;

    fn new(config: Config, _: &Host) -> Result<Self> {
        Ok(Self {
            method: match config.strategy {
                Strategy::Cells => Method::Cells,
                Strategy::Turns => Method::Turns,
            },
            config: flowpipe_path::Config {
                skip_last_terminal: config.skip_last_terminal,
                profile: config.profile,
                warps: config.warps,
                order: config.order,
                ..flowpipe_path::Config::default()
            },
        })
    }

    fn plan(
        &mut self,
        board: &SeenBoard,
        solution: &Solution,
        needs: GameNeeds,
        _: &Cancel<'_>,
    ) -> Result<Plan> {
        let (config, profile) = self.config.for_game(needs);
        let flows = &solution.flows;
        let strokes = flowpipe_path::plan(&board.puzzle, flows, self.method, &config, profile);
        Ok(Plan::of(profile, strokes))
    }
}

flowpipe_plugin::export!(Grid);

#[cfg(test)]
mod tests;
