//! Numbers in place of terminals, as Numberlink on paper has them: which cells hold one, and which are equal.
//!
//! No digit is known here: two terminals are one pair when their pictures are equal. Each is taken at
//! its own centre of mass, so that it does not matter where its pixels fall.

use flowpipe_plugin::puzzle::{Cell, Point, Rules};

use crate::colour::{distance, mean};
use crate::colours::{Paints, no_partner};
use crate::grid::Grid;
use crate::pairs::Pairs;
use crate::picture::{Picture, Rgb};
use crate::places::{INSIDE, Places};
use crate::refusal::Refusal;
use crate::terminals::BoardColours;

/// What a solution must keep: Numberlink on paper asks for no more than that flows do not cross.
pub const RULES: Rules = Rules {
    cover: false,
    touch: true,
};

/// How far from the centre a number may reach, in spans of the cell. Lines and pipes come from beyond.
const REACH: f64 = 0.42;
/// Marks of a cell's inner part in each direction, at most: one is the mean of several pixels in larger cells.
const MOST: usize = 48;
/// A number stands out by at least so many levels.
const FAINT: f64 = 40.0;
/// And by this share of what the strongest does.
const FAINTEST: f64 = 0.5;
/// A number is at least this high, in spans of the cell.
const HIGH: f64 = 0.28;
/// The middle of its box is within this of the cell's.
const ASIDE: f64 = 0.12;
/// Of the strongest mark, what is weaker than the first share is noise, and what is stronger than the second is
/// full ink.
const INK: [f64; 2] = [0.15, 0.9];
/// The side of a picture of a number, in samples.
const SIDE: usize = 28;
/// The partner is nearer than the second nearest by this factor. Over the real levels that are drawn with
/// numbers, equal ones are apart by 0.03 and at most 0.09, the nearest others (6 and 8) by 0.12.
const MARGIN: f64 = 0.5;
/// And than this, by the same factor: so that two whose partners are not seen make no pair.
const OTHER: f64 = 0.2;
/// Where a number shows first, in spans from the centre: its lines are a fifteenth of a span wide.
const GLANCE: f64 = 0.06;
/// The number of samples to each side.
const GLANCES: i32 = 4;

/// The picture of a number: how much ink there is, about its centre of mass.
#[derive(Clone)]
pub struct Glyph {
    ink: [f32; SIDE * SIDE],
    /// The sum of its squares.
    energy: f32,
    colour: Rgb,
    contrast: f64,
}

/// Finds the numbers, notes them as terminals and pairs them.
///
/// # Errors
/// [`Refusal::NoTerminals`], [`Refusal::OddTerminals`], [`Refusal::NoPartner`].
pub fn pair(
    picture: &Picture<'_>,
    places: &Places<'_>,
    grid: &Grid,
    looks: &mut BoardColours,
) -> Result<Paints, Refusal> {
    let mut found: Vec<(Cell, Glyph)> = looks
        .there()
        .filter_map(|(cell, look)| {
            let centre = places.centre(cell);
            let glyph = picture.recall(
                |memory| &memory.glyphs,
                || (places.key(centre, 0.0), places.area(centre, INSIDE)),
                || Glyph::find(picture, places, centre, look.background),
            )?;
            Some((cell, glyph))
        })
        .collect();
    let most = found
        .iter()
        .map(|(_, glyph)| glyph.contrast)
        .fold(0.0, f64::max);
    found.retain(|(_, glyph)| glyph.contrast >= FAINTEST * most);
    match found.len() {
        0 => {
            return Err(Refusal::NoTerminals {
                rows: grid.rows(),
                cols: grid.cols(),
            });
        }
        count if count % 2 != 0 => return Err(Refusal::OddTerminals(count)),
        _ => {}
    }
    let apart = |a: usize, b: usize| found[a].1.apart(&found[b].1);
    let pairs = Pairs::find(found.len(), MARGIN, 0.0, apart, |_| OTHER)
        .map_err(|index| no_partner(found[index].0, grid))?;
    let unlike = |&&(a, b): &&(usize, usize)| apart(a, b) > MARGIN * OTHER;
    if let Some(&(index, _)) = pairs.pairs.iter().find(unlike) {
        return Err(no_partner(found[index].0, grid));
    }
    looks.faintest = f64::INFINITY;
    for (cell, glyph) in &found {
        looks.faintest = looks.faintest.min(glyph.contrast);
        if let Some(look) = &mut looks.cells[*cell] {
            look.terminal = Some(glyph.colour);
        }
    }
    let ink = |&(a, b): &(usize, usize)| mean(found[a].1.colour, found[b].1.colour);
    Ok(Paints {
        terminals: pairs.terminals(|index| found[index].0),
        palette: pairs.pairs.iter().map(ink).collect(),
        on_pipes: false,
        clearness: pairs.clearness,
    })
}

