//! What stages report of their work, by stage and name.

use std::collections::HashMap;

use flowpipe_message::{Metric, Metrics, Tone};
use flowpipe_recording::Name;
use serde::{Serialize, Serializer};

use crate::intervals::{INTERVALS, Intervals};
use crate::room::Allowance;
use crate::samples::Samples;

/// The metrics of all stages over the time of a run, and their notes.
#[derive(Debug, Serialize)]
pub struct MetricHistories {
    /// By stage, in the order of their first metrics.
    stages: Vec<StageMetrics>,
    /// In the order of time.
    notes: Vec<Note>,
    /// How many notes there were; no more than [`MOST_NOTES`] are kept.
    note_count: usize,
    /// How many metrics are left out, because there are too many names.
    #[serde(skip)]
    pub over_limit: usize,
    #[serde(skip)]
    names: usize,
    #[serde(skip)]
    places: HashMap<(Name, &'static str, String), (usize, usize)>,
    #[serde(skip)]
    stage_places: HashMap<Name, usize>,
    #[serde(skip)]
    samples: usize,
    #[serde(skip)]
    text: Allowance,
    #[serde(skip)]
    intervals: Intervals,
}

/// The metrics of a stage.
#[derive(Debug, Serialize)]
struct StageMetrics {
    stage: String,
    /// In the order in which they were first named.
    metrics: Vec<History>,
}

/// One metric over the time of the run.
#[derive(Debug, Serialize)]
struct History {
    name: String,
    /// The last one that was given.
    unit: Option<String>,
    #[serde(flatten)]
    values: Values,
}

#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Values {
    Counter {
        /// As text: JavaScript's numbers do not have all of them.
        #[serde(serialize_with = "as_text")]
        total: u64,
        /// By interval: how many more.
        intervals: Vec<u64>,
    },
    Gauge {
        last: f64,
        min: f64,
        max: f64,
        /// By interval with a value: its place, the least, the greatest and the last value.
        intervals: Vec<(usize, f64, f64, f64)>,
    },
    Distribution(Samples),
}

/// A sentence for people.
#[derive(Debug, Serialize)]
struct Note {
    at_ns: i64,
    stage: String,
    tone: Tone,
    text: String,
    /// The frame that it descends from.
    frame: Option<usize>,
}

/// The most different metrics that are kept.
pub const MOST_NAMES: usize = 200;
/// The most notes that are listed.
pub const MOST_NOTES: usize = 2_000;
/// The most bytes that their texts have together.
const NOTE_BYTES: usize = 1 << 20;
/// The most samples that are kept, of all distributions together.
const MOST_SAMPLES: usize = 100_000;

impl MetricHistories {
    /// None yet, of a run of these intervals.
    pub fn new(intervals: Intervals) -> Self {
        Self {
            stages: Vec::new(),
            notes: Vec::new(),
            note_count: 0,
            over_limit: 0,
            names: 0,
            places: HashMap::new(),
            stage_places: HashMap::new(),
            samples: 0,
            text: Allowance::of(NOTE_BYTES),
            intervals,
        }
    }

    /// Whether there are samples that are not kept.
    pub fn is_thinned(&self) -> bool {
        let all = self.stages.iter().flat_map(|stage| &stage.metrics);
        all.into_iter().any(|it| match &it.values {
            Values::Distribution(samples) => samples.is_thinned(),
            Values::Counter { .. } | Values::Gauge { .. } => false,
        })
    }

    /// A message of a stage, in the order of time.
    pub fn add(&mut self, stage: &Name, at_ns: i64, frame: Option<usize>, metrics: &Metrics) {
        for metric in &metrics.metrics {
            match metric {
                Metric::Note { text, tone } => self.note(Note {
                    at_ns,
                    stage: stage.to_string(),
                    tone: *tone,
                    text: text.clone(),
                    frame,
                }),
                named => self.named(stage, at_ns, named),
            }
        }
        while self.samples > MOST_SAMPLES {
            let all = self.stages.iter_mut().flat_map(|stage| &mut stage.metrics);
            let distributions = all.filter_map(|it| match &mut it.values {
                Values::Distribution(samples) => Some(samples),
                Values::Counter { .. } | Values::Gauge { .. } => None,
            });
            let Some(largest) = distributions.max_by_key(|samples| samples.kept()) else {
                return;
            };
            self.samples -= largest.kept();
            largest.halve();
            self.samples += largest.kept();
        }
    }

