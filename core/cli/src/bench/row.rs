//! What one solver made of the boards of one class.

use serde::Serialize;

use crate::bench::class::Class;
use crate::bench::sample::{Outcome, Sample};
use crate::quantile::quantile;

/// One solver on one class of boards. Times are of solved boards only, in microseconds.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The solver's name.
    pub solver: String,
    /// What the class is called.
    pub class: &'static str,
    /// Whether the class is a size of plain rectangles.
    #[serde(skip)]
    pub is_size: bool,
    /// How many boards there are.
    pub boards: usize,
    /// How many were tried before the solver was given up on this class.
    pub tried: usize,
    /// Solved, or proved to have no solution.
    pub solved: usize,
    /// Refused as a kind that it does not take.
    pub unsupported: usize,
    /// Where it failed or answered wrongly.
    pub failed: usize,
    /// Half of the boards took no longer.
    pub median_us: Option<f64>,
    /// 99 in a hundred took no longer.
    pub p99_us: Option<f64>,
    /// None took longer.
    pub worst_us: Option<f64>,
    /// The whole call through the plugin, half of the boards.
    pub call_median_us: Option<f64>,
    /// The median number of steps of the search.
    pub median_nodes: Option<f64>,
    /// The median as a multiple of the first solver's on the same boards in this run.
    pub times_first: Option<f64>,
}

impl Row {
    /// Sums up. `first`: the first solver's row of this class.
    pub fn new(
        solver: &str,
        class: &Class,
        boards: usize,
        samples: &[Sample],
        first: Option<&Self>,
    ) -> Self {
        let count = |of: &[Outcome]| samples.iter().filter(|it| of.contains(&it.outcome)).count();
        let solved = samples
            .iter()
            .filter(|it| matches!(it.outcome, Outcome::Solved | Outcome::Unsolvable));
        let search = sorted(solved.clone().filter_map(|it| it.search_us));
        let calls = sorted(solved.clone().filter_map(|it| it.call_us));
        let nodes = sorted(solved.filter_map(|it| it.nodes).map(|nodes| nodes as f64));
        let median_us = quantile(&search, 0.5);
        let times_first = first
            .and_then(|first| first.median_us)
            .zip(median_us)
            .map(|(first, median)| median / first);
        Self {
            solver: solver.to_owned(),
            class: class.name,
            is_size: class.is_size(),
            boards,
            tried: samples.len(),
            solved: count(&[Outcome::Solved, Outcome::Unsolvable]),
            unsupported: count(&[Outcome::Unsupported]),
            failed: count(&[Outcome::Failed]),
            median_us,
            p99_us: quantile(&search, 0.99),
            worst_us: search.last().copied(),
            call_median_us: quantile(&calls, 0.5),
            median_nodes: quantile(&nodes, 0.5),
            times_first,
        }
    }
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_solved_counts_in_the_times() {
        let sample = |outcome, search_us| Sample {
            outcome,
            search_us: Some(search_us),
            call_us: Some(search_us + 10.0),
            nodes: Some(7),
        };
        let puzzle = flowpipe_puzzle::text::read("AA")
            .remove(0)
            .puzzle
            .unwrap()
            .0;
        let class = Class::of(&puzzle);
        let samples = [
            sample(Outcome::Solved, 3.0),
            sample(Outcome::Solved, 1.0),
            sample(Outcome::Unsolvable, 2.0),
            sample(Outcome::GaveUp, 1000.0),
            sample(Outcome::Failed, 500.0),
        ];
        let first = Row::new("first", &class, 1, &[sample(Outcome::Solved, 0.5)], None);
        let row = Row::new("second", &class, 9, &samples, Some(&first));
        assert_eq!(
            (row.boards, row.tried, row.solved, row.failed),
            (9, 5, 3, 1)
        );
        assert_eq!(row.median_us, Some(2.0));
        assert_eq!((row.p99_us, row.worst_us), (Some(3.0), Some(3.0)));
        assert_eq!(
            (row.call_median_us, row.times_first),
            (Some(12.0), Some(4.0))
        );
        assert_eq!(row.median_nodes, Some(7.0));
        assert_eq!(quantile::<f64>(&[], 0.5), None);
    }
}
