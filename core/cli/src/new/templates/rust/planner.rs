//! A flowpipe planner: it turns solutions into strokes of the mouse. This one drags through the centre of every cell.

use flowpipe_plugin::puzzle::message::{GameNeeds, SeenBoard, Stroke};
use flowpipe_plugin::puzzle::{Board, Cell, Colour, Solution, place};
use flowpipe_plugin::{Cancel, Effect, Host, JsonSchema, Plan, Planner, Result};
use serde::Deserialize;

/// Drags through the centre of every cell. (`flowpipe plugins show` prints this line.)
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Config {
    /// Draw each flow from its other end. (This one too.)
    backwards: bool,
}

struct Plugin {
    config: Config,
}

impl Planner for Plugin {
    const NAME: &'static str = "plugin-name";
    /// The effects outside of the program, such as reading files or running commands: none.
    const EFFECTS: Option<&'static [Effect]> = Some(&[]);
    type Config = Config;

    fn new(config: Config, _host: &Host) -> Result<Self> {
        Ok(Self { config })
    }

    /// Plans the strokes of a solution, in board units: the top left cell's centre is (0.5, 0.5). The host checks each
    /// against the board.
    fn plan(
        &mut self,
        board: &SeenBoard,
        solution: &Solution,
        _needs: GameNeeds,
        _cancel: &Cancel<'_>,
    ) -> Result<Plan> {
        let mut strokes = Vec::new();
        for flow in &solution.flows {
            let mut cells = flow.cells.clone();
            if self.config.backwards {
                cells.reverse();
            }
            strokes.extend(drag(board.puzzle.board(), flow.colour, &cells));
        }
        Ok(Plan::new(strokes))
    }
}

/// Drags along cells. At an edge that wraps around, a stroke ends one cell beyond the edge, and another one starts
/// where the flow continues.
fn drag(board: &Board, colour: Colour, cells: &[Cell]) -> Vec<Stroke> {
    let begin = |cell| Stroke::new(colour, vec![cell], vec![place::centre(board, cell)]);
    let lattice = board.description().lattice;
    let mut strokes = Vec::new();
    let mut stroke = match cells.first() {
        Some(&first) => begin(first),
        None => return strokes,
    };
    for step in cells.windows(2) {
        let [x, y] = place::centre(board, step[0]);
        let direction = place::direction(board, step[0], step[1]);
        let [right, down] = direction.map_or([0.0; 2], |it| place::offset(lattice, it));
        stroke.cells.push(step[1]);
        stroke.points.push([x + right, y + down]);
        let [next_x, next_y] = place::centre(board, step[1]);
        if (x + right - next_x).abs() + (y + down - next_y).abs() > 0.5 {
            strokes.push(std::mem::replace(&mut stroke, begin(step[1])));
        }
    }
    if stroke.cells.len() > 1 {
        strokes.push(stroke);
    }
    strokes
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
        let flow = Flow::new(0, vec![0, 1, 3, 2]);
        let solved = samples::solved(puzzle, Solution::new(vec![flow]));
        let mut harness = flowpipe_plugin::harness!(Plugin, json!({ "backwards": true })).unwrap();
        let strokes = samples::strokes(&mut harness, &solved).unwrap();
        assert_eq!(strokes.strokes[0].cells, [2, 3, 1, 0]);
    }
}
