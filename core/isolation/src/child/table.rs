//! The functions that the plugin may call in this process, where they differ from those of the host's own process.

use std::ffi::{CStr, c_char, c_void};
use std::ptr::NonNull;

use flowpipe_abi as abi;
use flowpipe_host::call::whole;
use flowpipe_host::frame::Shape;
use flowpipe_host::run::Mode;
use flowpipe_host::table::frame_functions;
use flowpipe_host::table::{Host, text};
use flowpipe_sync::lock;

use crate::child::frames::{self, ChildFrame};
use crate::child::{CHILD, Child};
use crate::protocol::{Request, ToHost, ToStage};

/// Sets this process's functions in the host's table. Clock, errors and getters stay.
pub(super) fn change(table: &mut abi::Host) {
    table.log = log;
    table.frame_new = frame_new;
    frame_functions::set::<ChildFrame>(table);
    table.emit = emit;
    table.cancelled = cancelled;
    table.mark = mark;
    table.wait_until = wait_until;
    table.get_extension = get_extension;
}

/// The same for the table that the library gets in `init`. A library has no run.
pub(super) fn change_for_library(table: &mut abi::Host) {
    change(table);
    table.get_extension = get_extension_for_library;
}

/// The target of `flowpipe_context_t`: there is one call at a time, so the pointer carries no data.
pub(super) fn context() -> *mut abi::Context {
    static CALL: u8 = 0;
    NonNull::from(&CALL).as_ptr().cast()
}

/// This process, while its stage is not destroyed.
///
/// # Safety
/// `host` is null or a host's table.
pub(super) unsafe fn child(host: *const abi::Host) -> Option<&'static Child> {
    // SAFETY: by the contract above.
    CHILD
        .get()
        .filter(|_| unsafe { Host::from_abi(host) }.is_some())
}

impl Child {
    /// Sends the host a request of the current call and waits for the status.
    fn ask_status(&self, request: &ToHost, body: &[u8]) -> Option<abi::Status> {
        let mut call = lock(&self.call);
        call.send(request, body, &[]).ok()?;
        match call.receive::<ToStage>() {
            Ok(Some((ToStage::Status(status), _))) => Some(status),
            _ => None,
        }
    }
}

unsafe extern "C" fn log(
    host: *const abi::Host,
    level: abi::Level,
    pointer: *const c_char,
    length: usize,
) {
    // SAFETY: the ABI demands the host's table.
    let Some(child) = (unsafe { child(host) }) else {
        return;
    };
    // An unknown level counts as the least important one.
    let level = match level {
        abi::LEVEL_ERROR..=abi::LEVEL_TRACE => level,
        _ => abi::LEVEL_TRACE,
    };
    if level <= child.level {
        // SAFETY: the ABI demands readable text.
        let text = unsafe { text(pointer, length) };
        // An error means that the host is gone; then this process ends.
        let _ = lock(&child.side).send(&Request::Log(level), text.as_bytes(), &[]);
    }
}

unsafe extern "C" fn frame_new(
    host: *const abi::Host,
    info: *const abi::FrameInfo,
) -> *mut abi::Frame {
    // SAFETY: the ABI demands the host's table and a readable info.
    let (child, info) = unsafe { (child(host), info.as_ref()) };
    let frame = child
        .zip(info.and_then(Shape::new))
        .and_then(|(child, shape)| frames::new_frame(child, shape.into()));
    frame.map_or(std::ptr::null_mut(), |frame| frame.as_ptr().cast())
}

unsafe extern "C" fn emit(
    _: *const abi::Host,
    context: *mut abi::Context,
    output: *const abi::Output,
) -> abi::Status {
    let Some(child) = CHILD.get().filter(|_| !context.is_null()) else {
        return abi::BAD_MESSAGE;
    };
    // SAFETY: the ABI demands null, or an output that is readable up to its stated size.
    let output = unsafe { whole(output) };
    let mut body: &[u8] = b"";
    let request = match output {
        None => ToHost::Emit {
            port: 0,
            schema: None,
            has_json: false,
            frame: None,
            is_written: false,
            captured_ns: 0,
            is_complete: false,
        },
        Some(output) => {
            // SAFETY: the ABI demands null or json_length readable bytes, null or NUL-terminated text, and null or a
            // frame to which the plugin holds a reference.
            let (schema, frame) = unsafe {
                if !output.json.is_null() {
                    body = std::slice::from_raw_parts(output.json.cast::<u8>(), output.json_length);
                }
                let schema = (!output.schema.is_null()).then(|| CStr::from_ptr(output.schema));
                (schema, ChildFrame::emitted(output.frame))
            };
            ToHost::Emit {
                port: output.port,
                schema: schema.map(|schema| schema.to_string_lossy().into_owned()),
                has_json: !output.json.is_null(),
                frame: frame.map(|(handle, _)| handle),
                is_written: frame.is_some_and(|(_, is_written)| is_written),
                captured_ns: output.captured_ns,
                is_complete: true,
            }
        }
    };
    child.ask_status(&request, body).unwrap_or(abi::STOPPED)
}

