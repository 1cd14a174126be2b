//! What a screen really shows, with what has changed on it.

use pipewire::spa::sys::{spa_meta_region, spa_point, spa_rectangle, spa_region};
use proptest::prelude::*;

use super::producer::pixel;

/// Rows without gaps, four bytes a pixel.
#[derive(Clone, Debug)]
pub(super) struct Canvas {
    pub size: [u32; 2],
    pub pixels: Vec<u8>,
}

/// A part of a screen: x, y, width and height, each as a share of what there is.
pub(super) type Share = [f64; 4];

/// A part: x, y, width, height.
pub(super) type Area = [u32; 4];

impl Canvas {
    pub(super) fn new(size: [u32; 2]) -> Self {
        let mut canvas = Self {
            size,
            pixels: vec![0; (size[0] * size[1] * 4) as usize],
        };
        canvas.paint([0, 0, size[0], size[1]], 0);
        canvas
    }

    /// Paints a part as it is in a picture.
    pub(super) fn paint(&mut self, [x, y, width, height]: Area, picture: u32) {
        for row in y..y + height {
            for column in x..x + width {
                let at = ((row * self.size[0] + column) * 4) as usize;
                self.pixels[at..at + 4].copy_from_slice(&pixel(picture, column, row));
            }
        }
    }

    pub(super) fn area(&self, [x, y, width, height]: Share) -> Area {
        let at = |share: f64, of: u32| ((share * f64::from(of)) as u32).min(of - 1);
        let [left, top] = [at(x, self.size[0]), at(y, self.size[1])];
        let [width, height] = [
            at(width, self.size[0] - left),
            at(height, self.size[1] - top),
        ];
        [left, top, width + 1, height + 1]
    }

    /// The pixels of a part.
    pub(super) fn cut(&self, [x, y, width, height]: Area) -> Vec<u8> {
        let row = (self.size[0] * 4) as usize;
        let rows = self
            .pixels
            .chunks_exact(row)
            .skip(y as usize)
            .take(height as usize);
        let bytes = x as usize * 4..(x + width) as usize * 4;
        rows.flat_map(|row| row[bytes.clone()].to_vec()).collect()
    }
}

pub(super) fn share() -> impl Strategy<Value = Share> {
    let part = || prop_oneof![4 => 0.0..0.4_f64, 1 => 0.0..1.0_f64];
    [0.0..1.0_f64, 0.0..1.0_f64, 0.0..1.0_f64, 0.0..1.0_f64]
        .prop_flat_map(move |[x, y, ..]| (Just(x), Just(y), part(), part()))
        .prop_map(|(x, y, width, height)| [x, y, width, height])
}

pub(super) fn region(x: i32, y: i32, width: u32, height: u32) -> spa_region {
    spa_region {
        position: spa_point { x, y },
        size: spa_rectangle { width, height },
    }
}

pub(super) fn region_of([x, y, width, height]: Area) -> spa_region {
    region(x as i32, y as i32, width, height)
}

/// Writes regions as Mutter does: if there is room for fewer, the one that contains all; then an empty one, if there is room.
pub(super) fn write(regions: &[spa_region], to: &mut [spa_meta_region]) {
    let written = match regions.len() > to.len() {
        true => regions.iter().copied().reduce(joined).into_iter().collect(),
        false => regions.to_vec(),
    };
    let end = region(0, 0, 0, 0);
    for (to, region) in to.iter_mut().zip(written.into_iter().chain([end])) {
        to.region = region;
    }
}

fn joined(one: spa_region, other: spa_region) -> spa_region {
    let least = |at: fn(&spa_region) -> i32| at(&one).min(at(&other));
    let most = |at: fn(&spa_region) -> i32| at(&one).max(at(&other));
    let [x, y] = [least(|it| it.position.x), least(|it| it.position.y)];
    let right = most(|it| it.position.x + it.size.width as i32);
    let bottom = most(|it| it.position.y + it.size.height as i32);
    region(x, y, (right - x) as u32, (bottom - y) as u32)
}
