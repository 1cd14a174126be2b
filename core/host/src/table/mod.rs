//! The table that the host passes to each stage: logs, errors, clock, frames and getters.
//!
//! The functions of one `process` call (emit, cancelled, mark, wait_until) are in [`crate::call`].

pub mod frame_functions;
pub mod run_extension;
pub mod status;

use std::ffi::{CStr, c_char, c_void};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use flowpipe_abi as abi;
use flowpipe_sync::lock;
use serde_json::Value;

use crate::call;
use crate::clock::Clock;
use crate::document::Document;
use crate::frame::pool::Pool;
use crate::frame::{Frame, Shape};
use crate::run::RunContext;
use crate::stage_clock::StageClock;

/// Bytes of the longest text of a plugin. Longer ones are cut, so that a wrong length does not fill the log.
pub const LONGEST_TEXT: usize = 64 << 10;

/// What all stages of a run share through their hosts.
pub struct Services {
    /// The run's clock.
    pub clock: Clock,
    /// The pool of frames.
    pub pool: Arc<Pool>,
    /// Set when the run is created; a library's own host has none.
    pub run: OnceLock<Weak<dyn RunContext>>,
}

/// The host as one stage sees it. A plugin reaches it through a table from [`Self::show`], until it is revoked.
pub struct Host {
    name: String,
    owner: u32,
    services: Arc<Services>,
    stage_clock: StageClock,
    error: Mutex<Option<(i32, String)>>,
    /// Whether `error` is set, so that a call without an error takes no lock.
    failed: AtomicBool,
    change: Change,
    is_revoked: AtomicBool,
}

/// Changes the table that a plugin sees.
pub(crate) type Change = fn(&mut abi::Host);

/// The target of a plugin's pointer to its host. It is never freed, so that calls from a thread of the plugin after
/// `destroy` find that the host is revoked.
struct Shown {
    table: abi::Host,
    host: Weak<Host>,
}

/// Bytes that each host leaks: its table, and the allocation that the table's weak reference keeps, by the rules of
/// glibc's allocator.
pub const LEAKED_BYTES: u64 =
    allocated(size_of::<Shown>()) + allocated(size_of::<Host>() + 2 * size_of::<usize>());

const fn allocated(size: usize) -> u64 {
    ((size + size_of::<usize>()).next_multiple_of(16)) as u64
}

/// The time that a revoked host returns: later than any deadline, and far from an overflow, as in the SDK.
const REVOKED_NS: i64 = i64::MAX / 2;

impl Host {
    /// A host for one stage. `owner`: its number in the pipeline.
    #[must_use]
    pub fn new(
        name: &str,
        owner: u32,
        services: Arc<Services>,
        stage_clock: StageClock,
    ) -> Arc<Self> {
        Self::with(name, owner, services, stage_clock, |_| {})
    }

    /// As [`Self::new`]; `change` is applied to each table before the plugin gets it.
    pub fn with(
        name: &str,
        owner: u32,
        services: Arc<Services>,
        stage_clock: StageClock,
        change: Change,
    ) -> Arc<Self> {
        Arc::new(Self {
            name: name.to_owned(),
            owner,
            services,
            stage_clock,
            error: Mutex::default(),
            failed: AtomicBool::new(false),
            change,
            is_revoked: AtomicBool::new(false),
        })
    }

    /// Creates a table for a plugin. It is never freed, also when the host is revoked or dropped.
    pub(crate) fn show(self: &Arc<Self>) -> *const abi::Host {
        let mut table = abi::Host {
            struct_size: size_of::<abi::Host>() as u32,
            abi_major: abi::ABI_MAJOR,
            abi_minor: abi::ABI_MINOR,
            reserved: 0,
            name: c"flowpipe".as_ptr(),
            version: VERSION.as_ptr().cast(),
            data: null_mut(),
            log,
            set_error,
            clock_now,
            frame_new,
            frame_ref: frame_functions::frame_ref::<Frame>,
            frame_unref: frame_functions::frame_unref::<Frame>,
            frame_info: frame_functions::frame_info::<Frame>,
            frame_read: frame_functions::frame_read::<Frame>,
            frame_write: frame_functions::frame_write::<Frame>,
            emit: call::emit,
            cancelled: call::cancelled,
            mark: call::mark,
            wait_until,
            get_bool,
            get_int,
            get_number,
            get_string,
            get_count,
            get_extension,
        };
        (self.change)(&mut table);
        let host = Arc::downgrade(self);
        let shown = Box::into_raw(Box::new(Shown { table, host }));
        // SAFETY: it is new, and nothing else refers to it yet.
        unsafe {
            (*shown).table.data = shown.cast();
            &raw const (*shown).table
        }
    }

    /// Revokes its tables: later calls have no effect. Calls in progress keep what they use.
    pub(crate) fn revoke(&self) {
        // A call that misses it counts as an earlier one.
        self.is_revoked.store(true, Ordering::Relaxed);
    }

