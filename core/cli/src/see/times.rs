//! The times of the calls on a picture.

use flowpipe_puzzle::message::StepTime;
use serde::{Serialize, Serializer};

use crate::quantile::quantile;

/// The times of all calls on one picture.
#[derive(Clone, Debug, Default)]
pub struct CallTimes {
    /// Nanoseconds of each call.
    whole: Vec<u64>,
    /// In the order in which they first occurred.
    steps: Vec<StepSamples>,
}

#[derive(Clone, Debug)]
struct StepSamples {
    name: String,
    /// Nanoseconds, of the calls that measured it.
    times: Vec<u64>,
}

/// A step or the whole call, over all calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost<'a> {
    /// The plugin's name for it.
    pub step: &'a str,
    /// The median, nanoseconds.
    pub p50_ns: u64,
    /// The 95th percentile, nanoseconds.
    pub p95_ns: u64,
}

impl CallTimes {
    /// Adds a call: its nanoseconds.
    pub fn add_call(&mut self, whole: u64) {
        self.whole.push(whole);
    }

    /// Adds the times of the steps of a call.
    pub fn add_steps(&mut self, steps: &[StepTime]) {
        for StepTime { step, ms, .. } in steps {
            // The cast saturates at 0, and converts NaN to 0.
            let time = (ms * 1e6).round() as u64;
            match self.steps.iter_mut().find(|known| known.name == *step) {
                Some(known) => known.times.push(time),
                None => self.steps.push(StepSamples {
                    name: step.clone(),
                    times: vec![time],
                }),
            }
        }
    }

    /// The number of calls.
    pub fn calls(&self) -> usize {
        self.whole.len()
    }

    /// The whole call.
    pub fn whole(&self) -> Cost<'_> {
        cost("in all", &self.whole)
    }

    /// The steps that the plugin measured.
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
    /// One statistic of each step. `None`: there are no steps.
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
        StepTime::new(step, ms)
    }

    #[test]
    fn medians_of_all_calls() {
        let mut times = CallTimes::default();
        for call in 1..=20_u64 {
            let ms = call as f64;
            times.add_call(call * 1_000);
            times.add_steps(&[time("thin", ms), time("cells", 2.0 * ms)]);
        }
        let (p50, p95) = (times.whole().p50_ns, times.whole().p95_ns);
        assert_eq!((times.calls(), p50, p95), (20, 10_000, 19_000));
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
    fn invalid_times_count_as_zero() {
        let mut times = CallTimes::default();
        times.add_steps(&[time("a", -1.0), time("b", f64::NAN)]);
        assert!(times.steps().iter().all(|step| step.p50_ns == 0));
        assert!(ByName::new(CallTimes::default().steps(), |it| it.p50_ns).is_none());
    }
}
