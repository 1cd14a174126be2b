//! Bridges whose thin rails noise, packing and blur may hide: never read as empty cells.

use flowpipe_game::generate::generate;
use flowpipe_game::render::{Header, Scene, Style, Theme, render};
use flowpipe_plugin::puzzle::board::Description;
use flowpipe_plugin::puzzle::message::{Reading, SeenBoard};
use flowpipe_plugin::puzzle::{Board, Puzzle};
use image::{RgbImage, RgbaImage, buffer::ConvertBuffer};

use super::disturb::chance;
use super::pixels::{blur, jpeg, noise};
use crate::tests::summary::pairs;
use crate::tests::truth::see;
use flowpipe_testing::note;

/// What is done to a picture, and how much of it.
#[derive(Clone, Copy, Debug)]
enum Harm {
    /// Levels of deviation.
    Noise(f64),
    /// Quality.
    Jpeg(u8),
    /// Pixels of deviation.
    Blur(f64),
}

const HARMS: [Harm; 7] = [
    Harm::Noise(10.0),
    Harm::Noise(20.0),
    Harm::Noise(40.0),
    Harm::Jpeg(30),
    Harm::Jpeg(10),
    Harm::Blur(1.2),
    Harm::Blur(2.0),
];

impl Harm {
    fn harm(self, mut picture: RgbImage) -> RgbImage {
        match self {
            Self::Noise(sigma) => noise(&mut picture, sigma, &mut chance(&["bridges"])),
            Self::Jpeg(quality) => return jpeg(&picture, quality),
            Self::Blur(sigma) => return blur(&picture, sigma),
        }
        picture
    }
}

fn picture(puzzle: &Puzzle, theme: Theme) -> RgbImage {
    let scene = Scene {
        puzzle,
        flows: &[],
        style: Style::Phone,
        theme,
        palette: &[],
        line: [86, 107, 74],
        lights: 3,
        header: Header::default(),
    };
    let (width, height) = (420, 746);
    let pixels = render(&scene, width, height).unwrap();
    let picture = RgbaImage::from_raw(width, height, pixels.rgba).unwrap();
    picture.convert()
}

/// Whether the board is read as it is. What is packed to pieces may seem to lie at a slant, which changes nothing.
fn is_exact(puzzle: &Puzzle, seen: &SeenBoard) -> bool {
    puzzle.board().description() == seen.puzzle.board().description()
        && pairs(puzzle) == pairs(&seen.puzzle)
        && seen.drawn.is_empty()
}

#[test]
fn bridges_are_read_or_the_board_is_refused() {
    let (mut exact, mut refused, mut wrong) = (0, 0, Vec::new());
    for (index, theme) in Theme::all().into_iter().enumerate() {
        let size = [7, 10][index % 2];
        let board = Board::new(Description {
            rows: size,
            cols: size,
            bridges: vec![2 * size + 2, 4 * size + 4],
            ..Description::default()
        });
        let (puzzle, _) = generate(&board.unwrap(), size, 5).unwrap();
        let clean = picture(&puzzle, theme);
        for harm in HARMS {
            match see(&harm.harm(clean.clone())) {
                Reading::Refused { .. } => refused += 1,
                Reading::Board(seen) if is_exact(&puzzle, &seen) => exact += 1,
                Reading::Board(seen) => {
                    let board = seen.puzzle.board().description();
                    wrong.push(format!("{size}, {theme:?}, {harm:?}: {board:?}"));
                }
            }
        }
    }
    note!(
        "bridges: {exact} exact, {refused} refused, {} wrong",
        wrong.len()
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(exact > refused, "{exact} exact, {refused} refused");
}
