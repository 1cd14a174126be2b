//! The tilt of the lines of a picture, as in a photograph of a screen.
//!
//! Lines that are vertical on the board are seen as `x = p + (tilt + fan p) y` from the middle of the picture,
//! horizontal ones likewise with x and y exchanged: all tilted alike, or fanning out in perspective. With the right
//! tilt and fan, the points of a line coincide when they slide along it: the values at which most do are those of the
//! lines.

use flowpipe_plugin::puzzle::{Geometry, Point, Projection};

/// The greatest tilt of lines, in pixels per pixel: some six degrees.
const MOST: f64 = 0.11;
/// Parts across the picture that have a tilt each.
const PARTS: usize = 7;
/// The approximate number of points that are slid.
const POINTS: usize = 8_000;
/// How many times better lines fall together when they are slid along the tilt.
const BETTER: f64 = 1.4;
/// What is tilted by less, in pixels over the picture's length, is not tilted.
const LEAST: f64 = 2.0;
/// Tilts tried to each side at most: all pairs of them are, and pictures may be as long as they like.
const MOST_TILTS: f64 = 160.0;
/// Pixels over the picture's length from one tilt tried to the next: at first, then closer to the best one.
const STEPS: [f64; 3] = [4.0, 1.0, 0.4];

/// How lines of one direction are tilted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Slope {
    /// Pixels across, from pixel to pixel along, in the picture's middle.
    tilt: f64,
    /// How much more that is a pixel further across.
    fan: f64,
}

impl Slope {
    /// Of the lines whose points are given, across and along them from the picture's middle, and by how much better
    /// they fall together along it. `size`: of the picture, across and along.
    #[must_use]
    pub fn of(points: &[[f64; 2]], size: [f64; 2]) -> (Self, f64) {
        let every = points.len().div_ceil(POINTS).max(1);
        let points: Vec<[f64; 2]> = points.iter().step_by(every).copied().collect();
        let mut ends = [0.0; 2];
        let mut gain = 1.0;
        let mut reach = MOST;
        for step in STEPS {
            let step = (step / size[1]).max(reach / MOST_TILTS);
            let count = (reach / step).round() as i64;
            let tilts: Vec<f64> = (-count..=count).map(|index| index as f64 * step).collect();
            let table = TiltScores::new(&points, size, ends, &tilts);
            let (best, found) = table.best(ends, &tilts);
            ends = best;
            gain *= found;
            reach = 1.5 * step;
        }
        let tilt = f64::midpoint(ends[0], ends[1]);
        let fan = (ends[1] - ends[0]) / size[0];
        (Self { tilt, fan }, gain)
    }
}

/// How well the points of each part of the picture fall together along each tilt.
struct TiltScores {
    parts: Vec<Vec<f64>>,
}

impl TiltScores {
    /// `ends`: what the tilts are added to at both ends across.
    fn new(points: &[[f64; 2]], size: [f64; 2], ends: [f64; 2], tilts: &[f64]) -> Self {
        let mut parts: Vec<Vec<[f64; 2]>> = vec![Vec::new(); PARTS];
        for &[across, along] in points {
            let share = (across / size[0] + 0.5).clamp(0.0, 1.0);
            let part = (share * PARTS as f64) as usize;
            parts[part.min(PARTS - 1)].push([across, along]);
        }
        let mut bins = Vec::new();
        let parts = parts.iter().enumerate().map(|(part, points)| {
            let base = Self::at(part, ends);
            let together = |tilt: &f64| {
                let slope = base + tilt;
                let slack = MOST * size[1];
                bins.clear();
                bins.resize((size[0] + 2.0 * slack) as usize + 2, 0_u32);
                for [across, along] in points {
                    let place = across - slope * along + size[0] / 2.0 + slack;
                    if let Some(bin) = bins.get_mut(place.max(0.0) as usize) {
                        *bin += 1;
                    }
                }
                f64::from(bins.iter().map(|&bin| bin * bin).sum::<u32>())
            };
            tilts.iter().map(together).collect()
        });
        Self {
            parts: parts.collect(),
        }
    }

    /// The tilt in the middle of a part, of those at both ends.
    fn at(part: usize, ends: [f64; 2]) -> f64 {
        let share = (part as f64 + 0.5) / PARTS as f64;
        ends[0] + share * (ends[1] - ends[0])
    }

    /// The best tilts at both ends, and how many times as well as untilted points fall together there.
    fn best(&self, ends: [f64; 2], tilts: &[f64]) -> ([f64; 2], f64) {
        let last = tilts.len() - 1;
        let score = |first: usize, second: usize| -> f64 {
            let parts = self.parts.iter().enumerate();
            let scores = parts.map(|(part, scores)| {
                let place = Self::at(part, [first as f64, second as f64]);
                scores[(place.round() as usize).min(last)]
            });
            scores.sum()
        };
        let middle = last / 2;
        let untilted = score(middle, middle);
        let mut best = (untilted, middle, middle);
        for first in 0..=last {
            for second in 0..=last {
                let score = score(first, second);
                if score > best.0 {
                    best = (score, first, second);
                }
            }
        }
        let (score, first, second) = best;
        let gain = score / untilted.max(1.0);
        ([ends[0] + tilts[first], ends[1] + tilts[second]], gain)
    }
}

/// How the lines of a picture are tilted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tilt {
    /// Of the picture, width and height in pixels.
    size: [f64; 2],
    /// From points of the picture as it would be seen straight to points of the picture, both from its middle.
    map: Projection,
}

