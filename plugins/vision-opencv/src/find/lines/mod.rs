//! Straight thin lines in a picture, horizontal and vertical ones.
//!
//! Only every few rows are examined for vertical lines, and every few columns for horizontal ones: a grid line is
//! long, so that it is found by what it has in common from sample to sample, and what is examined is a small
//! part of the picture. A pixel is of a line when it is brighter (or darker) than what lies on both sides of
//! it; a line is a run of such samples, with gaps where pipes cross it.

use crate::find::lines::segment::Run;
use crate::picture::Picture;
use crate::picture::polarity::Ink;

/// What counts as a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sought {
    /// Brighter or darker than what is around.
    pub ink: Ink,
    /// By so many levels of grey.
    pub level: u8,
    /// Sides are compared with what lies so many pixels away.
    pub aside: usize,
    /// Shorter lines are left out, in pixels.
    pub shortest: f64,
    /// Gaps in a line are at most this share of the picture's shorter side; one sample may always lack.
    pub gaps: f64,
}

/// The rows and columns of a picture that lines are looked for in. Kept from picture to picture for their
/// memory.
#[derive(Default)]
pub struct Samples {
    width: usize,
    height: usize,
    stride: usize,
    /// Grey of every few rows, whole.
    rows: Vec<u8>,
    /// Grey of every few pixels of every row.
    columns: Vec<u8>,
    /// How far each sample of a row stands out.
    off: Vec<u8>,
    open: Vec<Open>,
    darkest: u8,
    brightest: u8,
    /// The vertical and the horizontal lines that were looked for in these samples.
    known: [Vec<(Sought, Vec<Run>)>; 2],
}

impl Samples {
    /// Takes the samples of a picture.
    pub fn take(&mut self, picture: &Picture<'_>) {
        let (width, height) = (picture.width(), picture.height());
        let stride = stride(width.min(height));
        (self.width, self.height, self.stride) = (width, height, stride);
        self.rows.clear();
        self.columns.clear();
        self.known.iter_mut().for_each(Vec::clear);
        let first = stride / 2;
        for y in 0..height {
            if y % stride == first {
                picture.grey_row(y, 0, 1, &mut self.rows);
            }
            picture.grey_row(y, first, stride, &mut self.columns);
        }
        // One after the other, for then many are examined at once.
        self.darkest = self
            .rows
            .iter()
            .fold(u8::MAX, |least, &value| least.min(value));
        self.brightest = self.rows.iter().fold(0, |most, &value| most.max(value));
    }

    /// From the darkest to the brightest sample, in levels of grey.
    #[must_use]
    pub fn contrast(&self) -> u8 {
        self.brightest.saturating_sub(self.darkest)
    }

    /// Pixels from top to bottom.
    #[must_use]
    pub fn height(&self) -> usize {
        self.height
    }

    /// Pixels from one sampled row or column to the next.
    #[must_use]
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// How far from a line its sides are compared with: lines are some fiftieth of a cell wide, and the
    /// largest cells are a third of the picture's shorter side.
    #[must_use]
    pub fn aside(&self) -> usize {
        (self.width.min(self.height) / 360 + 1).max(2)
    }

    /// The vertical lines, from left to right.
    #[must_use]
    pub fn vertical(&mut self, sought: &Sought) -> Vec<Run> {
        self.lines(0, sought, Self::search_vertical)
    }

    /// The horizontal lines, from top to bottom.
    #[must_use]
    pub fn horizontal(&mut self, sought: &Sought) -> Vec<Run> {
        self.lines(1, sought, Self::search_horizontal)
    }

    /// Lines that may have been looked for already. `axis`: 0 for vertical ones.
    fn lines(
        &mut self,
        axis: usize,
        sought: &Sought,
        look: impl Fn(&mut Self, &Sought) -> Vec<Run>,
    ) -> Vec<Run> {
        let mut known = self.known[axis].iter();
        if let Some((_, runs)) = known.find(|(other, _)| other == sought) {
            return runs.clone();
        }
        let runs = look(self, sought);
        self.known[axis].push((*sought, runs.clone()));
        runs
    }

    fn search_vertical(&mut self, sought: &Sought) -> Vec<Run> {
        let (width, stride) = (self.width, self.stride);
        let mut found = Found::new(sought, stride);
        let mut open = std::mem::take(&mut self.open);
        open.clear();
        open.resize(width, Open::default());
        let far = found.far(self.height.min(width));
        let mut off = std::mem::take(&mut self.off);
        for (sample, row) in self.rows.chunks_exact(width.max(1)).enumerate() {
            across(row, sought, &mut off);
            each_on(&off, sought.level, |x, value| {
                open[x].on(x, sample as u32, value, far, &mut found);
            });
        }
        for (x, open) in open.iter_mut().enumerate() {
            open.close(x, &mut found);
        }
        (self.off, self.open) = (off, open);
        found.lines()
    }

