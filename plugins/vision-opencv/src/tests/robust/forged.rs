//! Screenshots in which one terminal is changed: most have a solution by looser rules than Flow Free's.

use fastrand::Rng;
use flowpipe_plugin::puzzle::message::Reading;
use flowpipe_plugin::{Format, PixelInfo};
use image::{RgbImage, imageops};

use super::disturb::chance;
use super::scene::Scene;
use crate::config::Config;
use crate::config::rules::RuleSetting;
use crate::picture::Picture;
use crate::tests::summary::{canonical, grid};
use crate::track::reader::Reader;

/// This many captures are too few for looser rules.
const FEW: i64 = 4;
/// Between two captures, in nanoseconds.
const APART: i64 = 100_000_000;

/// How one terminal is changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Forgery {
    /// It is in another cell, which was empty.
    Moved,
    /// It is gone.
    Removed,
    /// It has another colour, which no other terminal has.
    Recoloured,
}

/// What was read of a forged picture.
pub struct ForgedReading {
    /// Which picture, and how it is forged.
    pub name: String,
    /// What strict rules read, where that is not what the picture shows.
    pub wrong: Option<String>,
    /// Whether too few captures gave the same by strict rules and by `auto`.
    pub is_same: bool,
    /// Whether more captures gave something else by `auto`.
    pub is_relaxed: bool,
}

impl Forgery {
    pub const ALL: [Self; 3] = [Self::Moved, Self::Removed, Self::Recoloured];

    /// Reads so many captures of a forged picture. `None` where it can't be forged so.
    pub fn read(self, scene: &Scene, captures: i64) -> Option<ForgedReading> {
        let name = format!("{}, {self:?}", scene.truth.file);
        let (picture, shown) = self.forge(scene, &mut chance(&[&name]))?;
        let mut strict = Reader::new(Config::default());
        let mut auto = Reader::new(Config {
            rules: RuleSetting::Auto,
            ..Config::default()
        });
        let by_strict = capture(&mut strict, &picture, 0);
        let (mut is_same, mut is_relaxed) = (true, false);
        for number in 0..captures {
            let differs = capture(&mut auto, &picture, number * APART) != by_strict;
            match number < FEW {
                true => is_same &= !differs,
                false => is_relaxed |= differs,
            }
        }
        let wrong = match &by_strict {
            Reading::Board(board) if Some(grid(board)) != shown => Some(grid(board).join("\n")),
            _ => None,
        };
        Some(ForgedReading {
            name,
            wrong,
            is_same,
            is_relaxed,
        })
    }

    /// The picture, and the grid that it shows, if that is one of pairs.
    fn forge(self, scene: &Scene, rng: &mut Rng) -> Option<(RgbImage, Option<Vec<String>>)> {
        let mut letters: Vec<Vec<char>> = scene
            .truth
            .grid
            .iter()
            .map(|row| row.chars().collect())
            .collect();
        let places = |is_it: fn(char) -> bool| -> Vec<(usize, usize)> {
            let rows = letters.iter().enumerate();
            rows.flat_map(|(row, line)| {
                let cells = line
                    .iter()
                    .enumerate()
                    .filter(move |&(_, &letter)| is_it(letter));
                cells.map(move |(col, _)| (row, col))
            })
            .collect()
        };
        let terminal = rng.choice(places(|letter| letter.is_alphanumeric()))?;
        let empty = rng.choice(places(|letter| letter == '.'))?;
        let mut picture = scene.picture.clone();
        let [old, other] = [terminal, empty].map(|cell| inside(scene, cell));
        match self {
            Self::Moved => {
                let letter = letters[terminal.0][terminal.1];
                letters[empty.0][empty.1] = letter;
                letters[terminal.0][terminal.1] = '.';
                paste(&mut picture, &scene.picture, old, other);
                paste(&mut picture, &scene.picture, other, old);
                let rows: Vec<String> = letters.iter().map(|row| row.iter().collect()).collect();
                let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
                Some((picture, Some(canonical(&rows))))
            }
            Self::Removed => {
                paste(&mut picture, &scene.picture, other, old);
                Some((picture, None))
            }
            Self::Recoloured => {
                let [x, y, side] = old;
                let mut range = 0;
                for (x, y) in (y..y + side).flat_map(|y| (x..x + side).map(move |x| (x, y))) {
                    let image::Rgb([red, green, blue]) = *picture.get_pixel(x, y);
                    range = range.max(red.max(green).max(blue) - red.min(green).min(blue));
                    picture.put_pixel(x, y, image::Rgb([blue / 2 + 60, red / 2 + 30, green]));
                }
                // A grey one has no other colour so.
                (range > 100).then_some((picture, None))
            }
        }
    }
}

/// The inside of a cell: its left and upper edge, and its side.
fn inside(scene: &Scene, (row, col): (usize, usize)) -> [u32; 3] {
    let cell = scene.truth.cell();
    let [left, top, ..] = scene.truth.board_xywh;
    let corner = |from: f64, index: usize| (from + (index as f64 + 0.1) * cell).round() as u32;
    [corner(left, col), corner(top, row), (0.8 * cell) as u32]
}

/// Puts what is at `from` in the one picture to `to` in the other.
fn paste(picture: &mut RgbImage, original: &RgbImage, from: [u32; 3], to: [u32; 3]) {
    let part = imageops::crop_imm(original, from[0], from[1], from[2], from[2]).to_image();
    imageops::replace(picture, &part, i64::from(to[0]), i64::from(to[1]));
}

fn capture(reader: &mut Reader, picture: &RgbImage, captured_ns: i64) -> Reading {
    let info = PixelInfo::new(Format::Rgb8, picture.width(), picture.height());
    let picture = Picture::new(picture.as_raw(), info).unwrap();
    reader.captured("test", captured_ns);
    reader.read(&picture).unwrap()
}
