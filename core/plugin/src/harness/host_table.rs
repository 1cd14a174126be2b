//! The harness's side of `flowpipe.h`.
//!
//! The SDK calls it with pointers from the harness: a live host whose data is the harness's [`Shared`], and frames that
//! are [`Picture`]s.

use std::ffi::{CStr, c_char, c_void};
use std::mem::ManuallyDrop;
use std::ptr::{NonNull, null, null_mut};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use flowpipe_abi as abi;
use flowpipe_sync::lock;

use super::{Emitted, Shared, State};
use crate::frame::Frame;
use crate::handle::Lasting;
use crate::host::Ending;

/// A host with that state, in a box.
pub(super) fn shared(state: State) -> NonNull<Shared> {
    let table = table();
    let shared = NonNull::from(Box::leak(Box::new(Shared { table, state })));
    // SAFETY: it is new, and nothing else refers to it yet.
    unsafe { (*shared.as_ptr()).table.data = shared.as_ptr().cast() };
    shared
}

fn table() -> abi::Host {
    abi::Host {
        struct_size: size_of::<abi::Host>() as u32,
        abi_major: abi::ABI_MAJOR,
        abi_minor: abi::ABI_MINOR,
        reserved: 0,
        name: c"flowpipe harness".as_ptr(),
        version: c"test".as_ptr(),
        data: null_mut(),
        log,
        set_error,
        clock_now,
        frame_new,
        frame_ref,
        frame_unref,
        frame_info,
        frame_read,
        frame_write,
        emit,
        cancelled,
        mark,
        wait_until,
        get_bool: nothing_there,
        get_int: nothing_there,
        get_number: nothing_there,
        get_string: no_text_there,
        get_count: nothing_there,
        get_extension,
    }
}

/// A picture or a buffer in the harness's memory, in an [`Arc`].
#[derive(Clone)]
struct Picture {
    info: abi::FrameInfo,
    /// `None`: it is a picture.
    buffer: Option<abi::BufferInfo>,
    /// Words, so that elements of any type are aligned.
    words: Vec<u64>,
}

impl Picture {
    fn create(info: abi::FrameInfo, buffer: Option<abi::BufferInfo>) -> *mut abi::Frame {
        let words = vec![0; (info.size as usize).div_ceil(size_of::<u64>())];
        let picture = Self {
            info,
            buffer,
            words,
        };
        Arc::into_raw(Arc::new(picture)).cast_mut().cast()
    }
}

/// # Safety
/// `host` is the table of a harness that is valid for `'a`.
unsafe fn state<'a>(host: *const abi::Host) -> &'a State {
    // SAFETY: by the contract above; the table is never written to.
    unsafe { &(*(*host).data.cast::<Shared>()).state }
}

unsafe fn text(text: *const c_char, length: usize) -> String {
    // SAFETY: the SDK passes a text of that length.
    String::from_utf8_lossy(unsafe { std::slice::from_raw_parts(text.cast(), length) }).into_owned()
}

unsafe extern "C" fn log(
    host: *const abi::Host,
    _: abi::Level,
    line: *const c_char,
    length: usize,
) {
    // SAFETY: see above.
    let (state, line) = unsafe { (state(host), text(line, length)) };
    lock(&state.log).push(line);
}

unsafe extern "C" fn set_error(
    host: *const abi::Host,
    code: i32,
    line: *const c_char,
    length: usize,
) {
    // SAFETY: see above.
    let (state, line) = unsafe { (state(host), text(line, length)) };
    *lock(&state.error) = Some((code, line));
}

unsafe extern "C" fn clock_now(host: *const abi::Host) -> i64 {
    // SAFETY: see above.
    unsafe { state(host) }.began.elapsed().as_nanos() as i64
}

unsafe extern "C" fn frame_new(
    _: *const abi::Host,
    info: *const abi::FrameInfo,
) -> *mut abi::Frame {
    // SAFETY: see above.
    let mut info = unsafe { *info };
    info.size = info.stride * u64::from(info.height);
    if info.size == 0 {
        return null_mut();
    }
    Picture::create(info, None)
}

