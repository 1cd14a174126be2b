//! The line detector.
//!
//! Vertical lines are searched in every few rows, horizontal lines in every few columns: a grid line is long, so that
//! its samples agree, and most of a picture need not be read. A sample is on a line if it is brighter (or darker) than
//! what is on both sides. A line is a sequence of such samples, with gaps where pipes cross it.

use crate::find::lines::assembly::{LineAssembly, OpenPiece};
use crate::find::lines::contrast::{across, down, each_on};
use crate::find::lines::criteria::LineCriteria;
use crate::find::lines::segment::Segment;
use crate::picture::Picture;

/// The rows and columns of a picture that lines are looked for in. Kept from picture to picture for their
/// memory.
#[derive(Default)]
pub struct LineDetector {
    width: usize,
    height: usize,
    stride: usize,
    /// Grey of every few rows, whole.
    rows: Vec<u8>,
    /// Grey of every few pixels of every row.
    columns: Vec<u8>,
    /// How far each sample of a row stands out.
    off: Vec<u8>,
    open: Vec<OpenPiece>,
    darkest: u8,
    brightest: u8,
    /// The vertical and the horizontal lines that were looked for in these samples.
    known: [Vec<(LineCriteria, Vec<Segment>)>; 2],
}

impl LineDetector {
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
    pub fn vertical(&mut self, criteria: &LineCriteria) -> Vec<Segment> {
        self.lines(0, criteria, Self::search_vertical)
    }

    /// The horizontal lines, from top to bottom.
    #[must_use]
    pub fn horizontal(&mut self, criteria: &LineCriteria) -> Vec<Segment> {
        self.lines(1, criteria, Self::search_horizontal)
    }

    /// Lines that may have been looked for already. `axis`: 0 for vertical ones.
    fn lines(
        &mut self,
        axis: usize,
        criteria: &LineCriteria,
        look: impl Fn(&mut Self, &LineCriteria) -> Vec<Segment>,
    ) -> Vec<Segment> {
        let mut known = self.known[axis].iter();
        if let Some((_, runs)) = known.find(|(other, _)| other == criteria) {
            return runs.clone();
        }
        let runs = look(self, criteria);
        self.known[axis].push((*criteria, runs.clone()));
        runs
    }

    fn search_vertical(&mut self, criteria: &LineCriteria) -> Vec<Segment> {
        let (width, stride) = (self.width, self.stride);
        let mut found = LineAssembly::new(criteria, stride);
        let mut open = std::mem::take(&mut self.open);
        open.clear();
        open.resize(width, OpenPiece::default());
        let far = found.far(self.height.min(width));
        let mut off = std::mem::take(&mut self.off);
        for (sample, row) in self.rows.chunks_exact(width.max(1)).enumerate() {
            across(row, criteria, &mut off);
            each_on(&off, criteria.level, |x, value| {
                open[x].on(x, sample as u32, value, far, &mut found);
            });
        }
        for (x, open) in open.iter_mut().enumerate() {
            open.close(x, &mut found);
        }
        (self.off, self.open) = (off, open);
        found.lines()
    }

    /// The samples that stand out as those of vertical lines do, also of slanted lines: across and along.
    #[must_use]
    pub fn vertical_points(&mut self, criteria: &LineCriteria) -> Vec<[f64; 2]> {
        let (width, stride) = (self.width, self.stride);
        let mut points = Vec::new();
        for (sample, row) in self.rows.chunks_exact(width.max(1)).enumerate() {
            across(row, criteria, &mut self.off);
            let along = (sample * stride + stride / 2) as f64 + 0.5;
            each_on(&self.off, criteria.level, |x, _| {
                points.push([x as f64 + 0.5, along]);
            });
        }
        points
    }

    /// The same of horizontal lines.
    #[must_use]
    pub fn horizontal_points(&mut self, criteria: &LineCriteria) -> Vec<[f64; 2]> {
        let count = self.columns.len() / self.height.max(1);
        let mut points = Vec::new();
        let row = |y: usize| &self.columns[y * count..(y + 1) * count];
        for y in criteria.aside..self.height.saturating_sub(criteria.aside) {
            let (above, below) = (row(y - criteria.aside), row(y + criteria.aside));
            down(above, row(y), below, criteria.polarity, &mut self.off);
            let across = y as f64 + 0.5;
            each_on(&self.off, criteria.level, |sample, _| {
                let along = (sample * self.stride + self.stride / 2) as f64 + 0.5;
                points.push([across, along]);
            });
        }
        points
    }

    fn search_horizontal(&mut self, criteria: &LineCriteria) -> Vec<Segment> {
        let count = self.columns.len() / self.height.max(1);
        let mut found = LineAssembly::new(criteria, self.stride);
        if count == 0 {
            return Vec::new();
        }
        let far = found.far(self.height.min(self.width));
        let mut off = std::mem::take(&mut self.off);
        let row = |y: usize| &self.columns[y * count..(y + 1) * count];
        for y in 0..self.height {
            // Beyond the picture's edge lies what lies on the other side.
            let above = y.checked_sub(criteria.aside);
            let below = (y + criteria.aside < self.height).then_some(y + criteria.aside);
            let (Some(above), Some(below)) = (above.or(below), below.or(above)) else {
                continue;
            };
            down(row(above), row(y), row(below), criteria.polarity, &mut off);
            let mut open = OpenPiece::default();
            each_on(&off, criteria.level, |sample, value| {
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
