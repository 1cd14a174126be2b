//! Evenly spaced lines in a shape: the rows and columns of a board.
//!
//! Thin pixels are counted by column and by row. A grid line stands out as a peak, whatever pipes
//! cross it, for a pipe covers only the middle third of a cell's side.

use opencv::core::{self, Mat, MatTraitConstManual, Rect};

use crate::config::Config;

/// Peaks in one direction that are worth looking at: more are noise.
const MAX_PEAKS: usize = 300;
/// Fewer than one in so many lines may be missing between others.
const MISSED: usize = 4;
/// So many lines beside each other may be missing.
const STEPPED_OVER: usize = 2;
/// Grids tried for one shape, best first.
const MAX_GRIDS: usize = 4;

/// The lines of a board, in frame pixels.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// Where the vertical lines are, from left to right: one more than columns.
    pub xs: Vec<f64>,
    /// Where the horizontal lines are, from top to bottom: one more than rows.
    pub ys: Vec<f64>,
    /// Pixels from one line to the next.
    pub cell: f64,
}

impl Grid {
    /// Rows of cells.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.ys.len() - 1
    }

    /// Columns of cells.
    #[must_use]
    pub fn cols(&self) -> usize {
        self.xs.len() - 1
    }

    /// The centre of a cell, in frame pixels.
    #[must_use]
    pub fn centre(&self, row: usize, col: usize) -> (f64, f64) {
        (
            (self.xs[col] + self.xs[col + 1]) / 2.0,
            (self.ys[row] + self.ys[row + 1]) / 2.0,
        )
    }

    /// Frame pixels of left, top, width and height.
    #[must_use]
    pub fn bounds(&self) -> [f64; 4] {
        let (left, top) = (self.xs[0], self.ys[0]);
        [
            left,
            top,
            self.xs[self.cols()] - left,
            self.ys[self.rows()] - top,
        ]
    }
}

/// A column or row with many thin pixels.
#[derive(Clone, Copy, Debug)]
pub struct Peak {
    /// Its middle, in pixels of the mask.
    pub at: f64,
    /// How many pixels it is wide.
    pub width: f64,
}

/// Evenly spaced peaks.
#[derive(Clone, Debug)]
struct Chain {
    at: Vec<f64>,
    step: f64,
    /// Peaks between its ends that are not of it.
    strangers: usize,
    /// Lines between its ends that are no peaks.
    missing: usize,
}

/// The grids that a shape may be, best first, none if no lines fit. `scale`: frame pixels for one
/// pixel of the mask.
///
/// # Errors
/// When OpenCV fails, which needs more memory than there is.
pub fn find(mask: &Mat, shape: Rect, scale: f64, config: &Config) -> opencv::Result<Vec<Grid>> {
    let region = Mat::roi(mask, shape)?;
    let min_step = f64::from(config.min_cell_pixels) / scale;
    let across = chains(&counts(&region, 0)?, min_step);
    let down = chains(&counts(&region, 1)?, min_step);
    let mut pairs: Vec<(&Chain, &Chain)> = Vec::new();
    for columns in &across {
        for rows in &down {
            let step = (columns.step + rows.step) / 2.0;
            // Cells are squares; each step is known to a fraction of a pixel.
            if (columns.step - rows.step).abs() <= 0.04 * step + 0.5 {
                pairs.push((columns, rows));
            }
        }
    }
    pairs.sort_by_key(|(columns, rows)| -merit(columns, rows));
    let to_frame = |at: &[f64], start: i32| -> Vec<f64> {
        at.iter()
            .map(|at| (at + f64::from(start)) * scale)
            .collect()
    };
    Ok(pairs
        .into_iter()
        .take(MAX_GRIDS)
        .map(|(columns, rows)| Grid {
            xs: to_frame(&columns.at, shape.x),
            ys: to_frame(&rows.at, shape.y),
            cell: (columns.step + rows.step) / 2.0 * scale,
        })
        .collect())
}

/// How well two chains make a grid.
fn merit(columns: &Chain, rows: &Chain) -> i64 {
    let cells = (columns.at.len() - 1) * (rows.at.len() - 1);
    let flaws = columns.strangers + rows.strangers + columns.missing + rows.missing;
    cells as i64 - 2 * flaws as i64
}