    fn note(&mut self, note: Note) {
        self.note_count += 1;
        if self.notes.len() < MOST_NOTES && self.text.take(note.text.len() + note.stage.len()) {
            self.notes.push(note);
        }
    }

    fn named(&mut self, stage: &Name, at_ns: i64, metric: &Metric) {
        let Some((of_stage, place)) = self.place(stage, metric) else {
            self.over_limit += 1;
            return;
        };
        let stage = self.stages.get_mut(of_stage);
        let Some(history) = stage.and_then(|it| it.metrics.get_mut(place)) else {
            return;
        };
        if let Some(unit) = metric.unit() {
            history.unit = Some(unit.to_owned());
        }
        let interval = self.intervals.place(at_ns);
        match (&mut history.values, metric) {
            (Values::Counter { total, intervals }, Metric::Counter { add, .. }) => {
                *total = total.saturating_add(*add);
                intervals[interval] = intervals[interval].saturating_add(*add);
            }
            (
                Values::Gauge {
                    last,
                    min,
                    max,
                    intervals,
                },
                &Metric::Gauge { value, .. },
            ) => {
                *last = value;
                *min = min.min(value);
                *max = max.max(value);
                match intervals.last_mut() {
                    Some((place, min, max, last)) if *place == interval => {
                        *min = min.min(value);
                        *max = max.max(value);
                        *last = value;
                    }
                    _ => intervals.push((interval, value, value, value)),
                }
            }
            (Values::Distribution(samples), Metric::Distribution { values, .. }) => {
                let before = samples.kept();
                values.iter().for_each(|&value| samples.add(value));
                self.samples += samples.kept() - before;
            }
            // A place is that of a kind.
            _ => {}
        }
    }

    /// The place of a metric, which is added where there is none. `None`: there are too many.
    fn place(&mut self, stage: &Name, metric: &Metric) -> Option<(usize, usize)> {
        let name = metric.name()?;
        let (kind, values) = Values::none_of(metric)?;
        let key = (stage.clone(), kind, name.to_owned());
        if let Some(&known) = self.places.get(&key) {
            return Some(known);
        }
        if self.names == MOST_NAMES {
            return None;
        }
        self.names += 1;
        let of_stage = *self.stage_places.entry(stage.clone()).or_insert_with(|| {
            self.stages.push(StageMetrics {
                stage: stage.to_string(),
                metrics: Vec::new(),
            });
            self.stages.len() - 1
        });
        let histories = &mut self.stages.get_mut(of_stage)?.metrics;
        histories.push(History {
            name: name.to_owned(),
            unit: None,
            values,
        });
        let place = (of_stage, histories.len() - 1);
        self.places.insert(key, place);
        Some(place)
    }
}

impl Values {
    /// The kind of a metric, and no values of it yet. A note has none.
    fn none_of(metric: &Metric) -> Option<(&'static str, Self)> {
        match metric {
            Metric::Counter { .. } => {
                let (total, intervals) = (0, vec![0; INTERVALS]);
                Some(("counter", Self::Counter { total, intervals }))
            }
            Metric::Gauge { value, .. } => {
                let (last, min, max) = (*value, *value, *value);
                let intervals = Vec::new();
                let gauge = Self::Gauge {
                    last,
                    min,
                    max,
                    intervals,
                };
                Some(("gauge", gauge))
            }
            Metric::Distribution { .. } => {
                Some(("distribution", Self::Distribution(Samples::new())))
            }
            Metric::Note { .. } => None,
        }
    }
}