    /// The samples that stand out as those of vertical lines do, also of lines aslant: across and along.
    #[must_use]
    pub fn vertical_points(&mut self, sought: &Sought) -> Vec<[f64; 2]> {
        let (width, stride) = (self.width, self.stride);
        let mut points = Vec::new();
        for (sample, row) in self.rows.chunks_exact(width.max(1)).enumerate() {
            across(row, sought, &mut self.off);
            let along = (sample * stride + stride / 2) as f64 + 0.5;
            each_on(&self.off, sought.level, |x, _| {
                points.push([x as f64 + 0.5, along]);
            });
        }
        points
    }

    /// The same of horizontal lines.
    #[must_use]
    pub fn horizontal_points(&mut self, sought: &Sought) -> Vec<[f64; 2]> {
        let count = self.columns.len() / self.height.max(1);
        let mut points = Vec::new();
        let row = |y: usize| &self.columns[y * count..(y + 1) * count];
        for y in sought.aside..self.height.saturating_sub(sought.aside) {
            let (above, below) = (row(y - sought.aside), row(y + sought.aside));
            down(above, row(y), below, sought.ink, &mut self.off);
            let across = y as f64 + 0.5;
            each_on(&self.off, sought.level, |sample, _| {
                let along = (sample * self.stride + self.stride / 2) as f64 + 0.5;
                points.push([across, along]);
            });
        }
        points
    }

    fn search_horizontal(&mut self, sought: &Sought) -> Vec<Run> {
        let count = self.columns.len() / self.height.max(1);
        let mut found = Found::new(sought, self.stride);
        if count == 0 {
            return Vec::new();
        }
        let far = found.far(self.height.min(self.width));
        let mut off = std::mem::take(&mut self.off);
        let row = |y: usize| &self.columns[y * count..(y + 1) * count];
        for y in 0..self.height {
            // Beyond the picture's edge lies what lies on the other side.
            let above = y.checked_sub(sought.aside);
            let below = (y + sought.aside < self.height).then_some(y + sought.aside);
            let (Some(above), Some(below)) = (above.or(below), below.or(above)) else {
                continue;
            };
            down(row(above), row(y), row(below), sought.ink, &mut off);
            let mut open = Open::default();
            each_on(&off, sought.level, |sample, value| {
                open.on(y, sample as u32, value, far, &mut found);
            });
            open.close(y, &mut found);
        }
        self.off = off;
        found.lines()
    }
}

/// Pixels from one sample to the next: a cell of twelve pixels has five samples at least in small pictures.
fn stride(shorter: usize) -> usize {
    (shorter / 256).clamp(2, 8)
}

/// How far each pixel of a row stands out from both sides of it.
fn across(row: &[u8], sought: &Sought, off: &mut Vec<u8>) {
    let aside = sought.aside;
    off.clear();
    off.resize(row.len(), 0);
    if row.len() <= 2 * aside {
        return;
    }
    let inner = &mut off[aside..row.len() - aside];
    let (before, middle, after) = (row, &row[aside..], &row[2 * aside..]);
    stand_out(before, middle, after, sought.ink, inner);
    for x in 0..aside {
        off[x] = one(row[x + aside], row[x], row[x + aside], sought.ink);
        let last = row.len() - 1 - x;
        off[last] = one(row[last - aside], row[last], row[last - aside], sought.ink);
    }
}

fn down(above: &[u8], row: &[u8], below: &[u8], ink: Ink, off: &mut Vec<u8>) {
    off.clear();
    off.resize(row.len(), 0);
    stand_out(above, row, below, ink, off);
}

/// Written so that many pixels are done at once.
fn stand_out(before: &[u8], middle: &[u8], after: &[u8], ink: Ink, off: &mut [u8]) {
    let sides = before.iter().zip(after);
    match ink {
        Ink::Bright => {
            for ((off, &value), (&a, &b)) in off.iter_mut().zip(middle).zip(sides) {
                *off = value.saturating_sub(a.max(b));
            }
        }
        Ink::Dark => {
            for ((off, &value), (&a, &b)) in off.iter_mut().zip(middle).zip(sides) {
                *off = a.min(b).saturating_sub(value);
            }
        }
    }
}

fn one(before: u8, value: u8, after: u8, ink: Ink) -> u8 {
    let mut off = [0];
    stand_out(&[before], &[value], &[after], ink, &mut off);
    off[0]
}

/// Calls for each sample that stands out by a level; most do not.
fn each_on(off: &[u8], level: u8, mut on: impl FnMut(usize, u8)) {
    let level = level.max(1);
    for (index, block) in off.chunks(16).enumerate() {
        if block.iter().fold(0, |most: u8, &value| most.max(value)) < level {
            continue;
        }
        for (place, &value) in block.iter().enumerate() {
            if value >= level {
                on(index * 16 + place, value);
            }
        }
    }
}

