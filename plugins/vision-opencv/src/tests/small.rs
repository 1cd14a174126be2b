//! Frames of 260 by 146 pixels with an animated background: read exactly, or refused with what would be needed.

use fastrand::Rng;
use flowpipe_game::render::{Header, Layout, Scene, Style, Theme, render};
use flowpipe_plugin::puzzle::message::Reading;
use flowpipe_plugin::puzzle::{Flow, Puzzle};
use flowpipe_testing::note;
use image::RgbImage;

use super::game::puzzle;
use super::levels::{Played, difference};
use super::robust::pixels::resize;
use super::robust::table::in_parallel;
use super::truth::see;

/// Pixels of the window that is captured.
const WINDOW: (u32, u32) = (1040, 584);
/// Pixels of a frame.
const FRAME: (u32, u32) = (260, 146);

/// The least share of the frames that must be read exactly: what is measured today.
const EXACT: f64 = 0.85;

/// What is behind the board.
#[derive(Clone, Copy, Debug)]
enum Backdrop {
    Black,
    /// A slope of light that turns.
    Slope,
    /// Light and dark patches that move.
    Patches,
    /// Other noise in each frame.
    Noise,
}

const BACKDROPS: [Backdrop; 4] = [
    Backdrop::Black,
    Backdrop::Slope,
    Backdrop::Patches,
    Backdrop::Noise,
];

/// A frame of an animation.
#[derive(Clone, Debug)]
struct Frame {
    side: usize,
    seed: u64,
    backdrop: Backdrop,
    /// In the palette.
    colours: usize,
    is_dithered: bool,
    is_drawn: bool,
    /// Pixels of a cell.
    cell: f64,
}

impl Frame {
    fn paint(&self, puzzle: &Puzzle, flows: &[Flow]) -> RgbImage {
        let scene = Scene {
            puzzle,
            flows,
            style: Style::Desktop,
            theme: Theme::Dark,
            palette: &[],
            line: [100, 104, 70],
            lights: self.seed,
            header: Header::default(),
        };
        let pixels = render(&scene, WINDOW.0, WINDOW.1).unwrap();
        let rgb = pixels
            .rgba
            .chunks_exact(4)
            .flat_map(|rgba| [rgba[0], rgba[1], rgba[2]]);
        let mut window = RgbImage::from_raw(WINDOW.0, WINDOW.1, rgb.collect()).unwrap();
        let mut rng = Rng::with_seed(self.seed);
        for (x, y, pixel) in window.enumerate_pixels_mut() {
            let behind = self.behind(f64::from(x), f64::from(y), &mut rng);
            pixel.0 = pixel
                .0
                .map(|value| (f64::from(value) + behind * (1.0 - f64::from(value) / 255.0)) as u8);
        }
        let small = resize(&window, FRAME.0, FRAME.1);
        self.quantized(small)
    }

    /// How much light lies behind a pixel, in levels.
    fn behind(&self, x: f64, y: f64, rng: &mut Rng) -> f64 {
        match self.backdrop {
            Backdrop::Black => 0.0,
            Backdrop::Slope => {
                let (sin, cos) = (self.seed as f64).sin_cos();
                30.0 + 30.0 * ((x * cos + y * sin) / 2000.0).sin()
            }
            Backdrop::Patches => {
                let wave = |along: f64| (along / 130.0 + self.seed as f64).sin();
                20.0 + 20.0 * wave(x) * wave(y + 0.3 * x)
            }
            Backdrop::Noise => 40.0 * rng.f64(),
        }
    }

    /// With the colours of a palette of its own, as a GIF has.
    fn quantized(&self, mut picture: RgbImage) -> RgbImage {
        let palette = palette(&picture, self.colours);
        for (x, y, pixel) in picture.enumerate_pixels_mut() {
            let off = match self.is_dithered {
                true => DITHER[(y % 4) as usize][(x % 4) as usize] - 7.5,
                false => 0.0,
            };
            let wanted = pixel.0.map(|value| f64::from(value) + off);
            let distance = |colour: &[u8; 3]| -> f64 {
                let channels = colour.iter().zip(wanted);
                channels.map(|(a, b)| (f64::from(*a) - b).powi(2)).sum()
            };
            let nearest = palette
                .iter()
                .min_by(|a, b| distance(a).total_cmp(&distance(b)));
            pixel.0 = *nearest.unwrap();
        }
        picture
    }

    fn read(&self) -> Result<(), String> {
        let (puzzle, solution) = puzzle((self.side, self.side), self.seed);
        let (played, flows) = if self.is_drawn {
            (
                Played::Half,
                solution.flows.into_iter().step_by(2).collect(),
            )
        } else {
            (Played::Nothing, Vec::new())
        };
        let picture = self.paint(&puzzle, &flows);
        match see(&picture) {
            Reading::Refused { reason, .. } => Err(reason),
            Reading::Board(board) => difference(&puzzle, &flows, played, &board)
                .map_or(Ok(()), |it| Err(format!("WRONG {it}"))),
        }
    }
}

