//! A stage's handle to the host.

use flowpipe_abi as abi;

use crate::buffer::{Buffer, Element};
use crate::error::{Error, Result};
use crate::frame::{Format, Frame};
use crate::handle::{Handle, extension, revoked};

/// A handle to the host: its log, its clock and its frames. It is cheap to copy and may be kept anywhere.
///
/// It is revoked when its stage is destroyed, after the stage was dropped. Then [`Self::new_frame`] fails, logs are
/// dropped, the run [is ending](Self::is_ending) and [dry](Self::is_dry), and the clock returns [`Host::REVOKED_NS`].
/// Revoking waits for calls that have started on other threads.
#[derive(Clone, Copy)]
pub struct Host(Handle);

/// How a stage ends a run: see [`Host::end_run`].
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The task is done: stages end after their current message.
    Done,
    /// A person or a safeguard stopped it: all work is cancelled at once.
    Stopped,
}

impl Host {
    /// The time of a revoked host: later than any deadline, so that waiting threads stop waiting, and far from an
    /// overflow.
    pub const REVOKED_NS: i64 = i64::MAX / 2;

    /// Creates a handle to the table that the host passed, valid until [`Self::revoke`].
    ///
    /// # Safety
    /// `raw` points to a host table that stays valid until `revoke` has returned.
    pub(crate) unsafe fn grant(raw: *const abi::Host) -> Self {
        // SAFETY: by the contract above.
        Self(unsafe { Handle::grant(raw) })
    }

    /// Makes every copy of this handle invalid, and waits for calls in progress on other threads. Called once for each
    /// grant.
    pub(crate) fn revoke(self) {
        self.0.revoke();
    }

    /// What the host's frames need.
    pub(crate) fn handle(&self) -> Handle {
        self.0
    }

    /// The table itself, to pass back to its own functions; null when it is revoked. It is valid until the stage's drop
    /// has returned.
    #[must_use]
    pub fn as_raw(&self) -> *const abi::Host {
        self.0.call(std::ptr::from_ref).unwrap_or(std::ptr::null())
    }

    /// Nanoseconds since the start of the run. Plugins should read the time from this clock alone: in a replay it is
    /// the recording's.
    #[must_use]
    pub fn now_ns(&self) -> i64 {
        // SAFETY: the table is valid for the call.
        self.0
            .call(|table| unsafe { (table.clock_now)(table) })
            .unwrap_or(Self::REVOKED_NS)
    }

    /// Writes a line to the host's log. `tracing`'s macros do the same and are the usual way.
    pub fn log(&self, level: tracing::Level, text: &str) {
        let level = match level {
            tracing::Level::ERROR => abi::LEVEL_ERROR,
            tracing::Level::WARN => abi::LEVEL_WARN,
            tracing::Level::INFO => abi::LEVEL_INFO,
            tracing::Level::DEBUG => abi::LEVEL_DEBUG,
            tracing::Level::TRACE => abi::LEVEL_TRACE,
        };
        // SAFETY: the table is valid, and the text is borrowed for the call only.
        self.0
            .call(|table| unsafe { (table.log)(table, level, text.as_ptr().cast(), text.len()) });
    }

    /// Allocates a frame from the host's pool: width and height in pixels, rows without gaps. Its bytes are unspecified
    /// at first.
    ///
    /// # Errors
    /// When the size is invalid, memory is short, or the stage was destroyed.
    pub fn new_frame(&self, format: Format, width: u32, height: u32) -> Result<Frame> {
        let info = abi::FrameInfo {
            struct_size: size_of::<abi::FrameInfo>() as u32,
            format: format.to_abi(),
            width,
            height,
            stride: u64::from(width) * format.bytes_per_pixel() as u64,
            size: 0,
        };
        let created = self.0.call(|table| {
            // SAFETY: the table is valid, and `info` is borrowed for the call only.
            let raw = unsafe { (table.frame_new)(table, &raw const info) };
            // SAFETY: a frame that `frame_new` returns has one reference, which this handle owns.
            unsafe { Frame::from_owned(self.0, raw) }
        });
        match created {
            Some(Some(frame)) => Ok(frame),
            Some(None) => Err(Error::new(format!(
                "the host has no memory for a frame of {width} x {height}"
            ))),
            None => Err(revoked()),
        }
    }

    /// Allocates a buffer from the host's pool. `media_type`: such as `audio/pcm`, in lower case without parameters.
    /// `shape`: the elements of each dimension, of which the last one varies fastest. Its bytes are unspecified at
    /// first.
    ///
    /// # Errors
    /// When the layout is invalid, memory is short, the host is older than `flowpipe.buffer/1`, or the stage was
    /// destroyed.
    pub fn new_buffer(&self, media_type: &str, element: Element, shape: &[u64]) -> Result<Buffer> {
        let info = abi::BufferInfo::new(media_type, element, shape)
            .map_err(|error| Error::new(format!("this is no layout of a buffer: {error}")))?;
        let buffers = self.0.lasting().and_then(|tables| tables.buffers);
        let buffers = buffers.ok_or_else(|| Error::new("this host is older than buffers"))?;
        let created = self.0.call(|table| {
            // SAFETY: the table is valid, and `info` is borrowed for the call only.
            let raw = unsafe { (buffers.create)(table, &raw const info) };
            // SAFETY: a buffer that `create` returns has one reference, which this handle owns.
            unsafe { Frame::from_owned(self.0, raw) }
        });
        let frame = created.ok_or_else(revoked)?;
        let short = || Error::new(format!("the host has no memory for a buffer {info}"));
        frame.and_then(Buffer::of).ok_or_else(short)
    }

    /// Whether the run ends for another reason than the end of its sources. A stage with effects stops then. Also true
    /// if the host has no run.
    #[must_use]
    pub fn is_ending(&self) -> bool {
        // SAFETY: the table is valid for the call.
        self.0
            .call(|table| run(table).is_none_or(|run| unsafe { (run.is_ending)(table) } != 0))
            .unwrap_or(true)
    }

    /// Whether this is a dry run: the stage must not touch anything outside of the program, and logs what it would have
    /// done. Also true if the host has no run.
    #[must_use]
    pub fn is_dry(&self) -> bool {
        // SAFETY: the table is valid for the call.
        self.0
            .call(|table| run(table).is_none_or(|run| unsafe { (run.is_dry)(table) } != 0))
            .unwrap_or(true)
    }

    /// Ends the run, with a reason. Any thread may call it.
    pub fn end_run(&self, how: Ending, reason: &str) {
        let how = match how {
            Ending::Done => abi::ENDING_DONE,
            Ending::Stopped => abi::ENDING_STOPPED,
        };
        self.0.call(|table| {
            if let Some(run) = run(table) {
                // SAFETY: the table is valid, and the text is borrowed for the call only.
                unsafe { (run.end)(table, how, reason.as_ptr().cast(), reason.len()) }
            }
        });
    }
}

/// The host's extension; a library's own host has none.
fn run(table: &abi::Host) -> Option<&abi::Run> {
    // SAFETY: an extension is valid as long as its host, and `Run` is the table of this one.
    unsafe { extension(table, abi::EXTENSION_RUN) }
}

/// Sets the error of the call that is about to fail.
pub(crate) fn set_error(table: &abi::Host, error: &Error) {
    let text = error.to_string();
    // SAFETY: the table is valid, and the text is borrowed for the call only.
    unsafe { (table.set_error)(table, error.status(), text.as_ptr().cast(), text.len()) }
}