    /// Takes the plugin's last `set_error` since the previous call.
    pub fn take_error(&self) -> Option<(i32, String)> {
        if self.failed.swap(false, Ordering::Relaxed) {
            lock(&self.error).take()
        } else {
            None
        }
    }

    /// Records an error of the plugin. The last one counts. Its text is cut to [`LONGEST_TEXT`].
    pub fn note_error(&self, code: i32, mut text: String) {
        text.truncate(text.floor_char_boundary(LONGEST_TEXT));
        // Its capacity may be that of a longer packet.
        text.shrink_to_fit();
        *lock(&self.error) = Some((code, text));
        self.failed.store(true, Ordering::Relaxed);
    }

    /// The run's clock.
    pub fn clock(&self) -> &Clock {
        &self.services.clock
    }

    /// The pool of its frames.
    pub fn pool(&self) -> &Arc<Pool> {
        &self.services.pool
    }

    /// The number of its stage.
    pub fn owner(&self) -> u32 {
        self.owner
    }

    /// The name in the log: the stage's, or a library's file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The clock that the stage reads.
    pub fn stage_clock(&self) -> &StageClock {
        &self.stage_clock
    }

    /// The run that the stage is part of.
    pub(crate) fn run(&self) -> Option<&Weak<dyn RunContext>> {
        self.services.run.get()
    }

    /// The host of the ABI's pointer. `None`: it is revoked, because its stage was destroyed.
    ///
    /// # Safety
    /// `host` is null or a table from [`Self::show`] (or a copy of it).
    pub unsafe fn from_abi(host: *const abi::Host) -> Option<Arc<Self>> {
        // SAFETY: by the contract above, `data` was set in `show` and its target is never freed.
        let shown = unsafe { host.as_ref()?.data.cast::<Shown>().as_ref() }?;
        let host = shown.host.upgrade()?;
        (!host.is_revoked.load(Ordering::Relaxed)).then_some(host)
    }
}

static VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");

/// Copies a text of a plugin, at most [`LONGEST_TEXT`] bytes of it; null is no text.
///
/// # Safety
/// `text` is null or points at `length` readable bytes.
pub unsafe fn text(text: *const c_char, length: usize) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: by the contract above.
    let bytes = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), length.min(LONGEST_TEXT)) };
    String::from_utf8_lossy(bytes).into_owned()
}

unsafe extern "C" fn log(
    host: *const abi::Host,
    level: abi::Level,
    pointer: *const c_char,
    length: usize,
) {
    // SAFETY: the ABI demands the host's table and readable text.
    let (host, text) = unsafe { (Host::from_abi(host), text(pointer, length)) };
    if let Some(host) = host {
        write_log(&host.name, level, &text);
    }
}

/// Writes a plugin's line to the log.
pub fn write_log(stage: &str, level: abi::Level, text: &str) {
    match level {
        abi::LEVEL_ERROR => tracing::error!(target: "flowpipe::plugin", stage, "{text}"),
        abi::LEVEL_WARN => tracing::warn!(target: "flowpipe::plugin", stage, "{text}"),
        abi::LEVEL_INFO => tracing::info!(target: "flowpipe::plugin", stage, "{text}"),
        abi::LEVEL_DEBUG => tracing::debug!(target: "flowpipe::plugin", stage, "{text}"),
        _ => tracing::trace!(target: "flowpipe::plugin", stage, "{text}"),
    }
}

unsafe extern "C" fn set_error(
    host: *const abi::Host,
    code: i32,
    pointer: *const c_char,
    length: usize,
) {
    // SAFETY: the ABI demands the host's table and readable text.
    let (host, text) = unsafe { (Host::from_abi(host), text(pointer, length)) };
    if let Some(host) = host {
        host.note_error(code, text);
    }
}

unsafe extern "C" fn clock_now(host: *const abi::Host) -> i64 {
    // SAFETY: the ABI demands the host's table.
    unsafe { Host::from_abi(host) }.map_or(REVOKED_NS, |host| {
        host.stage_clock.read(&host.services.clock)
    })
}

unsafe extern "C" fn wait_until(
    host: *const abi::Host,
    context: *mut abi::Context,
    deadline_ns: i64,
) -> abi::Status {
    // SAFETY: the ABI demands the host's table.
    let of_stage = unsafe { Host::from_abi(host) };
    let skips = |of_stage: Arc<Host>| of_stage.stage_clock.skips_wait(deadline_ns);
    // SAFETY: the ABI demands the context of the current call.
    unsafe {
        match of_stage.is_some_and(skips) {
            false => call::wait_until(host, context, deadline_ns),
            true if call::cancelled(host, context) == 0 => abi::OK,
            true => abi::CANCELLED,
        }
    }
}

