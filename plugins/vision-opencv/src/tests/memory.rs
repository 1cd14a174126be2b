//! What is remembered from picture to picture changes no reading: a reader that forgets all pixels after each picture
//! reads the same.

use flowpipe_game::generate::generate;
use flowpipe_game::render::{Header, Scene, Style, Theme, render};
use flowpipe_plugin::puzzle::board::Description;
use flowpipe_plugin::puzzle::message::Reading;
use flowpipe_plugin::puzzle::{Board, Flow, Lattice, Puzzle, Solution};
use flowpipe_plugin::{Format, PixelInfo};
use proptest::prelude::*;

use crate::config::Config;
use crate::picture::{Picture, Rgb};
use crate::track::reader::Reader;

const SIZE: (u32, u32) = (330, 560);

/// A board of the practice game, and what it is dressed in.
struct Game {
    puzzle: Puzzle,
    solution: Solution,
    theme: Theme,
}

impl Game {
    fn new(lattice: Lattice, theme: Theme, seed: u64) -> Self {
        let board = Board::new(Description {
            rows: 6,
            cols: 5,
            lattice,
            ..Description::default()
        });
        let (puzzle, solution) = generate(&board.unwrap(), 5, seed).unwrap();
        Self {
            puzzle,
            solution,
            theme,
        }
    }

    /// With the first `cells` cells of its flows drawn.
    fn picture(&self, mut cells: usize) -> Vec<u8> {
        let mut flows: Vec<Flow> = self.solution.flows.clone();
        for flow in &mut flows {
            flow.cells.truncate(cells);
            cells -= flow.cells.len();
        }
        flows.retain(|flow| flow.cells.len() > 1);
        let scene = Scene {
            puzzle: &self.puzzle,
            flows: &flows,
            style: Style::Phone,
            theme: self.theme,
            palette: &[],
            line: [86, 107, 74],
            lights: 5,
            header: Header::default(),
        };
        render(&scene, SIZE.0, SIZE.1).unwrap().rgba
    }
}

/// What happens from one picture to the next.
#[derive(Clone, Debug)]
enum Change {
    /// `cells` cells are drawn, and whatever was over them is gone.
    Draw(usize),
    /// Something comes over a rectangle: left, top, width and height.
    Cover([u32; 4], Rgb),
    /// Some pixels get a little brighter.
    Brighten(Vec<(u32, u32)>),
    /// All lies lower by a pixel.
    Fall,
}

impl Change {
    fn apply(&self, game: &Game, pixels: &mut Vec<u8>) {
        let row = 4 * SIZE.0 as usize;
        match self {
            Self::Draw(cells) => *pixels = game.picture(*cells),
            Self::Cover([left, top, width, height], colour) => {
                for y in *top..(top + height).min(SIZE.1) {
                    for x in *left..(left + width).min(SIZE.0) {
                        let start = y as usize * row + 4 * x as usize;
                        pixels[start..start + 3].copy_from_slice(colour);
                    }
                }
            }
            Self::Brighten(places) => {
                for (x, y) in places {
                    let start = *y as usize * row + 4 * *x as usize;
                    for value in &mut pixels[start..start + 3] {
                        *value = value.saturating_add(30);
                    }
                }
            }
            Self::Fall => {
                let last = pixels.len() - row;
                pixels.copy_within(..last, row);
            }
        }
    }
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let draw = || (0..31_usize).prop_map(Change::Draw);
    let place = || (0..SIZE.0, 0..SIZE.1);
    let cover = (place(), 1..90_u32, 1..90_u32, any::<Rgb>()).prop_map(
        |((left, top), width, height, colour)| Change::Cover([left, top, width, height], colour),
    );
    let brighten = prop::collection::vec(place(), 1..9).prop_map(Change::Brighten);
    let change = prop_oneof![4 => draw(), 2 => brighten, 1 => cover, 1 => Just(Change::Fall)];
    // To draw is what makes a board readable again.
    prop::collection::vec((draw(), prop::collection::vec(change, 0..4)), 1..4).prop_map(|parts| {
        parts
            .into_iter()
            .flat_map(|(first, rest)| std::iter::once(first).chain(rest))
            .collect()
    })
}

fn read(reader: &mut Reader, pixels: &[u8]) -> Reading {
    let info = PixelInfo::new(Format::Rgba8, SIZE.0, SIZE.1);
    reader.read(&Picture::new(pixels, info).unwrap()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn readings_are_those_of_a_reader_that_forgets_pixels(
        changes in changes(),
        lattice in prop::sample::select(vec![Lattice::Square, Lattice::Square, Lattice::Hex]),
        theme in prop::sample::select(vec![Theme::Dark, Theme::Light, Theme::Blocks, Theme::Letters, Theme::Numbers]),
        seed in 0..9_u64,
    ) {
        let game = Game::new(lattice, theme, seed);
        let mut pixels = game.picture(0);
        let mut readers = [Reader::new(Config::default()), Reader::new(Config::default())];
        for change in &changes {
            change.apply(&game, &mut pixels);
            let [remembering, forgetting] = &mut readers;
            forgetting.forget_pixels();
            prop_assert_eq!(read(remembering, &pixels), read(forgetting, &pixels));
        }
    }
}

#[test]
fn a_board_of_hexagons_is_read_in_place_as_by_a_new_reader() {
    for theme in [Theme::Dark, Theme::Light, Theme::Blocks, Theme::Letters] {
        let game = Game::new(Lattice::Hex, theme, 3);
        let mut reader = Reader::new(Config::default());
        for cells in [0, 7, 20, 30, 12] {
            let pixels = game.picture(cells);
            let [reading, fresh] = [&mut reader, &mut Reader::new(Config::default())]
                .map(|reader| read(reader, &pixels));
            assert!(reader.is_known(), "{theme}, {cells} cells");
            let (Reading::Board(board), Reading::Board(fresh)) = (reading, fresh) else {
                panic!("{theme}, {cells} cells: refused");
            };
            // Where lines are thought to be is known from the first picture.
            let corners = [&board, &fresh].map(|it| it.geometry.corners.into_iter().flatten());
            let [one, other] = corners;
            assert!(
                one.zip(other).all(|(a, b)| (a - b).abs() < 1.0),
                "{theme}, {cells} cells"
            );
            assert_eq!(board.puzzle, fresh.puzzle, "{theme}, {cells} cells");
            assert_eq!(board.drawn, fresh.drawn, "{theme}, {cells} cells");
            assert_eq!(board.state, fresh.state, "{theme}, {cells} cells");
        }
    }
}
