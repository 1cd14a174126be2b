//! Draws boards, plainly: enough to look like the game, and nothing of the reader in it.

use flowpipe_plugin::{Format, PixelInfo};

pub type Rgb = [u8; 3];

pub const LINE: Rgb = [100, 104, 70];

/// The paints of the letters in grids, with the near pairs of the real game.
pub fn paint(letter: char) -> Rgb {
    match letter {
        'R' => [255, 0, 0],
        'G' => [0, 141, 0],
        'B' => [12, 41, 254],
        'Y' => [234, 224, 0],
        'O' => [251, 137, 0],
        'C' => [0, 255, 255],
        'M' => [255, 10, 202],
        'm' => [165, 42, 42],
        'P' => [128, 0, 128],
        'W' => [255, 255, 255],
        'g' => [159, 159, 189],
        'L' => [0, 255, 0],
        'T' => [189, 183, 107],
        'b' => [0, 0, 139],
        't' => [0, 129, 128],
        'p' => [255, 20, 147],
        _ => panic!("no paint {letter}"),
    }
}

/// A picture to draw on.
pub struct Canvas {
    pub width: usize,
    pub height: usize,
    pub rgb: Vec<u8>,
}

/// Where a board is drawn.
#[derive(Clone, Copy)]
pub struct Place {
    pub x: f64,
    pub y: f64,
    pub cell: f64,
}

/// Where most boards are drawn: on [`canvas`] there is room for six rows and columns.
pub const PLACE: Place = Place {
    x: 100.0,
    y: 120.0,
    cell: 100.0,
};

/// A board that has a solution, as every board that is read must.
pub const SIX: [&str; 6] = ["R.....", "...GB.", "...B..", ".Y..Y.", ".O..GO", ".R...."];

/// A black one that most boards are drawn on.
pub fn canvas() -> Canvas {
    Canvas::new(800, 900, [0, 0, 0])
}

impl Canvas {
    pub fn new(width: usize, height: usize, colour: Rgb) -> Self {
        let rgb = colour.repeat(width * height);
        Self { width, height, rgb }
    }

    pub fn info(&self) -> PixelInfo {
        PixelInfo::new(Format::Rgb8, self.width as u32, self.height as u32)
    }

    /// Fills the points for which `inside` holds, with smooth edges.
    pub fn fill(
        &mut self,
        [x0, y0, x1, y1]: [f64; 4],
        colour: Rgb,
        inside: impl Fn(f64, f64) -> bool,
    ) {
        let columns = x0.max(0.0) as usize..(x1.ceil().max(0.0) as usize).min(self.width);
        for y in y0.max(0.0) as usize..(y1.ceil().max(0.0) as usize).min(self.height) {
            for x in columns.clone() {
                let hits = (0..16)
                    .filter(|&sub| {
                        let (dx, dy) = (f64::from(sub % 4), f64::from(sub / 4));
                        inside(x as f64 + dx / 4.0 + 0.125, y as f64 + dy / 4.0 + 0.125)
                    })
                    .count();
                let start = (y * self.width + x) * 3;
                for (old, new) in self.rgb[start..start + 3].iter_mut().zip(colour) {
                    let mixed = usize::from(*old) * (16 - hits) + usize::from(new) * hits;
                    *old = (mixed / 16) as u8;
                }
            }
        }
    }

    pub fn rectangle(&mut self, x: f64, y: f64, width: f64, height: f64, colour: Rgb) {
        let (right, bottom) = (x + width, y + height);
        self.fill([x, y, right, bottom], colour, |px, py| {
            px >= x && px < right && py >= y && py < bottom
        });
    }

    pub fn disc(&mut self, x: f64, y: f64, radius: f64, colour: Rgb) {
        let area = [x - radius, y - radius, x + radius, y + radius];
        self.fill(area, colour, |px, py| (px - x).hypot(py - y) <= radius);
    }

    /// A thick line with round ends.
    pub fn stroke(&mut self, a: (f64, f64), b: (f64, f64), width: f64, colour: Rgb) {
        let half = width / 2.0;
        let (left, right) = (a.0.min(b.0), a.0.max(b.0));
        let (top, bottom) = (a.1.min(b.1), a.1.max(b.1));
        let area = [left - half, top - half, right + half, bottom + half];
        self.fill(area, colour, |px, py| {
            (px - px.clamp(left, right)).hypot(py - py.clamp(top, bottom)) <= half
        });
    }

    /// Grid lines.
    pub fn grid(&mut self, place: Place, rows: usize, cols: usize, colour: Rgb) {
        let Place { x, y, cell } = place;
        let thick = (cell / 50.0).round().max(1.0);
        let (width, height) = (cols as f64 * cell, rows as f64 * cell);
        let at = |line: usize| (line as f64 * cell - thick / 2.0).round();
        for line in 0..=cols {
            self.rectangle(x + at(line), y + at(0), thick, height + thick, colour);
        }
        for line in 0..=rows {
            self.rectangle(x + at(0), y + at(line), width + thick, thick, colour);
        }
    }

    /// A board of letters and points with nothing drawn.
    pub fn board(&mut self, place: Place, grid: &[&str]) {
        self.grid(place, grid.len(), grid[0].len(), LINE);
        self.terminals(place, grid);
    }

    pub fn terminals(&mut self, place: Place, grid: &[&str]) {
        for (row, letters) in grid.iter().enumerate() {
            for (col, letter) in letters
                .chars()
                .enumerate()
                .filter(|(_, letter)| *letter != '.')
            {
                let (x, y) = place.centre(row, col);
                self.disc(x, y, 0.36 * place.cell, paint(letter));
            }
        }
    }

    /// A pipe through cells (row, column), tinted as the game does. Draw it before the terminals.
    pub fn pipe(&mut self, place: Place, letter: char, cells: &[(usize, usize)]) {
        let colour = paint(letter);
        let Place { x, y, cell } = place;
        for &(row, col) in cells {
            let (left, top) = (x + col as f64 * cell, y + row as f64 * cell);
            let thick = (cell / 50.0).round().max(1.0);
            let inner = cell - 2.0 * thick;
            self.rectangle(
                left + thick,
                top + thick,
                inner,
                inner,
                colour.map(|value| value / 4),
            );
        }
        for pair in cells.windows(2) {
            let (a, b) = (
                place.centre(pair[0].0, pair[0].1),
                place.centre(pair[1].0, pair[1].1),
            );
            self.stroke(a, b, 0.34 * cell, colour);
        }
        if let Some(&(row, col)) = cells.last() {
            let (x, y) = place.centre(row, col);
            self.disc(x, y, 0.25 * cell, colour);
        }
    }
}

impl Place {
    pub fn centre(self, row: usize, col: usize) -> (f64, f64) {
        (
            self.x + (col as f64 + 0.5) * self.cell,
            self.y + (row as f64 + 0.5) * self.cell,
        )
    }
}