fn as_text<S: Serializer>(total: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(total)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Adds messages of a stage, one each second of two minutes.
    fn of(messages: &[Vec<Metric>]) -> MetricHistories {
        let mut histories = MetricHistories::new(Intervals::until(120_000_000_000));
        for (second, metrics) in (0..).zip(messages) {
            let metrics = Metrics::new(metrics.clone());
            assert_eq!(metrics.check(), Ok(()));
            histories.add(&Name::from("a"), second * 1_000_000_000, Some(7), &metrics);
        }
        histories
    }

    fn json_of(histories: &MetricHistories) -> Value {
        serde_json::to_value(histories).unwrap()
    }

    #[test]
    fn each_kind_has_its_history() {
        let histories = of(&[
            vec![
                Metric::counter("fields won", 2),
                Metric::gauge("mines left", 10.0),
                Metric::distribution("clicks", vec![1.0, 2.0]),
                Metric::gauge("fields won", 0.5).with_unit("%"),
            ],
            vec![
                Metric::counter("fields won", u64::MAX - 2),
                Metric::gauge("mines left", -3.0).with_unit("mines"),
                Metric::distribution("clicks", vec![9.0]),
                Metric::note("won").with_tone(Tone::Good),
            ],
        ]);
        let json = json_of(&histories);
        let metrics = &json["stages"][0]["metrics"];
        assert_eq!(json["stages"][0]["stage"], "a");
        assert_eq!(metrics.as_array().unwrap().len(), 4);
        assert_eq!(metrics[0]["total"], u64::MAX.to_string());
        assert_eq!(metrics[0]["intervals"][0], 2);
        assert_eq!(metrics[0]["intervals"][1], u64::MAX - 2);
        assert_eq!(metrics[0]["intervals"].as_array().unwrap().len(), INTERVALS);
        assert_eq!(
            metrics[1],
            json!({ "kind": "gauge", "name": "mines left", "unit": "mines", "last": -3.0, "min": -3.0, "max": 10.0,
                    "intervals": [[0, 10.0, 10.0, 10.0], [1, -3.0, -3.0, -3.0]] })
        );
        assert_eq!(metrics[2]["count"], 3);
        assert_eq!(metrics[2]["p50"], 2.0);
        // The same name of another kind is another metric.
        assert_eq!(metrics[3]["unit"], "%");
        assert_eq!(
            json["notes"],
            json!([{ "at_ns": 1_000_000_000, "stage": "a", "tone": "good", "text": "won", "frame": 7 }])
        );
        assert!(!histories.is_thinned());
    }

    #[test]
    fn names_have_a_limit() {
        let names = |from: usize| {
            let names = from..from + MOST_NAMES;
            names.map(|it| Metric::gauge(it.to_string(), 1.0)).collect()
        };
        let histories = of(&[names(0), names(1), names(MOST_NAMES)]);
        let json = json_of(&histories);
        let metrics = json["stages"][0]["metrics"].as_array().unwrap();
        assert_eq!(metrics.len(), MOST_NAMES);
        assert_eq!(histories.over_limit, 1 + MOST_NAMES);
    }

    #[test]
    fn notes_have_a_limit_and_are_counted() {
        let many = vec![Metric::note("a"); 1_000];
        let json = json_of(&of(&[many.clone(), many.clone(), many]));
        assert_eq!(json["notes"].as_array().unwrap().len(), MOST_NOTES);
        assert_eq!(json["note_count"], 3_000);
        let long = vec![Metric::note("x".repeat(1_000)); 1_000];
        let json = json_of(&of(&[long.clone(), long]));
        let kept = json["notes"].as_array().unwrap().len();
        assert!((1_000..1_100).contains(&kept), "{kept}");
        assert_eq!(json["note_count"], 2_000);
    }

    #[test]
    fn samples_have_a_limit_that_is_fair() {
        let many = Metric::distribution("many", (0..9_990).map(f64::from).collect());
        let few = Metric::distribution("few", vec![4.0]);
        let histories = of(&vec![vec![many, few]; 60]);
        assert!(histories.samples <= MOST_SAMPLES);
        assert!(histories.is_thinned());
        let json = json_of(&histories);
        let metrics = &json["stages"][0]["metrics"];
        assert_eq!(metrics[0]["count"], 60 * 9_990);
        let kept = metrics[0]["kept"].as_u64().unwrap();
        assert!((40_000..=100_000).contains(&kept), "{kept}");
        let median = metrics[0]["p50"].as_f64().unwrap();
        assert!((4_900.0..5_100.0).contains(&median), "{median}");
        assert_eq!(
            (&metrics[1]["count"], &metrics[1]["kept"]),
            (&json!(60), &json!(60))
        );
    }

    #[test]
    fn of_pairs_both_values_are_kept() {
        let pair = Metric::distribution("pair", vec![1.0, 2.0]);
        let histories = of(&vec![vec![pair]; MOST_SAMPLES]);
        assert!(histories.is_thinned());
        let json = json_of(&histories);
        let pair = &json["stages"][0]["metrics"][0];
        let kept = pair["kept"].as_u64().unwrap();
        assert!((40_000..=100_000).contains(&kept), "{kept}");
        for bar in [0, 1] {
            let share = pair["bars"][bar].as_f64().unwrap() / kept as f64;
            assert!((share - 0.5).abs() < 0.02, "{share}");
        }
    }
}
