//! A planner plugin: drags through the centre of every cell.

use flowpipe_plugin::puzzle::message::{GameNeeds, SeenBoard, Stroke};
use flowpipe_plugin::puzzle::{Flow, Solution};
use flowpipe_plugin::{Cancel, Effect, Host, JsonSchema, Plan, Planner, Result};
use serde::Deserialize;

/// Drags through the centre of every cell.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Config {
    /// Draw each flow from its other end.
    backwards: bool,
}

struct Simple(Config);

impl Planner for Simple {
    const NAME: &'static str = "planner-simple";
    const EFFECTS: Option<&'static [Effect]> = Some(&[]);
    type Config = Config;

    fn new(config: Config, _host: &Host) -> Result<Self> {
        Ok(Self(config))
    }

    fn plan(
        &mut self,
        board: &SeenBoard,
        solution: &Solution,
        _needs: GameNeeds,
        _cancel: &Cancel<'_>,
    ) -> Result<Plan> {
        let stroke = |flow: &Flow| {
            let mut cells = flow.cells.clone();
            if self.0.backwards {
                cells.reverse();
            }
            let places = cells.iter().map(|&cell| board.puzzle.board().row_col(cell));
            let points = places
                .map(|(row, col)| [col as f64 + 0.5, row as f64 + 0.5])
                .collect();
            Stroke::new(flow.colour, cells, points)
        };
        Ok(Plan::new(solution.flows.iter().map(stroke).collect()))
    }
}

flowpipe_plugin::export!(Simple);