/// What stands out in a cell.
struct Marks {
    /// How many levels, row by row.
    levels: Vec<f64>,
    side: usize,
    /// The middle of the first one, in frame pixels from the cell's centre.
    first: Point,
    /// Frame pixels from one to the next.
    step: i64,
    /// The strongest one.
    most: f64,
    colour: Rgb,
}

impl Marks {
    fn look(picture: &Picture<'_>, span: f64, centre: Point, background: Rgb) -> Option<Self> {
        let step = ((2.0 * REACH * span / MOST as f64).ceil() as i64).max(1);
        let side = (2.0 * REACH * span / step as f64) as usize;
        // Whole pixels, so that marks are as far from each other as they seem.
        let half = (side as i64 * step) as f64 / 2.0;
        let corner = centre.map(|at| (at - half).round() as i64);
        let mut marks = Self {
            levels: Vec::with_capacity(side * side),
            side,
            first: [0, 1].map(|axis| corner[axis] as f64 + step as f64 / 2.0 - centre[axis]),
            step,
            most: 0.0,
            colour: background,
        };
        let count = (step * step) as u32;
        for index in 0..side * side {
            let at = |axis: usize, index: usize| corner[axis] + index as i64 * step;
            let (x, y) = (at(0, index % side), at(1, index / side));
            let sum = picture.sum_of_square([x, y], step as u32)?;
            let colour = sum.map(|sum| ((sum + count / 2) / count) as u8);
            let level = distance(colour, background);
            if level > marks.most {
                (marks.most, marks.colour) = (level, colour);
            }
            marks.levels.push(level);
        }
        Some(marks)
    }

    /// Takes away what comes from beyond: whatever hangs together with marks on the rim.
    fn clear_from_rim(&mut self, least: f64) {
        let side = self.side;
        let is_rim = |index: usize| {
            let (x, y) = (index % side, index / side);
            x == 0 || y == 0 || x + 1 == side || y + 1 == side
        };
        let mut open: Vec<usize> = (0..side * side)
            .filter(|&index| is_rim(index) && self.levels[index] >= least)
            .collect();
        while let Some(index) = open.pop() {
            self.levels[index] = 0.0;
            let (x, y) = (index % side, index / side);
            for (near_x, near_y) in around(x, y, side) {
                let near = near_y * side + near_x;
                if self.levels[near] >= least {
                    self.levels[near] = 0.0;
                    open.push(near);
                }
            }
        }
    }

    /// Left, top, right and bottom of what stands out by a level, in spans from the centre.
    fn bounds(&self, least: f64, span: f64) -> Option<[f64; 4]> {
        let strong = (0..self.levels.len()).filter(|&index| self.levels[index] >= least);
        let bounds = strong.fold([usize::MAX, usize::MAX, 0, 0], |[l, t, r, b], index| {
            let (x, y) = (index % self.side, index / self.side);
            [l.min(x), t.min(y), r.max(x + 1), b.max(y + 1)]
        });
        let place = |index: usize| {
            let marks = bounds[index] as f64 - 0.5;
            (self.first[index % 2] + marks * self.step as f64) / span
        };
        (bounds[0] < bounds[2]).then(|| [0, 1, 2, 3].map(place))
    }
}