/// A line that may go on.
#[derive(Clone, Copy, Default)]
struct Open {
    from: u32,
    last: u32,
    count: u32,
    sum: u32,
}

impl Open {
    /// A sample of the line in this lane.
    fn on(&mut self, lane: usize, at: u32, value: u8, far: u32, found: &mut Found) {
        let span = self.last - self.from;
        if self.count > 0 && at - self.last > (3 + 3 * span / 5).min(far) {
            self.close(lane, found);
        }
        if self.count == 0 {
            self.from = at;
        }
        self.last = at;
        self.count += 1;
        self.sum += u32::from(value);
    }

    fn close(&mut self, lane: usize, found: &mut Found) {
        let span = self.last - self.from + 1;
        if span >= found.shortest && 2 * self.count >= span {
            found.pieces.push(Piece {
                lane,
                from: self.from,
                to: self.last + 1,
                count: self.count,
                sum: self.sum,
            });
        }
        *self = Self::default();
    }
}

/// A part of a line that is one pixel wide.
#[derive(Clone, Copy)]
struct Piece {
    lane: usize,
    /// In samples.
    from: u32,
    to: u32,
    count: u32,
    sum: u32,
}

struct Found {
    pieces: Vec<Piece>,
    stride: usize,
    /// In samples.
    shortest: u32,
    /// Pieces so many lanes apart are of one line.
    near: usize,
    /// See [`Sought`].
    gaps: f64,
}

/// The longest gap in a line of a grid of squares, as a share of the picture's shorter side: a pipe is a third of
/// a cell.
pub const PIPE: f64 = 0.08;

impl Found {
    fn new(sought: &Sought, stride: usize) -> Self {
        Self {
            pieces: Vec::new(),
            stride,
            shortest: (sought.shortest / stride as f64).floor().max(3.0) as u32,
            near: sought.aside,
            gaps: sought.gaps,
        }
    }

    /// The longest gap, in samples.
    fn far(&self, shorter: usize) -> u32 {
        ((self.gaps * shorter as f64 / self.stride as f64).ceil() as u32).max(2)
    }

    /// Pieces that lie side by side are one line.
    fn lines(self) -> Vec<Run> {
        let mut pieces = self.pieces;
        pieces.sort_unstable_by_key(|piece| (piece.lane, piece.from));
        let mut lines: Vec<Line> = Vec::new();
        // Those that may still be widened.
        let mut first = 0;
        for piece in &pieces {
            while lines
                .get(first)
                .is_some_and(|line| line.last + self.near < piece.lane)
            {
                first += 1;
            }
            let beside = |line: &&mut Line| {
                let shared =
                    i64::from(line.to.min(piece.to)) - i64::from(line.from.max(piece.from));
                let shorter = (line.to - line.from).min(piece.to - piece.from);
                line.last + self.near >= piece.lane && 2 * shared > i64::from(shorter)
            };
            match lines[first..].iter_mut().find(beside) {
                Some(line) => line.widen(piece),
                None => lines.push(Line::new(piece)),
            }
        }
        let stride = self.stride as f64;
        let mut runs: Vec<Run> = lines.iter().map(|line| line.run(stride)).collect();
        runs.sort_by(|a, b| a.at.total_cmp(&b.at));
        runs
    }
}

/// Pieces side by side.
struct Line {
    from: u32,
    to: u32,
    first: usize,
    last: usize,
    count: u32,
    /// Of contrasts, and of contrasts times lanes.
    sum: f64,
    moment: f64,
    /// The highest mean contrast of a piece.
    contrast: f64,
    longest: u32,
}

impl Line {
    fn new(piece: &Piece) -> Self {
        let mut line = Self {
            from: piece.from,
            to: piece.to,
            first: piece.lane,
            last: piece.lane,
            count: 0,
            sum: 0.0,
            moment: 0.0,
            contrast: 0.0,
            longest: 0,
        };
        line.widen(piece);
        line
    }

    fn widen(&mut self, piece: &Piece) {
        self.last = self.last.max(piece.lane);
        // Stray samples make single pieces longer than the line is: the fullest one gives its end.
        if piece.count > self.longest {
            self.longest = piece.count;
            (self.from, self.to) = (piece.from, piece.to);
        }
        self.count += piece.count;
        let sum = f64::from(piece.sum);
        self.sum += sum;
        self.moment += sum * (piece.lane as f64 + 0.5);
        self.contrast = self.contrast.max(sum / f64::from(piece.count));
    }

    fn run(&self, stride: f64) -> Run {
        Run {
            at: self.moment / self.sum.max(1.0),
            from: f64::from(self.from) * stride,
            to: f64::from(self.to) * stride,
            width: (self.last - self.first + 1) as f64,
            contrast: self.contrast,
        }
    }
}
pub mod segment;
