//! Finds the quadrilateral of a board that turns about its vertical middle line, with nothing known before.
//!
//! In perspective, the vertical lines stay vertical, become longer towards the camera, and have their middles at one
//! height: their ends are on two lines that converge, the upper and the lower border. How fast these converge
//! determines how the distances between the vertical lines must shrink away from the camera. Lines whose lengths and
//! distances fit one perspective are almost always those of a board. Pipes hide the ends of some, and writing makes
//! others longer: the outline is the one with the most ends on it.

use crate::config::Config;
use crate::find::lines::segment::Segment;
use crate::find::perspective::outline::outlines;
use crate::find::perspective::rest_pose::RestPose;
use crate::find::perspective::turned_board::TurnedBoard;

/// The greatest number of lines that are examined, the longest first.
const MOST_LINES: usize = 48;
/// Outlines that are looked into, those with the most ends first.
const MOST_OUTLINES: usize = 24;
/// Quadrilaterals given.
const MOST_QUADS: usize = 2;

/// A board's outline, as far as its vertical lines determine it.
#[derive(Clone, Copy, Debug)]
pub struct Quad {
    /// The board: its perspective and its columns, but not its rows.
    pub turned: TurnedBoard,
    /// Where it would lie at rest.
    pub rest: RestPose,
    /// How many ends of its vertical lines are where they should be.
    pub ends: usize,
    /// Which share of all that is.
    pub seen: f64,
}

/// The quadrilaterals that vertical lines make, those of the most lines first. `blur`: their ends are known to so
/// many pixels.
#[must_use]
pub fn find(vertical: &[Segment], blur: f64, config: &Config) -> Vec<Quad> {
    let least = f64::from(config.min_cell_pixels) * config.min_cells as f64;
    let mut lines: Vec<Segment> = vertical
        .iter()
        .filter(|run| run.length() >= least)
        .copied()
        .collect();
    lines.sort_by(|a, b| b.length().total_cmp(&a.length()));
    lines.truncate(MOST_LINES);
    let mut outlines = outlines(&lines, blur);
    outlines.sort_by_key(|(count, _)| usize::MAX - count);
    outlines.truncate(MOST_OUTLINES);
    let mut quads: Vec<Quad> = Vec::new();
    for (_, outline) in outlines {
        let Some(quad) = outline.quad(&lines, config) else {
            continue;
        };
        let is_near = |other: &Quad| quad.is_near(other);
        if !quads.iter().any(is_near) {
            quads.push(quad);
        }
        if quads.len() == MOST_QUADS {
            break;
        }
    }
    quads
}

impl Quad {
    /// Whether two are of one board.
    #[must_use]
    pub fn is_near(&self, other: &Self) -> bool {
        let [x, y] = [0, 1].map(|axis| self.rest.middle[axis] - other.rest.middle[axis]);
        self.turned.cols == other.turned.cols && x.hypot(y) < 4.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vertical lines of a board with its middle at (300, 400), 200 pixels high from there at its middle.
    fn board(cols: usize, half_width: f64, depth: f64) -> Vec<Segment> {
        let line = |column: usize| {
            let along = 2.0 * column as f64 / cols as f64 - 1.0;
            let half = 200.0 / (1.0 + depth * along);
            Segment {
                at: 300.0 + half_width * along / (1.0 + depth * along),
                from: 400.0 - half,
                to: 400.0 + half,
                width: 2.0,
                contrast: 50.0,
            }
        };
        (0..=cols).map(line).collect()
    }

    fn find_one(lines: &[Segment]) -> Option<Quad> {
        find(lines, 4.0, &Config::default()).first().copied()
    }

    #[test]
    fn a_turned_board_is_found_among_other_lines() {
        for (cols, half_width, depth) in [(5, 150.0, 0.12), (9, 180.0, -0.08), (15, 180.0, 0.05)] {
            let mut lines = board(cols, half_width, depth);
            let text = |at: f64, from: f64, to: f64| Segment {
                at,
                from,
                to,
                ..lines[0]
            };
            let others = [
                text(20.0, 0.0, 800.0),
                text(310.0, 20.0, 70.0),
                text(580.0, 100.0, 650.0),
            ];
            lines.extend(others);
            lines.remove(2);
            lines.sort_by(|a, b| a.at.total_cmp(&b.at));
            let quad = find_one(&lines).unwrap();
            assert_eq!(quad.turned.cols, cols);
            assert!((quad.turned.depth - depth).abs() < 0.003, "{quad:?}");
            assert!((quad.rest.middle[0] - 300.0).abs() < 0.5, "{quad:?}");
            assert!((quad.rest.middle[1] - 400.0).abs() < 0.5, "{quad:?}");
            assert!(quad.seen < 1.0);
        }
    }

    #[test]
    fn lines_whose_lengths_and_distances_do_not_fit_are_none() {
        // At rest.
        assert!(find_one(&board(7, 200.0, 0.0)).is_none());
        // As a shadow of a fence: the lengths shrink, the distances do not.
        let even: Vec<Segment> = board(7, 180.0, 0.15)
            .into_iter()
            .enumerate()
            .map(|(index, run)| Segment {
                at: 120.0 + 50.0 * index as f64,
                ..run
            })
            .collect();
        assert!(find_one(&even).is_none());
        // At several heights.
        let steps: Vec<Segment> = board(7, 180.0, 0.15)
            .into_iter()
            .enumerate()
            .map(|(index, run)| {
                let down = 12.0 * index as f64;
                Segment {
                    from: run.from + down,
                    to: run.to + down,
                    ..run
                }
            })
            .collect();
        assert!(find_one(&steps).is_none());
        assert!(find_one(&[]).is_none());
    }
}
