//! What the host and a stage's process say to each other. The call's connection carries one conversation at a time; what
//! any thread of the plugin may ask at any time goes over the other one, the side's.

use flowpipe_abi as abi;
use flowpipe_host::stage_clock::ClockSource;
use serde::{Deserialize, Serialize};

use crate::confinement::Confinement;

/// From the host, on the call's connection.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ToStage {
    /// The first: load the library and make a stage. The body is its config. Files: the side's connection, the page, and the
    /// library where [`Create::is_replaced`].
    Create(Box<Create>),
    Activate,
    /// The body is the message's JSON. A file when the frame's block is new.
    Process(Box<Process>),
    Reset,
    /// Say whether there is a state to hand over: [`abi::OK`], [`abi::NOT_FOUND`].
    HasState,
    /// Say what is remembered. [`abi::NOT_FOUND`]: there is no state to hand over.
    Save,
    /// Remember what another stage did; the body is the JSON.
    Load {
        format: String,
    },
    /// The last: clean up and end.
    Destroy,
    /// The answer to [`ToHost::Emit`] and [`ToHost::Wait`].
    Status(abi::Status),
}

/// From the stage, on the call's connection.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ToHost {
    /// What it was told to do is done.
    Done {
        status: abi::Status,
        /// What it said with `set_error`.
        error: Option<(i32, String)>,
        /// The times that it was told, where they are written down.
        clock: Vec<i64>,
        /// It still refers to the frame that came with the message.
        keeps_frame: bool,
        /// The format of what it remembers, where that was asked for; the body is the JSON.
        state: Option<String>,
    },
    /// The body is the message's JSON. Answered.
    Emit {
        port: u32,
        schema: Option<String>,
        has_json: bool,
        frame: Option<u64>,
        /// The frame's pixels may be others than when it was emitted last.
        is_written: bool,
        captured_ns: i64,
        /// Its table was long enough.
        sound: bool,
    },
    /// Answered.
    Wait {
        deadline_ns: i64,
    },
    Mark {
        name: String,
        at_ns: i64,
    },
}

/// From the stage, on the side's connection.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    /// The body is the text.
    Log(abi::Level),
    /// For memory that the stage can write, and only the host besides. Answered with [`Answer`].
    NewFrame(Shape),
    Release(u64),
    /// Ends the run; the body says why. Answered with nothing.
    End(abi::Ending),
}

/// The answer to a request for a frame. A file when its block is new.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Answer {
    /// `None`: memory is short.
    pub frame: Option<Frame>,
    /// Blocks that are no more.
    pub forget: Vec<u64>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Create {
    /// The stage's name.
    pub stage: String,
    /// The library's file.
    pub library: std::path::PathBuf,
    /// Another one lies there by now: the one that the host loaded comes along.
    pub is_replaced: bool,
    pub index: u32,
    /// As the host read it.
    pub manifest: String,
    /// The host's clock began at this time of the system's monotonic clock.
    pub began_ns: i64,
    pub clock: ClockSource,
    /// The least important level that the host's log takes; 0: none.
    pub level: abi::Level,
    pub dry: bool,
    /// What it may do, from before its library is loaded on.
    pub confinement: Confinement,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Process {
    pub event: abi::Event,
    pub message: Option<Message>,
    /// Where the stage is told recorded times: those of this call.
    pub clock: Option<(Vec<i64>, i64)>,
    /// Blocks that are no more.
    pub forget: Vec<u64>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Message {
    pub port: u32,
    pub schema: String,
    pub sequence: u64,
    pub frame_sequence: u64,
    pub captured_ns: i64,
    /// Stage, taken, emitted.
    pub hops: Vec<(u32, i64, i64)>,
    pub frame: Option<Frame>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Frame {
    /// Names this reference.
    pub handle: u64,
    pub shape: Shape,
    /// Where its pixels are.
    pub block: u64,
    /// The block's file comes along.
    pub is_new: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Shape {
    pub format: abi::Format,
    pub width: u32,
    pub height: u32,
    pub stride: u64,
    pub size: u64,
}

impl From<abi::FrameInfo> for Shape {
    fn from(info: abi::FrameInfo) -> Self {
        Self {
            format: info.format,
            width: info.width,
            height: info.height,
            stride: info.stride,
            size: info.size,
        }
    }
}

impl From<Shape> for abi::FrameInfo {
    fn from(shape: Shape) -> Self {
        Self {
            struct_size: size_of::<Self>() as u32,
            format: shape.format,
            width: shape.width,
            height: shape.height,
            stride: shape.stride,
            size: shape.size,
        }
    }
}
