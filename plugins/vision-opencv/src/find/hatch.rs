//! Hatched pages: backgrounds whose lines repeat at one distance, and what lies on them.
//!
//! A hatch has any number of lines. They hide those of a board among them, and touch its outline. All blocks of such a
//! page look alike, so that what lies on it is found without its lines.

use crate::numerics::quantile::quantile;
use crate::picture::Picture;

/// Pixels of a side of a block. Two distances of the widest hatch.
const BLOCK: usize = 32;
/// A page is hatched if this share of its blocks look alike.
const ALIKE: f64 = 0.25;
/// Its values deviate by this many levels at least: fainter ones hide no lines.
const FAINTEST: f64 = 2.0;
/// Means and deviations of blocks are alike up to this many levels, and this share of the deviation.
const MEAN: (f64, f64) = (1.5, 0.12);
const DEVIATION: (f64, f64) = (0.7, 0.2);
/// The same of single columns and rows, of which fewer pixels are seen.
const LANE: (f64, f64) = (1.0, 0.25);
/// A hatch repeats itself within this many pixels.
const REPEATS: i64 = 24;
/// Where it does, values differ by at most this share of what they do elsewhere.
const SAME: f64 = 0.3;
/// Values as far apart as lines are wide differ by this share of their deviation at least.
const OTHER: f64 = 0.35;
const NEAR: i64 = 8;
/// Blocks that are compared with all others, and pixels that are compared with those around.
const MOST_BLOCKS: usize = 64;
const MOST_PIXELS: usize = 400;
/// What is examined that lies on a page.
const MOST_PARTS: usize = 4;
/// Columns or rows of a page are known by at least this many pixels.
const FEWEST: usize = 64;

/// A hatched page.
#[derive(Clone, Debug, PartialEq)]
pub struct HatchedPage {
    /// Its mean brightness.
    pub level: u8,
    /// What lies on it: left, top, right and bottom edge, in whole pixels.
    pub parts: Vec<[usize; 4]>,
}

impl HatchedPage {
    /// The page that a picture shows. `None` where it is not hatched, or nothing lies on it.
    #[must_use]
    pub fn find(picture: &Picture<'_>) -> Option<Self> {
        let blocks = Blocks::new(picture)?;
        let alike = blocks.most_alike()?;
        let is_page: Vec<bool> = blocks.looks.iter().map(|it| it.is_like(alike)).collect();
        blocks.repeats(&is_page, alike.deviation).then_some(())?;
        let parts = blocks.parts(&is_page, alike);
        (!parts.is_empty()).then_some(Self {
            level: alike.mean.round() as u8,
            parts,
        })
    }
}

/// How bright some pixels are.
#[derive(Clone, Copy, Debug, Default)]
struct Look {
    mean: f64,
    deviation: f64,
    count: usize,
}

impl Look {
    fn of(values: impl Iterator<Item = u8>) -> Self {
        let (mut count, mut sum, mut squares) = (0_usize, 0_u64, 0_u64);
        for value in values {
            count += 1;
            sum += u64::from(value);
            squares += u64::from(value).pow(2);
        }
        let all = count.max(1) as f64;
        let mean = sum as f64 / all;
        Self {
            mean,
            deviation: (squares as f64 / all - mean * mean).max(0.0).sqrt(),
            count,
        }
    }

    fn is_like(self, other: Self) -> bool {
        let scale = other.deviation;
        (self.mean - other.mean).abs() <= MEAN.0 + MEAN.1 * scale
            && (self.deviation - scale).abs() <= DEVIATION.0 + DEVIATION.1 * scale
    }

    /// The same of a column or row. `scale`: how much the page's values deviate.
    fn is_lane_like(self, other: Self, scale: f64) -> bool {
        let most = LANE.0 + LANE.1 * scale;
        (self.mean - other.mean).abs() <= most && (self.deviation - other.deviation).abs() <= most
    }
}

