//! What vision made out, drawn over the picture that it saw.

use flowpipe_puzzle::message::SeenBoard;
use flowpipe_puzzle::{Cell, Point, colour, place};

use super::canvas::{Canvas, Ink};
use super::{Pixels, SizeError, font};

/// Where the board and its cells are: a colour that no puzzle has.
const LINE: [u8; 3] = [255, 0, 220];
const WALL: [u8; 3] = [255, 160, 0];
const DARK: [u8; 3] = [0, 0, 0];
const LIGHT: [u8; 3] = [255, 255, 255];

/// Draws a board over the picture that it was seen in: its corners, its cells, holes hatched, walls thick,
/// bridges with a bar across, terminals ringed in their colour with their letter, and drawn pipes as thin
/// lines.
///
/// # Errors
/// When the picture has a side longer than [`super::MAX_SIDE`], or none.
pub fn board(picture: Pixels, seen: &SeenBoard) -> Result<Pixels, SizeError> {
    let mut sheet = OverlaySheet::new(Canvas::of_pixels(picture)?, seen);
    sheet.cells();
    sheet.holes();
    sheet.bridges();
    sheet.walls();
    sheet.pipes();
    sheet.terminals();
    Ok(sheet.canvas.into_pixels())
}

/// Writes a text over the top of a picture, in as many lines as it takes.
///
/// # Errors
/// As [`board`].
pub fn caption(picture: Pixels, text: &str) -> Result<Pixels, SizeError> {
    let mut canvas = Canvas::of_pixels(picture)?;
    let (width, tall) = (canvas.width() as f64, canvas.height() as f64);
    let height = (width / 45.0).clamp(6.0, 28.0);
    let margin = height * 0.8;
    let lines = wrap(text, width - 2.0 * margin, height);
    let step = 1.7 * height;
    let bottom = (2.0 * margin + step * (lines.len() - 1) as f64 + height).min(tall);
    let band = vec![[0.0, 0.0], [width, 0.0], [width, bottom], [0.0, bottom]];
    let ink = Ink {
        paint: DARK,
        opacity: 0.75,
    };
    canvas.areas([band], ink);
    for (index, line) in lines.iter().enumerate() {
        let feet = margin + height + step * index as f64;
        let path = font::path(line, [margin, feet], height);
        canvas.stroke(path, font::WEIGHT * height, LIGHT.into());
    }
    Ok(canvas.into_pixels())
}

/// Breaks a text into lines no wider than so many pixels, where its words are not.
fn wrap(text: &str, width: f64, height: f64) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.len() - 1;
        let longer = format!("{} {word}", lines[last]);
        if lines[last].is_empty() {
            lines[last] = word.to_owned();
        } else if font::width(&longer, height) <= width {
            lines[last] = longer;
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

/// A board over a picture.
struct OverlaySheet<'a> {
    canvas: Canvas,
    seen: &'a SeenBoard,
    /// About the side of a cell, in frame pixels.
    cell: f64,
}

impl<'a> OverlaySheet<'a> {
    fn new(canvas: Canvas, seen: &'a SeenBoard) -> Self {
        let corners = seen.geometry.corners;
        let area: f64 = (0..4)
            .map(|index| {
                let ([x0, y0], [x1, y1]) = (corners[index], corners[(index + 1) % 4]);
                (x0 * y1 - x1 * y0) / 2.0
            })
            .sum();
        let cells = seen.geometry.rows * seen.geometry.cols;
        let cell = (area.abs() / cells.max(1) as f64).sqrt();
        Self { canvas, seen, cell }
    }

    fn frame(&self, point: Point) -> Point {
        self.seen.geometry.to_frame(point)
    }

    fn centre(&self, cell: Cell) -> Point {
        place::centre(self.seen.puzzle.board(), cell)
    }

