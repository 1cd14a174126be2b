//! Boards, and where they lie in frames, as the page draws them: each once, since most frames show what the one before
//! showed.

use std::collections::HashMap;

use flowpipe_puzzle::message::{Reading, SeenBoard, Sighting};
use flowpipe_puzzle::{Cell, Flow, Geometry, Point, Projection, Puzzle, colour, place};
use serde::Serialize;

use crate::sentences;

/// A puzzle in board units.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Shape {
    /// Its size, kind and number of flows.
    pub title: String,
    /// Its size and kind.
    pub size: String,
    /// Pairs of ends.
    sides: Vec<f32>,
    /// By terminal: its centre and its colour's number.
    terminals: Vec<(f32, f32, u16)>,
    /// Letters by colour.
    letters: Vec<String>,
    #[serde(skip)]
    puzzle: Puzzle,
}

/// What vision made of a frame.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum FrameReading {
    /// A board.
    Board {
        /// Index of the puzzle.
        shape: usize,
        /// The matrix from board units to frame pixels, by rows.
        map: [f32; 9],
        /// By colour, `#rrggbb`.
        palette: Vec<String>,
        /// What is drawn already.
        drawn: Vec<Pipe>,
        /// How far it is played, in words.
        state: &'static str,
    },
    /// No board.
    Refused {
        /// Why.
        refused: String,
    },
}

/// A pipe in board units.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pipe {
    /// Its colour's number.
    colour: u16,
    /// Its lines as `x, y, x, y …`: several where it wraps around an edge.
    lines: Vec<Vec<f32>>,
}

/// How far past an edge a pipe is drawn that goes on at the other one.
const BEYOND: f64 = 0.5;

/// Collects shapes and looks.
#[derive(Debug, Default, Serialize)]
pub struct Shapes {
    /// Puzzles.
    pub shapes: Vec<Shape>,
    /// Sightings.
    pub looks: Vec<FrameReading>,
    /// Cells of all puzzles.
    #[serde(skip)]
    cells: usize,
    #[serde(skip)]
    known_shapes: HashMap<String, usize>,
    #[serde(skip)]
    known_readings: HashMap<String, usize>,
}

impl Shapes {
    /// Cells of all puzzles.
    pub fn cells(&self) -> usize {
        self.cells
    }

    /// The place of a puzzle in the list.
    pub fn shape(&mut self, puzzle: &Puzzle) -> usize {
        let key = key(puzzle);
        if let Some(&known) = self.known_shapes.get(&key) {
            return known;
        }
        let board = puzzle.board();
        self.cells += board.len();
        let sides = place::sides(board).into_iter().flatten();
        let terminals = puzzle.terminals().iter().map(|terminal| {
            let [x, y] = place::centre(board, terminal.cell);
            (x as f32, y as f32, terminal.colour)
        });
        let last = puzzle.colours().last().copied().unwrap_or_default();
        self.shapes.push(Shape {
            title: sentences::puzzle(puzzle),
            size: sentences::size(puzzle),
            sides: flat(sides),
            terminals: terminals.collect(),
            letters: (0..=last).map(colour::name).collect(),
            puzzle: puzzle.clone(),
        });
        let place = self.shapes.len() - 1;
        self.known_shapes.insert(key, place);
        place
    }

    /// The place of a sighting in the list.
    pub fn look(&mut self, sighting: &Sighting) -> usize {
        let look = match &sighting.reading {
            Reading::Board(board) => self.board(board),
            Reading::Refused { .. } => FrameReading::Refused {
                refused: sentences::sighting(sighting),
            },
        };
        let key = key(&look);
        if let Some(&known) = self.known_readings.get(&key) {
            return known;
        }
        self.looks.push(look);
        let place = self.looks.len() - 1;
        self.known_readings.insert(key, place);
        place
    }

    /// Pipes on the board of a shape.
    pub fn pipes(&self, shape: usize, flows: &[Flow]) -> Vec<Pipe> {
        let shape = self.shapes.get(shape);
        shape.map_or_else(Vec::new, |shape| pipes(&shape.puzzle, flows))
    }