/// A picture in blocks.
struct Blocks {
    grey: Vec<u8>,
    /// Pixels.
    width: usize,
    /// The edges of blocks, in pixels.
    xs: Vec<usize>,
    ys: Vec<usize>,
    /// By rows.
    looks: Vec<Look>,
}

impl Blocks {
    /// `None` for pictures of few blocks.
    fn new(picture: &Picture<'_>) -> Option<Self> {
        let (width, height) = (picture.width(), picture.height());
        let edges = |size: usize| -> Vec<usize> {
            let count = size / BLOCK;
            (0..=count).map(|edge| edge * size / count.max(1)).collect()
        };
        let (xs, ys) = (edges(width), edges(height));
        if xs.len() < 6 || ys.len() < 6 {
            return None;
        }
        let mut grey = Vec::with_capacity(width * height);
        for y in 0..height {
            picture.grey_row(y, 0, 1, &mut grey);
        }
        let mut blocks = Self {
            grey,
            width,
            xs,
            ys,
            looks: Vec::new(),
        };
        let looks = blocks.ys.windows(2).flat_map(|rows| {
            let columns = blocks.xs.windows(2);
            columns.map(|columns| blocks.look([columns[0], columns[1]], [rows[0], rows[1]]))
        });
        blocks.looks = looks.collect();
        Some(blocks)
    }

    fn cols(&self) -> usize {
        self.xs.len() - 1
    }

    fn rows(&self) -> usize {
        self.ys.len() - 1
    }

