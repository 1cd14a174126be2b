//! A picture and the truth about it, which change together.

use image::RgbImage;
use image::imageops;

use super::pixels::resize;
use crate::tests::truth::Truth;

#[derive(Clone)]
pub struct Scene {
    pub picture: RgbImage,
    pub truth: Truth,
}

/// Left, right, upper, lower.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Side {
    Left,
    Right,
    Above,
    Below,
}

impl Side {
    pub const ALL: [Self; 4] = [Self::Left, Self::Right, Self::Above, Self::Below];
}

impl Scene {
    /// The part of the picture that begins at (x, y), both in pixels.
    pub fn part(&self, x: u32, y: u32, width: u32, height: u32) -> Self {
        let picture = imageops::crop_imm(&self.picture, x, y, width, height).to_image();
        self.moved(picture, [-f64::from(x), -f64::from(y)])
    }

    /// The board and up to 40 pixels around it, on each side as many as `margin` gives.
    pub fn crop(&self, mut margin: impl FnMut() -> u32) -> Self {
        let [x, y, width, height] = self.truth.board_xywh;
        // Border lines have a width, and some truths are some pixels off.
        let room = 1.0 + 0.05 * self.truth.cell();
        let mut kept = || room + f64::from(margin());
        let [left, top] = [x - kept(), y - kept()].map(|edge| edge.max(0.0) as u32);
        let right = ((x + width + kept()).ceil() as u32).min(self.picture.width());
        let bottom = ((y + height + kept()).ceil() as u32).min(self.picture.height());
        self.part(left, top, right - left, bottom - top)
    }

    /// Made larger or smaller.
    pub fn scale(&self, factor: f64) -> Self {
        let (width, height) = self.picture.dimensions();
        let size = [width, height].map(|side| (f64::from(side) * factor).round().max(1.0));
        let picture = resize(&self.picture, size[0] as u32, size[1] as u32);
        let factors = [size[0] / f64::from(width), size[1] / f64::from(height)];
        let mut truth = self.truth.clone();
        for (index, length) in truth.board_xywh.iter_mut().enumerate() {
            *length *= factors[index % 2];
        }
        Self { picture, truth }
    }

    /// Turned by 90 degrees, clockwise or not.
    pub fn turn(&self, clockwise: bool) -> Self {
        let [x, y, width, height] = self.truth.board_xywh;
        let Truth { rows, cols, .. } = self.truth;
        let turned = |row: usize, col: usize| {
            if clockwise {
                (col, rows - 1 - row)
            } else {
                (cols - 1 - col, row)
            }
        };
        let mut letters = vec![vec!['.'; rows]; cols];
        for (row, line) in self.truth.grid.iter().enumerate() {
            for (col, letter) in line.chars().enumerate() {
                let (row, col) = turned(row, col);
                letters[row][col] = letter;
            }
        }
        let mut truth = self.truth.clone();
        (truth.rows, truth.cols) = (cols, rows);
        truth.grid = letters.iter().map(|row| row.iter().collect()).collect();
        let flows = truth.drawn.iter_mut().flatten();
        for cell in flows.flat_map(|flow| &mut flow.cells) {
            let (row, col) = turned(*cell / cols, *cell % cols);
            *cell = row * rows + col;
        }
        let picture = if clockwise {
            let lower = f64::from(self.picture.height()) - y - height;
            truth.board_xywh = [lower, x, height, width];
            imageops::rotate90(&self.picture)
        } else {
            let right = f64::from(self.picture.width()) - x - width;
            truth.board_xywh = [y, right, height, width];
            imageops::rotate270(&self.picture)
        };
        Self { picture, truth }
    }

    /// With another picture pasted at one side of the board, `gap` pixels from it and `along` of the
    /// free way along that side; the picture is extended where there is no room.
    pub fn beside(&self, other: &RgbImage, side: Side, gap: f64, along: f64) -> Self {
        let [x, y, width, height] = self.truth.board_xywh;
        let (across, down) = (f64::from(other.width()), f64::from(other.height()));
        let gap = gap + 1.0 + 0.05 * self.truth.cell();
        let (left, top) = match side {
            Side::Left => (x - gap - across, y + along * (height - down)),
            Side::Right => (x + width + gap, y + along * (height - down)),
            Side::Above => (x + along * (width - across), y - gap - down),
            Side::Below => (x + along * (width - across), y + height + gap),
        };
        // Away from the board.
        let (left, top) = match side {
            Side::Left | Side::Above => (left.floor() as i64, top.floor() as i64),
            Side::Right | Side::Below => (left.ceil() as i64, top.ceil() as i64),
        };
        let (before, over) = ((-left).max(0), (-top).max(0));
        let old = self.picture.dimensions();
        let new_width = (i64::from(old.0)).max(left + i64::from(other.width())) + before;
        let new_height = (i64::from(old.1)).max(top + i64::from(other.height())) + over;
        let background = *self.picture.get_pixel(0, old.1 - 1);
        let mut picture = RgbImage::from_pixel(new_width as u32, new_height as u32, background);
        imageops::replace(&mut picture, &self.picture, before, over);
        imageops::replace(&mut picture, other, left + before, top + over);
        self.moved(picture, [before as f64, over as f64])
    }

    fn moved(&self, picture: RgbImage, by: [f64; 2]) -> Self {
        let mut truth = self.truth.clone();
        truth.board_xywh[0] += by[0];
        truth.board_xywh[1] += by[1];
        Self { picture, truth }
    }
}
