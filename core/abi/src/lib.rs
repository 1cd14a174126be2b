//! The ABI between flowpipe and its plugins: `include/flowpipe.h` as `repr(C)` Rust.
//!
//! The header is the specification; its comments state when each function may be called, on which thread, and the owner
//! of each value. This file repeats its layout, and a test compiles the header with the system's C compiler to check
//! that the two are equal. There are no dependencies here, and no logic but the names of
//! [`EffectKind`]s and the rules of a [`BufferInfo`].

mod buffer;
mod effect;

use core::ffi::{c_char, c_void};

pub use buffer::{Element, InvalidBuffer, UnknownElement, is_media_type};
pub use effect::{EffectKind, UnknownEffect};

/// "FLOWPIPE" read as a little-endian number.
pub const MAGIC: u64 = 0x4550_4950_574f_4c46;
/// The host loads a plugin only if its major is equal to this one.
pub const ABI_MAJOR: u32 = 0;
/// The host loads a plugin only if the minor that it needs is no larger than this one.
pub const ABI_MINOR: u32 = 1;
/// The id of the factory, for [`Entry::get_factory`].
pub const FACTORY_STAGES: &core::ffi::CStr = c"flowpipe.stages/1";
/// The data symbol that a plugin exports.
pub const ENTRY_SYMBOL: &core::ffi::CStr = c"flowpipe_entry";

/// The result of a call: 0 and above is success.
pub type Status = i32;
/// Done.
pub const OK: Status = 0;
/// From `process`: this stage has no more output.
pub const END: Status = 1;
/// Failed; `set_error` has the reason.
pub const ERROR: Status = -1;
/// Returned early because `cancelled` was true.
pub const CANCELLED: Status = -2;
/// The config can't be used.
pub const BAD_CONFIG: Status = -3;
/// A message that can't be read or was refused.
pub const BAD_MESSAGE: Status = -4;
/// The plugin caught a panic of its own.
pub const PANIC: Status = -5;
/// From `emit`: no stage receives this any more.
pub const STOPPED: Status = -6;
/// From getters: nothing at that place.
pub const NOT_FOUND: Status = -7;
/// From getters: something else is at that place.
pub const WRONG_TYPE: Status = -8;

/// The severity of a log line.
pub type Level = u32;
/// Something failed.
pub const LEVEL_ERROR: Level = 1;
/// Something is unusual.
pub const LEVEL_WARN: Level = 2;
/// Worth knowing.
pub const LEVEL_INFO: Level = 3;
/// For debugging.
pub const LEVEL_DEBUG: Level = 4;
/// Everything.
pub const LEVEL_TRACE: Level = 5;

/// A pixel format.
pub type Format = u32;
/// 4 bytes a pixel: blue, green, red, alpha or unused.
pub const FORMAT_BGRA8: Format = 1;
/// 4 bytes a pixel: red, green, blue, alpha or unused.
pub const FORMAT_RGBA8: Format = 2;
/// 3 bytes a pixel: blue, green, red.
pub const FORMAT_BGR8: Format = 3;
/// 3 bytes a pixel: red, green, blue.
pub const FORMAT_RGB8: Format = 4;
/// 1 byte a pixel.
pub const FORMAT_GREY8: Format = 5;

/// Why `process` is called.
pub type Event = u32;
/// A stage without inputs: emit, then return.
pub const EVENT_TICK: Event = 1;
/// A message has arrived.
pub const EVENT_MESSAGE: Event = 2;
/// All inputs have ended; the last call.
pub const EVENT_FINISH: Event = 3;

/// A picture in the host's memory (opaque).
#[repr(C)]
pub struct Frame {
    _opaque: [u8; 0],
}

/// Parsed JSON in the host's memory (opaque).
#[repr(C)]
pub struct Document {
    _opaque: [u8; 0],
}

/// One process call, in the host's memory (opaque).
#[repr(C)]
pub struct Context {
    _opaque: [u8; 0],
}

/// The layout of a frame's pixels in memory.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameInfo {
    /// Bytes of this struct.
    pub struct_size: u32,
    /// The pixel format.
    pub format: Format,
    /// Pixels from left to right.
    pub width: u32,
    /// Rows from top to bottom.
    pub height: u32,
    /// Bytes from one row to the next.
    pub stride: u64,
    /// Bytes in all.
    pub size: u64,
}

