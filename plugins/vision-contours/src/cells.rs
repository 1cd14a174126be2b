//! Samples the cells of a board, finds the terminals, and pairs them by colour.

use std::ops::RangeInclusive;

use flowpipe_plugin::puzzle::message::SeenBoard;
use flowpipe_plugin::puzzle::{Board, Cell, Geometry, Puzzle, PuzzleError, Rules, Terminal};
use opencv::core::{Mat, MatTraitConst, Rect, Size, Vec3b};
use opencv::imgproc;

use crate::error::{ReadError, refuse};

/// The side of a cell in the picture that is sampled, in pixels.
const SIDE: i32 = 16;
/// Where a cell is sampled, in such pixels: its centre, four places in a disc that a pipe does not cover, and a corner.
const CENTRE: [i32; 2] = [8, 8];
const DISC: [[i32; 2]; 4] = [[5, 5], [10, 5], [5, 10], [10, 10]];
const CORNER: [i32; 2] = [2, 2];

/// How far two samples of one colour may differ in red, green or blue.
const SAME: u8 = 40;
/// The number of terminals. Pairing takes time for its cube.
const COUNTS: RangeInclusive<usize> = 2..=128;

/// Red, green, blue.
type Rgb = [u8; 3];

/// Reads the terminals of a board. Refuses one where they are not in pairs, or where a cell contains something else.
pub fn read(picture: &Mat, grid: &Geometry) -> Result<SeenBoard, ReadError> {
    let samples = scaled(picture, grid)?;
    let mut dots = Vec::new();
    for cell in 0..grid.rows * grid.cols {
        let at = |[x, y]: [i32; 2]| -> Result<Rgb, ReadError> {
            let (row, col) = ((cell / grid.cols) as i32, (cell % grid.cols) as i32);
            Ok(samples.at_2d::<Vec3b>(row * SIDE + y, col * SIDE + x)?.0)
        };
        let centre = at(CENTRE)?;
        if distance(centre, at(CORNER)?) <= SAME {
            continue;
        }
        for place in DISC {
            if distance(centre, at(place)?) > SAME {
                let (row, col) = (cell / grid.cols + 1, cell % grid.cols + 1);
                return refuse("terminals", format!("no disc in row {row}, column {col}"));
            }
        }
        dots.push((cell, centre));
    }
    if !COUNTS.contains(&dots.len()) {
        return refuse("terminals", format!("{} of them", dots.len()));
    }
    let pairs = pairs(dots)?;
    let mut terminals = Vec::new();
    for (colour, (cells, _)) in (0..).zip(&pairs) {
        terminals.extend(cells.map(|cell| Terminal::new(cell, colour)));
    }
    let board = Board::rectangle(grid.rows, grid.cols).map_err(PuzzleError::from)?;
    let puzzle = Puzzle::new(board, terminals, Rules::default())?;
    let palette = pairs.iter().map(|(_, colour)| *colour).collect();
    Ok(SeenBoard::new(puzzle, grid.clone(), palette))
}

/// Returns the board, scaled so that a cell has [`SIDE`] pixels a side: each is the mean of those that it covers.
fn scaled(picture: &Mat, grid: &Geometry) -> Result<Mat, ReadError> {
    let [[left, top], _, [right, bottom], _] = grid.corners.map(|corner| corner.map(f64::round));
    let (width, height) = ((right - left) as i32, (bottom - top) as i32);
    // Half a line may lie outside of the picture.
    let whole = Rect::new(0, 0, picture.cols(), picture.rows());
    let inside = Rect::new(left as i32, top as i32, width, height) & whole;
    let size = Size::new(grid.cols as i32 * SIDE, grid.rows as i32 * SIDE);
    let mut scaled = Mat::default();
    let part = Mat::roi(picture, inside)?;
    imgproc::resize(&part, &mut scaled, size, 0.0, 0.0, imgproc::INTER_AREA)?;
    Ok(scaled)
}

/// Returns the two cells of each colour, by the first. Those whose colours differ least are a pair, then those of the
/// others, and so on.
fn pairs(mut dots: Vec<(Cell, Rgb)>) -> Result<Vec<([Cell; 2], Rgb)>, ReadError> {
    let mut pairs = Vec::new();
    while !dots.is_empty() {
        let of = |b: usize| (0..b).map(move |a| (a, b));
        let all = (0..dots.len()).flat_map(of);
        let closest = all.min_by_key(|&(a, b)| distance(dots[a].1, dots[b].1));
        match closest {
            Some((a, b)) if distance(dots[a].1, dots[b].1) <= SAME => {
                // The later one first, which moves no other.
                let (second, _) = dots.remove(b);
                let (first, colour) = dots.remove(a);
                pairs.push(([first, second], colour));
            }
            _ => return refuse("terminals", format!("{} without a partner", dots.len())),
        }
    }
    pairs.sort_unstable();
    Ok(pairs)
}

/// How far two colours differ in red, green or blue, whichever differs most.
fn distance(a: Rgb, b: Rgb) -> u8 {
    (0..3).fold(0, |most, part| most.max(a[part].abs_diff(b[part])))
}