/// The places beside a place, as far as there are.
fn around(x: usize, y: usize, side: usize) -> impl Iterator<Item = (usize, usize)> {
    let range = move |at: usize| at.saturating_sub(1)..(at + 2).min(side);
    range(y).flat_map(move |y| range(x).map(move |x| (x, y)))
}

impl Glyph {
    fn find(
        picture: &Picture<'_>,
        places: &Places<'_>,
        centre: Point,
        background: Rgb,
    ) -> Option<Self> {
        let span = places.span;
        if !shows(picture, span, centre, background) {
            return None;
        }
        let mut marks = Marks::look(picture, span, centre, background)?;
        // A pipe's soft edges go with it.
        marks.clear_from_rim(0.2 * marks.most);
        marks.most = marks.levels.iter().copied().fold(0.0, f64::max);
        let [left, top, right, bottom] = marks.bounds(0.5 * marks.most, span)?;
        let is_number = marks.most >= FAINT
            && bottom - top >= HIGH
            && (left + right).abs() / 2.0 <= ASIDE
            && (top + bottom).abs() / 2.0 <= ASIDE;
        if !is_number {
            return None;
        }
        let ink = marks.ink(2.0 * REACH * span / SIDE as f64);
        Some(Self {
            energy: ink.iter().map(|ink| ink * ink).sum(),
            ink,
            colour: marks.colour,
            contrast: marks.most,
        })
    }

    /// How much of the ink of two is not the same, from 0 to 1.
    fn apart(&self, other: &Self) -> f64 {
        let both = self.ink.iter().zip(&other.ink);
        let differs: f32 = both.map(|(a, b)| (a - b) * (a - b)).sum();
        f64::from(differs / (self.energy + other.energy).max(1.0))
    }
}

/// Whether anything stands out around a centre: most cells are empty, which is seen at a few pixels.
fn shows(picture: &Picture<'_>, span: f64, [x, y]: Point, background: Rgb) -> bool {
    let range = || -GLANCES..=GLANCES;
    let mut places = range().flat_map(|down| range().map(move |right| (right, down)));
    places.any(|(right, down)| {
        let at = |centre: f64, index: i32| centre + f64::from(index) * GLANCE * span;
        let colour = picture.at(at(x, right), at(y, down));
        colour.is_some_and(|colour| distance(colour, background) >= 0.5 * FAINT)
    })
}

impl Marks {
    /// How much ink there is about its centre of mass, from 0 to 1. `pitch`: frame pixels from sample to sample.
    fn ink(&self, pitch: f64) -> [f32; SIDE * SIDE] {
        let side = self.side;
        let least = INK[0] * self.most;
        let full = (INK[1] - INK[0]) * self.most;
        let marks = self.levels.iter();
        let marks: Vec<f64> = marks
            .map(|level| ((level - least) / full).clamp(0.0, 1.0))
            .collect();
        let mut mass = [0.0; 3];
        for (index, mark) in marks.iter().enumerate() {
            mass[0] += mark * (index % side) as f64;
            mass[1] += mark * (index / side) as f64;
            mass[2] += mark;
        }
        // Where an edge falls between pixels matters less when all are soft.
        let soft = softened(&softened(&marks, side, 1), side, side);
        let at = |x: usize, y: usize| {
            if x < side && y < side {
                soft[y * side + x]
            } else {
                0.0
            }
        };
        let place = |axis: usize, index: usize| {
            let off = (index as f64 - (SIDE as f64 - 1.0) / 2.0) * pitch / self.step as f64;
            let place = mass[axis] / mass[2].max(1.0) + off;
            // Below zero it is as far outside as above the last one.
            (place.floor() as i64 as usize, place - place.floor())
        };
        std::array::from_fn(|index| {
            let ((x, right), (y, low)) = (place(0, index % SIDE), place(1, index / SIDE));
            let row = |y: usize| at(x, y) * (1.0 - right) + at(x.wrapping_add(1), y) * right;
            (row(y) * (1.0 - low) + row(y.wrapping_add(1)) * low) as f32
        })
    }
}