/// When one stage processed a message, in nanoseconds of the host's clock.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The host's number of the stage.
    pub stage: u32,
    /// Zero.
    pub reserved: u32,
    /// Taken from the queue.
    pub taken_ns: i64,
    /// Emitted.
    pub emitted_ns: i64,
}

/// The origin of a message.
#[repr(C)]
pub struct Lineage {
    /// Bytes of this struct.
    pub struct_size: u32,
    /// Elements at `hops`.
    pub hop_count: u32,
    /// The message's own number, from 1.
    pub sequence: u64,
    /// The frame that it descends from; 0: none.
    pub frame_sequence: u64,
    /// Host clock when that frame was captured.
    pub captured_ns: i64,
    /// Oldest first.
    pub hops: *const Hop,
}

/// A message as a stage receives it.
#[repr(C)]
pub struct Message {
    /// Bytes of this struct.
    pub struct_size: u32,
    /// Index among the stage's inputs.
    pub port: u32,
    /// Such as `flowpipe.sighting/1`.
    pub schema: *const c_char,
    /// The body: valid JSON.
    pub json: *const c_char,
    /// Bytes of the body.
    pub json_length: usize,
    /// The body for the getters.
    pub document: *const Document,
    /// Borrowed; null if the message has no pixels.
    pub frame: *mut Frame,
    /// Its origin.
    pub lineage: *const Lineage,
}

/// A message as a stage emits it.
#[repr(C)]
pub struct Output {
    /// Bytes of this struct.
    pub struct_size: u32,
    /// Index among the stage's outputs.
    pub port: u32,
    /// Null: the port's schema.
    pub schema: *const c_char,
    /// Null: `{}`.
    pub json: *const c_char,
    /// Bytes of the body.
    pub json_length: usize,
    /// Null: no pixels.
    pub frame: *mut Frame,
    /// When a new frame was captured; 0: now.
    pub captured_ns: i64,
}

/// The argument of `process`.
#[repr(C)]
pub struct Process {
    /// Bytes of this struct.
    pub struct_size: u32,
    /// The event.
    pub event: Event,
    /// Null unless the event is a message.
    pub message: *const Message,
    /// Passed back to `emit`, `cancelled` and `mark`.
    pub context: *mut Context,
}

/// The host as one stage sees it.
#[repr(C)]
pub struct Host {
    /// Bytes of this struct.
    pub struct_size: u32,
    /// The host's ABI major.
    pub abi_major: u32,
    /// The host's ABI minor.
    pub abi_minor: u32,
    /// Zero.
    pub reserved: u32,
    /// The host program's name.
    pub name: *const c_char,
    /// The release, for logs only.
    pub version: *const c_char,
    /// The host's own.
    pub data: *mut c_void,
    /// Writes a log line. [any-thread]
    pub log: unsafe extern "C" fn(*const Host, Level, *const c_char, usize),
    /// Sets the error of the current call. [control-thread, stage-thread]
    pub set_error: unsafe extern "C" fn(*const Host, i32, *const c_char, usize),
    /// Nanoseconds since the start of the run. [any-thread]
    pub clock_now: unsafe extern "C" fn(*const Host) -> i64,
    /// A new frame with one reference, or null. [any-thread]
    pub frame_new: unsafe extern "C" fn(*const Host, *const FrameInfo) -> *mut Frame,
    /// Adds a reference. [any-thread]
    pub frame_ref: unsafe extern "C" fn(*const Host, *mut Frame) -> *mut Frame,
    /// Releases a reference. [any-thread]
    pub frame_unref: unsafe extern "C" fn(*const Host, *mut Frame),
    /// The layout of the pixels. [any-thread]
    pub frame_info: unsafe extern "C" fn(*const Host, *const Frame, *mut FrameInfo),
    /// The pixels to read. [any-thread]
    pub frame_read: unsafe extern "C" fn(*const Host, *const Frame) -> *const u8,
    /// The pixels to write, copied first when shared. [any-thread]
    pub frame_write: unsafe extern "C" fn(*const Host, *mut *mut Frame) -> *mut u8,
    /// Sends a message out of a port. [stage-thread, inside process]
    pub emit: unsafe extern "C" fn(*const Host, *mut Context, *const Output) -> Status,
    /// Nonzero when the current work is cancelled. [any-thread, inside process]
    pub cancelled: unsafe extern "C" fn(*const Host, *const Context) -> i32,
    /// Marks an event now. [stage-thread, inside process]
    pub mark: unsafe extern "C" fn(*const Host, *mut Context, *const c_char),
    /// A boolean at a JSON Pointer. [any-thread]
    pub get_bool:
        unsafe extern "C" fn(*const Host, *const Document, *const c_char, *mut i32) -> Status,
    /// An integer at a JSON Pointer. [any-thread]
    pub get_int:
        unsafe extern "C" fn(*const Host, *const Document, *const c_char, *mut i64) -> Status,
    /// A number at a JSON Pointer. [any-thread]
    pub get_number:
        unsafe extern "C" fn(*const Host, *const Document, *const c_char, *mut f64) -> Status,
    /// A text at a JSON Pointer. [any-thread]
    pub get_string: unsafe extern "C" fn(
        *const Host,
        *const Document,
        *const c_char,
        *mut *const c_char,
        *mut usize,
    ) -> Status,
    /// The elements of an array, or members of an object. [any-thread]
    pub get_count:
        unsafe extern "C" fn(*const Host, *const Document, *const c_char, *mut usize) -> Status,
    /// A table of later functions by id, or null. [any-thread]
    pub get_extension: unsafe extern "C" fn(*const Host, *const c_char) -> *const c_void,
    /// Waits by the host's clock; the time is no work. [stage-thread, inside process]
    pub wait_until: unsafe extern "C" fn(*const Host, *mut Context, i64) -> Status,
}

