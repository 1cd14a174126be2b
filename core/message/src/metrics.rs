//! What a stage reports of its work, in numbers and sentences.
//!
//! ```
//! use flowpipe_message::{Metric, Metrics, Tone};
//!
//! let metrics = Metrics::new(vec![
//!     Metric::counter("fields won", 1),
//!     Metric::gauge("mines left", 0.0),
//!     Metric::distribution("clicks", vec![31.0]),
//!     Metric::note("field 7 is won").with_tone(Tone::Good),
//! ]);
//! assert_eq!(metrics.check(), Ok(()));
//! ```

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::line;

/// What a stage reports of its work. The summary of a run, `flowpipe top` and the report show it under the stage's name.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Metrics {
    /// In the order in which they are shown.
    pub metrics: Vec<Metric>,
}

/// One thing that a stage reports of its work. Metrics of the same stage and name belong together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Metric {
    /// Counts something: what all messages of a run add is summed up.
    Counter {
        /// What is counted: `fields won`.
        name: String,
        /// How many more there are.
        add: u64,
    },
    /// How much there is of something now: the last value counts.
    Gauge {
        /// What is measured: `mines left`.
        name: String,
        /// How much there is.
        value: f64,
        /// What it is measured in: `ms`, `px`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unit: Option<String>,
    },
    /// Samples, of which percentiles are shown.
    Distribution {
        /// What is measured: `clicks`, `time to solve`.
        name: String,
        /// Further samples.
        values: Vec<f64>,
        /// What they are measured in: `ms`, `px`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unit: Option<String>,
    },
    /// A sentence for people about what has just happened.
    Note {
        /// The sentence.
        text: String,
        /// Whether that is good.
        #[serde(default, skip_serializing_if = "Tone::is_plain")]
        tone: Tone,
    },
}

/// Whether something is good.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tone {
    /// Neither.
    #[default]
    Plain,
    /// It is what the pipeline is for.
    Good,
    /// It is not what should have happened.
    Bad,
}

/// The most metrics of one message.
pub const MOST_METRICS: usize = 1_000;

/// The most samples of all distributions of one message.
pub const MOST_SAMPLES: usize = 10_000;

/// The most characters of a name.
pub const LONGEST_NAME: usize = 64;

/// The most characters of a unit.
pub const LONGEST_UNIT: usize = 16;

/// The most characters of a note.
pub const LONGEST_NOTE: usize = 1_000;

impl Metrics {
    /// These metrics.
    #[must_use]
    pub fn new(metrics: Vec<Metric>) -> Self {
        Self { metrics }
    }

    /// Checks the metrics in themselves: names and units of one line, finite numbers, not too many of them.
    ///
    /// # Errors
    /// The first thing that is wrong, with the metric counted from 1.
    pub fn check(&self) -> Result<(), String> {
        let count = self.metrics.len();
        if count > MOST_METRICS {
            return Err(format!("{count} metrics, the most are {MOST_METRICS}"));
        }
        let samples: usize = self.metrics.iter().map(|it| it.samples().len()).sum();
        if samples > MOST_SAMPLES {
            return Err(format!("{samples} samples, the most are {MOST_SAMPLES}"));
        }
        for (number, metric) in (1..).zip(&self.metrics) {
            metric.check().map_err(|wrong| match metric.name() {
                Some(name) if line::check("name", name, LONGEST_NAME).is_ok() => {
                    format!("metric {number}, {name}: {wrong}")
                }
                _ => format!("metric {number}: {wrong}"),
            })?;
        }
        Ok(())
    }
}

impl Metric {
    /// Counts so many more of something.
    #[must_use]
    pub fn counter(name: impl Into<String>, add: u64) -> Self {
        Self::Counter {
            name: name.into(),
            add,
        }
    }

    /// How much there is of something now.
    #[must_use]
    pub fn gauge(name: impl Into<String>, value: f64) -> Self {
        Self::Gauge {
            name: name.into(),
            value,
            unit: None,
        }
    }

    /// Further samples of something.
    #[must_use]
    pub fn distribution(name: impl Into<String>, values: Vec<f64>) -> Self {
        Self::Distribution {
            name: name.into(),
            values,
            unit: None,
        }
    }

