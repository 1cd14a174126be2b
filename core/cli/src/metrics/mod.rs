//! The metrics that the stages of a run publish, summed up by stage and name.

mod row;
mod samples;

use std::collections::HashMap;
use std::mem::{Discriminant, discriminant};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use flowpipe_host::message::Message;
use flowpipe_message::{Metric, Metrics};
use flowpipe_terminal::counted;

use crate::accepted::read;
use crate::metrics::samples::Samples;

pub use row::{MetricRow, MetricValue, Note, summary, table};
pub use samples::Percentiles;

/// The most metrics of a run, by stage and name. Further ones are counted and not kept.
const MOST_NAMES: usize = 200;

/// How many of the last notes are kept.
const NOTES: usize = 20;

/// The metrics of a run so far. The thread that prints adds to them, and viewers read them.
#[derive(Clone, Debug, Default)]
pub struct RunMetrics(Arc<Mutex<MetricTotals>>);

#[derive(Debug)]
struct MetricTotals {
    /// The stages' names, by index.
    stages: Vec<String>,
    /// In the order in which they came.
    totals: Vec<Total>,
    /// The places of the totals, by stage and kind, and by name.
    places: HashMap<(usize, Discriminant<Metric>), HashMap<String, usize>>,
    /// The most totals.
    most_names: usize,
    /// Metrics of further names.
    left_out: u64,
    /// The last notes, oldest first.
    notes: Vec<Note>,
}

/// One metric of a stage.
#[derive(Debug)]
struct Total {
    stage: usize,
    name: String,
    unit: Option<String>,
    value: TotalValue,
}

#[derive(Debug)]
enum TotalValue {
    Counter(u64),
    Gauge(f64),
    Distribution(Samples),
}

impl Default for MetricTotals {
    fn default() -> Self {
        Self {
            stages: Vec::new(),
            totals: Vec::new(),
            places: HashMap::new(),
            most_names: MOST_NAMES,
            left_out: 0,
            notes: Vec::new(),
        }
    }
}

impl RunMetrics {
    /// No metrics, of a pipeline with these stages.
    pub fn new(stages: Vec<String>) -> Self {
        Self::with_limit(stages, MOST_NAMES)
    }

    /// No metrics, of a pipeline with these stages, which keep so many by stage and name.
    pub fn with_limit(stages: Vec<String>, most_names: usize) -> Self {
        let state = MetricTotals {
            stages,
            most_names,
            ..MetricTotals::default()
        };
        Self(Arc::new(Mutex::new(state)))
    }

    /// Replaces the stages' names. Existing stages keep their indices.
    pub fn set_stages(&self, stages: &[String]) {
        self.lock().stages = stages.to_vec();
    }

    /// Adds a message of metrics. Returns its notes, to be printed. `None`: it is malformed, where no check judged it.
    pub fn add(&self, message: &Message) -> Option<Vec<Note>> {
        let metrics = read::<Metrics>(message).filter(|it| it.check().is_ok())?;
        let stage = message.source().stage;
        let mut state = self.lock();
        let mut notes = Vec::new();
        for metric in &metrics.metrics {
            match metric {
                Metric::Note { text, tone } => notes.push(Note {
                    stage: state.name(stage),
                    text: text.clone(),
                    tone: *tone,
                }),
                _ => state.sum(stage, metric),
            }
        }
        state.notes.extend(notes.iter().cloned());
        let excess = state.notes.len().saturating_sub(NOTES);
        state.notes.drain(..excess);
        Some(notes)
    }

    /// Each metric with its value so far: by stage, in the order in which they came.
    pub fn rows(&self) -> Vec<MetricRow> {
        let state = self.lock();
        let row = |total: &Total| MetricRow {
            stage: state.name(total.stage),
            name: total.name.clone(),
            unit: total.unit.clone(),
            value: total.value.shown(),
        };
        let mut totals: Vec<&Total> = state.totals.iter().collect();
        totals.sort_by_key(|total| total.stage);
        totals.into_iter().map(row).collect()
    }

    /// The last notes, oldest first.
    pub fn notes(&self) -> Vec<Note> {
        self.lock().notes.clone()
    }

    /// A notice of metrics that are not kept.
    pub fn left_out(&self) -> Option<String> {
        let state = self.lock();
        (state.left_out > 0).then(|| {
            let counted = counted(state.left_out as usize, "value");
            let most = state.most_names;
            format!("{counted} of further metrics left out: a run keeps {most}")
        })
    }

    fn lock(&self) -> MutexGuard<'_, MetricTotals> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MetricTotals {
    fn name(&self, stage: usize) -> String {
        self.stages.get(stage).cloned().unwrap_or_default()
    }

    fn sum(&mut self, stage: usize, metric: &Metric) {
        let Some(name) = metric.name() else { return };
        let places = self.places.entry((stage, discriminant(metric)));
        let places = places.or_default();
        let place = match places.get(name) {
            Some(&place) => place,
            None if self.totals.len() >= self.most_names => {
                self.left_out += 1;
                return;
            }
            None => {
                places.insert(name.to_owned(), self.totals.len());
                self.totals.push(Total::of(stage, name, metric));
                self.totals.len() - 1
            }
        };
        let Some(total) = self.totals.get_mut(place) else {
            return;
        };
        total.unit = metric.unit().map(str::to_owned);
        match (&mut total.value, metric) {
            (TotalValue::Counter(count), Metric::Counter { add, .. }) => {
                *count = count.saturating_add(*add);
            }
            (TotalValue::Gauge(last), Metric::Gauge { value, .. }) => *last = *value,
            (TotalValue::Distribution(samples), Metric::Distribution { values, .. }) => {
                values.iter().for_each(|value| samples.add(*value));
            }
            // It is of the same kind.
            _ => {}
        }
    }
}

impl Total {
    /// A metric without a value.
    fn of(stage: usize, name: &str, metric: &Metric) -> Self {
        Self {
            stage,
            name: name.to_owned(),
            unit: None,
            value: match metric {
                Metric::Gauge { value, .. } => TotalValue::Gauge(*value),
                Metric::Distribution { .. } => TotalValue::Distribution(Samples::default()),
                Metric::Counter { .. } | Metric::Note { .. } => TotalValue::Counter(0),
            },
        }
    }
}

impl TotalValue {
    fn shown(&self) -> MetricValue {
        match self {
            Self::Counter(count) => MetricValue::Counter(*count),
            Self::Gauge(value) => MetricValue::Gauge(*value),
            Self::Distribution(samples) => MetricValue::Distribution(samples.percentiles()),
        }
    }
}

#[cfg(test)]
mod tests;
