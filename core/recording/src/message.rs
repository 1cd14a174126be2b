//! A message of a recording in memory.

use std::sync::Arc;

use crate::bodies::BodyPlace;
use crate::topic::Topic;

/// A message that was emitted. [`crate::Recording::body`] gives its body.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedMessage {
    pub(crate) output: Arc<Output>,
    pub(crate) sequence: u32,
    pub(crate) at_ns: i64,
    pub(crate) body: BodyPlace,
}

/// The data that all messages of an output share.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Output {
    pub topic: Topic,
    pub schema: Arc<str>,
}

impl RecordedMessage {
    /// Its output.
    #[must_use]
    pub fn topic(&self) -> &Topic {
        &self.output.topic
    }

    /// Its schema id.
    #[must_use]
    pub fn schema(&self) -> &Arc<str> {
        &self.output.schema
    }

    /// Its number there, from 1.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        u64::from(self.sequence)
    }

    /// When, by the run's clock.
    #[must_use]
    pub fn at_ns(&self) -> i64 {
        self.at_ns
    }
}
