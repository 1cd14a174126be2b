//! Planner stage: strokes along the grid, through the centres of the cells.
//!
//! The first three versions of the pathfinding that the best known bot (M. Gao's flow-solver)
//! describes: every cell, every cell but the last terminal, and turns only.

use flowpipe_plugin::puzzle::board::{Board, Cell, Lattice};
use flowpipe_plugin::puzzle::message::{SeenBoard, Stroke};
use flowpipe_plugin::puzzle::{Flow, Point, Solution};
use flowpipe_plugin::{Error, Host, JsonSchema, Planner, Result};
use serde::{Deserialize, Serialize};

/// Plans strokes along the grid: one for each flow, through the centres of its cells.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Config {
    /// Where the pointer stops.
    strategy: Strategy,
    /// Stop one cell before the last terminal: the real game joins a pipe that ends beside its
    /// other terminal by itself.
    skip_last_terminal: bool,
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

struct Grid(Config);

impl Planner for Grid {
    const NAME: &'static str = "planner-grid";
    type Config = Config;

    fn new(config: Config, _: &Host) -> Result<Self> {
        Ok(Self(config))
    }

    fn plan(&mut self, board: &SeenBoard, solution: &Solution) -> Result<Vec<Stroke>> {
        let board = board.puzzle.board();
        if board.description().lattice != Lattice::Square || board.description().warps {
            return Err(Error::new(
                "planner-grid plans for boards of squares without warps only",
            ));
        }
        Ok(solution
            .flows
            .iter()
            .map(|flow| self.stroke(board, flow))
            .collect())
    }
}

impl Grid {
    fn stroke(&self, board: &Board, flow: &Flow) -> Stroke {
        let mut cells = flow.cells.clone();
        // A flow of two neighbouring terminals has to be dragged into the second one: a press and
        // release on the first alone draws nothing in some games.
        if self.0.skip_last_terminal && cells.len() > 2 {
            cells.pop();
        }
        let stops = match self.0.strategy {
            Strategy::Cells => cells.clone(),
            Strategy::Turns => turns(board, &cells),
        };
        let points = stops.iter().map(|&cell| centre(board, cell)).collect();
        Stroke {
            colour: flow.colour,
            cells,
            points,
        }
    }
}

/// The ends of a path and the cells where it turns.
fn turns(board: &Board, cells: &[Cell]) -> Vec<Cell> {
    let straight = |window: &[Cell]| {
        let [(r0, c0), (r1, c1), (r2, c2)] = [0, 1, 2].map(|at| board.row_col(window[at]));
        r0 + r2 == 2 * r1 && c0 + c2 == 2 * c1
    };
    let mut stops: Vec<Cell> = cells.first().copied().into_iter().collect();
    stops.extend(
        cells
            .windows(3)
            .filter(|window| !straight(window))
            .map(|window| window[1]),
    );
    if cells.len() > 1 {
        stops.extend(cells.last());
    }
    stops
}

/// The centre of a cell of squares, in board units.
fn centre(board: &Board, cell: Cell) -> Point {
    let (row, col) = board.row_col(cell);
    [col as f64 + 0.5, row as f64 + 0.5]
}

flowpipe_plugin::export!(Grid);

#[cfg(test)]
mod tests {
    use flowpipe_plugin::puzzle::message::{
        BoardState, Effort, FrameNote, Reading, SOLVED, Sighting, Solved, Strokes, Verdict,
    };
    use flowpipe_plugin::puzzle::stroke_check::check_strokes;
    use flowpipe_plugin::puzzle::{Geometry, Puzzle, Rules, Terminal};
    use serde_json::{Value, json};

    use super::*;

