//! A stream of one monitor or window: what both sides agree on, and the buffers that come.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_void};
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

use pipewire::spa::param::ParamType;
use pipewire::spa::pod::Pod;
use pipewire::spa::sys::{SPA_DIRECTION_INPUT, spa_buffer, spa_hook, spa_pod};
use pipewire::sys::{
    PW_VERSION_NODE_EVENTS, PW_VERSION_STREAM_EVENTS, pw_buffer, pw_context, pw_node_events,
    pw_node_info, pw_stream, pw_stream_events,
    pw_stream_flags_PW_STREAM_FLAG_AUTOCONNECT as AUTOCONNECT,
    pw_stream_flags_PW_STREAM_FLAG_DONT_RECONNECT as DONT_RECONNECT,
    pw_stream_flags_PW_STREAM_FLAG_MAP_BUFFERS as MAP_BUFFERS, pw_stream_state,
    pw_stream_state_PW_STREAM_STATE_ERROR as ERROR,
    pw_stream_state_PW_STREAM_STATE_STREAMING as STREAMING,
    pw_stream_state_PW_STREAM_STATE_UNCONNECTED as UNCONNECTED, pw_thread_loop,
};

use super::format::{self, Agreed};
use super::library::Library;
use super::presence;
use super::remote::Remote;
use super::sender;

/// What is done with what comes. The library calls it, in its thread or under its lock.
pub(super) trait Receiver {
    /// The formats that are accepted, the preferred one first. `None`: the library can't write them.
    fn formats(&self) -> Option<Vec<Vec<u8>>>;
    /// Whether the memory of pictures is mapped.
    fn maps_pictures(&self) -> bool;
    /// What the sender calls its stream. It comes before a format is agreed on, or never.
    fn name_sender(&self, _name: &[u8]) {}
    /// A format was agreed on, or why it is none that is read. Returns what the buffers are to be like.
    fn agree(&self, format: Result<Agreed, String>) -> Vec<Vec<u8>>;
    /// Takes what has come. Returns whether the formats that are accepted have changed.
    ///
    /// # Safety
    /// The buffer is one of the stream's that was taken out and not given back.
    unsafe fn take(&self, buffer: Option<&spa_buffer>) -> bool;
    /// A buffer is no longer one of the stream's.
    fn forget(&self, buffer: *const spa_buffer);
    /// Whether something may come now: PipeWire pauses a stream that is connected to nothing.
    fn runs(&self, is_running: bool);
    /// Nothing comes any more.
    fn end(&self, reason: &str);
}

/// A stream, which a thread of its own receives. It ends when this is dropped.
pub(super) struct Stream {
    library: &'static Library,
    thread: *mut pw_thread_loop,
    context: *mut pw_context,
    stream: *mut pw_stream,
    handler: *mut Handler,
}

// SAFETY: the library's objects belong to no thread. All use of them is under the lock of their thread.
unsafe impl Send for Stream {}

/// What the library calls, in its thread or under its lock.
struct Handler {
    library: &'static Library,
    stream: Cell<*mut pw_stream>,
    /// The stream's list of what it calls, of which this is an element.
    hook: Cell<spa_hook>,
    /// As [`Self::hook`], of the node that sends.
    sender_hook: Cell<spa_hook>,
    receiver: Box<dyn Receiver + Send>,
}

static EVENTS: pw_stream_events = pw_stream_events {
    version: PW_VERSION_STREAM_EVENTS,
    destroy: None,
    state_changed: Some(state_changed),
    control_info: None,
    io_changed: None,
    param_changed: Some(param_changed),
    add_buffer: None,
    remove_buffer: Some(remove_buffer),
    process: Some(process),
    drained: None,
    command: None,
    trigger_done: None,
};

static SENDER_EVENTS: pw_node_events = pw_node_events {
    version: PW_VERSION_NODE_EVENTS,
    info: Some(sender_info),
    param: None,
};

/// It is not connected to another source when its own has gone.
const PROPERTIES: &CStr =
    c"media.type=Video media.category=Capture media.role=Screen node.dont-reconnect=true";