    /// A sentence for people.
    #[must_use]
    pub fn note(text: impl Into<String>) -> Self {
        Self::Note {
            text: text.into(),
            tone: Tone::Plain,
        }
    }

    /// The same gauge or distribution in a unit. Counters and notes have none.
    #[must_use]
    pub fn with_unit(mut self, of: impl Into<String>) -> Self {
        if let Self::Gauge { unit, .. } | Self::Distribution { unit, .. } = &mut self {
            *unit = Some(of.into());
        }
        self
    }

    /// The same note in another tone. Other metrics have none.
    #[must_use]
    pub fn with_tone(mut self, of: Tone) -> Self {
        if let Self::Note { tone, .. } = &mut self {
            *tone = of;
        }
        self
    }

    /// Its name. A note has none.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Counter { name, .. }
            | Self::Gauge { name, .. }
            | Self::Distribution { name, .. } => Some(name),
            Self::Note { .. } => None,
        }
    }

    /// What it is measured in.
    #[must_use]
    pub fn unit(&self) -> Option<&str> {
        match self {
            Self::Gauge { unit, .. } | Self::Distribution { unit, .. } => unit.as_deref(),
            Self::Counter { .. } | Self::Note { .. } => None,
        }
    }

    fn samples(&self) -> &[f64] {
        match self {
            Self::Distribution { values, .. } => values,
            Self::Counter { .. } | Self::Gauge { .. } | Self::Note { .. } => &[],
        }
    }

    fn check(&self) -> Result<(), String> {
        if let Some(name) = self.name() {
            line::check("name", name, LONGEST_NAME)?;
        }
        if let Some(unit) = self.unit() {
            line::check("unit", unit, LONGEST_UNIT)?;
        }
        if let Self::Note { text, .. } = self {
            line::check("note", text, LONGEST_NOTE)?;
        }
        let value = match self {
            Self::Gauge { value, .. } => *value,
            _ => 0.0,
        };
        if !value.is_finite() || self.samples().iter().any(|value| !value.is_finite()) {
            return Err("a value that is not a finite number".to_owned());
        }
        Ok(())
    }
}

impl Tone {
    fn is_plain(&self) -> bool {
        *self == Self::Plain
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_json_is_what_the_documentation_says() {
        let metrics = Metrics::new(vec![
            Metric::counter("fields won", 2),
            Metric::gauge("mines left", 4.0),
            Metric::distribution("time to solve", vec![1.5, 2.0]).with_unit("ms"),
            Metric::note("field 2 is lost").with_tone(Tone::Bad),
            Metric::note("a new field"),
        ]);
        let text = json!({ "metrics": [
            { "kind": "counter", "name": "fields won", "add": 2 },
            { "kind": "gauge", "name": "mines left", "value": 4.0 },
            { "kind": "distribution", "name": "time to solve", "values": [1.5, 2.0], "unit": "ms" },
            { "kind": "note", "text": "field 2 is lost", "tone": "bad" },
            { "kind": "note", "text": "a new field" },
        ] });
        assert_eq!(json!(metrics), text);
        assert_eq!(serde_json::from_value::<Metrics>(text).unwrap(), metrics);
        assert_eq!(metrics.check(), Ok(()));
    }

    #[test]
    fn what_is_too_much_or_no_line_is_refused() {
        let many = |count| vec![Metric::counter("a", 1); count];
        for (metrics, reason) in [
            (many(1_001), "1001 metrics, the most are 1000"),
            (
                vec![Metric::distribution("a", vec![0.0; 10_001])],
                "10001 samples, the most are 10000",
            ),
            (vec![Metric::counter(" ", 1)], "metric 1: an empty name"),
            (
                vec![Metric::note("fine"), Metric::note("a\nb")],
                "metric 2: a note with control characters",
            ),
            (
                vec![Metric::gauge("x".repeat(65), 0.0)],
                "metric 1: a name of 65 characters, the most are 64",
            ),
            (
                vec![Metric::gauge("a", 0.0).with_unit("")],
                "metric 1, a: an empty unit",
            ),
            (
                vec![Metric::gauge("a", f64::NAN)],
                "metric 1, a: a value that is not a finite number",
            ),
        ] {
            assert_eq!(Metrics::new(metrics).check(), Err(reason.to_owned()));
        }
        assert_eq!(Metrics::new(many(1_000)).check(), Ok(()));
    }
}
