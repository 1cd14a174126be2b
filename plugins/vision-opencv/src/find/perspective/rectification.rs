//! Rectifies a turned board: makes a small picture of it as seen from the front, which is read like any other.
//!
//! Each pixel is the mean of what it covers in the frame. Otherwise a thin line between two sampled points would be
//! lost.

use flowpipe_plugin::{Format, PixelInfo};

use crate::find::grid::Grid;
use crate::find::perspective::turned_board::TurnedBoard;
use crate::picture::rotation::RotatedPicture;
use crate::picture::{Picture, PictureError};

/// The greatest width of cells, in pixels: more show nothing that reading needs.
const LARGEST: f64 = 40.0;
/// The greatest width where each pixel counts.
const LARGEST_IN_FULL: f64 = 64.0;
/// What is seen around the board, in cells.
const AROUND: f64 = 0.45;

/// The pixels of a rectified board.
#[derive(Clone, Debug)]
pub struct RectifiedBoard {
    rgb: Vec<u8>,
    info: PixelInfo,
    /// Where the board's lines are in them.
    pub grid: Grid,
}

impl RectifiedBoard {
    /// Examines a board. What lies outside of the frame is black.
    #[must_use]
    pub fn of(picture: &Picture<'_>, turned: &TurnedBoard) -> Self {
        let mean = (turned.across(1.0) - turned.across(-1.0)) / turned.cols as f64;
        Self::with_cell(picture, turned, mean.min(LARGEST))
    }

    /// The same, with as many pixels as the widest column has.
    #[must_use]
    pub fn in_full(picture: &Picture<'_>, turned: &TurnedBoard) -> Self {
        Self::with_cell(picture, turned, turned.widest().min(LARGEST_IN_FULL))
    }

    /// One that was seen in the picture turned clockwise, as it lies in the picture.
    ///
    /// # Errors
    /// See [`PictureError`].
    pub fn back(&self) -> Result<Self, PictureError> {
        let picture = Picture::new(&self.rgb, self.info)?;
        let (rgb, info) = RotatedPicture::anticlockwise(&picture).into_pixels();
        // The lines lie alike from both ends.
        let (xs, ys) = (self.grid.ys.clone(), self.grid.xs.clone());
        let grid = Grid::squares(xs, ys, self.grid.cell);
        Ok(Self { rgb, info, grid })
    }

    /// With cells of `cell` pixels, rounded.
    fn with_cell(picture: &Picture<'_>, turned: &TurnedBoard, cell: f64) -> Self {
        let cell = cell.round().max(1.0);
        let around = (AROUND * cell).ceil() + 3.0;
        let side = |cells: usize| 2.0 * around + cells as f64 * cell;
        let lines = |cells: usize| {
            (0..=cells)
                .map(|line| around + line as f64 * cell)
                .collect()
        };
        let grid = Grid::squares(lines(turned.cols), lines(turned.rows), cell);
        let (width, height) = (side(turned.cols) as usize, side(turned.rows) as usize);
        let mut rgb = vec![0; 3 * width * height];
        let half_width = turned.cols as f64 * cell / 2.0;
        let unit = turned.half_height() / (turned.rows as f64 * cell / 2.0);
        let middle = turned.middle[1];
        let mut columns = Columns::default();
        for first in (0..width).step_by(BLOCK) {
            let alongs: [f64; BLOCK] = std::array::from_fn(|index| {
                ((first + index) as f64 + 0.5 - around - half_width) / half_width
            });
            // Heights in the frame that a pixel of each column covers.
            let steps = alongs.map(|along| unit * turned.shrink(along));
            let reach = height as f64 / 2.0 * steps.into_iter().fold(0.0, f64::max);
            columns.look(
                picture,
                alongs.map(|along| turned.middle[0] + turned.across(along)),
                (middle - reach, middle + reach),
            );
            for (index, step) in steps.into_iter().enumerate().take(width - first) {
                let top = middle - height as f64 / 2.0 * step;
                let mut upper = columns.until(index, top);
                for y in 0..height {
                    let lower = columns.until(index, top + (y + 1) as f64 * step);
                    let start = 3 * (y * width + first + index);
                    let pixel = rgb[start..start + 3].iter_mut();
                    for (value, (lower, upper)) in pixel.zip(lower.into_iter().zip(upper)) {
                        *value = ((lower - upper) / step + 0.5) as u8;
                    }
                    upper = lower;
                }
            }
        }
        let info = PixelInfo::new(Format::Rgb8, width as u32, height as u32);
        Self { rgb, info, grid }
    }

    /// The pixels and how they lie.
    #[must_use]
    pub fn pixels(&self) -> (&[u8], PixelInfo) {
        (&self.rgb, self.info)
    }
}

/// Columns that are examined together: they lie side by side in memory, and those above one another do
/// not.
const BLOCK: usize = 16;
/// The number of shares in which columns of pixels are mixed: as fine as colours are.
const SHARES: f64 = 256.0;

/// Columns of the frame, each between two columns of pixels.
#[derive(Default)]
struct Columns {
    /// For each row of pixels, the sums of all colours above it, times [`SHARES`].
    sums: Vec<[[u32; 3]; BLOCK]>,
    /// The first row of pixels.
    first: f64,
}

impl Columns {
    /// Examines columns, from one height to another. What lies outside of the frame is black.
    fn look(&mut self, picture: &Picture<'_>, xs: [f64; BLOCK], (upper, lower): (f64, f64)) {
        let places = xs.map(|x| {
            let left = (x - 0.5).floor();
            let share = ((x - 0.5 - left) * SHARES) as u32;
            (left as i64, SHARES as u32 - share, share)
        });
        let inside = |x: i64| usize::try_from(x).is_ok_and(|x| x < picture.width());
        let all_inside = places.iter().all(|(x, ..)| inside(*x) && inside(x + 1));
        let most = picture.height() as f64;
        self.first = upper.floor().clamp(0.0, most);
        let rows = self.first as usize..lower.ceil().clamp(0.0, most) as usize;
        let mut sums = [[0; 3]; BLOCK];
        self.sums.clear();
        self.sums.push(sums);
        for y in rows {
            for (sum, (left, left_share, right_share)) in sums.iter_mut().zip(places) {
                let colour = |x: i64| {
                    let seen = all_inside || inside(x);
                    let pixel = seen.then(|| picture.pixel(x as usize, y));
                    pixel.flatten().unwrap_or_default().map(u32::from)
                };
                let (a, b) = (colour(left), colour(left + 1));
                for channel in 0..3 {
                    sum[channel] += a[channel] * left_share + b[channel] * right_share;
                }
            }
            self.sums.push(sums);
        }
    }

    /// The sum of all colours of a column above a height in the frame.
    fn until(&self, column: usize, y: f64) -> [f64; 3] {
        let last = self.sums.len() - 1;
        let y = (y - self.first).clamp(0.0, last as f64);
        let row = y as usize;
        let (above, below) = (
            self.sums[row][column],
            self.sums[(row + 1).min(last)][column],
        );
        let share = y - row as f64;
        std::array::from_fn(|channel| {
            let (above, below) = (f64::from(above[channel]), f64::from(below[channel]));
            (above + share * (below - above)) / SHARES
        })
    }
}
