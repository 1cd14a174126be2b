//! What a coordinator and a worker send each other.
//!
//! Channel 0 has [`BatchControl`] messages as JSON. Channel 1 has chunks in one direction, and answers in the other one. A
//! chunk is named by the index of its first item.

use flowpipe_link::session::{Limits, Settings};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agreement::Facts;

/// The channel of [`BatchControl`].
pub(crate) const CONTROL: u32 = 0;
/// The channel of chunks and answers.
pub(crate) const CHUNKS: u32 = 1;
/// The number of channels.
const CHANNELS: u32 = 2;
/// How many control messages may wait.
pub(crate) const CONTROL_CAPACITY: u64 = 4;
/// How many answers may wait at the coordinator, of each worker.
pub(crate) const ANSWER_CAPACITY: u64 = 4;
/// The most bytes of a message.
const MESSAGE_BYTES: usize = 16 << 20;
/// The most bytes of a control message.
pub(crate) const CONTROL_BYTES: usize = 1 << 20;
/// The most bytes of the items of a chunk, and of the results of one answer.
pub const MAX_BODY: usize = MESSAGE_BYTES - ANSWER_HEADER;
/// The most chunks that a worker works on at the same time.
pub(crate) const MAX_LANES: usize = 64;

/// The job and the chunk.
const CHUNK_HEADER: usize = 16;
/// Those, the kind of the answer, and how long the work took.
const ANSWER_HEADER: usize = CHUNK_HEADER + 1 + 8;

/// A control message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum BatchControl {
    /// The coordinator begins a job; it replaces the one before.
    Job {
        /// The coordinator.
        machine: String,
        /// A random number.
        number: u64,
        /// What the coordinator runs.
        facts: Facts,
        /// What to do.
        job: Value,
    },
    /// The worker takes part.
    Accepted {
        /// The worker.
        machine: String,
        /// The number of the job.
        number: u64,
        /// What the worker runs.
        facts: Facts,
        /// How many chunks it works on at the same time.
        lanes: usize,
    },
    /// The worker does not take part.
    Refused {
        /// The worker.
        machine: String,
        /// The number of the job.
        number: u64,
        /// What the worker runs.
        facts: Facts,
        /// Why, unless the facts show it.
        reason: Option<String>,
    },
    /// The coordinator has no more jobs.
    End,
}

/// A chunk, as it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SentChunk<'a> {
    pub job: u64,
    pub first: u64,
    pub body: &'a [u8],
}

/// The answer to a chunk, as it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answer<'a> {
    pub job: u64,
    pub first: u64,
    pub kind: AnswerKind,
    pub took_us: u64,
    pub body: &'a [u8],
}

/// What an answer contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerKind {
    /// The results of its first items: the rest, if there is one, was not done.
    Results,
    /// Why the worker can't do the job.
    Failed,
}

/// The settings of a link for batches.
pub(crate) fn settings(opens: bool) -> Settings {
    let settings = Settings::new(opens, CHANNELS);
    Settings {
        limits: Limits {
            message_bytes: MESSAGE_BYTES,
            ..settings.limits
        },
        ..settings
    }
}

impl BatchControl {
    pub(crate) fn encode(&self) -> Vec<u8> {
        // It has no maps with other keys than text, so that it is always JSON.
        serde_json::to_vec(self).unwrap_or_default()
    }

    pub(crate) fn decode(body: &[u8]) -> Option<Self> {
        let body = Some(body).filter(|body| body.len() <= CONTROL_BYTES);
        serde_json::from_slice(body?).ok()
    }
}

impl<'a> SentChunk<'a> {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(CHUNK_HEADER + self.body.len());
        bytes.extend_from_slice(&self.job.to_le_bytes());
        bytes.extend_from_slice(&self.first.to_le_bytes());
        bytes.extend_from_slice(self.body);
        bytes
    }

    pub(crate) fn decode(bytes: &'a [u8]) -> Option<Self> {
        let (job, rest) = number(bytes)?;
        let (first, body) = number(rest)?;
        Some(Self { job, first, body })
    }
}

impl<'a> Answer<'a> {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(ANSWER_HEADER + self.body.len());
        bytes.extend_from_slice(&self.job.to_le_bytes());
        bytes.extend_from_slice(&self.first.to_le_bytes());
        bytes.push(match self.kind {
            AnswerKind::Results => 0,
            AnswerKind::Failed => 1,
        });
        bytes.extend_from_slice(&self.took_us.to_le_bytes());
        bytes.extend_from_slice(self.body);
        bytes
    }

    pub(crate) fn decode(bytes: &'a [u8]) -> Option<Self> {
        let (job, rest) = number(bytes)?;
        let (first, rest) = number(rest)?;
        let (kind, rest) = rest.split_first()?;
        let kind = match kind {
            0 => AnswerKind::Results,
            1 => AnswerKind::Failed,
            _ => return None,
        };
        let (took_us, body) = number(rest)?;
        Some(Self {
            job,
            first,
            kind,
            took_us,
            body,
        })
    }
}

fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((u64::from_le_bytes(*number), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_is_read_and_nothing_shorter() {
        let chunk = SentChunk {
            job: 7,
            first: 1 << 40,
            body: b"items",
        };
        let bytes = chunk.encode();
        assert_eq!(SentChunk::decode(&bytes), Some(chunk));
        assert_eq!(SentChunk::decode(&bytes[..CHUNK_HEADER - 1]), None);
        for kind in [AnswerKind::Results, AnswerKind::Failed] {
            let answer = Answer {
                job: 7,
                first: 3,
                kind,
                took_us: 12,
                body: b"results",
            };
            let mut bytes = answer.encode();
            assert_eq!(Answer::decode(&bytes), Some(answer));
            assert_eq!(Answer::decode(&bytes[..ANSWER_HEADER - 1]), None);
            bytes[CHUNK_HEADER] = 3;
            assert_eq!(Answer::decode(&bytes), None);
        }
    }

    #[test]
    fn a_control_message_is_short() {
        let job = BatchControl::Job {
            machine: "desk".to_owned(),
            number: 1,
            facts: Facts::default(),
            job: "x".repeat(CONTROL_BYTES).into(),
        };
        assert_eq!(BatchControl::decode(&job.encode()), None);
        assert_eq!(
            BatchControl::decode(&BatchControl::End.encode()),
            Some(BatchControl::End)
        );
        assert_eq!(BatchControl::decode(b"{}"), None);
    }
}