unsafe extern "C" fn cancelled(_: *const abi::Host, context: *const abi::Context) -> i32 {
    let child = CHILD.get().filter(|_| !context.is_null());
    i32::from(child.is_none_or(|child| child.control.is_cancelled()))
}

unsafe extern "C" fn mark(host: *const abi::Host, context: *mut abi::Context, name: *const c_char) {
    // SAFETY: the ABI demands the host's table.
    let host = unsafe { Host::from_abi(host) };
    let (Some(child), Some(host), false) = (CHILD.get(), host, context.is_null() || name.is_null())
    else {
        return;
    };
    // SAFETY: the ABI demands NUL-terminated text.
    let name = unsafe { CStr::from_ptr(name) };
    let mark = ToHost::Mark {
        name: name.to_string_lossy().into_owned(),
        at_ns: host.clock().now(),
    };
    // An error means that the host is gone; then this process ends.
    let _ = lock(&child.call).send(&mark, b"", &[]);
}

unsafe extern "C" fn wait_until(
    _: *const abi::Host,
    context: *mut abi::Context,
    deadline_ns: i64,
) -> abi::Status {
    let child = CHILD.get().filter(|_| !context.is_null());
    child
        .and_then(|child| child.ask_status(&ToHost::Wait { deadline_ns }, b""))
        .unwrap_or(abi::CANCELLED)
}

unsafe extern "C" fn get_extension(host: *const abi::Host, id: *const c_char) -> *const c_void {
    // SAFETY: the ABI demands null or a NUL-terminated id.
    let is_run = !id.is_null() && unsafe { CStr::from_ptr(id) } == abi::EXTENSION_RUN;
    if is_run && CHILD.get().is_some() {
        (&raw const RUN).cast()
    } else {
        // SAFETY: as above.
        unsafe { get_extension_for_library(host, id) }
    }
}

unsafe extern "C" fn get_extension_for_library(
    _: *const abi::Host,
    id: *const c_char,
) -> *const c_void {
    // SAFETY: the ABI demands null or a NUL-terminated id.
    let id = unsafe { (!id.is_null()).then(|| CStr::from_ptr(id)) };
    if id == Some(abi::EXTENSION_FRAMES) {
        (&raw const frames::TABLE).cast()
    } else if id == Some(abi::EXTENSION_BUFFER) {
        (&raw const frames::BUFFERS).cast()
    } else {
        std::ptr::null()
    }
}

/// The host's extension `flowpipe.run/1`.
static RUN: abi::Run = abi::Run {
    struct_size: size_of::<abi::Run>() as u32,
    reserved: 0,
    is_ending,
    is_dry,
    end,
};

unsafe extern "C" fn is_ending(host: *const abi::Host) -> i32 {
    // SAFETY: the ABI demands the host's table.
    unsafe { child(host) }
        .is_none_or(|child| child.control.mode() > Mode::Run as u32)
        .into()
}

unsafe extern "C" fn is_dry(host: *const abi::Host) -> i32 {
    // SAFETY: the ABI demands the host's table.
    unsafe { child(host) }.is_none_or(|child| child.dry).into()
}

unsafe extern "C" fn end(
    host: *const abi::Host,
    how: abi::Ending,
    pointer: *const c_char,
    length: usize,
) {
    // SAFETY: the ABI demands the host's table.
    let Some(child) = (unsafe { child(host) }) else {
        return;
    };
    // SAFETY: the ABI demands readable text.
    let text = unsafe { text(pointer, length) };
    let mut side = lock(&child.side);
    // The host replies, so that the run is ending when this returns. An error means that the host is gone.
    let sent = side.send(&Request::End(how), text.as_bytes(), &[]);
    let _ = sent.and_then(|()| side.receive::<()>());
}
