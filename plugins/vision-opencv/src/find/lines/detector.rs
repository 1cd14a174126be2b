//! The detector of lines.
//!
//! Only every few rows are examined for vertical lines, and every few columns for horizontal ones: a grid line is
//! long, so that it is found by what it has in common from sample to sample, and what is examined is a small
//! part of the picture. A pixel is of a line when it is brighter (or darker) than what lies on both sides of
//! it; a line is a run of such samples, with gaps where pipes cross it.

use crate::find::lines::assembly::{Found, Open};
use crate::find::lines::contrast::{across, down, each_on};
use crate::find::lines::criteria::Sought;
use crate::find::lines::segment::Run;
use crate::picture::Picture;

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