/// Bayer's matrix, in levels.
const DITHER: [[f64; 4]; 4] = [
    [0.0, 8.0, 2.0, 10.0],
    [12.0, 4.0, 14.0, 6.0],
    [3.0, 11.0, 1.0, 9.0],
    [15.0, 7.0, 13.0, 5.0],
];

/// The colours of a picture by median cut: the box whose colours differ the most is divided at its middle.
fn palette(picture: &RgbImage, colours: usize) -> Vec<[u8; 3]> {
    let mut boxes = vec![picture.pixels().map(|pixel| pixel.0).collect::<Vec<_>>()];
    let widest = |pixels: &Vec<[u8; 3]>| {
        let range = |channel: usize| {
            let values = || pixels.iter().map(|pixel| pixel[channel]);
            values().max().unwrap() - values().min().unwrap()
        };
        let channels = (0..3).map(|channel| (range(channel), channel));
        channels.max().unwrap()
    };
    while boxes.len() < colours {
        let ranges = boxes.iter().enumerate();
        let ranges = ranges.filter(|(_, pixels)| pixels.len() > 1);
        let widest = ranges.map(|(index, pixels)| (widest(pixels), index));
        let Some(((1.., channel), index)) = widest.max() else {
            break;
        };
        let mut pixels = boxes.swap_remove(index);
        pixels.sort_by_key(|pixel| pixel[channel]);
        let upper = pixels.split_off(pixels.len() / 2);
        boxes.extend([pixels, upper]);
    }
    let mean = |pixels: &Vec<[u8; 3]>| {
        [0, 1, 2].map(|channel: usize| {
            let sum: usize = pixels.iter().map(|pixel| usize::from(pixel[channel])).sum();
            (sum / pixels.len()) as u8
        })
    };
    boxes.iter().map(mean).collect()
}

/// Whether the palette is a rich one, and the cells are large enough.
fn should_be_read(frame: &Frame) -> bool {
    frame.cell >= 14.0 && frame.colours == 256 && !frame.is_dithered
}

/// Numbers of colours, and whether they are dithered.
const RICH: &[(usize, bool)] = &[(256, false)];
const POOR: &[(usize, bool)] = &[(256, true), (128, false), (64, true)];

#[test]
fn frames_of_an_animation() {
    check(&frames(RICH));
}

#[test]
#[ignore = "takes minutes: `./x test full` runs it"]
fn frames_of_an_animation_in_poor_palettes() {
    check(&frames(POOR));
}

fn frames(palettes: &[(usize, bool)]) -> Vec<Frame> {
    let mut frames = Vec::new();
    for side in 5..=9 {
        for backdrop in BACKDROPS {
            for &(colours, is_dithered) in palettes {
                for is_drawn in [false, true] {
                    let seed = frames.len() as u64;
                    let (puzzle, _) = puzzle((side, side), seed);
                    let layout = Layout::new(Style::Desktop, puzzle.board(), WINDOW.0, WINDOW.1);
                    frames.push(Frame {
                        side,
                        seed,
                        backdrop,
                        colours,
                        is_dithered,
                        is_drawn,
                        cell: layout.cell[0] * f64::from(FRAME.0) / f64::from(WINDOW.0),
                    });
                }
            }
        }
    }
    frames
}

/// Each is read exactly, or refused with what would be needed; most of those that should be read are.
fn check(frames: &[Frame]) {
    let read = in_parallel(frames.len(), |task| vec![frames[task].read()]);
    let exact = read.iter().filter(|read| read.is_ok()).count();
    note!("frames of 260x146: {exact} of {} exact", frames.len());
    let read = || frames.iter().zip(&read);
    let refused = |(frame, read): (&Frame, &Result<(), String>)| match read {
        Ok(()) => None,
        Err(reason) => Some((format!("{frame:?}"), reason.clone())),
    };
    for (frame, reason) in read().filter_map(refused) {
        let needed = "only 260 by 146 pixels: capture or show it larger";
        assert!(reason.contains(needed), "{frame}: {reason}");
    }
    let rich: Vec<_> = read().filter(|(frame, _)| should_be_read(frame)).collect();
    let exact = rich.iter().filter(|(_, read)| read.is_ok()).count();
    note!(
        "of palettes of 256 colours, cells of 14 pixels and more: {exact} of {}",
        rich.len()
    );
    assert!(exact as f64 >= EXACT * rich.len() as f64, "{rich:#?}");
}
