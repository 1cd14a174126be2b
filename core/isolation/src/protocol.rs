//! The packets between the host and a stage's process. The call connection carries one call at a time; the side
//! connection carries requests that any thread of the plugin may send at any time.

use flowpipe_abi as abi;
use flowpipe_host::frame::Layout;
use flowpipe_host::stage_clock::ClockSource;
use serde::{Deserialize, Serialize};

use crate::confinement::Confinement;

/// From the host, on the call connection.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ToStage {
    /// The first packet: load the library and create a stage. The body is its config. Files: the side connection, the
    /// control block, and the library if [`Create::is_replaced`].
    Create(Box<Create>),
    Activate,
    /// The body is the message's JSON. A file when the frame's block is new.
    Process(Box<ProcessCall>),
    Reset,
    /// Report whether the stage supports state transfer: [`abi::OK`], [`abi::NOT_FOUND`].
    HasState,
    /// Save the state. [`abi::NOT_FOUND`]: the stage has no transferable state.
    Save,
    /// Load the state of another instance; the body is the JSON.
    Load {
        format: String,
    },
    /// The last packet: clean up and end.
    Destroy,
    /// The reply to [`ToHost::Emit`] and [`ToHost::Wait`].
    Status(abi::Status),
}

/// From the stage, on the call connection.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ToHost {
    /// The result of a call.
    Done {
        status: abi::Status,
        /// The plugin's `set_error`.
        error: Option<(i32, String)>,
        /// The times that the stage read, if they are recorded.
        clock: Vec<i64>,
        /// The plugin still refers to the message's frame.
        keeps_frame: bool,
        /// The format of the saved state, after [`ToStage::Save`]; the body is the JSON.
        state: Option<String>,
    },
    /// The body is the message's JSON. The host replies.
    Emit {
        port: u32,
        schema: Option<String>,
        has_json: bool,
        frame: Option<u64>,
        /// The frame's pixels may have changed since it was last emitted.
        is_written: bool,
        captured_ns: i64,
        /// The plugin's struct was not too short.
        is_complete: bool,
    },
    /// The host replies.
    Wait {
        deadline_ns: i64,
    },
    Mark {
        name: String,
        at_ns: i64,
    },
}

/// From the stage, on the side connection.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    /// The body is the text.
    Log(abi::Level),
    /// Requests a frame that the stage can write. The host replies with [`NewFrameReply`].
    NewFrame(Layout),
    Release(u64),
    /// Ends the run; the body is the reason. The host sends an empty reply.
    End(abi::Ending),
}

/// The reply to a request for a frame. A file follows if its block is new.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct NewFrameReply {
    /// `None`: memory is short.
    pub frame: Option<WireFrame>,
    /// Blocks that were freed.
    pub forget: Vec<u64>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Create {
    /// The stage's name.
    pub stage: String,
    /// The library's file.
    pub library: std::path::PathBuf,
    /// Another file is at that path by now: the one that the host has read is sent too.
    pub is_replaced: bool,
    pub index: u32,
    /// The manifest that the host has read.
    pub manifest: String,
    /// The start of the host's clock, by the system's monotonic clock.
    pub began_ns: i64,
    pub clock: ClockSource,
    /// The least important level that the host logs; 0: none.
    pub level: abi::Level,
    pub dry: bool,
    /// What the process may do, from before it loads its library.
    pub confinement: Confinement,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ProcessCall {
    pub event: abi::Event,
    pub message: Option<WireMessage>,
    /// In a replay: the recorded times of this call.
    pub clock: Option<(Vec<i64>, i64)>,
    /// Blocks that were freed.
    pub forget: Vec<u64>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WireMessage {
    pub port: u32,
    pub schema: String,
    pub sequence: u64,
    pub frame_sequence: u64,
    pub captured_ns: i64,
    /// Stage, taken, emitted.
    pub hops: Vec<(u32, i64, i64)>,
    pub frame: Option<WireFrame>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WireFrame {
    /// The id of this reference.
    pub handle: u64,
    pub layout: Layout,
    /// The block with its pixels.
    pub block: u64,
    /// The block's file is sent too.
    pub is_new: bool,
}