unsafe extern "C" fn frame_ref(_: *const abi::Host, frame: *mut abi::Frame) -> *mut abi::Frame {
    // SAFETY: see below.
    unsafe { add_reference(frame) }
}

unsafe extern "C" fn frame_unref(_: *const abi::Host, frame: *mut abi::Frame) {
    // SAFETY: see below.
    unsafe { release(frame) }
}

unsafe extern "C" fn frame_info(
    _: *const abi::Host,
    frame: *const abi::Frame,
    place: *mut abi::FrameInfo,
) {
    // SAFETY: see below.
    unsafe { info(frame, place) }
}

unsafe extern "C" fn frame_read(_: *const abi::Host, frame: *const abi::Frame) -> *const u8 {
    // SAFETY: see below.
    unsafe { read(frame) }
}

unsafe extern "C" fn frame_write(_: *const abi::Host, frame: *mut *mut abi::Frame) -> *mut u8 {
    // SAFETY: see below.
    unsafe { write(frame) }
}

/// The functions need no harness: a frame may outlive it.
static FRAMES: abi::Frames = abi::Frames {
    struct_size: size_of::<abi::Frames>() as u32,
    reserved: 0,
    add_reference,
    release,
    info,
    read,
    write,
};

unsafe extern "C" fn add_reference(frame: *mut abi::Frame) -> *mut abi::Frame {
    // SAFETY: a live frame is a `Picture`.
    unsafe { Arc::increment_strong_count(frame.cast::<Picture>()) };
    frame
}

unsafe extern "C" fn release(frame: *mut abi::Frame) {
    if !frame.is_null() {
        // SAFETY: a live frame is a `Picture`, and the caller holds a reference.
        unsafe { Arc::decrement_strong_count(frame.cast::<Picture>()) };
    }
}

unsafe extern "C" fn info(frame: *const abi::Frame, info: *mut abi::FrameInfo) {
    // SAFETY: a live frame is a `Picture`.
    unsafe { *info = (*frame.cast::<Picture>()).info }
}

unsafe extern "C" fn read(frame: *const abi::Frame) -> *const u8 {
    // SAFETY: a live frame is a `Picture`.
    unsafe { (*frame.cast::<Picture>()).words.as_ptr().cast() }
}

unsafe extern "C" fn write(frame: *mut *mut abi::Frame) -> *mut u8 {
    // SAFETY: a live frame is a `Picture`; a shared one is replaced by a copy.
    unsafe {
        let mut picture = ManuallyDrop::new(Arc::from_raw((*frame).cast::<Picture>()));
        let words = Arc::make_mut(&mut picture).words.as_mut_ptr();
        *frame = Arc::as_ptr(&picture).cast_mut().cast();
        words.cast()
    }
}

static BUFFERS: abi::Buffers = abi::Buffers {
    struct_size: size_of::<abi::Buffers>() as u32,
    reserved: 0,
    create: create_buffer,
    info: buffer_info,
};

/// What frames need, with or without the harness.
const LASTING: Lasting = Lasting {
    frames: &FRAMES,
    buffers: Some(&BUFFERS),
};

unsafe extern "C" fn create_buffer(
    _: *const abi::Host,
    info: *const abi::BufferInfo,
) -> *mut abi::Frame {
    // SAFETY: the SDK passes a whole info.
    let Ok(buffer) = (unsafe { (*info).checked() }) else {
        return null_mut();
    };
    let info = abi::FrameInfo {
        struct_size: size_of::<abi::FrameInfo>() as u32,
        format: 0,
        width: 0,
        height: 0,
        stride: 0,
        size: buffer.size,
    };
    Picture::create(info, Some(buffer))
}

unsafe extern "C" fn buffer_info(
    frame: *const abi::Frame,
    info: *mut abi::BufferInfo,
) -> abi::Status {
    // SAFETY: a live frame is a `Picture`.
    unsafe {
        match (*frame.cast::<Picture>()).buffer {
            Some(buffer) => {
                *info = buffer;
                abi::OK
            }
            None => abi::WRONG_TYPE,
        }
    }
}

