//! What machines send each other of the workers of distributed stages.

use flowpipe_abi as abi;
use flowpipe_engine::run::distributed::WorkerPlace;
use flowpipe_engine::run::worker_call::{
    LONGEST_MARK, Polls, WorkerDone, WorkerMessage, WorkerOutput,
};
use flowpipe_host::call::Cancellation;
use flowpipe_host::frame::Frame;
use flowpipe_host::instance::Death;
use flowpipe_host::run::Ending;
use flowpipe_host::stage_clock::{ClockSource, MOST_TIMES};
use flowpipe_host::table::LONGEST_TEXT;
use flowpipe_link::clock_offset::Offset;
use serde::{Deserialize, Serialize};

use crate::control::LATEST_TIME;

/// The highest number of polls: what recordings hold.
const MOST_POLLS: u64 = 1 << 53;

/// To the instance of this number.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ToWorker {
    pub instance: u64,
    pub what: Command,
}

/// What an instance is to do.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Command {
    /// It is created.
    Create {
        stage: usize,
        worker: usize,
        plugin: usize,
        clock: ClockSource,
        /// The run has no effects outside of the program.
        dry: bool,
        /// The mode of the run.
        mode: u32,
    },
    /// The body is the message's JSON, and its frame.
    Process {
        event: abi::Event,
        /// The number of the call.
        call: u64,
        message: Option<MessageHead>,
    },
    Reset,
    /// The answer to an emission or a wait.
    Status(abi::Status),
    /// The mode of the run, and the call that is cancelled: see [`flowpipe_host::run::StageProcess`].
    Control {
        mode: u32,
        cancelled: u64,
    },
    /// Its call hangs: it is given up.
    Kill,
    Destroy,
}

/// From the instance of this number.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FromWorker {
    pub instance: u64,
    /// How often it has asked in this call whether it is cancelled.
    pub polls: u64,
    /// After how many polls it was cancelled, and why.
    pub cancelled: Option<(u64, u32)>,
    pub what: WorkerAnswer,
}

/// What an instance does.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum WorkerAnswer {
    /// It was created.
    Created {
        clock: Vec<i64>,
    },
    /// It was not created, for this reason.
    NotCreated {
        why: String,
    },
    /// The call has returned.
    Done {
        status: abi::Status,
        error: Option<(i32, String)>,
        clock: Vec<i64>,
        /// Whether its process hung, and how it ended.
        death: Option<(bool, String)>,
    },
    /// The body is the message's JSON, and its frame.
    Emit {
        is_whole: bool,
        port: u32,
        schema: Option<String>,
        has_json: bool,
        captured_ns: i64,
    },
    Wait {
        deadline_ns: i64,
    },
    Mark {
        name: String,
        at_ns: i64,
    },
    /// A plugin of this stage ends the run.
    End {
        stage: usize,
        how: Ending,
        reason: String,
    },
}

/// A message, without its JSON and its frame. Times are of the sender's clock.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct MessageHead {
    port: u32,
    schema: String,
    sequence: u64,
    frame_sequence: u64,
    captured_ns: i64,
    /// Stage, taken, emitted.
    hops: Vec<(u32, i64, i64)>,
}

impl MessageHead {
    pub(super) fn new(message: &WorkerMessage) -> Self {
        Self {
            port: message.port,
            schema: message.schema.clone(),
            sequence: message.sequence,
            frame_sequence: message.frame_sequence,
            captured_ns: message.captured_ns,
            hops: message
                .hops
                .iter()
                .map(|hop| (hop.stage, hop.taken_ns, hop.emitted_ns))
                .collect(),
        }
    }

    /// Its number at the output that it comes from.
    pub(super) fn sequence(&self) -> u64 {
        self.sequence
    }

    /// The message. Times are converted to those of this machine.
    pub(super) fn message(
        self,
        json: Vec<u8>,
        frame: Option<Frame>,
        clock: Offset,
    ) -> WorkerMessage {
        let hop = |(stage, taken_ns, emitted_ns): (u32, i64, i64)| abi::Hop {
            stage,
            reserved: 0,
            taken_ns: clock.to_own(taken_ns),
            emitted_ns: clock.to_own(emitted_ns),
        };
        WorkerMessage {
            port: self.port,
            schema: self.schema,
            json,
            frame,
            sequence: self.sequence,
            frame_sequence: self.frame_sequence,
            captured_ns: match self.frame_sequence {
                0 => 0,
                _ => clock.to_own(self.captured_ns),
            },
            hops: self.hops.into_iter().map(hop).collect(),
        }
    }
}

