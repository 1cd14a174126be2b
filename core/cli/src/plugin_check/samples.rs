//! The input of a stage: boards of every kind with known answers, and messages of them.

use flowpipe_abi::BufferInfo;
use flowpipe_config::manifest::{Content, Port};
use flowpipe_engine::trial::Trial;
use flowpipe_game::render::{self, Header, Scene, Style, Theme};
use flowpipe_generate::{Generator, Kind, Recipe, Size};
use flowpipe_host::frame::{BufferLayout, Frame, Shape};
use flowpipe_message::{FRAME, FrameNote, GESTURES, Gestures};
use flowpipe_puzzle::gestures::Drags;
use flowpipe_puzzle::message::{
    GAME_RULES, GameRules, Manner, OUTCOME, Outcome, Reading, SIGHTING, SOLVED, STROKES, SeenBoard,
    Sighting, Solved, Stroke, StrokeOutcome, Strokes, Verdict,
};
use flowpipe_puzzle::{Puzzle, Solution, text};
use flowpipe_search::{Limits, Search};
use serde_json::{Value, json};

use crate::plugin_check::neutral_samples;

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
    /// Its description.
    pub name: String,
    pub schema: String,
    pub body: Value,
    /// Its picture: width, height and the pixels (BGRA, rows without gaps).
    pub picture: Option<(u32, u32, Vec<u8>)>,
    /// The layout of its buffer.
    pub buffer: Option<BufferInfo>,
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
    boards.extend(ambiguous_and_unsolvable());
    boards
}

/// The messages for an input, each once: those of its schema, with a buffer if the input takes them with nothing else. With
/// a message of a board comes the board; messages that belong to no domain come with none. Empty: there are no samples of
/// the schema.
pub fn messages<'a>(
    boards: &'a [SampleBoard],
    input: &Port,
) -> Vec<(Option<&'a SampleBoard>, SampleMessage)> {
    let mut messages = of_schema(boards, &input.schema);
    for (_, message) in &mut messages {
        if !input.carries.allows(message.content()) {
            message.picture = None;
            message.buffer = input.carries.example();
        }
    }
    messages
}

/// The messages of a schema, as their domain has them.
fn of_schema<'a>(
    boards: &'a [SampleBoard],
    schema: &str,
) -> Vec<(Option<&'a SampleBoard>, SampleMessage)> {
    if let Some((schema, bodies)) = neutral_samples::of(schema) {
        let numbered = (1..).zip(bodies);
        let message = |(number, body): (usize, Value)| SampleMessage {
            name: format!("message {number} of {schema}"),
            schema: schema.to_owned(),
            body,
            picture: None,
            buffer: None,
        };
        return numbered.map(|it| (None, message(it))).collect();
    }
    let of_board = |board: &'a SampleBoard| Some((Some(board), board.message(schema)?));
    boards.iter().filter_map(of_board).collect()
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

/// Plain boards with several solutions.
const SEVERAL: [&str; 6] = [
    ".....\n.B...\n.CA..\n...B.\nAC...\n",
    "CA...\n...B.\n.AC..\n.B...\n.....\n",
    "C...\n.BA.\n.CA.\nB...\n",
    "...C\n.BA.\n.BC.\n...A\n",
    "...B\n.AC.\n.AB.\n...C\n",
    "B..A\n.AB.\n.CC.\n....\n",
];

/// Plain boards without a solution.
const NONE: [&str; 6] = [
    "...B\n..B.\nA...\n..A.\n",
    ".BA.\n..A.\n....\nB...\n",
    ".D...\n..B..\n..DA.\nC....\nBA.C.\n",
    ".B..\nCB..\n..C.\n..AA\n",
    ".....\n.A..A\n..BB.\n.....\n.....\n",
    "C.AA\nC...\n.BDB\n..D.\n",
];

/// Boards with several solutions, and boards with none. They are rare among random ones.
fn ambiguous_and_unsolvable() -> impl Iterator<Item = SampleBoard> {
    let several = SEVERAL.iter().map(|drawn| (*drawn, true));
    let none = NONE.iter().map(|drawn| (*drawn, false));
    let mut search = Search::new();
    several.chain(none).filter_map(move |(drawn, several)| {
        let puzzle = text::read(drawn).pop()?.puzzle.ok()?.0;
        let solution = several.then(|| search.run(&puzzle, &Limits::default(), &|| false));
        let side = puzzle.board().rows();
        let words = if several {
            "several solutions"
        } else {
            "no solution"
        };
        Some(SampleBoard {
            name: format!("a board of {side} x {side} with {words}"),
            puzzle,
            solution: solution.and_then(|found| found.solutions.into_iter().next()),
            several,
        })
    })
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

    fn gestures(&self) -> Option<Gestures> {
        self.strokes()?.gestures(&Manner::default(), Drags::Strokes)
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

    /// The board as a message of that schema; `*` is a sighting. `None`: the schema does not have boards in it, or there
    /// is no such message of this board.
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
            GAME_RULES => (
                GAME_RULES,
                json!(GameRules::new("a sample", self.puzzle.rules())),
            ),
            GESTURES => (GESTURES, json!(self.gestures()?)),
            _ => return None,
        };
        Some(SampleMessage {
            name: self.name.clone(),
            schema: schema.to_owned(),
            body,
            picture,
            buffer: None,
        })
    }
}