unsafe extern "C" fn frame_new(
    host: *const abi::Host,
    info: *const abi::FrameInfo,
) -> *mut abi::Frame {
    // SAFETY: the ABI demands the host's table and a readable info.
    let (host, info) = unsafe { (Host::from_abi(host), info.as_ref()) };
    let frame = host
        .zip(info.and_then(Shape::new))
        .and_then(|(host, shape)| Frame::new(&host.services.pool, shape, host.owner));
    frame.map_or(null_mut(), Frame::into_abi)
}

/// The value at a pointer: `Err` holds the status to return.
///
/// # Safety
/// `document` is null or valid; `pointer` is null or NUL-terminated.
unsafe fn find<'a>(
    document: *const abi::Document,
    pointer: *const c_char,
) -> Result<&'a Value, abi::Status> {
    if pointer.is_null() {
        return Err(abi::NOT_FOUND);
    }
    // SAFETY: by the contract above; the ABI's documents are `Document`s.
    let (document, pointer) = unsafe {
        (
            document.cast::<Document>().as_ref(),
            CStr::from_ptr(pointer),
        )
    };
    let pointer = pointer.to_str().map_err(|_| abi::NOT_FOUND)?;
    document
        .and_then(|document| document.at(pointer))
        .ok_or(abi::NOT_FOUND)
}

/// Finds a value, converts it and writes it to `place`.
///
/// # Safety
/// As for [`find`]; `place` is null or writable.
unsafe fn get<T>(
    document: *const abi::Document,
    pointer: *const c_char,
    place: *mut T,
    read: impl FnOnce(&'static Value) -> Option<T>,
) -> abi::Status {
    // SAFETY: by the contract above. `'static` means the document's lifetime, which the ABI guarantees for texts
    // too.
    match unsafe { find(document, pointer) } {
        Err(status) => status,
        Ok(value) => match read(value) {
            None => abi::WRONG_TYPE,
            Some(_) if place.is_null() => abi::OK,
            Some(value) => {
                // SAFETY: by the contract above.
                unsafe { place.write(value) };
                abi::OK
            }
        },
    }
}

unsafe extern "C" fn get_bool(
    _: *const abi::Host,
    document: *const abi::Document,
    pointer: *const c_char,
    value: *mut i32,
) -> abi::Status {
    // SAFETY: the ABI demands what `get` does.
    unsafe {
        get(document, pointer, value, |found| {
            found.as_bool().map(i32::from)
        })
    }
}

unsafe extern "C" fn get_int(
    _: *const abi::Host,
    document: *const abi::Document,
    pointer: *const c_char,
    value: *mut i64,
) -> abi::Status {
    // SAFETY: the ABI demands what `get` does.
    unsafe { get(document, pointer, value, Value::as_i64) }
}

unsafe extern "C" fn get_number(
    _: *const abi::Host,
    document: *const abi::Document,
    pointer: *const c_char,
    value: *mut f64,
) -> abi::Status {
    // SAFETY: the ABI demands what `get` does.
    unsafe { get(document, pointer, value, Value::as_f64) }
}

unsafe extern "C" fn get_string(
    _: *const abi::Host,
    document: *const abi::Document,
    pointer: *const c_char,
    value: *mut *const c_char,
    length: *mut usize,
) -> abi::Status {
    let mut found = (null(), 0);
    // SAFETY: the ABI demands what `get` does.
    let status = unsafe {
        get(document, pointer, &raw mut found, |found| {
            found
                .as_str()
                .map(|text| (text.as_ptr().cast::<c_char>(), text.len()))
        })
    };
    if status == abi::OK {
        // SAFETY: the ABI demands that both are null or writable.
        unsafe {
            if let Some(value) = value.as_mut() {
                *value = found.0;
            }
            if let Some(length) = length.as_mut() {
                *length = found.1;
            }
        }
    }
    status
}

unsafe extern "C" fn get_count(
    _: *const abi::Host,
    document: *const abi::Document,
    pointer: *const c_char,
    value: *mut usize,
) -> abi::Status {
    let count = |found: &Value| match found {
        Value::Array(elements) => Some(elements.len()),
        Value::Object(members) => Some(members.len()),
        _ => None,
    };
    // SAFETY: the ABI demands what `get` does.
    unsafe { get(document, pointer, value, count) }
}

unsafe extern "C" fn get_extension(host: *const abi::Host, id: *const c_char) -> *const c_void {
    if id.is_null() {
        return null();
    }
    // SAFETY: the ABI demands the host's table, and a NUL-terminated id.
    let (host, id) = unsafe { (Host::from_abi(host), CStr::from_ptr(id)) };
    // When the host is revoked, the run's functions report that it is ending.
    let has_run = host.is_none_or(|host| host.run().is_some());
    if has_run && id == abi::EXTENSION_RUN {
        (&raw const run_extension::TABLE).cast()
    } else if id == abi::EXTENSION_FRAMES {
        (&raw const frame_functions::TABLE).cast()
    } else if id == abi::EXTENSION_BUFFER {
        (&raw const frame_functions::BUFFERS).cast()
    } else {
        null()
    }
}

#[cfg(test)]
mod tests;
