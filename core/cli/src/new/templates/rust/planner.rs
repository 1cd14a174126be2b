//! A flowpipe planner: it turns solutions into strokes of the mouse. This one drags through the centre of every cell.

use flowpipe_plugin::puzzle::message::{Profile, SeenBoard, Stroke};
use flowpipe_plugin::puzzle::{Flow, Solution, place};
use flowpipe_plugin::{Host, JsonSchema, Plan, Planner, Result};
use serde::Deserialize;

/// Drags through the centre of every cell. (This line is what `flowpipe plugins show` tells.)
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Config {
    /// Draw each flow from its other end. (So is this one.)
    backwards: bool,
}

struct Plugin {
    config: Config,
}

impl Planner for Plugin {
    const NAME: &'static str = "plugin-name";
    type Config = Config;

    fn new(config: Config, _host: &Host) -> Result<Self> {
        Ok(Self { config })
    }

    /// Plans the strokes of a solution, in board units: the top left cell's centre is (0.5, 0.5). Each is held against the
    /// board before a mouse moves. Boards that warp are beyond this one: a stroke can't cross their edge.
    fn plan(
        &mut self,
        board: &SeenBoard,
        solution: &Solution,
        _asked: Option<Profile>,
    ) -> Result<Plan> {
        let stroke = |flow: &Flow| {
            let mut cells = flow.cells.clone();
            if self.config.backwards {
                cells.reverse();
            }
            let board = board.puzzle.board();
            let points = cells.iter().map(|&cell| place::centre(board, cell));
            Stroke::new(flow.colour, cells.clone(), points.collect())
        };
        let strokes: Vec<Stroke> = solution.flows.iter().map(stroke).collect();
        Ok(strokes.into())
    }
}

flowpipe_plugin::export!(Plugin);

#[cfg(test)]
mod tests {
    use flowpipe_plugin::harness::samples;
    use flowpipe_plugin::puzzle::{Flow, Solution};
    use serde_json::json;

    use super::Plugin;

    #[test]
    fn strokes_are_such_as_the_host_takes() {
        let puzzle = samples::puzzle("A.\nA.").unwrap();
        let flows = vec![Flow {
            colour: 0,
            cells: vec![0, 1, 3, 2],
        }];
        let solved = samples::solved(puzzle, Solution { flows });
        let mut harness = flowpipe_plugin::harness!(Plugin, json!({ "backwards": true })).unwrap();
        let strokes = samples::strokes(&mut harness, &solved).unwrap();
        assert_eq!(strokes.strokes[0].cells, [2, 3, 1, 0]);
    }
}
