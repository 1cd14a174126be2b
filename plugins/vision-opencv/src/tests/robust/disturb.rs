//! What can happen to a screenshot on its way, always in the same way for the same picture.

use fastrand::Rng;

use super::advert::Advert;
use super::pixels::{Light, blur, jpeg, noise};
use super::scene::{Scene, Side};

/// One thing that happens.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// The board and 0 to 40 pixels around it.
    Crop,
    /// By a factor.
    Scale(f64),
    /// At a quality.
    Jpeg(u8),
    /// A share of a cell, 0.6 pixels at least.
    Blur(f64),
    Light(Light),
    /// Standard deviation, of 255.
    Noise(f64),
    Beside(Advert),
    /// By 90 degrees, clockwise or not.
    Turn(bool),
}

/// Things that happen one after the other.
#[derive(Clone, Debug)]
pub struct Disturbance {
    pub name: String,
    steps: Vec<Step>,
}

/// All that there are.
pub fn all() -> Vec<Disturbance> {
    let mut all = vec![
        ("none".to_owned(), vec![]),
        ("crop".to_owned(), vec![Step::Crop]),
    ];
    for factor in [0.3, 0.4, 0.5, 0.6, 0.75, 1.25, 1.5, 2.0] {
        all.push((format!("scale {factor}"), vec![Step::Scale(factor)]));
    }
    for quality in [50, 30] {
        all.push((format!("JPEG {quality}"), vec![Step::Jpeg(quality)]));
    }
    for share in [0.01, 0.02, 0.03] {
        all.push((format!("blur {share}"), vec![Step::Blur(share)]));
    }
    for (name, factor, offset, gamma) in [
        ("brighter", 1.3, 15.0, 1.0),
        ("darker", 0.7, 0.0, 1.0),
        ("gamma 0.8", 1.0, 0.0, 0.8),
        ("gamma 1.25", 1.0, 0.0, 1.25),
    ] {
        let light = Light {
            factor,
            offset,
            gamma,
        };
        all.push((name.to_owned(), vec![Step::Light(light)]));
    }
    for sigma in [4.0, 8.0, 12.0] {
        all.push((format!("noise {sigma}"), vec![Step::Noise(sigma)]));
    }
    for advert in Advert::ALL {
        let name = format!("beside {advert:?}").to_lowercase();
        all.push((name, vec![Step::Beside(advert)]));
    }
    all.push(("turned left".to_owned(), vec![Step::Turn(false)]));
    all.push(("turned right".to_owned(), vec![Step::Turn(true)]));
    for (factor, quality) in [(0.4, 50), (0.5, 30), (0.75, 30), (1.5, 30)] {
        let steps = vec![Step::Scale(factor), Step::Jpeg(quality)];
        all.push((format!("scale {factor}, JPEG {quality}"), steps));
    }
    for (factor, sigma) in [(0.4, 4.0), (0.5, 8.0), (0.75, 12.0)] {
        let steps = vec![Step::Scale(factor), Step::Noise(sigma)];
        all.push((format!("scale {factor}, noise {sigma}"), steps));
    }
    for (factor, share, quality) in [(0.5, 0.02, 50), (0.6, 0.01, 30), (1.25, 0.03, 30)] {
        let steps = vec![Step::Scale(factor), Step::Blur(share), Step::Jpeg(quality)];
        let name = format!("scale {factor}, blur {share}, JPEG {quality}");
        all.push((name, steps));
    }
    all.into_iter()
        .map(|(name, steps)| Disturbance { name, steps })
        .collect()
}

impl Disturbance {
    pub fn disturb(&self, scene: &Scene) -> Scene {
        let mut rng = chance(&[&scene.truth.file, &self.name]);
        let mut scene = scene.clone();
        for step in &self.steps {
            scene = step.take(scene, &mut rng);
        }
        scene
    }
}

/// Random numbers that are the same for the same names (the hash is FNV-1a).
pub fn chance(names: &[&str]) -> Rng {
    let bytes = names.iter().flat_map(|name| name.bytes().chain([0]));
    Rng::with_seed(bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    }))
}

