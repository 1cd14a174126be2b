//! Rows of parallel lines at one distance.

use crate::find::lines::segment::Segment;
use crate::numerics::regression;

/// Sets of lines at one distance that do not fit together.
const MOST_SETS: usize = 3;

/// Lines that a row of lines may begin with.
const MOST_SEEDS: usize = 48;

/// Parallel lines at one distance.
pub(super) struct Rows {
    /// Where the line of index 0 is.
    pub(super) start: f64,
    pub(super) step: f64,
    /// With their index from 0.
    pub(super) lines: Vec<(usize, Segment)>,
}

impl Rows {
    /// The largest sets of lines at a distance: two boards may lie beside each other.
    pub(super) fn all(runs: &[Segment], pitch: f64) -> Vec<Self> {
        let mut rest: Vec<Segment> = runs
            .iter()
            .filter(|run| run.length() >= 0.7 * pitch && run.width <= (0.15 * pitch).max(4.0))
            .copied()
            .collect();
        let mut sets = Vec::new();
        while sets.len() < MOST_SETS
            && let Some(set) = Self::find(&rest, pitch)
        {
            // They are in the same order.
            let mut lines = set.lines.iter().map(|(_, line)| line).peekable();
            rest.retain(|run| lines.next_if(|line| *line == run).is_none());
            if (set.step - pitch).abs() <= 0.05 * pitch {
                sets.push(set);
            }
        }
        sets
    }

    /// The largest set. `None` where there are no two lines at the distance.
    fn find(runs: &[Segment], pitch: f64) -> Option<Self> {
        let mut seeds: Vec<&Segment> = runs.iter().collect();
        seeds.sort_by(|a, b| b.length().total_cmp(&a.length()));
        seeds.truncate(MOST_SEEDS);
        let supported = supports(&seeds, runs, pitch).into_iter().zip(&seeds);
        let (_, seed) = supported.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
        let (mut start, mut step) = (seed.at, pitch);
        let mut lines: Vec<(i64, Segment)> = Vec::new();
        for _ in 0..3 {
            lines = runs
                .iter()
                .filter_map(|run| Some((steps(run.at - start, step)?, *run)))
                .collect();
            // Long lines are placed better than short ones.
            let points = lines.iter();
            (start, step) =
                regression::line(points.map(|(index, run)| (*index as f64, run.at, run.length())))?;
        }
        let first = lines.iter().map(|(index, _)| *index).min()?;
        Some(Self {
            start: start + first as f64 * step,
            step,
            lines: lines
                .into_iter()
                .map(|(index, run)| ((index - first) as usize, run))
                .collect(),
        })
    }

    pub(super) fn count(&self) -> usize {
        self.lines
            .iter()
            .map(|(index, _)| index + 1)
            .max()
            .unwrap_or(0)
    }

    /// Where the lines of some indices are: where they were seen, the others between.
    pub(super) fn places(&self, indices: std::ops::RangeInclusive<usize>) -> Vec<f64> {
        let place = |index: usize| {
            let fitted = self.start + index as f64 * self.step;
            let members = || self.lines.iter().filter(|(other, _)| *other == index);
            let weight: f64 = members().map(|(_, run)| run.length()).sum();
            if weight > 0.0 {
                let moment: f64 = members().map(|(_, run)| run.length() * run.at).sum();
                moment / weight
            } else {
                fitted
            }
        };
        indices.map(place).collect()
    }
}

/// How many pixels of lines lie at whole steps from each of some lines.
fn supports(seeds: &[&Segment], runs: &[Segment], step: f64) -> [f64; MOST_SEEDS] {
    let mut ats = [0.0; MOST_SEEDS];
    for (at, seed) in ats.iter_mut().zip(seeds) {
        *at = seed.at;
    }
    let pitch = Pitch::of(step);
    let mut sums = [0.0; MOST_SEEDS];
    for run in runs {
        let length = run.length();
        // For several seeds at once.
        for (sum, at) in sums.iter_mut().zip(&ats) {
            let (is_whole, _) = pitch.nearest(run.at - at);
            *sum += if is_whole { length } else { 0.0 };
        }
    }
    sums
}

/// How many whole steps a distance is, if it is.
fn steps(distance: f64, step: f64) -> Option<i64> {
    let (is_whole, count) = Pitch::of(step).nearest(distance);
    is_whole.then_some(count as i64)
}

/// The distance of neighbouring lines.
#[derive(Clone, Copy)]
struct Pitch {
    step: f64,
    /// How many there are in a pixel.
    rate: f64,
}

impl Pitch {
    fn of(step: f64) -> Self {
        Self {
            step,
            rate: 1.0 / step,
        }
    }

    /// Whether a distance is a whole number of steps, and the number next to it.
    #[inline]
    fn nearest(self, distance: f64) -> (bool, f64) {
        // Numbers as large as this have no room for parts: as `round` does, but fast, for this is asked most. Halfway
        // between it does not matter.
        const WHOLE: f64 = 1.5 * (1_u64 << 52) as f64;
        let whole = (distance * self.rate + WHOLE) - WHOLE;
        // The step is known to a part of a pixel, which adds up.
        let tolerance = 0.035 * self.step + 0.75 + 0.002 * self.step * whole.abs();
        let most = 0.2 * self.step;
        let tolerance = if tolerance < most { tolerance } else { most };
        ((distance - whole * self.step).abs() <= tolerance, whole)
    }
}
