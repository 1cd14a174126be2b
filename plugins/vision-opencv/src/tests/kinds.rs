//! Games of other kinds, drawn in part: their boards are read exactly at every stage, or known from the empty board.

use std::sync::Arc;

use flowpipe_game::Kind;
use flowpipe_game::render::{Header, Painter, Pixels, Theme};
use flowpipe_game::session::{Face, View};
use flowpipe_plugin::puzzle::message::{BoardState, Reading};
use flowpipe_plugin::puzzle::place::direction;
use flowpipe_plugin::puzzle::{Flow, Puzzle};
use flowpipe_plugin::{Format, PixelInfo};

use super::game::{puzzle, same, visible};
use crate::config::Config;
use crate::picture::Picture;
use crate::track::reader::Reader;

/// A board of a kind of game, in a window.
struct Board {
    puzzle: Arc<Puzzle>,
    /// In the order in which they are drawn.
    flows: Vec<Flow>,
    painter: Painter,
    theme: Theme,
    window: (u32, u32),
}

impl Board {
    fn new(kind: &str, size: (usize, usize), seed: u64) -> Self {
        let look = Kind::named(kind).unwrap().look;
        let (puzzle, solution) = puzzle(size, seed);
        let mut flows = solution.flows;
        fastrand::Rng::with_seed(seed).shuffle(&mut flows);
        Self {
            window: look.window(puzzle.board()),
            painter: Painter::new(seed)
                .with_style(look.style)
                .with_theme(look.theme),
            theme: look.theme,
            puzzle,
            flows,
        }
    }

    /// Some stages of drawing: all flows before one, and a part of that one.
    fn stages(&self) -> Vec<Vec<Flow>> {
        let mut stages = vec![Vec::new()];
        for (index, flow) in self.flows.iter().enumerate() {
            let most = flow.cells.len();
            let mut lengths = vec![most.div_ceil(2), most - 1, most];
            lengths.dedup();
            for length in lengths {
                let mut drawn = self.flows[..=index].to_vec();
                drawn[index].cells.truncate(length);
                stages.push(drawn);
            }
        }
        stages
    }

    fn paint(&mut self, flows: &[Flow]) -> Pixels {
        let view = View {
            header: Header::default(),
            face: self.face(flows),
            flip: None,
            cover: None,
        };
        let (width, height) = self.window;
        self.painter.paint(&view, width, height).unwrap()
    }

    fn face(&self, flows: &[Flow]) -> Face {
        Face {
            puzzle: Arc::clone(&self.puzzle),
            flows: flows.to_vec(),
        }
    }

    /// What is read otherwise than it is drawn, if anything.
    fn difference(&mut self, reader: &mut Reader, flows: &[Flow]) -> Option<String> {
        match read(reader, self.paint(flows)) {
            Reading::Refused { reason, .. } => Some(reason),
            Reading::Board(board) if !same(&board, &self.face(flows)) => {
                Some("other terminals".to_owned())
            }
            Reading::Board(board) if board.numbers != (self.theme == Theme::Digits) => {
                Some("terminals of another kind".to_owned())
            }
            Reading::Board(board) => {
                let (seen, drawn) = (visible(&board.drawn, &self.puzzle), self.shown(flows));
                (seen != drawn).then(|| format!("{seen:?} for {drawn:?}"))
            }
        }
    }

    /// What is seen of flows. Where pipes fill their cells, one that ends beside its other terminal looks joined.
    fn shown(&self, flows: &[Flow]) -> Vec<Flow> {
        let mut flows = visible(flows, &self.puzzle);
        for flow in flows.iter_mut().filter(|_| self.theme == Theme::Tiles) {
            let last = flow.cells[flow.cells.len() - 1];
            let mut terminals = self.puzzle.terminals().iter();
            let other =
                terminals.find(|it| it.colour == flow.colour && !flow.cells.contains(&it.cell));
            if let Some(other) = other
                && direction(self.puzzle.board(), last, other.cell).is_some()
            {
                flow.cells.push(other.cell);
            }
        }
        visible(&flows, &self.puzzle)
    }
}

fn read(reader: &mut Reader, pixels: Pixels) -> Reading {
    let (width, height) = (pixels.width, pixels.height);
    let bytes = pixels.into_bgra();
    let info = PixelInfo::new(Format::Bgra8, width, height);
    reader.read(&Picture::new(&bytes, info).unwrap()).unwrap()
}

fn fresh() -> Reader {
    Reader::new(Config::default())
}

const SIZES: [(usize, usize); 6] = [(3, 3), (4, 4), (5, 5), (7, 7), (9, 9), (12, 12)];

#[test]
fn every_stage_of_drawing_is_read_whatever_pipes_look_like() {
    for kind in ["whole-cells", "flat-ends"] {
        for (seed, size) in (0..).zip(SIZES) {
            let mut board = Board::new(kind, size, seed);
            for (stage, flows) in board.stages().iter().enumerate() {
                let difference = board.difference(&mut fresh(), flows);
                assert_eq!(difference, None, "{kind} {size:?}, stage {stage}");
            }
        }
    }
}

#[test]
fn numbers_that_were_seen_stay_known_while_lines_cover_them() {
    for (seed, size) in (0..).zip(SIZES) {
        let mut board = Board::new("digits", size, seed);
        let mut reader = fresh();
        for (stage, flows) in board.stages().iter().enumerate() {
            let difference = board.difference(&mut reader, flows);
            assert_eq!(difference, None, "{size:?}, stage {stage}");
        }
        let Reading::Board(last) = read(&mut reader, board.paint(&board.flows.clone())) else {
            panic!("the solved board of {size:?} is not read");
        };
        assert_eq!(last.state, BoardState::Solved);
    }
}

/// The next board lies where the one before did, and lines cover its numbers already: nothing is known of it.
#[test]
fn another_board_does_not_inherit_numbers() {
    for (seed, size) in (0..).zip(SIZES).take(4) {
        let mut first = Board::new("digits", size, seed);
        for other in 10..12 {
            let mut reader = fresh();
            let empty = first.difference(&mut reader, &[]);
            assert_eq!(empty, None);
            let mut second = Board::new("digits", size, seed + other);
            for flows in second.stages() {
                let face = second.face(&flows);
                if let Reading::Board(board) = read(&mut reader, second.paint(&flows)) {
                    assert!(same(&board, &face), "{size:?}, seed {seed}, {other}");
                    // From now on the second one is known.
                    reader = fresh();
                    first.difference(&mut reader, &[]);
                }
            }
        }
    }
}

#[test]
fn numbers_that_were_never_seen_are_missed_in_a_players_words() {
    let mut board = Board::new("digits", (5, 5), 2);
    let mut reasons = Vec::new();
    for flows in board.stages() {
        if let Reading::Refused { reason, .. } = read(&mut fresh(), board.paint(&flows)) {
            reasons.push(reason);
        }
    }
    let said = reasons.iter().filter(|it| it.contains("undo or restart"));
    assert!(
        reasons.len() > 5 && said.count() == reasons.len(),
        "{reasons:#?}"
    );
}