    /// 3 x 3: A goes round the outside to the left of B, which fills the middle column's end.
    ///
    /// ```text
    /// A─┐B
    /// ┌─┘│
    /// A B┘   (B: 2, 5, 8, 7)
    /// ```
    fn solved() -> Solved {
        let flows = [(0, vec![0, 1, 4, 3, 6]), (1, vec![2, 5, 8, 7])]
            .map(|(colour, cells)| Flow { colour, cells })
            .to_vec();
        let terminals = flows
            .iter()
            .flat_map(|flow| {
                [flow.cells[0], flow.cells[flow.cells.len() - 1]].map(|cell| Terminal {
                    cell,
                    colour: flow.colour,
                })
            })
            .collect();
        let rules = Rules {
            touch: true,
            ..Rules::default()
        };
        let puzzle = Puzzle::new(Board::rectangle(3, 3).unwrap(), terminals, rules).unwrap();
        let board = SeenBoard {
            puzzle,
            geometry: Geometry::upright(0.0, 0.0, 90.0, 90.0, 3, 3),
            palette: vec![[255, 0, 0], [0, 0, 255]],
            drawn: Vec::new(),
            state: BoardState::Empty,
            confidence: 1.0,
        };
        Solved {
            solver: "test".to_owned(),
            answer: Verdict::solution(Solution { flows }, None),
            effort: Effort::default(),
            sighting: Sighting {
                frame: FrameNote::of("test"),
                reading: Reading::Board(Box::new(board)),
            },
        }
    }

    fn plan(config: Value) -> Vec<Stroke> {
        let solved = solved();
        let mut harness = flowpipe_plugin::harness!(Grid, config).unwrap();
        let emitted = harness.send(0, SOLVED, &solved).unwrap();
        let strokes: Strokes = serde_json::from_value(emitted[0].body.clone()).unwrap();
        let puzzle = &solved.sighting.board().unwrap().puzzle;
        check_strokes(puzzle, solved.solution().unwrap(), &strokes.strokes).unwrap();
        assert_eq!(strokes.sighting, solved.sighting);
        strokes.strokes
    }

    #[test]
    fn every_cell() {
        let strokes = plan(json!({ "strategy": "cells" }));
        assert_eq!(
            strokes[0].points,
            [[0.5, 0.5], [1.5, 0.5], [1.5, 1.5], [0.5, 1.5], [0.5, 2.5]]
        );
    }

    #[test]
    fn turns_only() {
        let strokes = plan(json!({}));
        assert_eq!(strokes[1].points, [[2.5, 0.5], [2.5, 2.5], [1.5, 2.5]]);
        assert_eq!(strokes[1].cells, [2, 5, 8, 7]);
    }

    #[test]
    fn without_the_last_terminal() {
        let strokes = plan(json!({ "strategy": "cells", "skip_last_terminal": true }));
        assert_eq!(strokes[0].cells, [0, 1, 4, 3]);
        assert_eq!(strokes[1].points.last(), Some(&[2.5, 2.5]));
    }

    #[test]
    fn only_what_is_missing_is_planned_and_only_at_rest() {
        let mut harness = flowpipe_plugin::harness!(Grid, json!({})).unwrap();
        let mut seen = |drawn: usize, state: BoardState| {
            let mut solved = solved();
            let drawn = solved.solution().unwrap().flows[..drawn].to_vec();
            let Reading::Board(board) = &mut solved.sighting.reading else {
                unreachable!()
            };
            (board.drawn, board.state) = (drawn, state);
            let emitted = harness.send(0, SOLVED, &solved).unwrap();
            let strokes = emitted.first().map(|it| it.body["strokes"].clone());
            strokes.map_or(0, |strokes| strokes.as_array().unwrap().len())
        };
        assert_eq!(seen(0, BoardState::Empty), 2);
        assert_eq!(seen(1, BoardState::Partial), 1);
        assert_eq!(seen(2, BoardState::Solved), 0);
        assert_eq!(seen(0, BoardState::Moving), 0);
    }

    #[test]
    fn a_wrong_strategy_is_refused() {
        let error = flowpipe_plugin::harness!(Grid, json!({ "strategy": "hops" }))
            .err()
            .unwrap();
        assert!(
            error.to_string().contains("unknown variant `hops`"),
            "{error}"
        );
    }
}