/// Thin pixels by column (`dimension` 0) or by row (1).
fn counts(region: &impl core::ToInputArray, dimension: i32) -> opencv::Result<Vec<f64>> {
    let mut sums = Mat::default();
    core::reduce(region, &mut sums, dimension, core::REDUCE_SUM, core::CV_32S)?;
    Ok(sums
        .data_typed::<i32>()?
        .iter()
        .map(|&sum| f64::from(sum) / 255.0)
        .collect())
}

/// The runs above half of the highest count. The border's count is the highest; an inner line
/// crossed by a pipe in each of its cells keeps two thirds of it.
#[must_use]
pub fn peaks(counts: &[f64]) -> Vec<Peak> {
    let highest = counts.iter().copied().fold(0.0, f64::max);
    let level = 0.45 * highest;
    let mut peaks = Vec::new();
    let mut start = 0;
    while start < counts.len() {
        if counts[start] <= level {
            start += 1;
            continue;
        }
        let end = counts[start..]
            .iter()
            .position(|&count| count <= level)
            .map_or(counts.len(), |length| start + length);
        // Weighed with the neighbours below the level, for the middle to a fraction of a pixel.
        let (mut weight, mut moment) = (0.0, 0.0);
        for (index, &count) in counts
            .iter()
            .enumerate()
            .take((end + 1).min(counts.len()))
            .skip(start.saturating_sub(1))
        {
            weight += count;
            moment += count * (index as f64 + 0.5);
        }
        peaks.push(Peak {
            at: moment / weight,
            width: (end - start) as f64,
        });
        start = end;
    }
    peaks
}

/// All evenly spaced runs of peaks that cannot be made longer.
fn chains(counts: &[f64], min_step: f64) -> Vec<Chain> {
    let peaks = peaks(counts);
    if peaks.len() > MAX_PEAKS {
        return Vec::new();
    }
    let mut steps: Vec<f64> = Vec::new();
    for (index, first) in peaks.iter().enumerate() {
        // Double lines and one stranger in between are allowed for.
        for second in peaks.iter().skip(index + 1).take(4) {
            let step = second.at - first.at;
            if step >= min_step {
                steps.push(step);
            }
        }
    }
    steps.sort_by(f64::total_cmp);
    // Steps within a fiftieth give the same chains.
    let mut distinct: Vec<f64> = Vec::new();
    for step in steps {
        if distinct.last().is_none_or(|&last| step > 1.02 * last + 0.1) {
            distinct.push(step);
        }
    }
    let mut chains = Vec::new();
    for step in distinct {
        let lines = lines(&peaks, step);
        let mut used = vec![false; lines.len()];
        for first in 0..lines.len() {
            if used[first] {
                continue;
            }
            let members = follow(&lines, first, step);
            if members.len() < 3 {
                continue;
            }
            for member in &members {
                used[member.line] = true;
            }
            chains.extend(fit(&lines, &members));
        }
    }
    chains
}

/// Peaks that are narrow enough for lines of this step. Where nearly all come in twos close together,
/// lines are drawn double, and the middles of twos are taken.
fn lines(peaks: &[Peak], step: f64) -> Vec<Peak> {
    let mut doubles = Vec::new();
    let mut paired = 0;
    let mut rest = peaks;
    while let [first, tail @ ..] = rest {
        match tail {
            [second, tail @ ..] if second.at - first.at < 0.1 * step => {
                doubles.push(Peak {
                    at: f64::midpoint(first.at, second.at),
                    width: second.at - first.at + f64::midpoint(first.width, second.width),
                });
                paired += 2;
                rest = tail;
            }
            _ => {
                doubles.push(*first);
                rest = tail;
            }
        }
    }
    let mut lines = if 5 * paired >= 4 * peaks.len() {
        doubles
    } else {
        peaks.to_vec()
    };
    lines.retain(|line| line.width <= (0.15 * step).max(3.0));
    lines
}

/// A line of a chain, and how many steps it is from the first.
#[derive(Clone, Copy)]
struct Member {
    line: usize,
    steps: usize,
}