/// The id of the host's extension [`Run`].
pub const EXTENSION_RUN: &core::ffi::CStr = c"flowpipe.run/1";

/// How a stage ends a run.
pub type Ending = u32;
/// The task is done: stages end after their current message.
pub const ENDING_DONE: Ending = 1;
/// A person or a safeguard stopped it: all work is cancelled.
pub const ENDING_STOPPED: Ending = 2;

/// The run as a stage sees it.
#[repr(C)]
pub struct Run {
    /// Bytes of this struct.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// Nonzero when the run ends for another reason than the end of its sources. [any-thread]
    pub is_ending: unsafe extern "C" fn(*const Host) -> i32,
    /// Nonzero: the stage must not touch anything outside of the program. [any-thread]
    pub is_dry: unsafe extern "C" fn(*const Host) -> i32,
    /// Ends the run, with a reason. [any-thread]
    pub end: unsafe extern "C" fn(*const Host, Ending, *const c_char, usize),
}

/// The id of the host's extension [`Frames`].
pub const EXTENSION_FRAMES: &core::ffi::CStr = c"flowpipe.frames/1";

/// The frame functions without a host: they and this table are valid as long as the process. [any-thread]
#[repr(C)]
pub struct Frames {
    /// Bytes of this struct.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// As [`Host::frame_ref`].
    pub add_reference: unsafe extern "C" fn(*mut Frame) -> *mut Frame,
    /// As [`Host::frame_unref`].
    pub release: unsafe extern "C" fn(*mut Frame),
    /// As [`Host::frame_info`].
    pub info: unsafe extern "C" fn(*const Frame, *mut FrameInfo),
    /// As [`Host::frame_read`].
    pub read: unsafe extern "C" fn(*const Frame) -> *const u8,
    /// As [`Host::frame_write`].
    pub write: unsafe extern "C" fn(*mut *mut Frame) -> *mut u8,
}

/// The id of the host's extension [`Buffers`].
pub const EXTENSION_BUFFER: &core::ffi::CStr = c"flowpipe.buffer/1";

