//! The input of a stage: boards of every kind with known answers, and messages of them.

use flowpipe_engine::trial::Trial;
use flowpipe_game::render::{self, Header, Scene, Style, Theme};
use flowpipe_generate::{Generator, Kind, Random, Recipe, Size};
use flowpipe_host::frame::{Frame, Shape};
use flowpipe_puzzle::board::Description;
use flowpipe_puzzle::message::{
    FRAME, FrameNote, OUTCOME, Outcome, Reading, SIGHTING, SOLVED, STROKES, SeenBoard, Sighting,
    Solved, Stroke, StrokeOutcome, Strokes, Verdict,
};
use flowpipe_puzzle::{Board, Puzzle, Rules, Solution, Terminal};
use flowpipe_search::{Ended, Limits, Search};
use serde_json::{Value, json};

/// A board with its known answer.
pub struct SampleBoard {
    /// Its description.
    pub name: String,
    pub puzzle: Puzzle,
    /// One solution, where there is one.
    pub solution: Option<Solution>,
    /// Whether it has more than one.
    pub several: bool,
}

/// A message, ready to be sent.
pub struct SampleMessage {
    pub schema: String,
    pub body: Value,
    /// Its picture: width, height and the pixels (BGRA, rows without gaps).
    pub picture: Option<(u32, u32, Vec<u8>)>,
}

/// The kinds of boards, with their descriptions.
const KINDS: [(&str, &[Kind]); 7] = [
    ("plain", &[]),
    ("with walls", &[Kind::Walls]),
    ("with holes", &[Kind::Holes]),
    ("with bridges", &[Kind::Bridges]),
    ("of hexes", &[Kind::Hexes]),
    ("that warps", &[Kind::Warps]),
    ("with bridges and walls", &[Kind::Bridges, Kind::Walls]),
];

/// Boards of each kind with one solution, then plain ones with several and with none.
pub fn boards() -> Vec<SampleBoard> {
    let mut boards = Vec::new();
    for side in [5, 6, 7] {
        for (words, kinds) in KINDS {
            boards.extend(generated(side, words, kinds));
        }
    }
    boards.extend(scattered(6));
    boards
}

/// A larger plain board with one solution.
pub fn large(side: usize) -> Option<SampleBoard> {
    generated(side, "plain", &[])
}

fn generated(side: usize, words: &str, kinds: &[Kind]) -> Option<SampleBoard> {
    let recipe = Recipe::new(Size::new(side, side).ok()?, kinds, None).ok()?;
    let made = Generator::default().generate(&recipe, side as u64).ok()?;
    Some(SampleBoard {
        name: format!("a board of {side} x {side} {words}"),
        puzzle: made.puzzle,
        solution: Some(made.solution),
        several: false,
    })
}

/// Boards with random terminals: `of_each` with several solutions, and `of_each` without any, as the search proves.
fn scattered(of_each: usize) -> Vec<SampleBoard> {
    let (mut several, mut none) = (Vec::new(), Vec::new());
    let mut random = Random::new(7);
    let mut search = Search::new();
    while several.len() < of_each || none.len() < of_each {
        let side = 4 + random.below(2);
        let Some(puzzle) = scatter(side, &mut random) else {
            continue;
        };
        let found = search.run(&puzzle, &Limits::default(), &|| false);
        let (list, words) = match found.ended {
            Ended::Solutions if several.len() < of_each => (&mut several, "several solutions"),
            Ended::Complete if found.count == 0 && none.len() < of_each => {
                (&mut none, "no solution")
            }
            _ => continue,
        };
        list.push(SampleBoard {
            name: format!("a board of {side} x {side} with {words}"),
            puzzle,
            several: found.count > 1,
            solution: found.solutions.into_iter().next(),
        });
    }
    several.extend(none);
    several
}