unsafe extern "C" fn emit(
    host: *const abi::Host,
    _: *mut abi::Context,
    output: *const abi::Output,
) -> abi::Status {
    // SAFETY: see above.
    unsafe {
        let output = &*output;
        let json = std::slice::from_raw_parts(output.json.cast(), output.json_length);
        let Ok(body) = serde_json::from_slice(json) else {
            return abi::BAD_MESSAGE;
        };
        let frame = Frame::from_borrowed_lasting(LASTING, output.frame);
        let (port, captured_ns) = (output.port as usize, output.captured_ns);
        lock(&state(host).emitted).push(Emitted {
            port,
            body,
            frame,
            captured_ns,
        });
    }
    abi::OK
}

unsafe extern "C" fn cancelled(host: *const abi::Host, _: *const abi::Context) -> i32 {
    // SAFETY: see above.
    is_cancelled(unsafe { state(host) }).into()
}

/// Calls the test's function outside of the lock.
fn is_cancelled(state: &State) -> bool {
    let cancel = Arc::clone(&lock(&state.cancel));
    cancel()
}

unsafe extern "C" fn mark(host: *const abi::Host, _: *mut abi::Context, name: *const c_char) {
    // SAFETY: see above.
    unsafe {
        let name = CStr::from_ptr(name).to_string_lossy().into_owned();
        lock(&state(host).marks).push(name);
    }
}

unsafe extern "C" fn wait_until(
    host: *const abi::Host,
    context: *mut abi::Context,
    deadline_ns: i64,
) -> abi::Status {
    // SAFETY: see above.
    unsafe {
        while clock_now(host) < deadline_ns {
            if cancelled(host, context) != 0 {
                return abi::CANCELLED;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        if cancelled(host, context) != 0 {
            abi::CANCELLED
        } else {
            abi::OK
        }
    }
}

/// The SDK parses JSON itself and never calls the getters, which are for C.
unsafe extern "C" fn nothing_there<T>(
    _: *const abi::Host,
    _: *const abi::Document,
    _: *const c_char,
    _: *mut T,
) -> abi::Status {
    abi::NOT_FOUND
}

unsafe extern "C" fn no_text_there(
    _: *const abi::Host,
    _: *const abi::Document,
    _: *const c_char,
    _: *mut *const c_char,
    _: *mut usize,
) -> abi::Status {
    abi::NOT_FOUND
}

static RUN: abi::Run = abi::Run {
    struct_size: size_of::<abi::Run>() as u32,
    reserved: 0,
    is_ending,
    is_dry,
    end,
};

unsafe extern "C" fn get_extension(_: *const abi::Host, id: *const c_char) -> *const c_void {
    // SAFETY: the SDK passes a NUL-terminated id.
    let id = unsafe { CStr::from_ptr(id) };
    if id == abi::EXTENSION_RUN {
        (&raw const RUN).cast()
    } else if id == abi::EXTENSION_FRAMES {
        (&raw const FRAMES).cast()
    } else if id == abi::EXTENSION_BUFFER {
        (&raw const BUFFERS).cast()
    } else {
        null()
    }
}

unsafe extern "C" fn is_ending(host: *const abi::Host) -> i32 {
    // SAFETY: see above.
    is_cancelled(unsafe { state(host) }).into()
}

unsafe extern "C" fn is_dry(host: *const abi::Host) -> i32 {
    // SAFETY: see above.
    unsafe { state(host) }.dry.load(Ordering::Relaxed).into()
}

unsafe extern "C" fn end(
    host: *const abi::Host,
    how: abi::Ending,
    reason: *const c_char,
    length: usize,
) {
    // SAFETY: see above.
    let (state, reason) = unsafe { (state(host), text(reason, length)) };
    let how = if how == abi::ENDING_DONE {
        Ending::Done
    } else {
        Ending::Stopped
    };
    lock(&state.ended).get_or_insert((how, reason));
}