/// The lines reached from one by equal steps to the right. A line in the middle of a board, half covered
/// by bright flows, may be no peak, and is stepped over.
fn follow(lines: &[Peak], first: usize, step: f64) -> Vec<Member> {
    let tolerance = 0.05 * step + 0.75;
    let mut members = vec![Member {
        line: first,
        steps: 0,
    }];
    let mut current = members[0];
    let mut stride = step;
    let at = |line: usize| lines[line].at;
    let nearest = |from: Member, expected: f64| {
        (from.line + 1..lines.len())
            .map(|line| (line, (at(line) - expected).abs()))
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .filter(|(_, off)| *off <= tolerance)
    };
    while let Some((line, steps)) = (1..=STEPPED_OVER + 1).find_map(|steps| {
        let expected = at(current.line) + steps as f64 * stride;
        let (line, _) = nearest(current, expected)?;
        Some((line, steps))
    }) {
        current = Member {
            line,
            steps: current.steps + steps,
        };
        members.push(current);
        // The mean so far is a better step than the first guess.
        stride = (at(current.line) - at(first)) / current.steps as f64;
    }
    members
}

/// A straight fit through the members. `None` when one lies off, or too many were stepped over.
fn fit(lines: &[Peak], members: &[Member]) -> Option<Chain> {
    let [first, .., last] = members else {
        return None;
    };
    let count = members.len() as f64;
    let mean = |value: &dyn Fn(&Member) -> f64| members.iter().map(value).sum::<f64>() / count;
    let middle = mean(&|member| member.steps as f64);
    let mean = mean(&|member| lines[member.line].at);
    let (mut covariance, mut variance) = (0.0, 0.0);
    for member in members {
        let offset = member.steps as f64 - middle;
        covariance += offset * (lines[member.line].at - mean);
        variance += offset * offset;
    }
    let step = covariance / variance;
    let mut at: Vec<f64> = (0..=last.steps)
        .map(|steps| mean + step * (steps as f64 - middle))
        .collect();
    let off = |member: &Member| (lines[member.line].at - at[member.steps]).abs();
    let worst = members.iter().map(off).fold(0.0, f64::max);
    let even = worst <= 0.03 * step + 0.75;
    for member in members {
        at[member.steps] = lines[member.line].at;
    }
    let strangers = lines[first.line..=last.line]
        .iter()
        .filter(|line| at.iter().all(|at| (line.at - at).abs() > 0.1 * step))
        .count();
    // Every second line of a grid is evenly spaced as well, and so is one with a line between any two.
    let skips = 2 * strangers >= members.len();
    let missing = at.len() - members.len();
    (even && !skips && MISSED * missing < members.len()).then_some(Chain {
        at,
        step,
        strangers,
        missing,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts with lines two pixels wide at these places.
    fn with_lines(at: &[usize]) -> Vec<f64> {
        let mut counts = vec![5.0; 800];
        for &at in at {
            counts[at] = 90.0;
            counts[at + 1] = 100.0;
        }
        counts
    }

    fn longest(at: &[usize]) -> Option<Vec<i64>> {
        let chains = chains(&with_lines(at), 10.0);
        let longest = chains.iter().max_by_key(|chain| chain.at.len())?;
        Some(longest.at.iter().map(|at| at.round() as i64).collect())
    }

    #[test]
    fn even_lines_are_found_among_others() {
        assert_eq!(
            longest(&[100, 200, 300, 400]),
            Some(vec![101, 201, 301, 401])
        );
        // A frame to the left, an edge beside a line, one between two lines.
        let found = longest(&[20, 100, 196, 200, 250, 300, 400]);
        assert_eq!(found, Some(vec![101, 201, 301, 401]));
        // One in the middle is lost.
        let found = longest(&[100, 200, 400, 500, 600, 700]);
        assert_eq!(found, Some(vec![101, 201, 301, 401, 501, 601, 701]));
        // Rounded to pixels.
        assert_eq!(
            longest(&[10, 58, 105, 153, 201]),
            Some(vec![11, 59, 106, 154, 202])
        );
    }

    #[test]
    fn double_lines_are_found_in_their_middle() {
        assert_eq!(
            longest(&[97, 103, 197, 203, 297, 303]),
            Some(vec![101, 201, 301])
        );
    }

    #[test]
    fn uneven_lines_make_no_chain() {
        assert_eq!(longest(&[100, 200, 330, 400, 450]), None);
        assert_eq!(longest(&[]), None);
    }
}
