//! The metrics of one run, and which stages could emit some.

use std::collections::BTreeSet;

use flowpipe_config::manifest::Manifest;
use flowpipe_message::METRICS;

use crate::compare::messages::log::{Content, MessageLog};
use crate::metrics::{MetricRow, RunMetrics};

/// The most metrics of one run, by stage and name.
const MOST_NAMES: usize = 10_000;

/// The metrics of one run.
#[derive(Default)]
pub struct StageMetrics {
    /// By stage and name.
    pub rows: Vec<MetricRow>,
    /// The names of the stages with an output of metrics or of any schema.
    pub emitters: BTreeSet<String>,
}

impl StageMetrics {
    /// Sums up the metrics of a log. `manifests`: by stage. Metrics that can't be parsed are compared like messages of
    /// any schema, and stay in the log.
    ///
    /// # Errors
    /// When there are too many.
    pub fn new(
        log: &mut MessageLog,
        stages: Vec<String>,
        manifests: &[Manifest],
    ) -> Result<Self, String> {
        let may_emit = |manifest: &Manifest| {
            let mut outputs = manifest.outputs.iter();
            outputs.any(|port| port.schema == METRICS || port.schema == "*")
        };
        let named = stages.iter().zip(manifests);
        let emitters = named.filter(|(_, manifest)| may_emit(manifest));
        let emitters = emitters.map(|(name, _)| name.clone()).collect();
        let metrics = RunMetrics::with_limit(stages, MOST_NAMES);
        for message in std::mem::take(&mut log.metrics) {
            if metrics.add(&message).is_none() {
                log.add(&message, Content::of(&message, true));
            }
        }
        if metrics.left_out().is_some() {
            return Err(format!(
                "it emits more than {MOST_NAMES} metrics of different stages and names, which are too many to \
                 compare: let its stages use fewer names"
            ));
        }
        Ok(Self {
            rows: metrics.rows(),
            emitters,
        })
    }
}

#[cfg(test)]
mod tests {
    use flowpipe_config::manifest::Port;
    use flowpipe_host::message::Message;
    use flowpipe_message::{Metric, Metrics};

    use super::*;

    fn log(messages: impl IntoIterator<Item = String>) -> MessageLog {
        let mut log = MessageLog::default();
        for json in messages {
            log.add_metrics(Message::detached(METRICS, json.as_bytes()).unwrap());
        }
        log
    }

    fn counters(names: std::ops::Range<usize>) -> String {
        let counters = names.map(|number| Metric::counter(format!("name {number}"), 1));
        serde_json::to_string(&Metrics::new(counters.collect())).unwrap()
    }

    #[test]
    fn metrics_are_summed_up_and_malformed_ones_stay_in_the_log() {
        let mut log = log([counters(0..2), "[1]".to_owned(), counters(1..3)]);
        let metrics = StageMetrics::new(&mut log, vec!["judge".to_owned()], &[]).unwrap();
        let counts: Vec<String> = metrics.rows.iter().map(MetricRow::text).collect();
        assert_eq!(counts, ["1", "2", "1"]);
        assert_eq!(log.messages.len(), 1);
        assert_eq!(log.messages[0].content.json.as_deref(), Some("[1]"));
    }

    #[test]
    fn too_many_names_are_an_error() {
        let counted = |count: usize| {
            let messages = (0..count.div_ceil(1_000))
                .map(|part| counters(part * 1_000..count.min((part + 1) * 1_000)));
            StageMetrics::new(&mut log(messages), vec!["judge".to_owned()], &[])
        };
        assert_eq!(counted(MOST_NAMES).unwrap().rows.len(), MOST_NAMES);
        let error = counted(MOST_NAMES + 1).err().unwrap();
        assert!(error.contains("more than 10000 metrics"), "{error}");
    }

    #[test]
    fn stages_that_may_emit_metrics() {
        let names = ["judge", "echo", "vision"].map(str::to_owned);
        let manifests = [METRICS, "*", "spots/1"].map(|schema| Manifest {
            outputs: vec![Port {
                name: "out".into(),
                schema: schema.into(),
                ..Port::default()
            }],
            ..Manifest::default()
        });
        let found = StageMetrics::new(&mut log([]), names.to_vec(), &manifests).unwrap();
        assert_eq!(Vec::from_iter(found.emitters), ["echo", "judge"]);
    }
}