fn scatter(side: usize, random: &mut Random) -> Option<Puzzle> {
    let board = Board::new(Description {
        rows: side,
        cols: side,
        ..Description::default()
    })
    .ok()?;
    let mut cells: Vec<usize> = (0..side * side).collect();
    let pairs = 2 + random.below(3);
    let mut terminals = Vec::new();
    for number in 0..2 * pairs {
        let cell = cells.swap_remove(random.below(cells.len()));
        terminals.push(Terminal {
            cell,
            colour: (number / 2) as u16,
        });
    }
    Puzzle::new(board, terminals, Rules::default()).ok()
}

impl SampleBoard {
    /// The sighting of the board.
    pub fn sighting(&self) -> Sighting {
        let seen = SeenBoard::untouched(self.puzzle.clone(), 40.0);
        Sighting::new(FrameNote::of("a sample"), Reading::Board(Box::new(seen)))
    }

    fn solved(&self) -> Option<Solved> {
        let solution = self.solution.clone()?;
        Some(Solved::new(
            "a sample",
            Verdict::solution(solution, None).canonical(),
            self.sighting(),
        ))
    }

    /// Strokes through the centres of all cells, on plain rectangles.
    fn strokes(&self) -> Option<Strokes> {
        if !self.puzzle.board().is_plain_rectangle() {
            return None;
        }
        let solution = self.solution.clone()?.canonical();
        let place = |&cell: &usize| {
            let (row, col) = self.puzzle.board().row_col(cell);
            [col as f64 + 0.5, row as f64 + 0.5]
        };
        let strokes = solution.flows.iter().map(|flow| {
            let points = flow.cells.iter().map(place).collect();
            Stroke::new(flow.colour, flow.cells.clone(), points)
        });
        Some(Strokes::new(
            "a sample",
            strokes.collect(),
            solution.clone(),
            self.sighting(),
        ))
    }

    fn outcome(&self) -> Option<Outcome> {
        let strokes = self.strokes()?.strokes;
        Some(
            Outcome::new(
                "a sample",
                FrameNote::of("a sample"),
                strokes
                    .iter()
                    .map(|stroke| StrokeOutcome::new(stroke.colour, Some(true)))
                    .collect(),
            )
            .with_solved(true)
            .with_act_ns(1_000_000),
        )
    }

    /// A screenshot of the board, in the style of a phone.
    fn picture(&self) -> Option<(u32, u32, Vec<u8>)> {
        const SIZE: (u32, u32) = (540, 960);
        let scene = Scene {
            puzzle: &self.puzzle,
            flows: &[],
            style: Style::Phone,
            theme: Theme::default(),
            palette: &[],
            line: [100, 90, 80],
            lights: 1,
            header: Header::default(),
        };
        let pixels = render::render(&scene, SIZE.0, SIZE.1).ok()?;
        Some((SIZE.0, SIZE.1, pixels.into_bgra()))
    }

    /// The board as a message of that schema; `*` is a sighting. `None`: the schema is unknown, or there is
    /// no such message of this board.
    pub fn message(&self, schema: &str) -> Option<SampleMessage> {
        let mut picture = None;
        let (schema, body) = match schema {
            FRAME => {
                picture = Some(self.picture()?);
                (FRAME, json!(FrameNote::of("a sample")))
            }
            SIGHTING | "*" => (SIGHTING, json!(self.sighting())),
            SOLVED => (SOLVED, json!(self.solved()?)),
            STROKES => (STROKES, json!(self.strokes()?)),
            OUTCOME => (OUTCOME, json!(self.outcome()?)),
            _ => return None,
        };
        Some(SampleMessage {
            schema: schema.to_owned(),
            body,
            picture,
        })
    }
}

impl SampleMessage {
    /// The picture, in the memory of the trial.
    pub fn frame(&self, trial: &Trial) -> Option<Frame> {
        let (width, height, pixels) = self.picture.as_ref()?;
        let shape = Shape::new(&flowpipe_abi::FrameInfo {
            struct_size: 0,
            format: flowpipe_abi::FORMAT_BGRA8,
            width: *width,
            height: *height,
            stride: 0,
            size: 0,
        })?;
        trial.frame(shape, |into| into.copy_from_slice(pixels))
    }
}
