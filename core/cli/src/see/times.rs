//! What looking at a picture cost.

use flowpipe_puzzle::message::StepTime;
use serde::{Serialize, Serializer};

use crate::quantile::quantile;

/// The times of all looks at one picture.
#[derive(Clone, Debug, Default)]
pub struct Times {
    /// Nanoseconds of the whole call, by look.
    whole: Vec<u64>,
    /// In the order in which they were first told.
    steps: Vec<Step>,
}

#[derive(Clone, Debug)]
struct Step {
    name: String,
    /// Nanoseconds, of the looks that had it.
    times: Vec<u64>,
}

/// A step or the whole call, over all looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost<'a> {
    /// What the plugin calls it.
    pub step: &'a str,
    /// The median, nanoseconds.
    pub p50_ns: u64,
    /// 95 in 100 looks did not take longer, nanoseconds.
    pub p95_ns: u64,
}

impl Times {
    /// Adds a look: nanoseconds of the whole call, and what the plugin told of its steps.
    pub fn add(&mut self, whole: u64, steps: &[StepTime]) {
        self.whole.push(whole);
        for StepTime { step, ms } in steps {
            // The cast stops at 0 and takes what is no number as that.
            let time = (ms * 1e6).round() as u64;
            match self.steps.iter_mut().find(|known| known.name == *step) {
                Some(known) => known.times.push(time),
                None => self.steps.push(Step {
                    name: step.clone(),
                    times: vec![time],
                }),
            }
        }
    }

    /// How many looks there were.
    pub fn looks(&self) -> usize {
        self.whole.len()
    }

    /// The whole call.
    pub fn whole(&self) -> Cost<'_> {
        cost("in all", &self.whole)
    }

    /// The steps that the plugin told of.
    pub fn steps(&self) -> Vec<Cost<'_>> {
        let costs = self.steps.iter();
        costs.map(|step| cost(&step.name, &step.times)).collect()
    }
}

fn cost<'a>(step: &'a str, times: &[u64]) -> Cost<'a> {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let at = |share| quantile(&sorted, share).unwrap_or(0);
    Cost {
        step,
        p50_ns: at(0.5),
        p95_ns: at(0.95),
    }
}

/// Steps as a JSON object, in their order: milliseconds by name.
pub struct ByName<'a> {
    costs: Vec<Cost<'a>>,
    of: fn(&Cost<'_>) -> u64,
}

impl<'a> ByName<'a> {
    /// One of the figures of each step. `None`: there are no steps.
    pub fn new(costs: Vec<Cost<'a>>, of: fn(&Cost<'_>) -> u64) -> Option<Self> {
        (!costs.is_empty()).then_some(Self { costs, of })
    }
}

impl Serialize for ByName<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let costs = self.costs.iter();
        serializer.collect_map(costs.map(|cost| (cost.step, milliseconds((self.of)(cost)))))
    }
}

/// Nanoseconds as milliseconds.
pub fn milliseconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(step: &str, ms: f64) -> StepTime {
        StepTime {
            step: step.to_owned(),
            ms,
        }
    }

    #[test]
    fn medians_of_all_looks() {
        let mut times = Times::default();
        for look in 1..=20_u64 {
            let ms = look as f64;
            times.add(look * 1_000, &[time("thin", ms), time("cells", 2.0 * ms)]);
        }
        let (p50, p95) = (times.whole().p50_ns, times.whole().p95_ns);
        assert_eq!((times.looks(), p50, p95), (20, 10_000, 19_000));
        let steps = times.steps();
        assert_eq!(
            steps.iter().map(|it| it.step).collect::<Vec<_>>(),
            ["thin", "cells"]
        );
        assert_eq!((steps[1].p50_ns, steps[1].p95_ns), (20_000_000, 38_000_000));
        let json = serde_json::to_string(&ByName::new(steps, |it| it.p50_ns)).unwrap();
        assert_eq!(json, r#"{"thin":10.0,"cells":20.0}"#);
    }

    #[test]
    fn times_that_make_no_sense_count_as_none() {
        let mut times = Times::default();
        times.add(7, &[time("a", -1.0), time("b", f64::NAN)]);
        assert!(times.steps().iter().all(|step| step.p50_ns == 0));
        assert!(ByName::new(Times::default().steps(), |it| it.p50_ns).is_none());
    }
}
