//! The game's window among others on a desktop: the reading of the window alone, or a refusal that names what to do.

use fastrand::Rng;
use flowpipe_game::render::{Header, Scene, Style, Theme, render};
use flowpipe_plugin::puzzle::message::Reading;
use flowpipe_plugin::puzzle::{Flow, Puzzle};
use flowpipe_testing::note;
use image::{RgbImage, imageops};

use super::canvas::Canvas;
use super::game::puzzle;
use super::levels::{Played, difference};
use super::robust::advert::Advert;
use super::robust::table::in_parallel;
use super::truth::see;

/// Pixels of the desktop.
const DESKTOP: (u32, u32) = (1920, 1080);
/// Pixels of a window's title.
const TITLE: u32 = 28;
/// The least share of desktops on which the board must be read exactly: what is measured today.
const EXACT: f64 = 0.8;
const THEMES: [Theme; 5] = [
    Theme::Dark,
    Theme::Light,
    Theme::Letters,
    Theme::Tiles,
    Theme::Flat,
];

/// What is on a desktop besides the game.
#[derive(Clone, Copy, Debug)]
enum Wallpaper {
    Plain,
    Slope,
    Chequers,
    Hatch,
    Noise,
}

const WALLPAPERS: [Wallpaper; 5] = [
    Wallpaper::Plain,
    Wallpaper::Slope,
    Wallpaper::Chequers,
    Wallpaper::Hatch,
    Wallpaper::Noise,
];

/// A desktop.
#[derive(Debug)]
struct Desktop {
    seed: u64,
    side: usize,
    theme: Theme,
    wallpaper: Wallpaper,
}

impl Desktop {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        Self {
            seed,
            side: rng.usize(5..=9),
            theme: *rng.choice(&THEMES).unwrap(),
            wallpaper: *rng.choice(&WALLPAPERS).unwrap(),
        }
    }

    /// The window of the game, without its title.
    fn window(&self, puzzle: &Puzzle, flows: &[Flow]) -> RgbImage {
        let scene = Scene {
            puzzle,
            flows,
            style: Style::Window,
            theme: self.theme,
            palette: &[],
            line: [100, 104, 70],
            lights: self.seed,
            header: Header::default(),
        };
        let (width, height) = (520, 780);
        let pixels = render(&scene, width, height).unwrap();
        let rgb = pixels.rgba.chunks_exact(4);
        let rgb = rgb.flat_map(|rgba| [rgba[0], rgba[1], rgba[2]]).collect();
        RgbImage::from_raw(width, height, rgb).unwrap()
    }

    /// All of it.
    fn paint(&self, window: &RgbImage) -> RgbImage {
        let mut rng = Rng::with_seed(self.seed + 1000);
        let mut desktop = self.background(&mut rng);
        let editor = Advert::Writing.draw(rng.u32(500..900), rng.u32(400..700), &mut rng);
        let sheet = spreadsheet(rng.u32(500..900), rng.u32(300..600), &mut rng);
        let icons = Advert::Shop.draw(DESKTOP.0, 60, &mut rng);
        for other in [editor, sheet] {
            let at = [rng.u32(0..1000), rng.u32(60..400)];
            open(&mut desktop, &other, at);
        }
        imageops::replace(&mut desktop, &icons, 0, 0);
        let room = [
            DESKTOP.0 - window.width(),
            DESKTOP.1 - window.height() - TITLE - 64,
        ];
        let at = room.map(|room| rng.u32(0..room));
        open(&mut desktop, window, [at[0], at[1] + 64]);
        desktop
    }

    fn background(&self, rng: &mut Rng) -> RgbImage {
        let colours = [(); 2].map(|()| [(); 3].map(|()| rng.u8(20..140)));
        RgbImage::from_fn(DESKTOP.0, DESKTOP.1, |x, y| {
            let share = match self.wallpaper {
                Wallpaper::Plain => 0.0,
                Wallpaper::Slope => f64::from(x + y) / 3000.0,
                Wallpaper::Chequers => f64::from((x / 48 + y / 48) % 2),
                Wallpaper::Hatch => f64::from(u8::from((x + y) % 12 < 2)),
                Wallpaper::Noise => rng.f64(),
            };
            let channel = |index: usize| {
                let [a, b] = colours.map(|colour| f64::from(colour[index]));
                (a + share * (b - a)) as u8
            };
            image::Rgb([0, 1, 2].map(channel))
        })
    }

    fn read(&self) -> Read {
        let (puzzle, solution) = puzzle((self.side, self.side), self.seed);
        let (played, flows) = match self.seed % 2 {
            0 => (Played::Nothing, Vec::new()),
            _ => (
                Played::Half,
                solution.flows.into_iter().step_by(2).collect(),
            ),
        };
        let window = self.window(&puzzle, &flows);
        let seen = |picture: &RgbImage| match see(picture) {
            Reading::Board(board) => {
                difference(&puzzle, &flows, played, &board).map_or(Read::Exact, Read::Wrong)
            }
            Reading::Refused { reason, .. } => Read::Refused(reason),
        };
        match seen(&window) {
            Read::Exact => seen(&self.paint(&window)),
            other => Read::Alone(format!("{other:?}")),
        }
    }
}

