//! Calls of an instance on another machine, as both machines exchange them.

use flowpipe_abi as abi;
use flowpipe_host::call::Cancellation;
use flowpipe_host::frame::Frame;
use flowpipe_host::instance::Death;

/// The most marks of one call. Further ones are ignored.
pub const MOST_MARKS: u64 = 1_000;
/// The longest name of a mark, in bytes. A longer one is cut.
pub const LONGEST_MARK: usize = 256;

/// A `process` call.
pub struct WorkerCall {
    /// What happens.
    pub event: abi::Event,
    /// The message.
    pub message: Option<WorkerMessage>,
}

/// The message of a call.
pub struct WorkerMessage {
    /// Its input.
    pub port: u32,
    /// The id of its schema.
    pub schema: String,
    /// Its JSON.
    pub json: Vec<u8>,
    /// Its frame.
    pub frame: Option<Frame>,
    /// Its number.
    pub sequence: u64,
    /// The number of the frame that it descends from. 0: none.
    pub frame_sequence: u64,
    /// When that frame was captured.
    pub captured_ns: i64,
    /// The stages that processed it or its ancestors, oldest first.
    pub hops: Vec<abi::Hop>,
}

/// What an instance does in a call.
pub enum WorkerReply {
    /// It emits a message. `None`: nothing, or an output that is too short. It waits for a status.
    Emit(Option<WorkerOutput>),
    /// It waits until this time, and for a status.
    Wait {
        /// The time.
        deadline_ns: i64,
    },
    /// It marks the message.
    Mark {
        /// The name.
        name: String,
        /// When.
        at_ns: i64,
    },
    /// The call has returned.
    Done(WorkerDone),
}

/// A message that an instance emits.
pub struct WorkerOutput {
    /// Its output.
    pub port: u32,
    /// The id of its schema, if it names one.
    pub schema: Option<String>,
    /// Its JSON, if it has any.
    pub json: Option<Vec<u8>>,
    /// Its frame.
    pub frame: Option<Frame>,
    /// When the frame was captured, as the plugin states it.
    pub captured_ns: i64,
}

/// The result of a call.
#[derive(Debug, Default)]
pub struct WorkerDone {
    /// Its status.
    pub status: abi::Status,
    /// The plugin's `set_error`.
    pub error: Option<(i32, String)>,
    /// The times that the plugin has read, if they are recorded.
    pub clock: Vec<i64>,
    /// How its process has ended, if it had one of its own.
    pub death: Option<Death>,
}

/// How often an instance has asked in a call whether it is cancelled, and when it first was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Polls {
    /// How often.
    pub count: u64,
    /// When.
    pub cancelled: Option<Cancellation>,
}