impl Stream {
    /// Begins to receive from a node.
    ///
    /// # Errors
    /// Why PipeWire can't be used.
    pub(super) fn open(
        node: u32,
        remote: Remote,
        receiver: Box<dyn Receiver + Send>,
    ) -> Result<Self, String> {
        const FAILED: &str = "PipeWire does not start";
        let library = Library::get()?;
        // SAFETY: a name, and no properties.
        let thread = unsafe { (library.pw_thread_loop_new)(c"pictures".as_ptr(), null()) };
        if thread.is_null() {
            return Err(FAILED.to_owned());
        }
        let handler = Box::into_raw(Box::new(Handler {
            library,
            stream: Cell::new(null_mut()),
            // SAFETY: zeros are what it is before it is in a list.
            hook: Cell::new(unsafe { MaybeUninit::zeroed().assume_init() }),
            // SAFETY: as above.
            sender_hook: Cell::new(unsafe { MaybeUninit::zeroed().assume_init() }),
            receiver,
        }));
        // What has been made until an error is gone with this.
        let mut stream = Self {
            library,
            thread,
            context: null_mut(),
            stream: null_mut(),
            handler,
        };
        // SAFETY: the loop is there.
        if unsafe { (library.pw_thread_loop_start)(thread) } < 0 {
            return Err(FAILED.to_owned());
        }
        stream.locked(|it| it.connect(node, remote))?;
        Ok(stream)
    }

    /// Does something while the library's thread does nothing.
    fn locked<T>(&mut self, act: impl FnOnce(&mut Self) -> T) -> T {
        // SAFETY: the loop is there, and this is not its thread.
        unsafe { (self.library.pw_thread_loop_lock)(self.thread) };
        let done = act(self);
        // SAFETY: as above.
        unsafe { (self.library.pw_thread_loop_unlock)(self.thread) };
        done
    }

    /// Whether something is wanted now.
    #[cfg(all(feature = "input", feature = "portal"))]
    pub(super) fn set_active(&mut self, is_active: bool) {
        self.locked(|it| {
            // SAFETY: the stream is there. That it can't be changed is its end, which is reported.
            unsafe { (it.library.pw_stream_set_active)(it.stream, is_active) };
        });
    }

    fn connect(&mut self, node: u32, remote: Remote) -> Result<(), String> {
        let failed = |what: &str| format!("PipeWire gives no pictures: {what}");
        let library = self.library;
        // SAFETY: it is there, and nothing has a reference to it that excludes others.
        let handler = unsafe { &*self.handler };
        let receiver = &handler.receiver;
        let formats = receiver.formats().ok_or_else(|| failed("no format"))?;
        // SAFETY: the loop is there until the context is destroyed.
        self.context = unsafe {
            let on = (library.pw_thread_loop_get_loop)(self.thread);
            (library.pw_context_new)(on, null_mut(), 0)
        };
        if self.context.is_null() {
            return Err(failed("no context"));
        }
        // SAFETY: the context is there, and this has its loop's lock.
        let core = unsafe { remote.connect(library, self.context) };
        let core = core.map_err(|what| presence::absent(&what))?;
        // Without an answer, the sender has no name.
        // SAFETY: the core is there, and this has its loop's lock. The hook and the handler are there until after the context
        // is destroyed, and the core with it; the events for ever.
        let _ = unsafe {
            let (hook, data) = (handler.sender_hook.as_ptr(), self.handler.cast());
            sender::ask(core, node, hook, &SENDER_EVENTS, data)
        };
        // SAFETY: the text is one, and the core is there. The stream takes the properties.
        self.stream = unsafe {
            let properties = (library.pw_properties_new_string)(PROPERTIES.as_ptr());
            (library.pw_stream_new)(core, c"flowpipe".as_ptr(), properties)
        };
        if self.stream.is_null() {
            return Err(failed("no stream"));
        }
        handler.stream.set(self.stream);
        // SAFETY: the hook and the handler are there until the stream is destroyed, and the events for ever.
        unsafe {
            (library.pw_stream_add_listener)(
                self.stream,
                handler.hook.as_ptr(),
                &raw const EVENTS,
                self.handler.cast(),
            );
        }
        let mut formats = pods(&formats);
        let count = formats.len() as u32;
        let maps = if receiver.maps_pictures() {
            MAP_BUFFERS
        } else {
            0
        };
        // SAFETY: the stream is there, and copies the formats, which are whole.
        let connected = unsafe {
            (library.pw_stream_connect)(
                self.stream,
                SPA_DIRECTION_INPUT,
                node,
                AUTOCONNECT | DONT_RECONNECT | maps,
                formats.as_mut_ptr(),
                count,
            )
        };
        if connected < 0 {
            let error = std::io::Error::from_raw_os_error(-connected);
            return Err(failed(&error.to_string()));
        }
        Ok(())
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let library = self.library;
        self.locked(|it| {
            if !it.stream.is_null() {
                // SAFETY: it is there, and used no more.
                unsafe { (library.pw_stream_destroy)(it.stream) };
            }
            if !it.context.is_null() {
                // SAFETY: as above. The connection ends with it.
                unsafe { (library.pw_context_destroy)(it.context) };
            }
        });
        // SAFETY: the loop is there, its lock is free, and nothing is in it any more.
        unsafe {
            (library.pw_thread_loop_stop)(self.thread);
            (library.pw_thread_loop_destroy)(self.thread);
        }
        // SAFETY: it came from a box, and nothing calls it any more.
        drop(unsafe { Box::from_raw(self.handler) });
    }
}