impl Tilt {
    /// By the points of vertical lines, across and along, and those of horizontal ones, in pixels of a picture of a
    /// width and height. `None` where they are not tilted.
    #[must_use]
    pub fn find(
        vertical: &[[f64; 2]],
        horizontal: &[[f64; 2]],
        [width, height]: [f64; 2],
    ) -> Option<Self> {
        let slope = |points: &[[f64; 2]], [across, along]: [f64; 2]| {
            let centred = points
                .iter()
                .map(|[x, y]| [x - across / 2.0, y - along / 2.0]);
            Slope::of(&centred.collect::<Vec<_>>(), [across, along])
        };
        let (vertical, vertical_gain) = slope(vertical, [width, height]);
        let (horizontal, horizontal_gain) = slope(horizontal, [height, width]);
        let least = |slope: Slope, [across, along]: [f64; 2]| {
            (slope.tilt.abs() + slope.fan.abs() * across / 2.0) * along >= LEAST
        };
        let tilted = (vertical_gain >= BETTER && least(vertical, [width, height]))
            || (horizontal_gain >= BETTER && least(horizontal, [height, width]));
        let map = straight(vertical, horizontal).inverse()?;
        tilted.then_some(Self {
            size: [width, height],
            map,
        })
    }

    /// Where a point of the straight picture is in the picture.
    #[must_use]
    pub fn back(&self, point: Point) -> Point {
        let middle = self.size.map(|side| side / 2.0);
        let [x, y] = self.map.map([point[0] - middle[0], point[1] - middle[1]]);
        [x + middle[0], y + middle[1]]
    }

    /// The same as a map, by rows, from the middles of pixels to the middles of pixels, by their numbers.
    #[must_use]
    pub fn pixels_back(&self) -> [f64; 9] {
        let [x, y] = self.size.map(|side| side / 2.0 - 0.5);
        let m = self.map.rows();
        // To the middle and back from it.
        let centred: [f64; 9] = std::array::from_fn(|index| match index % 3 {
            2 => m[index] - m[index - 2] * x - m[index - 1] * y,
            _ => m[index],
        });
        std::array::from_fn(|index| match index / 3 {
            0 => centred[index] + x * centred[index + 6],
            1 => centred[index] + y * centred[index + 3],
            _ => centred[index],
        })
    }

    /// Where a board of the straight picture is in the picture.
    #[must_use]
    pub fn geometry_back(&self, geometry: Geometry) -> Geometry {
        Geometry {
            corners: geometry.corners.map(|corner| self.back(corner)),
            ..geometry
        }
    }
}

/// The projective map, by rows, that makes lines of such slopes vertical and horizontal. With homogeneous coordinates
/// vertical lines meet at (t, 1, -f), horizontal ones at (1, u, -g): what vanishes is the line through both points.
fn straight(vertical: Slope, horizontal: Slope) -> Projection {
    let (a, b) = (vertical.tilt, vertical.fan);
    let (c, d) = (horizontal.tilt, horizontal.fan);
    let scale = 1.0 - a * c;
    Projection::of_rows([
        1.0,
        -a,
        0.0,
        -c,
        1.0,
        0.0,
        (d - b * c) / scale,
        (b - a * d) / scale,
        1.0,
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points of lines of a board that is seen through a map from what is straight, from the picture's middle.
    fn lines(see: impl Fn([f64; 2]) -> [f64; 2]) -> [Vec<[f64; 2]>; 2] {
        let mut points = [Vec::new(), Vec::new()];
        for line in 0..8 {
            for step in 0..200 {
                let (across, along) = (
                    60.0 * f64::from(line) - 210.0,
                    2.0 * f64::from(step) - 200.0,
                );
                let [x, y] = see([across, along]);
                points[0].push([x + 300.0, y + 400.0]);
                let [x, y] = see([along, across]);
                points[1].push([y + 400.0, x + 300.0]);
            }
        }
        points
    }

    #[test]
    fn tilts_are_found() {
        let (sin, cos) = 0.04_f64.sin_cos();
        let seen = |[x, y]: [f64; 2]| {
            let depth = 1.0 + 6e-5 * x - 4e-5 * y;
            [(x * cos - y * sin) / depth, (x * sin + y * cos) / depth]
        };
        let [vertical, horizontal] = lines(seen);
        let tilt = Tilt::find(&vertical, &horizontal, [600.0, 800.0]).unwrap();
        // What is vertical there is vertical straight, what is horizontal is horizontal.
        let map = tilt.map.inverse().unwrap();
        let straight = |point: [f64; 2]| map.map(seen(point));
        for place in [-200.0, 0.0, 200.0] {
            let [a, b] = [[place, -200.0], [place, 200.0]].map(straight);
            assert!((a[0] - b[0]).abs() < 2.0, "{a:?} {b:?}");
            let [a, b] = [[-200.0, place], [200.0, place]].map(straight);
            assert!((a[1] - b[1]).abs() < 2.0, "{a:?} {b:?}");
        }
        let middle = tilt.back([300.0, 400.0]);
        assert!((middle[0] - 300.0).hypot(middle[1] - 400.0) < 1e-9);
    }

    #[test]
    fn what_is_straight_is_not_tilted() {
        let [vertical, horizontal] = lines(|point| point);
        assert_eq!(Tilt::find(&vertical, &horizontal, [600.0, 800.0]), None);
        assert_eq!(Tilt::find(&[], &[], [600.0, 800.0]), None);
    }
}
