//! The outlines of turned boards: an upper and a lower border, which converge.

use crate::config::Config;
use crate::find::lines::segment::Segment;
use crate::find::perspective::quad::Quad;
use crate::find::perspective::rest_pose::RestPose;
use crate::find::perspective::slanted_edge::{SlantedEdge, slanted_edges};
use crate::find::perspective::turned_board::TurnedBoard;
use crate::numerics::regression::least_squares;
use crate::numerics::spacing::Spacing;

/// The fewest lines that determine a perspective and something more.
pub(super) const FEWEST: usize = 4;

/// The greatest ratio of the longer border to the shorter one.
const STEEPEST: f64 = 2.0;

/// A line lies within this part of a cell of its place.
const OFF: f64 = 0.08;

/// The greatest distance between the places of pieces of one line, in pixels.
const SAME: f64 = 1.0;

/// A line of the board covers at least this part of its height.
const COVERED: f64 = 0.4;

/// What may be the outlines of boards, with the number of ends on them.
pub(super) fn outlines(lines: &[Segment], blur: f64) -> Vec<(usize, Outline)> {
    let mut outlines: Vec<(usize, Outline)> = Vec::new();
    for edge in slanted_edges(lines, blur) {
        for line in lines {
            let outline = Outline::of(&edge, line, blur);
            let known = |(_, other): &(usize, Outline)| outline.is_near(other);
            if 2.0 * outline.half < COVERED * line.length() {
                continue;
            }
            let [upper, lower] = outline.count(lines);
            let enough = upper.min(lower) >= 2 && upper + lower + 1 >= 2 * FEWEST;
            if enough && !outlines.iter().any(known) {
                outlines.push((upper + lower, outline));
            }
        }
    }
    outlines
}

/// The upper and the lower border of what may be a board, which converge.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outline {
    /// A place across the picture.
    origin: f64,
    /// The height of the middle.
    middle: f64,
    /// Half of the distance between the borders at the origin.
    half: f64,
    /// How much it grows from pixel to pixel.
    slope: f64,
    blur: f64,
}

impl Outline {
    /// The one that a border makes with the other end of a line.
    fn of(border: &SlantedEdge, line: &Segment, blur: f64) -> Self {
        let (near, far) = (border.height(line.at), border.border.other().end(line));
        Self {
            origin: line.at,
            middle: f64::midpoint(near, far),
            half: (near - far).abs() / 2.0,
            slope: border.border.outwards() * border.slope,
            blur,
        }
    }

    fn is_near(&self, other: &Self) -> bool {
        let near = |a: f64, b: f64| (a - b).abs() <= self.blur / 2.0;
        near(self.middle, other.middle)
            && near(self.half, other.half(self.origin))
            && near(100.0 * self.slope, 100.0 * other.slope)
    }

    /// Half of the board's height at a place across the picture.
    fn half(&self, x: f64) -> f64 {
        self.half + self.slope * (x - self.origin)
    }

    /// Whether a line begins at the upper border, and whether it ends at the lower one.
    fn meets(&self, run: &Segment) -> [bool; 2] {
        let half = self.half(run.at);
        let off = |end: f64, border: f64| (end - border).abs() <= self.blur + 1.0;
        [
            off(run.from, self.middle - half),
            off(run.to, self.middle + half),
        ]
    }

    /// How many of a line's ends lie on the borders.
    fn ends(&self, run: &Segment) -> usize {
        self.meets(run).into_iter().filter(|&meets| meets).count()
    }

    /// How many lines begin at the upper border, and how many end at the lower one.
    fn count(&self, lines: &[Segment]) -> [usize; 2] {
        let add = |sums: [usize; 2], run: &Segment| {
            let [upper, lower] = self.meets(run).map(usize::from);
            [sums[0] + upper, sums[1] + lower]
        };
        lines.iter().fold([0; 2], add)
    }

    /// What part of the height a line covers.
    fn covered(&self, run: &Segment) -> f64 {
        let half = self.half(run.at);
        let (from, to) = (self.middle - half, self.middle + half);
        (run.to.min(to) - run.from.max(from)) / (2.0 * half)
    }