    fn values(&self, xs: [usize; 2], ys: [usize; 2]) -> impl Iterator<Item = u8> + '_ {
        let rows = (ys[0]..ys[1]).map(|y| y * self.width);
        rows.flat_map(move |start| self.grey[start + xs[0]..start + xs[1]].iter().copied())
    }

    fn look(&self, xs: [usize; 2], ys: [usize; 2]) -> Look {
        Look::of(self.values(xs, ys))
    }

    /// What the most blocks look like, if those are enough and not plain.
    fn most_alike(&self) -> Option<Look> {
        let step = self.looks.len().div_ceil(MOST_BLOCKS);
        let count = |like: &Look| self.looks.iter().filter(|it| it.is_like(*like)).count();
        let seeds = self.looks.iter().step_by(step);
        let seeds = seeds.filter(|look| look.deviation >= FAINTEST);
        let (most, seed) = seeds
            .map(|look| (count(look), look))
            .max_by_key(|(count, _)| *count)?;
        if (most as f64) < ALIKE * self.looks.len() as f64 {
            return None;
        }
        let like: Vec<&Look> = self.looks.iter().filter(|it| it.is_like(*seed)).collect();
        let middle = |value: fn(&Look) -> f64| quantile(like.iter().map(|it| value(it)), 0.5);
        Some(Look {
            mean: middle(|look| look.mean),
            deviation: middle(|look| look.deviation),
            count: 0,
        })
    }

    /// Whether the page repeats itself, as noise and smooth light do not. `deviation`: of its values.
    fn repeats(&self, is_page: &[bool], deviation: f64) -> bool {
        let (cols, rows) = (self.cols(), self.rows());
        let inner = (0..rows).flat_map(|row| (0..cols).map(move |col| (row, col)));
        let is_inner = |&(row, col): &(usize, usize)| {
            let around = [0, 1].into_iter().flat_map(|down| {
                [-1, 0, 1]
                    .into_iter()
                    .map(move |across| (row + down, col as i64 + across))
            });
            around.into_iter().all(|(row, col)| {
                row < rows && (0..cols as i64).contains(&col) && is_page[row * cols + col as usize]
            })
        };
        let inner: Vec<(usize, usize)> = inner.filter(is_inner).collect();
        if inner.is_empty() {
            return false;
        }
        // Spread over the blocks and within them.
        let pixels: Vec<[usize; 2]> = (0..MOST_PIXELS)
            .map(|index| {
                let (row, col) = inner[index * inner.len() / MOST_PIXELS];
                let within = [index * 7, index * 13].map(|place| place % BLOCK);
                [self.xs[col] + within[0], self.ys[row] + within[1]]
            })
            .collect();
        let value = |x: i64, y: i64| f64::from(self.grey[y as usize * self.width + x as usize]);
        let difference = |[across, down]: [i64; 2]| {
            let differences = pixels.iter().map(|&[x, y]| {
                let (x, y) = (x as i64, y as i64);
                (value(x + across, y + down) - value(x, y)).abs()
            });
            differences.sum::<f64>() / pixels.len() as f64
        };
        let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
        for down in 0..=REPEATS {
            for across in -REPEATS..=REPEATS {
                if across.abs().max(down) < 3 || (down == 0 && across < 0) {
                    continue;
                }
                let difference = difference([across, down]);
                least = least.min(difference);
                if across.abs().max(down) <= NEAR {
                    most = most.max(difference);
                }
            }
        }
        least <= SAME * most && most >= OTHER * deviation
    }

    /// What lies on the page, the largest first.
    fn parts(&self, is_page: &[bool], page: Look) -> Vec<[usize; 4]> {
        let cols = self.cols();
        let mut is_open: Vec<bool> = is_page.iter().map(|is_page| !is_page).collect();
        let mut parts = Vec::new();
        for first in 0..is_open.len() {
            if !std::mem::take(&mut is_open[first]) {
                continue;
            }
            let mut stack = vec![first];
            let (row, col) = (first / cols, first % cols);
            let mut bounds = [col, row, col, row];
            while let Some(block) = stack.pop() {
                let (row, col) = (block / cols, block % cols);
                bounds = [
                    bounds[0].min(col),
                    bounds[1].min(row),
                    bounds[2].max(col),
                    bounds[3].max(row),
                ];
                let beside = [
                    (col > 0).then(|| block - 1),
                    (col + 1 < cols).then(|| block + 1),
                    block.checked_sub(cols),
                    (row + 1 < self.rows()).then(|| block + cols),
                ];
                for next in beside.into_iter().flatten() {
                    if std::mem::take(&mut is_open[next]) {
                        stack.push(next);
                    }
                }
            }
            if bounds[2] > bounds[0] && bounds[3] > bounds[1] {
                parts.push(bounds);
            }
        }
        let area = |part: &[usize; 4]| (part[2] - part[0] + 1) * (part[3] - part[1] + 1);
        parts.sort_by_key(|part| std::cmp::Reverse(area(part)));
        parts.truncate(MOST_PARTS);
        parts
            .into_iter()
            .map(|part| self.edges(part, is_page, page))
            .collect()
    }

    /// The edges of a part in pixels, of which the blocks are known.
    fn edges(&self, part: [usize; 4], is_page: &[bool], page: Look) -> [usize; 4] {
        let cols = self.cols();
        let [left, top, right, bottom] = part;
        // In the middle of a side nothing of the page is seen beside the part.
        let within = |edges: &[usize], from: usize, to: usize| {
            let (start, end) = (edges[from], edges[to + 1]);
            match end - start >= 4 * BLOCK {
                true => [start + BLOCK, end - BLOCK],
                false => [start, end],
            }
        };
        let ys = within(&self.ys, top, bottom);
        let xs = within(&self.xs, left, right);
        let is_column = |x: usize| {
            let col = self.xs.partition_point(|edge| *edge <= x) - 1;
            let rows = (0..self.rows()).filter(|row| !(top..=bottom).contains(row));
            let rows = rows.filter(|row| is_page[row * cols + col]);
            let beyond = Look::of(
                rows.flat_map(|row| self.values([x, x + 1], [self.ys[row], self.ys[row + 1]])),
            );
            self.look([x, x + 1], ys)
                .is_lane_like(known(beyond, page), page.deviation)
        };
        let is_row = |y: usize| {
            let row = self.ys.partition_point(|edge| *edge <= y) - 1;
            let columns = (0..cols).filter(|col| !(left..=right).contains(col));
            let columns = columns.filter(|col| is_page[row * cols + col]);
            let beyond = Look::of(
                columns.flat_map(|col| self.values([self.xs[col], self.xs[col + 1]], [y, y + 1])),
            );
            self.look(xs, [y, y + 1])
                .is_lane_like(known(beyond, page), page.deviation)
        };
        let [width, height] = [self.width, self.grey.len() / self.width];
        let around = |edges: &[usize], from: usize, to: usize, size: usize| {
            edges[from].saturating_sub(BLOCK)..(edges[to + 1] + BLOCK).min(size)
        };
        let columns = around(&self.xs, left, right, width);
        let rows = around(&self.ys, top, bottom, height);
        let (first, last) = ends(columns, is_column);
        let (upper, lower) = ends(rows, is_row);
        [first, upper, last, lower]
    }
}

