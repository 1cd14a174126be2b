//! The host, as a stage sees it.

use std::sync::Mutex;

use flowpipe_abi as abi;
use flowpipe_sync::revocable::Slot;

use crate::error::{Error, Result};
use crate::frame::{Format, Frame};

/// A handle to the host: its log, its clock and its frames. Cheap to copy, and may be kept anywhere.
///
/// It is revoked when the stage that it was given to is destroyed, after the stage was dropped. From then on it gives no
/// frames and logs nothing, says that the run [is ending](Self::is_ending) and [dry](Self::is_dry), and its clock reads
/// [`Host::REVOKED_NS`]. Calls on other threads that have begun by then are waited for.
#[derive(Clone, Copy)]
pub struct Host {
    slot: &'static Slot<abi::Host>,
    generation: u32,
    frames: Option<&'static abi::Frames>,
}

/// Slots that are not granted now. They are never freed: there are as many as hosts were alive at once.
static FREE: Mutex<Vec<&'static Slot<abi::Host>>> = Mutex::new(Vec::new());

/// How a stage ends a run: see [`Host::end_run`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// What was to be done is done: stages end after the message in hand.
    Done,
    /// A person, or what protects one, says stop: all work is cancelled at once.
    Stopped,
}

impl Host {
    /// What the clock of a revoked host reads: later than any deadline, so that whoever waits for one stops waiting, and
    /// far from an overflow.
    pub const REVOKED_NS: i64 = i64::MAX / 2;

    /// Makes handles to the table that the host passed, until [`Self::revoke`].
    ///
    /// # Safety
    /// `raw` points to a host table that stays valid until `revoke` has returned.
    pub(crate) unsafe fn grant(raw: *const abi::Host) -> Self {
        let free = FREE.lock().map_or(None, |mut free| free.pop());
        let slot = free.unwrap_or_else(|| Box::leak(Box::new(Slot::new())));
        // SAFETY: by the caller's word. Every function of the table that a handle reaches is tagged [any-thread] in
        // flowpipe.h, and a slot that is free is not granted. An extension's table is as long as it says: before that is
        // known there is no reference, which stands for the whole table.
        unsafe {
            let frames = ((*raw).get_extension)(raw, abi::EXTENSION_FRAMES.as_ptr());
            let frames = frames.cast::<abi::Frames>();
            let has_all =
                !frames.is_null() && (*frames).struct_size as usize >= size_of::<abi::Frames>();
            Self {
                generation: slot.grant(raw),
                slot,
                frames: has_all.then(|| &*frames),
            }
        }
    }

    /// Makes every copy of this handle useless, and waits for calls that are in progress on other threads. Called once a
    /// grant.
    pub(crate) fn revoke(self) {
        let is_free = self.slot.revoke();
        if is_free && let Ok(mut free) = FREE.lock() {
            free.push(self.slot);
        }
    }

    /// Calls something of the table, which is not revoked meanwhile. `None`: it is already.
    pub(crate) fn call<T>(&self, function: impl FnOnce(&abi::Host) -> T) -> Option<T> {
        self.slot.enter(self.generation).map(|it| function(&it))
    }

    /// The frame functions that work also when it is revoked, where the host has them.
    pub(crate) fn frames(&self) -> Option<&'static abi::Frames> {
        self.frames
    }

    /// The table itself, to pass back to its own functions; null when it is revoked. It is valid until the stage's drop
    /// has returned.
    #[must_use]
    pub fn as_raw(&self) -> *const abi::Host {
        self.call(std::ptr::from_ref).unwrap_or(std::ptr::null())
    }

    /// Nanoseconds since the run began. The only clock that a plugin should take time from: in a
    /// replay it is the recording's.
    #[must_use]
    pub fn now_ns(&self) -> i64 {
        // SAFETY: the table is valid for the call.
        self.call(|table| unsafe { (table.clock_now)(table) })
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
        self.call(|table| unsafe { (table.log)(table, level, text.as_ptr().cast(), text.len()) });
    }

    /// A frame from the host's pool, to be filled in: width and height in pixels, rows without
    /// gaps. Its bytes are unspecified at first.
    ///
    /// # Errors
    /// When the size makes no sense, memory is short, or the stage was destroyed.
    pub fn new_frame(&self, format: Format, width: u32, height: u32) -> Result<Frame> {
        let info = abi::FrameInfo {
            struct_size: size_of::<abi::FrameInfo>() as u32,
            format: format.to_abi(),
            width,
            height,
            stride: u64::from(width) * format.bytes_per_pixel() as u64,
            size: 0,
        };
        let made = self.call(|table| {
            // SAFETY: the table is valid, and `info` is borrowed for the call only.
            let raw = unsafe { (table.frame_new)(table, &raw const info) };
            // SAFETY: a frame that `frame_new` returns carries one reference, which is ours.
            unsafe { Frame::from_owned(*self, raw) }
        });
        match made {
            Some(Some(frame)) => Ok(frame),
            Some(None) => Err(Error::new(format!(
                "the host has no memory for a frame of {width} x {height}"
            ))),
            None => Err(revoked()),
        }
    }

    /// Whether the run ends for another reason than that its sources have run out. Whoever acts on
    /// the world stops then.
    #[must_use]
    pub fn is_ending(&self) -> bool {
        // SAFETY: the table is valid for the call.
        self.call(|table| run(table).is_some_and(|run| unsafe { (run.is_ending)(table) } != 0))
            .unwrap_or(true)
    }

    /// Whether nothing outside of the program is to be touched: say in the log what would have been
    /// done.
    #[must_use]
    pub fn is_dry(&self) -> bool {
        // SAFETY: the table is valid for the call.
        self.call(|table| run(table).is_some_and(|run| unsafe { (run.is_dry)(table) } != 0))
            .unwrap_or(true)
    }

    /// Ends the run, from any thread, and says why.
    pub fn end_run(&self, how: Ending, reason: &str) {
        let how = match how {
            Ending::Done => abi::ENDING_DONE,
            Ending::Stopped => abi::ENDING_STOPPED,
        };
        self.call(|table| {
            if let Some(run) = run(table) {
                // SAFETY: the table is valid, and the text is borrowed for the call only.
                unsafe { (run.end)(table, how, reason.as_ptr().cast(), reason.len()) }
            }
        });
    }
}

/// The host's extension, which a library's own host lacks.
fn run(table: &abi::Host) -> Option<&abi::Run> {
    // SAFETY: an extension lives as long as its host. Each of its slots is set, and this version of it has them all.
    unsafe {
        let run = (table.get_extension)(table, abi::EXTENSION_RUN.as_ptr());
        run.cast::<abi::Run>().as_ref()
    }
}

/// Says why the call of the host that is about to return failed.
pub(crate) fn set_error(table: &abi::Host, error: &Error) {
    let text = error.to_string();
    // SAFETY: the table is valid, and the text is borrowed for the call only.
    unsafe { (table.set_error)(table, error.status(), text.as_ptr().cast(), text.len()) }
}

/// What asks something of the host that a revoked handle can't.
pub(crate) fn revoked() -> Error {
    Error::new("the stage that this was given to was destroyed")
}