/// Each value mixed with a quarter of those before and after it, `stride` values away.
fn softened(values: &[f64], side: usize, stride: usize) -> Vec<f64> {
    let last = side - 1;
    let mix = |index: usize| {
        let place = index / stride % side;
        let before = if place > 0 {
            values[index - stride]
        } else {
            0.0
        };
        let after = if place < last {
            values[index + stride]
        } else {
            0.0
        };
        0.25 * (before + after) + 0.5 * values[index]
    };
    (0..values.len()).map(mix).collect()
}

#[cfg(test)]
mod tests {
    use flowpipe_plugin::puzzle::Terminal;
    use flowpipe_plugin::{Format, PixelInfo};

    use super::*;
    use crate::shape::Shape;

    /// Strokes of digits, each left, top, right and bottom, in tenths of a span from the centre.
    const ONE: &[[f64; 4]] = &[[-0.4, -2.5, 0.4, 2.5]];
    const SIX: &[[f64; 4]] = &[
        [-1.5, -2.5, -0.8, 2.5],
        [-1.5, -2.5, 1.5, -1.8],
        [-1.5, -0.3, 1.5, 0.4],
        [-1.5, 1.8, 1.5, 2.5],
        [0.8, -0.3, 1.5, 2.5],
    ];
    const EIGHT: &[[f64; 4]] = &[
        [-1.5, -2.5, -0.8, 2.5],
        [-1.5, -2.5, 1.5, -1.8],
        [-1.5, -0.3, 1.5, 0.4],
        [-1.5, 1.8, 1.5, 2.5],
        [0.8, -2.5, 1.5, 2.5],
    ];

    /// Digits in a row of cells of a number of pixels, each at its own part of a pixel.
    fn read(span: f64, digits: &[&[[f64; 4]]]) -> Result<Vec<Terminal>, Refusal> {
        let (width, height) = ((span * digits.len() as f64) as usize + 2, span as usize + 2);
        let mut bytes = Vec::new();
        for index in 0..width * height {
            let ink = (0..16).filter(|sub| {
                let x = (index % width) as f64 + f64::from(sub % 4) / 4.0 + 0.125;
                let y = (index / width) as f64 + f64::from(sub / 4) / 4.0 + 0.125;
                let cell = ((x / span) as usize).min(digits.len() - 1);
                let off = [x - (cell as f64 + 0.5) * span, y - 0.5 * span];
                let [x, y] = off.map(|off| 10.0 * off / span);
                digits[cell]
                    .iter()
                    .any(|it| (it[0]..it[2]).contains(&x) && (it[1]..it[3]).contains(&y))
            });
            bytes.push(255 - 15 * ink.count() as u8);
        }
        let info = PixelInfo::new(Format::Grey8, width as u32, height as u32);
        let picture = Picture::new(&bytes, info).unwrap();
        let xs = (0..=digits.len()).map(|line| line as f64 * span);
        let grid = Grid::squares(xs.collect(), vec![0.0, span], span);
        let places = Places::new(&grid);
        let mut looks = crate::terminals::look(&picture, &places, &grid, &Shape::default());
        pair(&picture, &places, &grid, &mut looks).map(|paints| paints.terminals)
    }

    #[test]
    fn equal_numbers_are_pairs_wherever_their_pixels_fall() {
        for span in [24.3, 33.7, 41.9, 58.1, 77.7, 110.3] {
            let terminals = read(span, &[SIX, ONE, EIGHT, EIGHT, ONE, SIX]).unwrap();
            let colours: Vec<_> = terminals.iter().map(|it| it.colour).collect();
            assert_eq!(colours, [0, 1, 2, 2, 1, 0], "{span}");
        }
    }

    #[test]
    fn numbers_without_an_equal_one_are_refused() {
        let odd = read(40.3, &[SIX, ONE, SIX]);
        assert_eq!(odd, Err(Refusal::OddTerminals(3)));
        let other = read(40.3, &[SIX, ONE]);
        assert_eq!(other, Err(Refusal::NoPartner { row: 1, col: 1 }));
    }
}