/// A column or row of the page, or what the page looks like where too little of it is seen.
fn known(seen: Look, page: Look) -> Look {
    if seen.count >= FEWEST { seen } else { page }
}

/// From the first to behind the last one that is not of the page.
fn ends(lanes: std::ops::Range<usize>, is_page: impl Fn(usize) -> bool) -> (usize, usize) {
    let is_page: Vec<bool> = lanes.clone().map(is_page).collect();
    let is_part = |window: &[bool]| !window[0] && window.iter().filter(|it| !**it).count() > 2;
    let first = is_page.windows(4).position(is_part).unwrap_or(0);
    let mut turned = is_page.clone();
    turned.reverse();
    let last = turned.windows(4).position(is_part).unwrap_or(0);
    (lanes.start + first, lanes.end - last)
}

#[cfg(test)]
mod tests {
    use flowpipe_plugin::{Format, PixelInfo};

    use super::*;

    fn found(value: impl Fn(usize, usize) -> u8) -> Option<HatchedPage> {
        let (width, height) = (400, 360);
        let places = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
        let bytes: Vec<u8> = places.map(|(x, y)| value(x, y)).collect();
        let info = PixelInfo::new(Format::Grey8, width as u32, height as u32);
        HatchedPage::find(&Picture::new(&bytes, info).unwrap())
    }

    fn on_page(x: usize, y: usize, page: u8) -> u8 {
        match (101..263).contains(&x) && (83..241).contains(&y) {
            true => 10,
            false => page,
        }
    }

    #[test]
    fn what_lies_on_a_hatch_is_found_to_the_pixel() {
        let hatches: [fn(usize, usize) -> bool; 4] = [
            |x, _| x % 7 == 0,
            |_, y| y % 12 < 2,
            |x, y| (x + y) % 9 == 0,
            |x, y| (x + 2 * y) % 16 == 0 || (2 * x + 640 - y) % 16 == 0,
        ];
        for (index, hatch) in hatches.into_iter().enumerate() {
            let page = found(|x, y| on_page(x, y, if hatch(x, y) { 140 } else { 60 }));
            let parts = page.map(|page| page.parts);
            assert_eq!(parts, Some(vec![[101, 83, 263, 241]]), "{index}");
        }
    }

    #[test]
    fn other_pages_have_none() {
        assert_eq!(found(|x, y| on_page(x, y, 60)), None);
        assert_eq!(found(|x, y| on_page(x, y, (x / 4 + y / 4) as u8)), None);
        let noise = |x: usize, y: usize| fastrand::Rng::with_seed((y * 400 + x) as u64).u8(0..60);
        assert_eq!(found(|x, y| on_page(x, y, noise(x, y))), None);
        // Nothing lies on it.
        assert_eq!(found(|x, _| if x % 7 == 0 { 140 } else { 60 }), None);
    }
}