    fn board(&mut self, board: &SeenBoard) -> FrameReading {
        let hex = |[red, green, blue]: &[u8; 3]| format!("#{red:02x}{green:02x}{blue:02x}");
        FrameReading::Board {
            shape: self.shape(&board.puzzle),
            map: map(&board.geometry),
            palette: board.palette.iter().map(hex).collect(),
            drawn: pipes(&board.puzzle, &board.drawn),
            state: sentences::state(board.state),
        }
    }
}

impl FrameReading {
    /// The place of its board in the frame: left, top, right and bottom in frame pixels.
    pub fn bounds(&self, shapes: &[Shape]) -> Option<[f64; 4]> {
        let Self::Board { shape, map, .. } = self else {
            return None;
        };
        let map = Projection::of_rows(map.map(f64::from));
        let sides = &shapes.get(*shape)?.sides;
        let points = sides
            .chunks_exact(2)
            .map(|point| map.map([f64::from(point[0]), f64::from(point[1])]));
        let points = points.filter(|[x, y]| x.is_finite() && y.is_finite());
        points.fold(None, |bounds, [x, y]| {
            let [left, top, right, bottom] = bounds.unwrap_or([x, y, x, y]);
            Some([left.min(x), top.min(y), right.max(x), bottom.max(y)])
        })
    }
}

/// Points one after the other.
pub fn flat(points: impl IntoIterator<Item = Point>) -> Vec<f32> {
    let points = points.into_iter().flatten();
    // A thousandth of a cell is finer than what is seen.
    points
        .map(|value| ((value * 1000.0).round() / 1000.0) as f32)
        .collect()
}

fn pipes(puzzle: &Puzzle, flows: &[Flow]) -> Vec<Pipe> {
    let pipe = |flow: &Flow| {
        let cells: &[Cell] = &flow.cells;
        let lines = place::pipe(puzzle.board(), cells, BEYOND);
        Pipe {
            colour: flow.colour,
            lines: lines.into_iter().map(flat).collect(),
        }
    };
    flows.iter().map(pipe).collect()
}

/// The matrix from board units to frame pixels.
fn map(geometry: &Geometry) -> [f32; 9] {
    let mut rows = Projection::of_unit_square(geometry.corners).rows();
    for (column, count) in [(0, geometry.cols), (1, geometry.rows)] {
        for row in 0..3 {
            rows[row * 3 + column] /= count.max(1) as f64;
        }
    }
    rows.map(|value| value as f32)
}

/// The same value has the same JSON.
fn key(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use flowpipe_puzzle::message::FrameNote;
    use flowpipe_puzzle::text;

    use super::*;

    #[test]
    fn the_same_is_kept_once_and_lies_where_it_was_seen() {
        let (puzzle, _) = text::read("R.G\nR.G").remove(0).puzzle.unwrap();
        let mut seen = SeenBoard::untouched(puzzle, 10.0);
        seen.geometry = Geometry::axis_aligned(100.0, 50.0, 300.0, 200.0, 2, 3);
        let sighting = |seen: &SeenBoard| {
            let reading = Reading::Board(Box::new(seen.clone()));
            Sighting::new(FrameNote::of("a"), reading)
        };
        let mut shapes = Shapes::default();
        assert_eq!(shapes.look(&sighting(&seen)), 0);
        assert_eq!(shapes.look(&sighting(&seen)), 0);
        let bounds = shapes.looks[0].bounds(&shapes.shapes);
        assert_eq!(bounds, Some([100.0, 50.0, 400.0, 250.0]));
        seen.drawn = vec![Flow {
            colour: 0,
            cells: vec![0, 1],
        }];
        assert_eq!(shapes.look(&sighting(&seen)), 1);
        assert_eq!(shapes.shapes.len(), 1);
        assert_eq!(shapes.shapes[0].title, "3 × 2, 2 flows");
    }
}