impl SampleMessage {
    /// What it carries.
    fn content(&self) -> Content<'_> {
        match (&self.picture, &self.buffer) {
            (Some(_), _) => Content::Picture,
            (None, Some(info)) => Content::Buffer(info),
            (None, None) => Content::Nothing,
        }
    }

    /// The picture or the buffer, in the memory of the trial.
    pub fn frame(&self, trial: &Trial) -> Option<Frame> {
        if let Some(info) = &self.buffer {
            return buffer(trial, info);
        }
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

/// A buffer of this layout whose bytes count, in the memory of the trial.
pub fn buffer(trial: &Trial, info: &BufferInfo) -> Option<Frame> {
    let layout = BufferLayout::new(info).ok()?;
    trial.frame(layout, |bytes| {
        for (at, byte) in bytes.iter_mut().enumerate() {
            // No float is infinite or a NaN then.
            *byte = (at % 64) as u8;
        }
    })
}

#[cfg(test)]
mod tests {
    use flowpipe_config::manifest::Carried;
    use flowpipe_search::Ended;

    use super::*;

    #[test]
    fn there_are_boards_of_every_kind_with_what_is_said_of_them() {
        let boards = boards();
        assert_eq!(boards.len(), 3 * KINDS.len() + SEVERAL.len() + NONE.len());
        let mut search = Search::new();
        for board in boards {
            let found = search.run(&board.puzzle, &Limits::default(), &|| false);
            let expected = match (&board.solution, board.several) {
                (Some(_), true) => 2,
                (Some(_), false) => 1,
                (None, _) => 0,
            };
            assert_eq!(found.count, expected, "{}", board.name);
            assert_eq!(found.ended == Ended::Solutions, board.several);
        }
    }

    fn port(schema: &str, carries: Carried) -> Port {
        Port {
            name: "in".to_owned(),
            schema: schema.to_owned(),
            carries,
            ..Port::default()
        }
    }

    #[test]
    fn an_input_gets_what_it_takes() {
        let sound = json!({ "media_type": "audio/pcm", "element": "f32", "shape": ["any", "any"] });
        let sound = Carried::read(&sound).unwrap();
        let boards = boards();
        for schema in [FRAME, flowpipe_message::METRICS, "audio.block/1", "*"] {
            let input = port(schema, sound.clone());
            let messages = messages(&boards, &input);
            assert!(!messages.is_empty(), "{schema}");
            for (_, message) in messages {
                assert!(sound.allows(message.content()), "{schema}");
            }
        }
        // What may carry nothing carries what its domain has.
        let anything = port(flowpipe_message::METRICS, Carried::anything());
        let messages = messages(&boards, &anything);
        assert!(messages.iter().all(|(_, it)| it.buffer.is_none()));
    }

    #[test]
    fn each_sample_is_sent_once() {
        let boards = boards();
        for (schema, count) in [
            (FRAME, boards.len()),
            (flowpipe_message::METRICS, 3),
            (flowpipe_message::OVERLAY, 3),
            (flowpipe_message::GESTURE_OUTCOME, 3),
            ("spots.targets/1", 0),
        ] {
            let messages = messages(&boards, &port(schema, Carried::default()));
            assert_eq!(messages.len(), count, "{schema}");
            let is_of_board = |(board, _): &(Option<_>, _)| board.is_some();
            assert!(
                messages
                    .iter()
                    .all(|it| is_of_board(it) == (schema == FRAME))
            );
            if schema != FRAME {
                let bodies = messages.iter().map(|(_, it)| it.body.to_string());
                let distinct: std::collections::BTreeSet<String> = bodies.collect();
                assert_eq!(distinct.len(), count, "{schema}");
            }
        }
    }
}