impl Step {
    fn take(self, mut scene: Scene, rng: &mut Rng) -> Scene {
        match self {
            Self::Crop => return scene.crop(|| rng.u32(0..=40)),
            Self::Scale(factor) => return scene.scale(factor),
            Self::Turn(clockwise) => return scene.turn(clockwise),
            Self::Beside(advert) => return beside(&scene, advert, rng),
            Self::Jpeg(quality) => scene.picture = jpeg(&scene.picture, quality),
            Self::Blur(share) => {
                scene.picture = blur(&scene.picture, (share * scene.truth.cell()).max(0.6));
            }
            Self::Light(light) => light.shine(&mut scene.picture),
            Self::Noise(sigma) => noise(&mut scene.picture, sigma, rng),
        }
        scene
    }
}

fn beside(scene: &Scene, advert: Advert, rng: &mut Rng) -> Scene {
    let [_, _, width, height] = scene.truth.board_xywh;
    let side = Side::ALL[rng.usize(..4)];
    // What looks like a board is smaller than the board.
    let shares = if advert == Advert::Buttons {
        0.3..0.6
    } else {
        0.3..1.0
    };
    let mut length = |whole: f64| {
        let share = shares.start + (shares.end - shares.start) * rng.f64();
        (whole * share) as u32
    };
    let (across, down) = (length(width), length(height));
    let picture = advert.draw(across, down, rng);
    let gap = scene.truth.cell() * rng.f64();
    scene.beside(&picture, side, gap, rng.f64())
}

/// On a board drawn here: each cell of the truth is seen in the picture where the truth places it.
#[test]
fn truths_move_with_their_pictures() {
    use crate::tests::canvas::{Canvas, Place, paint};
    use crate::tests::truth::Truth;
    use flowpipe_plugin::puzzle::message::BoardState;

    let lines = ["R..G", "....", ".B.R", "...G", "B..."];
    let place = Place {
        x: 60.0,
        y: 90.0,
        cell: 50.0,
    };
    let mut canvas = Canvas::new(300, 400, [0, 0, 0]);
    canvas.board(place, &lines);
    let scene = Scene {
        picture: image::RgbImage::from_raw(300, 400, canvas.rgb).unwrap(),
        truth: Truth {
            file: "drawn".to_owned(),
            rows: 5,
            cols: 4,
            grid: lines.map(str::to_owned).to_vec(),
            board_xywh: [60.0, 90.0, 200.0, 250.0],
            state: BoardState::Empty,
            drawn: None,
        },
    };
    let turned = Step::Turn(true).take(scene.clone(), &mut chance(&[]));
    assert_eq!(turned.truth.grid, ["B...R", "..B..", ".....", ".GR.G"]);
    for disturbance in all() {
        let Scene { picture, truth } = disturbance.disturb(&scene);
        assert_eq!(truth.grid.len(), truth.rows, "{}", disturbance.name);
        let [x, y, width, height] = truth.board_xywh;
        assert!((truth.cell() - height / truth.rows as f64).abs() < 0.5);
        assert!(x >= 0.0 && x + width <= f64::from(picture.width()));
        assert!(y >= 0.0 && y + height <= f64::from(picture.height()));
        for (row, letters) in truth.grid.iter().enumerate() {
            for (col, letter) in letters.chars().enumerate() {
                let at = |index: usize| (index as f64 + 0.5) * truth.cell();
                let (x, y) = (x + at(col), y + at(row));
                let seen = picture.get_pixel(x as u32, y as u32).0.map(f64::from);
                let paints = "RGB.".chars();
                let distance = |other: char| {
                    let paint = if other == '.' { [0; 3] } else { paint(other) };
                    let off = |index: usize| (f64::from(paint[index]) - seen[index]).powi(2);
                    off(0) + off(1) + off(2)
                };
                let nearest = paints.min_by(|a, b| distance(*a).total_cmp(&distance(*b)));
                let name = &disturbance.name;
                assert_eq!(nearest, Some(letter), "{name}: row {row}, column {col}");
            }
        }
    }
}