    /// The corners of the cell about a centre, grown by a factor, in the frame.
    fn outline(&self, [x, y]: Point, grown: f64) -> Vec<Point> {
        let lattice = self.seen.puzzle.board().description().lattice;
        let corner = |[dx, dy]: &Point| self.frame([x + dx * grown, y + dy * grown]);
        let mut corners: Vec<Point> = place::corners(lattice).iter().map(corner).collect();
        corners.extend(corners.first().copied());
        corners
    }

    /// Lines that show on dark and on light.
    fn lines(&mut self, lines: Vec<Vec<Point>>, width: f64, paint: [u8; 3]) {
        let rim = Ink {
            paint: DARK,
            opacity: 0.6,
        };
        self.canvas.lines(lines.clone(), width + 2.0, rim);
        self.canvas.lines(lines, width, paint.into());
    }

    fn cells(&mut self) {
        let board = self.seen.puzzle.board();
        let outlines: Vec<Vec<Point>> = board
            .cells()
            .map(|cell| self.outline(self.centre(cell), 1.0))
            .collect();
        let ink = Ink {
            paint: LINE,
            opacity: 0.7,
        };
        self.canvas.lines(outlines, 1.0, ink);
        let mut corners = self.seen.geometry.corners.to_vec();
        corners.extend(corners.first().copied());
        self.lines(vec![corners], (self.cell / 20.0).max(1.5), LINE);
    }

    fn holes(&mut self) {
        let board = self.seen.puzzle.board();
        for cell in board.description().holes.clone() {
            let [x, y] = self.centre(cell);
            // Lines from lower left to upper right, cut off at the cell's sides.
            let hatch = (-2..=2).map(|step| {
                let shift = f64::from(step) * 0.3;
                let (low, high) = ((-0.5_f64).max(shift - 0.5), 0.5_f64.min(shift + 0.5));
                [low, high]
                    .map(|dx| self.frame([x + dx, y + shift - dx]))
                    .to_vec()
            });
            let hatch: Vec<Vec<Point>> = hatch.collect();
            self.canvas
                .lines(hatch, (self.cell / 25.0).max(1.0), LINE.into());
        }
    }

    fn bridges(&mut self) {
        let board = self.seen.puzzle.board();
        for cell in board.description().bridges.clone() {
            let [x, y] = self.centre(cell);
            for side in [-0.25, 0.25] {
                let bar = [[x - 0.4, y + side], [x + 0.4, y + side]].map(|end| self.frame(end));
                self.lines(vec![bar.to_vec()], (self.cell / 25.0).max(1.0), WALL);
            }
        }
    }

    fn walls(&mut self) {
        let board = self.seen.puzzle.board();
        let mut sides = Vec::new();
        for (from, to) in board.description().walls.clone() {
            // Where the board warps, a wall is drawn at both edges that it closes.
            for (from, to) in [(from, to), (to, from)] {
                let Some(way) = place::direction(board, from, to) else {
                    continue;
                };
                let outline = self.outline(self.centre(from), 1.0);
                let side = usize::from(way.0);
                sides.push(outline[side..side + 2].to_vec());
            }
        }
        self.lines(sides, (self.cell / 10.0).max(2.0), WALL);
    }

    fn pipes(&mut self) {
        let board = self.seen.puzzle.board();
        let lattice = board.description().lattice;
        let mut steps = Vec::new();
        for flow in &self.seen.drawn {
            for pair in flow.cells.windows(2) {
                let Some(way) = place::direction(board, pair[0], pair[1]) else {
                    continue;
                };
                let [dx, dy] = place::offset(lattice, way).map(|step| step / 2.0);
                // Half a step from either cell: over the edge of a board that warps these do not meet.
                for (cell, sign) in [(pair[0], 1.0), (pair[1], -1.0)] {
                    let [x, y] = self.centre(cell);
                    let half = [[x, y], [x + sign * dx, y + sign * dy]];
                    steps.push(half.map(|end| self.frame(end)).to_vec());
                }
            }
        }
        self.lines(steps, (self.cell / 16.0).max(1.0), LIGHT);
    }