/// The number of an [`Element`] type.
pub type ElementNumber = u32;
/// Unsigned, 1 byte.
pub const ELEMENT_U8: ElementNumber = 1;
/// Signed, 1 byte.
pub const ELEMENT_I8: ElementNumber = 2;
/// Unsigned, 2 bytes.
pub const ELEMENT_U16: ElementNumber = 3;
/// Signed, 2 bytes.
pub const ELEMENT_I16: ElementNumber = 4;
/// Unsigned, 4 bytes.
pub const ELEMENT_U32: ElementNumber = 5;
/// Signed, 4 bytes.
pub const ELEMENT_I32: ElementNumber = 6;
/// Unsigned, 8 bytes.
pub const ELEMENT_U64: ElementNumber = 7;
/// Signed, 8 bytes.
pub const ELEMENT_I64: ElementNumber = 8;
/// IEEE 754, 2 bytes.
pub const ELEMENT_F16: ElementNumber = 9;
/// IEEE 754, 4 bytes.
pub const ELEMENT_F32: ElementNumber = 10;
/// IEEE 754, 8 bytes.
pub const ELEMENT_F64: ElementNumber = 11;

/// The most dimensions of a buffer.
pub const BUFFER_MAX_RANK: usize = 8;
/// The most bytes of a buffer.
pub const BUFFER_MAX_SIZE: u64 = 1 << 30;
/// Bytes of a buffer's media type, with the NUL.
pub const MEDIA_TYPE_CAPACITY: usize = 64;

/// The layout of a buffer.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferInfo {
    /// Bytes of this struct.
    pub struct_size: u32,
    /// The type of its elements.
    pub element: ElementNumber,
    /// The number of dimensions; 0: one element.
    pub rank: u32,
    /// Zero.
    pub reserved: u32,
    /// The elements of each dimension; the last one varies fastest.
    pub shape: [u64; BUFFER_MAX_RANK],
    /// Bytes in all.
    pub size: u64,
    /// NUL-terminated, such as `audio/pcm`.
    pub media_type: [u8; MEDIA_TYPE_CAPACITY],
}

/// Buffers: memory like a frame's with elements in place of pixels. The table is valid as long as the process.
/// [any-thread]
#[repr(C)]
pub struct Buffers {
    /// Bytes of this struct.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// A new buffer with one reference, or null.
    pub create: unsafe extern "C" fn(*const Host, *const BufferInfo) -> *mut Frame,
    /// The layout; [`WRONG_TYPE`] if the frame is a picture.
    pub info: unsafe extern "C" fn(*const Frame, *mut BufferInfo) -> Status,
}

/// One running stage. A null slot refuses the stage.
#[repr(C)]
pub struct Stage {
    /// Bytes of this struct.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// The plugin's own.
    pub data: *mut c_void,
    /// Prepares to process. [control-thread]
    pub activate: Option<unsafe extern "C" fn(*mut Stage) -> Status>,
    /// Processes. [stage-thread, active]
    pub process: Option<unsafe extern "C" fn(*mut Stage, *const Process) -> Status>,
    /// Drops the state that earlier messages left. [stage-thread, active]
    pub reset: Option<unsafe extern "C" fn(*mut Stage) -> Status>,
    /// The opposite of activate. [control-thread]
    pub deactivate: Option<unsafe extern "C" fn(*mut Stage)>,
    /// Frees the stage. [control-thread, not active]
    pub destroy: Option<unsafe extern "C" fn(*mut Stage)>,
    /// A table of later functions by id, or null. [any-thread]
    pub get_extension: Option<unsafe extern "C" fn(*mut Stage, *const c_char) -> *const c_void>,
}

/// The id of a stage's extension [`State`].
pub const EXTENSION_STATE: &core::ffi::CStr = c"flowpipe.state/1";

/// The receiver of a stage's state.
#[repr(C)]
pub struct StateSink {
    /// Bytes of this struct.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// The host's own.
    pub data: *mut c_void,
    /// Receives the state: its format, and JSON. The last call counts. [control-thread, inside save]
    pub put: unsafe extern "C" fn(*const StateSink, *const c_char, *const c_char, usize),
}

/// State transfer of a stage. A null slot: it does not support it.
#[repr(C)]
pub struct State {
    /// Bytes of this struct.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// Passes the state to the sink. [control-thread, active]
    pub save: Option<unsafe extern "C" fn(*mut Stage, *const StateSink) -> Status>,
    /// Loads a state of that format. [control-thread, active, before the first process]
    pub load: Option<
        unsafe extern "C" fn(
            *mut Stage,
            *const c_char,
            *const c_char,
            usize,
            *const Document,
        ) -> Status,
    >,
}

// SAFETY: the table holds only function pointers and numbers, and is never written to.
unsafe impl Sync for State {}