/// What became of a desktop.
#[derive(Debug, PartialEq)]
enum Read {
    Exact,
    Refused(String),
    Wrong(String),
    /// The window alone is not read.
    Alone(String),
}

/// Puts a window on a desktop, with a title and a frame.
fn open(desktop: &mut RgbImage, window: &RgbImage, [x, y]: [u32; 2]) {
    let (width, height) = (window.width() + 4, window.height() + TITLE + 2);
    let frame = RgbImage::from_pixel(width, height, image::Rgb([70, 74, 82]));
    imageops::replace(desktop, &frame, i64::from(x), i64::from(y));
    imageops::replace(desktop, window, i64::from(x + 2), i64::from(y + TITLE));
}

/// A window full of cells, some of which hold something.
fn spreadsheet(width: u32, height: u32, rng: &mut Rng) -> RgbImage {
    let mut canvas = Canvas::new(width as usize, height as usize, [250; 3]);
    let cell = [
        *rng.choice(&[24.0, 40.0, 64.0]).unwrap(),
        *rng.choice(&[20.0, 24.0, 40.0]).unwrap(),
    ];
    let (width, height) = (f64::from(width), f64::from(height));
    for col in 0..(width / cell[0]) as usize {
        canvas.rectangle(col as f64 * cell[0], 0.0, 1.0, height, [190; 3]);
    }
    for row in 0..(height / cell[1]) as usize {
        let y = row as f64 * cell[1];
        canvas.rectangle(0.0, y, width, 1.0, [190; 3]);
        for col in 0..(width / cell[0]) as usize {
            if rng.f64() < 0.3 {
                let x = col as f64 * cell[0];
                canvas.rectangle(x + 4.0, y + 7.0, cell[0] * 0.5, 5.0, [40; 3]);
            }
        }
    }
    RgbImage::from_raw(width as u32, height as u32, canvas.rgb).unwrap()
}

#[test]
fn the_window_among_others_reads_as_the_window_alone() {
    let seeds: Vec<u64> = (0..30).collect();
    let read = in_parallel(seeds.len(), |task| {
        let desktop = Desktop::new(seeds[task]);
        let read = desktop.read();
        vec![(desktop, read)]
    });
    let exact = read.iter().filter(|(_, read)| *read == Read::Exact).count();
    note!("desktops: {exact} of {} exact", read.len());
    for (desktop, read) in &read {
        let says = |reason: &str| {
            ["--window", "`region` of capture-screen", "crop"]
                .iter()
                .all(|it| reason.contains(it))
        };
        match read {
            Read::Exact => {}
            Read::Refused(reason) => assert!(says(reason), "{desktop:?}: {reason}"),
            Read::Wrong(_) | Read::Alone(_) => panic!("{desktop:?}: {read:?}"),
        }
    }
    assert!(exact as f64 >= EXACT * read.len() as f64, "{read:#?}");
}
