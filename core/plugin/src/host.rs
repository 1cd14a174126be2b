//! The host, as a stage sees it.

use flowpipe_abi as abi;

use crate::error::{Error, Result};
use crate::frame::{Format, Frame};

/// A handle to the host: its log, its clock and its frames. Cheap to copy; valid for as long as the
/// stage that it was given to lives.
#[derive(Clone, Copy)]
pub struct Host {
    raw: *const abi::Host,
}

// SAFETY: the host's table is constant, and every function in it that a `Host` reaches is tagged
// [any-thread] in flowpipe.h (set_error is only called by the SDK's own thunks).
unsafe impl Send for Host {}
// SAFETY: as above.
unsafe impl Sync for Host {}

/// How a stage ends a run: see [`Host::end_run`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// What was to be done is done: stages end after the message in hand.
    Done,
    /// A person, or what protects one, says stop: all work is cancelled at once.
    Stopped,
}

impl Host {
    /// Wraps the table that the host handed over.
    ///
    /// # Safety
    /// `raw` must point to a host table that stays valid for as long as the result is used.
    #[must_use]
    pub unsafe fn from_raw(raw: *const abi::Host) -> Self {
        Self { raw }
    }

    /// The table itself, to pass back to its own functions.
    #[must_use]
    pub fn as_raw(&self) -> *const abi::Host {
        self.raw
    }

    pub(crate) fn table(&self) -> &abi::Host {
        // SAFETY: valid by the contract of `from_raw`.
        unsafe { &*self.raw }
    }

    /// Nanoseconds since the run began. The only clock that a plugin should take time from: in a
    /// replay it is the recording's.
    #[must_use]
    pub fn now_ns(&self) -> i64 {
        // SAFETY: the table is valid, see `table`.
        unsafe { (self.table().clock_now)(self.raw) }
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
        unsafe { (self.table().log)(self.raw, level, text.as_ptr().cast(), text.len()) }
    }

    /// A frame from the host's pool, to be filled in: width and height in pixels, rows without
    /// gaps. Its bytes are unspecified at first.
    ///
    /// # Errors
    /// When the size makes no sense or memory is short.
    pub fn new_frame(&self, format: Format, width: u32, height: u32) -> Result<Frame> {
        let info = abi::FrameInfo {
            struct_size: size_of::<abi::FrameInfo>() as u32,
            format: format.to_abi(),
            width,
            height,
            stride: u64::from(width) * format.bytes_per_pixel() as u64,
            size: 0,
        };
        // SAFETY: the table is valid, and `info` is borrowed for the call only.
        let raw = unsafe { (self.table().frame_new)(self.raw, &raw const info) };
        // SAFETY: a frame that `frame_new` returns carries one reference, which is ours.
        unsafe { Frame::from_owned(*self, raw) }.ok_or_else(|| {
            Error::new(format!(
                "the host has no memory for a frame of {width} x {height}"
            ))
        })
    }

    /// Whether the run ends for another reason than that its sources have run out. Whoever acts on
    /// the world stops then.
    #[must_use]
    pub fn is_ending(&self) -> bool {
        // SAFETY: the host is valid, see `table`.
        self.run()
            .is_some_and(|run| unsafe { (run.is_ending)(self.raw) } != 0)
    }

    /// Whether nothing outside of the program is to be touched: say in the log what would have been
    /// done.
    #[must_use]
    pub fn is_dry(&self) -> bool {
        // SAFETY: the host is valid, see `table`.
        self.run()
            .is_some_and(|run| unsafe { (run.is_dry)(self.raw) } != 0)
    }

    /// Ends the run, from any thread, and says why.
    pub fn end_run(&self, how: Ending, reason: &str) {
        let how = match how {
            Ending::Done => abi::ENDING_DONE,
            Ending::Stopped => abi::ENDING_STOPPED,
        };
        if let Some(run) = self.run() {
            // SAFETY: the host is valid, and the text is borrowed for the call only.
            unsafe { (run.end)(self.raw, how, reason.as_ptr().cast(), reason.len()) }
        }
    }

    /// The host's extension, which a library's own host lacks.
    fn run(&self) -> Option<&abi::Run> {
        // SAFETY: the table is valid, and an extension lives as long as its host. Each of its
        // slots is set, and this version of it has them all.
        unsafe {
            let run = (self.table().get_extension)(self.raw, abi::EXTENSION_RUN.as_ptr());
            run.cast::<abi::Run>().as_ref()
        }
    }

    pub(crate) fn set_error(&self, error: &Error) {
        let text = error.to_string();
        // SAFETY: the table is valid, and the text is borrowed for the call only.
        unsafe {
            (self.table().set_error)(self.raw, error.status(), text.as_ptr().cast(), text.len());
        }
    }
}
