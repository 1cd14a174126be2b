//! The measurements of one solver on one class of boards.

use serde::Serialize;

use crate::bench::class::Class;
use crate::bench::sample::{Sample, SampleOutcome};
use crate::quantile::quantile;

/// One solver on one class of boards. Times are of solved boards only, in microseconds.
#[derive(Clone, Debug, Serialize)]
pub struct BenchRow {
    /// The solver's name.
    pub solver: String,
    /// The name of the class.
    pub class: &'static str,
    /// Whether the class is a size of plain rectangles.
    #[serde(skip)]
    pub is_size: bool,
    /// The number of boards.
    pub boards: usize,
    /// How many boards were tried; the rest was skipped.
    pub tried: usize,
    /// Solved, or proved to have no solution.
    pub solved: usize,
    /// Not supported.
    pub unsupported: usize,
    /// Failed, or answered wrongly.
    pub failed: usize,
    /// The median.
    pub median_us: Option<f64>,
    /// The 99th percentile.
    pub p99_us: Option<f64>,
    /// The maximum.
    pub worst_us: Option<f64>,
    /// The median of the whole call through the plugin.
    pub call_median_us: Option<f64>,
    /// The median number of steps of the search.
    pub median_nodes: Option<f64>,
    /// The median, as a multiple of the first solver's on the same boards.
    pub times_first: Option<f64>,
    /// The machines that solved them, if it was not this one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub machines: Vec<String>,
}

impl BenchRow {
    /// Aggregates samples. `first`: the first solver's row of this class.
    pub fn new(
        solver: &str,
        class: &Class,
        boards: usize,
        samples: &[Sample],
        first: Option<&Self>,
    ) -> Self {
        let count =
            |of: &[SampleOutcome]| samples.iter().filter(|it| of.contains(&it.outcome)).count();
        let solved = samples.iter().filter(|it| {
            matches!(
                it.outcome,
                SampleOutcome::Solved | SampleOutcome::Unsolvable
            )
        });
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
            solved: count(&[SampleOutcome::Solved, SampleOutcome::Unsolvable]),
            unsupported: count(&[SampleOutcome::Unsupported]),
            failed: count(&[SampleOutcome::Failed]),
            median_us,
            p99_us: quantile(&search, 0.99),
            worst_us: search.last().copied(),
            call_median_us: quantile(&calls, 0.5),
            median_nodes: quantile(&nodes, 0.5),
            times_first,
            machines: Vec::new(),
        }
    }

    /// The same, measured on these machines.
    pub fn on(mut self, machines: Vec<String>) -> Self {
        self.machines = machines;
        self
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
    fn times_are_of_solved_boards() {
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
            sample(SampleOutcome::Solved, 3.0),
            sample(SampleOutcome::Solved, 1.0),
            sample(SampleOutcome::Unsolvable, 2.0),
            sample(SampleOutcome::GaveUp, 1000.0),
            sample(SampleOutcome::Failed, 500.0),
        ];
        let first = BenchRow::new(
            "first",
            &class,
            1,
            &[sample(SampleOutcome::Solved, 0.5)],
            None,
        );
        let row = BenchRow::new("second", &class, 9, &samples, Some(&first));
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