impl FromWorker {
    pub(super) fn new(instance: u64, polls: Polls, what: WorkerAnswer) -> Self {
        Self {
            instance,
            polls: polls.count,
            cancelled: polls.cancelled.map(|it| (it.after, it.reason)),
            what,
        }
    }

    /// Whether an instance may send this.
    pub(super) fn is_in_range(&self) -> bool {
        let is_poll = |(after, _): &(u64, u32)| *after <= self.polls;
        self.polls <= MOST_POLLS
            && self.cancelled.as_ref().is_none_or(is_poll)
            && self.what.is_in_range()
    }

    pub(super) fn polls(&self) -> Polls {
        Polls {
            count: self.polls,
            cancelled: self
                .cancelled
                .map(|(after, reason)| Cancellation { after, reason }),
        }
    }
}

impl WorkerAnswer {
    pub(super) fn done(done: WorkerDone) -> Self {
        Self::Done {
            status: done.status,
            error: done.error.map(|(code, text)| (code, short(text))),
            clock: done.clock,
            death: done.death.map(|it| (it.hung, short(it.text))),
        }
    }

    pub(super) fn not_created(why: String) -> Self {
        Self::NotCreated { why: short(why) }
    }

    /// A plugin of a stage ends the run.
    pub(super) fn end(stage: usize, how: Ending, reason: String) -> Self {
        let reason = short(reason);
        Self::End { stage, how, reason }
    }

    fn is_in_range(&self) -> bool {
        let is_text = |text: &String| text.len() <= LONGEST_TEXT;
        let is_time = |time_ns: &i64| (-LATEST_TIME..=LATEST_TIME).contains(time_ns);
        let are_times = |clock: &[i64]| clock.len() <= MOST_TIMES && clock.iter().all(is_time);
        match self {
            Self::Created { clock } => are_times(clock),
            Self::NotCreated { why } => is_text(why),
            Self::Done {
                error,
                clock,
                death,
                ..
            } => {
                let error = error.as_ref().map(|(_, text)| text);
                let death = death.as_ref().map(|(_, text)| text);
                are_times(clock) && error.is_none_or(is_text) && death.is_none_or(is_text)
            }
            // The time is clamped, as that of a process.
            Self::Mark { name, .. } => name.len() <= LONGEST_MARK,
            Self::End { reason, .. } => is_text(reason),
            // They are checked as those of plugins.
            Self::Emit { .. } | Self::Wait { .. } => true,
        }
    }

    /// An emission, without its JSON and its frame.
    pub(super) fn emit(output: Option<&WorkerOutput>) -> Self {
        Self::Emit {
            is_whole: output.is_some(),
            port: output.map_or(0, |it| it.port),
            schema: output.and_then(|it| it.schema.clone()),
            has_json: output.is_some_and(|it| it.json.is_some()),
            captured_ns: output.map_or(0, |it| it.captured_ns),
        }
    }
}

/// A text that is not longer than may be sent.
fn short(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(LONGEST_TEXT));
    text
}

/// The end of an instance, as it was reported.
pub(super) fn death((hung, text): (bool, String)) -> Death {
    Death { hung, text }
}

/// A time that a plugin states, by the own clock. 0: none.
pub(super) fn stated(time_ns: i64, clock: Offset) -> i64 {
    match time_ns {
        0 => 0,
        time_ns => clock.to_own(time_ns),
    }
}

/// The place of an instance.
pub(super) fn place(stage: usize, worker: usize, plugin: usize) -> WorkerPlace {
    WorkerPlace {
        stage,
        worker,
        plugin,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AHEAD: Offset = Offset {
        offset_ns: 1_000,
        error_ns: 0,
    };

    /// What arrives of a message that descends from the frame with this number.
    fn arrived(frame_sequence: u64) -> WorkerMessage {
        let message = WorkerMessage {
            port: 0,
            schema: "test/1".to_owned(),
            json: b"{}".to_vec(),
            frame: None,
            sequence: 7,
            frame_sequence,
            captured_ns: 5_000,
            hops: vec![abi::Hop {
                stage: 2,
                reserved: 0,
                taken_ns: 6_000,
                emitted_ns: 7_000,
            }],
        };
        MessageHead::new(&message).message(message.json.clone(), None, AHEAD)
    }

    #[test]
    fn times_of_a_message_are_converted_to_those_of_this_machine() {
        let message = arrived(3);
        assert_eq!((message.sequence, message.frame_sequence), (7, 3));
        assert_eq!(message.captured_ns, 4_000);
        let hop = message.hops[0];
        assert_eq!((hop.stage, hop.taken_ns, hop.emitted_ns), (2, 5_000, 6_000));
        // Without a frame there is no time at which it was captured.
        assert_eq!(arrived(0).captured_ns, 0);
    }
}