    /// The lines that cover enough of the height between the borders, pieces of one line joined: pipes part them.
    fn mended(&self, lines: &[Segment]) -> Vec<Segment> {
        let mut pieces: Vec<(Segment, f64)> = lines
            .iter()
            .filter(|run| self.half(run.at) > 0.0)
            .map(|run| (*run, self.covered(run)))
            .filter(|(_, covered)| *covered > 0.0)
            .collect();
        pieces.sort_by(|(a, _), (b, _)| a.at.total_cmp(&b.at));
        let mut mended: Vec<(Segment, f64)> = Vec::new();
        for (piece, covered) in pieces {
            match mended.last_mut() {
                Some((line, sum)) if piece.at - line.at <= SAME && line.beside(&piece) <= 0.0 => {
                    // The longest piece gives the place of the line best.
                    let longest = if covered > *sum { piece } else { *line };
                    *line = Segment {
                        from: line.from.min(piece.from),
                        to: line.to.max(piece.to),
                        ..longest
                    };
                    *sum += covered;
                }
                _ => mended.push((piece, covered)),
            }
        }
        mended.retain(|(_, covered)| *covered >= COVERED);
        mended.into_iter().map(|(line, _)| line).collect()
    }

    /// The same through all ends that lie on it, in the mean.
    fn fitted(&self, lines: &[Segment]) -> Option<Self> {
        let ends = lines.iter().flat_map(|run| {
            let [upper, lower] = self.meets(run);
            let across = run.at - self.origin;
            [
                upper.then_some(([1.0, -1.0, -across], run.from)),
                lower.then_some(([1.0, 1.0, across], run.to)),
            ]
        });
        let [middle, half, slope] = least_squares(ends.flatten())?;
        Some(Self {
            middle,
            half,
            slope,
            ..*self
        })
    }

    /// The board, if the lines between are where a board's would be.
    pub(super) fn quad(&self, lines: &[Segment], config: &Config) -> Option<Quad> {
        let fitted = self.fitted(lines)?;
        let lines = fitted.mended(lines);
        // Seen face on, lines lie at these places: heights give how far away they are.
        let unbent = |x: f64| (x - fitted.origin) * fitted.half / fitted.half(x);
        let places: Vec<f64> = lines.iter().map(|run| unbent(run.at)).collect();
        let spacing = Spacing::find(&places, OFF, 1.5)?;
        let cols = spacing.parts();
        if cols < config.min_cells || cols > config.max_cells || spacing.places() < FEWEST {
            return None;
        }
        // Of pieces of one line the longest one counts.
        let mut columns: Vec<(usize, Segment)> = Vec::new();
        for &(column, index) in &spacing.members {
            let run = lines[index];
            match columns.last_mut() {
                Some((last, longest)) if *last == column => {
                    if run.length() > longest.length() {
                        *longest = run;
                    }
                }
                _ => columns.push((column, run)),
            }
        }
        let (left, right) = (columns.first()?.1, columns.last()?.1);
        let seen: Vec<(usize, f64)> = columns.iter().map(|(col, run)| (*col, run.at)).collect();
        let roughly = [f64::midpoint(left.at, right.at), fitted.middle];
        let half_width = (right.at - left.at) / 2.0;
        let turned = TurnedBoard::of_columns(roughly, half_width, 0.0, cols)?.with_lines(&seen)?;
        let middle = turned.middle;
        let half_height = fitted.half(middle[0]);
        // The ends of the lines fit the same perspective.
        let [near, far] = [(-1.0, left), (1.0, right)].map(|(along, run)| {
            let (expected, seen) = (half_height * turned.shrink(along), fitted.half(run.at));
            ((expected - seen).abs() <= 1.5 * self.blur + 0.015 * expected).then_some(seen)
        });
        let (near, far) = (near?, far?);
        let turns = near.max(far) <= STEEPEST * near.min(far) && (near - far).abs() >= 1.0;
        // Vertical borders that both go on are those of a larger board.
        let goes_on = |run: &Segment| {
            let (half, room) = (fitted.half(run.at), 2.0 * self.blur + 2.0);
            [
                run.from < fitted.middle - half - room,
                run.to > fitted.middle + half + room,
            ]
        };
        let [a, b] = [left, right].map(|run| goes_on(&run));
        if (a[0] && b[0]) || (a[1] && b[1]) {
            return None;
        }
        let mean = |value: &dyn Fn(&Segment) -> f64| {
            columns.iter().map(|(_, run)| value(run)).sum::<f64>() / columns.len() as f64
        };
        let rest = RestPose {
            middle,
            size: [2.0 * turned.half_width(), 2.0 * half_height],
            thickness: mean(&|run| run.width),
            strength: mean(&|run| run.contrast),
        };
        let ends: usize = columns.iter().map(|(_, run)| fitted.ends(run)).sum();
        let seen = ends as f64 / (2 * (cols + 1)) as f64;
        (turns && ends > FEWEST).then_some(Quad {
            turned,
            rest,
            ends,
            seen,
        })
    }
}