/// The id of a stage's extension [`Check`].
pub const EXTENSION_CHECK: &core::ffi::CStr = c"flowpipe.check/1";

/// What a check says of a message: one of [`ACCEPT`], [`WEAK`] and [`REFUSE`].
pub type Verdict = u32;
/// The message is valid.
pub const ACCEPT: Verdict = 1;
/// It is valid, but a weak answer: in a race it counts if there is no better one.
pub const WEAK: Verdict = 2;
/// It is wrong, and is not sent.
pub const REFUSE: Verdict = 3;

/// The judgement of a message, which the stage fills in, and what the host knows of the message.
#[repr(C)]
pub struct Judgement {
    /// Bytes of this struct.
    pub struct_size: u32,
    /// Set by the stage.
    pub verdict: Verdict,
    /// Room of the host for the reason of [`WEAK`] and [`REFUSE`].
    pub reason: *mut c_char,
    /// Bytes of that room.
    pub capacity: usize,
    /// Bytes of the reason, set by the stage.
    pub length: usize,
    /// Of the message that carried the frame that the judged message descends from: its schema id. Null: there is none.
    pub captured_schema: *const c_char,
    /// Its body.
    pub captured_json: *const c_char,
    /// Bytes of the body.
    pub captured_json_length: usize,
}

/// The check of messages, of a stage with the role `check`. A null slot: it checks none.
#[repr(C)]
pub struct Check {
    /// Bytes of this struct.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// Judges a message that a stage is about to emit while it processes another one, or none.
    /// [any-thread, active, several calls at once]
    pub judge: Option<
        unsafe extern "C" fn(*mut Stage, *const Message, *const Message, *mut Judgement) -> Status,
    >,
}

// SAFETY: the table holds only function pointers and numbers, and is never written to.
unsafe impl Sync for Check {}

/// The effect of a stage that reads files or folders.
pub const EFFECT_READS_FILES: &str = "reads-files";
/// The effect of a stage that creates, changes or removes files or folders.
pub const EFFECT_WRITES_FILES: &str = "writes-files";
/// The effect of a stage that starts other programs.
pub const EFFECT_RUNS_COMMANDS: &str = "runs-commands";
/// The effect of a stage that sees what is on the screen.
pub const EFFECT_READS_SCREEN: &str = "reads-screen";
/// The effect of a stage that moves the pointer, and presses buttons or keys.
pub const EFFECT_DRIVES_MOUSE: &str = "drives-mouse";
/// The effect of a stage that communicates with other machines.
pub const EFFECT_USES_NETWORK: &str = "uses-network";

/// The stages of one library. A null slot refuses the library.
#[repr(C)]
pub struct StageFactory {
    /// Bytes of this struct.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// How many stages there are. [any-thread]
    pub count: Option<unsafe extern "C" fn() -> u32>,
    /// The manifest (JSON) of a stage, or null. [any-thread]
    pub manifest: Option<unsafe extern "C" fn(u32) -> *const c_char>,
    /// Creates a stage; null after `set_error`. [control-thread]
    pub create: Option<
        unsafe extern "C" fn(*const Host, u32, *const c_char, *const Document) -> *mut Stage,
    >,
}

// SAFETY: the table holds only function pointers and numbers, and is never written to.
unsafe impl Sync for StageFactory {}

/// What a plugin exports as `flowpipe_entry`. A null slot refuses the library.
#[repr(C)]
pub struct Entry {
    /// [`MAGIC`].
    pub magic: u64,
    /// The plugin's [`ABI_MAJOR`].
    pub abi_major: u32,
    /// The lowest minor that the plugin needs.
    pub abi_minor: u32,
    /// Bytes of this struct.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// Called once after loading. [control-thread]
    pub init: Option<unsafe extern "C" fn(*const Host) -> Status>,
    /// Called once when no stage is left. [control-thread]
    pub deinit: Option<unsafe extern "C" fn()>,
    /// The table for a factory id, or null. [any-thread]
    pub get_factory: Option<unsafe extern "C" fn(*const c_char) -> *const c_void>,
}

// SAFETY: the table holds only function pointers and numbers, and is never written to.
unsafe impl Sync for Entry {}

#[cfg(test)]
mod tests;