    fn terminals(&mut self) {
        for terminal in self.seen.puzzle.terminals() {
            let centre = self.frame(self.centre(terminal.cell));
            let paint = self.seen.palette.get(usize::from(terminal.colour));
            let paint = paint.copied().unwrap_or(LIGHT);
            let (radius, width) = (0.42 * self.cell, (self.cell / 14.0).max(1.0));
            self.canvas.ring(centre, radius, width + 2.0, DARK.into());
            self.canvas.ring(centre, radius, width, paint.into());
            self.letter(&colour::name(terminal.colour), centre);
        }
    }

    fn letter(&mut self, name: &str, [x, y]: Point) {
        let height = 0.34 * self.cell;
        let feet = [x - font::width(name, height) / 2.0, y + height / 2.0];
        let weight = font::WEIGHT * height;
        for (width, paint) in [(weight + height / 4.0, DARK), (weight * 1.3, LIGHT)] {
            let path = font::path(name, feet, height);
            self.canvas.stroke(path, width, paint.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use flowpipe_puzzle::message::SeenBoard;
    use flowpipe_puzzle::text;

    use super::*;

    const GREY: [u8; 3] = [90, 90, 90];

    fn grey(width: u32, height: u32) -> Pixels {
        let pixels = (width * height) as usize;
        Pixels {
            width,
            height,
            rgba: [GREY[0], GREY[1], GREY[2], 255].repeat(pixels),
        }
    }

    fn seen() -> SeenBoard {
        let entries = text::read("A.B\n.#.\nA.B\n");
        let (puzzle, _) = entries[0].puzzle.clone().unwrap();
        SeenBoard::untouched(puzzle, 40.0)
    }

    #[test]
    fn what_was_seen_lies_where_it_was_seen() {
        let seen = seen();
        let drawn = board(grey(160, 140), &seen).unwrap();
        assert_eq!((drawn.width, drawn.height), (160, 140));
        assert_eq!(drawn.at(140, 130), Some(GREY), "beside the board");
        assert_eq!(drawn.at(120, 60), Some(LINE), "its edge");
        // The ring of the first terminal, at its right.
        assert_eq!(drawn.at(20 + 17, 20), Some(seen.palette[0]));
        assert_eq!(drawn.at(100 + 17, 20), Some(seen.palette[1]));
        assert_eq!(drawn.at(60, 25), Some(GREY), "an empty cell");
        assert_eq!(seen.puzzle.board().description().holes, [4]);
        assert_ne!(drawn.at(60, 59), Some(GREY), "a hole");
    }

    #[test]
    fn a_caption_covers_the_top_in_as_many_lines_as_it_takes() {
        let text = "grid lines: no evenly spaced lines that make square cells";
        let drawn = caption(grey(200, 300), text).unwrap();
        let is_light = |x, y| drawn.at(x, y).is_some_and(|rgb| rgb[0] > 150);
        let is_written = |y| (0..200).any(|x| is_light(x, y));
        assert!((0..60).any(is_written));
        assert_eq!(drawn.at(100, 299), Some(GREY));
        assert_eq!(wrap(text, 1e9, 9.0), [text]);
        assert_eq!(wrap(text, 0.0, 9.0).len(), text.split(' ').count());
        assert_eq!(wrap("", 9.0, 9.0), [""]);
    }

    #[test]
    fn pictures_of_any_size_are_drawn_on_or_refused() {
        assert!(board(grey(0, 3), &seen()).is_err());
        assert!(caption(grey(9000, 1), "x").is_err());
        assert!(board(grey(1, 1), &seen()).is_ok());
        assert!(caption(grey(1, 1), "a b").is_ok());
        let short = Pixels {
            rgba: vec![0; 5],
            ..grey(4, 4)
        };
        assert!(board(short, &seen()).is_err());
    }
}
