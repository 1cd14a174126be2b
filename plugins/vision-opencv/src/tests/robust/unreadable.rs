//! Pictures in which no whole board is to be seen, or two: whatever is read there is wrong.

use fastrand::Rng;
use flowpipe_plugin::puzzle::message::Reading;
use image::RgbImage;
use image::imageops;

use super::advert::Advert;
use super::disturb::chance;
use super::pixels::resize;
use super::scene::{Scene, Side};
use super::table::Outcome;
use crate::tests::canvas::Canvas;
use crate::tests::summary::{canonical, grid};
use crate::tests::truth::{Verdict, see};

/// How a board is made unreadable.
#[derive(Clone, Copy, Debug)]
pub enum Spoil {
    /// The picture ends within the board, a third of a cell from a border at least.
    Cut(Side),
    /// A plain panel with round corners over the middle, 20 to 60 % of the board's width.
    Popup,
    /// A second copy of the board beside it, nearly as large.
    TwoBoards,
    /// No board, but an advertisement.
    Only(Advert),
}

impl Spoil {
    pub fn all() -> Vec<Self> {
        let cuts = Side::ALL.map(Self::Cut);
        let adverts = Advert::ALL.map(Self::Only);
        let others = [Self::Popup, Self::TwoBoards];
        cuts.into_iter().chain(others).chain(adverts).collect()
    }

    pub fn name(self) -> String {
        match self {
            Self::Cut(side) => format!("cut {side:?}"),
            Self::Popup => "popup".to_owned(),
            Self::TwoBoards => "two boards".to_owned(),
            Self::Only(advert) => format!("only {advert:?}"),
        }
        .to_lowercase()
    }

    /// What becomes of a picture spoilt: refused or wrong.
    pub fn outcome(self, scene: &Scene) -> Outcome {
        let name = self.name();
        let picture = self.spoil(scene, &mut chance(&[&scene.truth.file, &name]));
        let verdict = match see(&picture) {
            Reading::Refused { step, reason, .. } => Verdict::Refused(step, reason),
            // Two boards are as good as one where one is read as it is.
            Reading::Board(board)
                if matches!(self, Self::TwoBoards)
                    && grid(&board) == canonical(&scene.truth.grid) =>
            {
                Verdict::Exact
            }
            Reading::Board(board) => {
                Verdict::Wrong(format!("read as\n{}", grid(&board).join("\n")))
            }
        };
        Outcome {
            file: scene.truth.file.clone(),
            disturbance: name,
            cell: scene.truth.cell(),
            verdict,
        }
    }

    /// The picture.
    pub fn spoil(self, scene: &Scene, rng: &mut Rng) -> RgbImage {
        match self {
            Self::Cut(side) => cut(scene, side, rng),
            Self::Popup => popup(scene, rng),
            Self::TwoBoards => {
                let other = scene.crop(|| 0).picture;
                let factor = 0.9 + 0.1 * rng.f64();
                let [width, height] =
                    [other.width(), other.height()].map(|side| (f64::from(side) * factor) as u32);
                let other = resize(&other, width, height);
                let side = Side::ALL[rng.usize(..4)];
                scene
                    .beside(&other, side, scene.truth.cell() * rng.f64(), 0.5)
                    .picture
            }
            Self::Only(advert) => {
                let (width, height) = scene.picture.dimensions();
                let shade = rng.u8(..);
                let mut picture = RgbImage::from_pixel(width, height, image::Rgb([shade; 3]));
                let size =
                    [width, height].map(|side| (f64::from(side) * (0.5 + 0.4 * rng.f64())) as u32);
                let drawn = advert.draw(size[0], size[1], rng);
                let (x, y) = (rng.u32(..=width - size[0]), rng.u32(..=height - size[1]));
                imageops::replace(&mut picture, &drawn, i64::from(x), i64::from(y));
                picture
            }
        }
    }
}

fn cut(scene: &Scene, side: Side, rng: &mut Rng) -> RgbImage {
    let [x, y, width, height] = scene.truth.board_xywh;
    let cell = scene.truth.cell();
    let depth = |length: f64, chance: f64| cell / 3.0 + chance * (length / 2.0 - cell / 3.0);
    let (mut left, mut top) = (0.0, 0.0);
    let (mut right, mut bottom) = (
        f64::from(scene.picture.width()),
        f64::from(scene.picture.height()),
    );
    match side {
        Side::Left => left = x + depth(width, rng.f64()),
        Side::Right => right = x + width - depth(width, rng.f64()),
        Side::Above => top = y + depth(height, rng.f64()),
        Side::Below => bottom = y + height - depth(height, rng.f64()),
    }
    let [left, top, right, bottom] = [left, top, right, bottom].map(|edge| edge as u32);
    scene.part(left, top, right - left, bottom - top).picture
}

fn popup(scene: &Scene, rng: &mut Rng) -> RgbImage {
    let [x, y, width, height] = scene.truth.board_xywh;
    let (middle_x, middle_y) = (x + width / 2.0, y + height / 2.0);
    let mut half = || width * (0.1 + 0.2 * rng.f64());
    let (across, down) = (half(), half());
    let radius = 0.2 * across.min(down);
    let (width, height) = scene.picture.dimensions();
    let mut canvas = Canvas {
        width: width as usize,
        height: height as usize,
        rgb: scene.picture.as_raw().clone(),
    };
    let area = [
        middle_x - across,
        middle_y - down,
        middle_x + across,
        middle_y + down,
    ];
    canvas.fill(area, [rng.u8(20..220); 3], |px, py| {
        let over_x = ((px - middle_x).abs() - (across - radius)).max(0.0);
        let over_y = ((py - middle_y).abs() - (down - radius)).max(0.0);
        over_x.hypot(over_y) <= radius
    });
    RgbImage::from_raw(width, height, canvas.rgb).unwrap()
}