impl Handler {
    /// Takes all that is there.
    fn receive(&self) {
        let mut have_formats_changed = false;
        loop {
            // SAFETY: the stream is there, and this is its thread.
            let buffer = unsafe { (self.library.pw_stream_dequeue_buffer)(self.stream.get()) };
            if buffer.is_null() {
                break;
            }
            // SAFETY: the library fills it in, or leaves it null. It belongs to this until it is given back.
            have_formats_changed |= unsafe { self.receiver.take((*buffer).buffer.as_ref()) };
            // SAFETY: it came from this stream. That it can't be given back is the stream's end, which is reported.
            unsafe { (self.library.pw_stream_queue_buffer)(self.stream.get(), buffer) };
        }
        if have_formats_changed {
            self.update(&self.receiver.formats().unwrap_or_default());
        }
    }

    /// Notes the format, and says what buffers are wanted then.
    fn agree(&self, format: &Pod) {
        let wanted = self.receiver.agree(format::agreed(format));
        self.update(&wanted);
    }

    /// Changes what is wanted.
    fn update(&self, wanted: &[Vec<u8>]) {
        if wanted.is_empty() {
            return;
        }
        let mut wanted = pods(wanted);
        // SAFETY: the stream is there, and copies what is wanted.
        unsafe {
            let count = wanted.len() as u32;
            (self.library.pw_stream_update_params)(self.stream.get(), wanted.as_mut_ptr(), count);
        }
    }
}

/// Where each begins.
fn pods(of: &[Vec<u8>]) -> Vec<*const spa_pod> {
    of.iter().map(|it| it.as_ptr().cast()).collect()
}

unsafe extern "C" fn remove_buffer(handler: *mut c_void, buffer: *mut pw_buffer) {
    // SAFETY: it is the one that the stream was made with.
    let handler = unsafe { &*handler.cast::<Handler>() };
    // SAFETY: the library gives one that is there.
    handler.receiver.forget(unsafe { (*buffer).buffer });
}

unsafe extern "C" fn sender_info(handler: *mut c_void, info: *const pw_node_info) {
    // SAFETY: it is the one that the stream was made with.
    let handler = unsafe { &*handler.cast::<Handler>() };
    // SAFETY: the library gives one that is there.
    if let Some(name) = unsafe { sender::media_name(info) } {
        handler.receiver.name_sender(name.to_bytes());
    }
}

unsafe extern "C" fn process(handler: *mut c_void) {
    // SAFETY: it is the one that the stream was made with.
    unsafe { &*handler.cast::<Handler>() }.receive();
}

unsafe extern "C" fn param_changed(handler: *mut c_void, id: u32, param: *const spa_pod) {
    // SAFETY: as above.
    let handler = unsafe { &*handler.cast::<Handler>() };
    if id == ParamType::Format.as_raw() && !param.is_null() {
        // SAFETY: the library gives whole ones.
        handler.agree(unsafe { Pod::from_raw(param) });
    }
}

unsafe extern "C" fn state_changed(
    handler: *mut c_void,
    _: pw_stream_state,
    state: pw_stream_state,
    error: *const c_char,
) {
    // SAFETY: as above.
    let handler = unsafe { &*handler.cast::<Handler>() };
    handler.receiver.runs(state == STREAMING);
    if [UNCONNECTED, ERROR].contains(&state) {
        let said = (!error.is_null()).then(|| {
            // SAFETY: it is a text of the library's.
            unsafe { CStr::from_ptr(error) }.to_string_lossy()
        });
        handler.receiver.end(&presence::end(said.as_deref()));
    }
}
