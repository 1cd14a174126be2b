//! The result of a comparison message by message.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::compare::comparison::PipelineSummary;
use crate::compare::frame::StageFailure;
use crate::compare::messages::compared_metrics::{self, ComparedMetric};
use crate::compare::messages::joined::{
    EmittedMessages, JoinedMessages, MessagePair, decides, join,
};

use crate::compare::times::StageTimes;

/// Two pipelines on one recording.
pub struct MessageComparison {
    /// The first.
    pub a: PipelineSummary,
    /// The second.
    pub b: PipelineSummary,
    /// The number of rounds.
    pub rounds: u32,
    /// The messages of both.
    pub messages: JoinedMessages,
    /// The metrics of both.
    pub metrics: Vec<ComparedMetric>,
    /// The times of the stages.
    pub stages: Vec<StageTimes>,
}

impl MessageComparison {
    /// Joins what both emitted.
    pub fn new(
        summaries: [PipelineSummary; 2],
        [of_a, of_b]: [&EmittedMessages; 2],
        rounds: u32,
        stages: Vec<StageTimes>,
    ) -> Self {
        let [a, b] = summaries;
        Self {
            a,
            b,
            rounds,
            messages: join(of_a, of_b),
            metrics: compared_metrics::compare(&of_a.metrics, &of_b.metrics),
            stages,
        }
    }

    /// Whether a message that decides, a counter or a failure differs.
    pub fn differs(&self) -> bool {
        self.messages.deciding() > 0
            || self.metrics.iter().any(|row| row.differs)
            || self.failures_differ()
    }

    /// Whether the stages failed otherwise, or another number of times. A stage may fail on a frame that it can't use. Where
    /// plugins race, the answer decides.
    pub fn failures_differ(&self) -> bool {
        let failures = |pipeline: &PipelineSummary| -> HashMap<StageFailure, usize> {
            let failures = pipeline.failures.iter().filter(|it| !it.is_of_race);
            failures.map(|it| (it.failed.clone(), it.times)).collect()
        };
        failures(&self.a) != failures(&self.b)
    }

    /// How many counters decide.
    pub fn counters(&self) -> usize {
        self.metrics.iter().filter(|row| row.decides()).count()
    }

    /// Whether there is nothing that could differ.
    pub fn is_empty(&self) -> bool {
        self.messages.compared() == 0 && self.counters() == 0
    }

    /// As JSON.
    pub fn json(&self) -> Value {
        let schemas = self.messages.schemas.iter().map(|(schema, counts)| {
            let mut row = json!(counts);
            row["schema"] = json!(**schema);
            row["decides"] = json!(decides(schema));
            row
        });
        let differences = self.messages.differences.iter().map(pair);
        json!({
            "same": !self.differs(),
            "a": self.a,
            "b": self.b,
            "rounds": self.rounds,
            "frames": self.messages.frames,
            "schemas": schemas.collect::<Vec<_>>(),
            "differences": differences.collect::<Vec<_>>(),
            "differences_left_out": self.messages.different - self.messages.differences.len(),
            "metrics": self.metrics,
            "stages": self.stages,
        })
    }
}

fn pair(pair: &MessagePair) -> Value {
    let mut row = json!(pair.difference);
    row["frame"] = json!(pair.frame.as_ref().map(|frame| frame.number));
    row["from"] = json!(pair.frame.as_ref().map(|frame| frame.output()));
    row["schema"] = json!(*pair.schema);
    row["stage"] = json!(pair.stage);
    row["number"] = json!(pair.number);
    row
}
