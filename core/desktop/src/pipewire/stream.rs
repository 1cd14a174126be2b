//! The pictures of one monitor or window, in memory that both processes map.

use std::cell::{Cell, RefCell};
use std::ffi::{CStr, c_char, c_void};
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};
use std::sync::Arc;

use pipewire::spa::param::ParamType;
use pipewire::spa::pod::Pod;
use pipewire::spa::sys::{
    SPA_CHUNK_FLAG_CORRUPTED, SPA_DATA_MemFd, SPA_DATA_MemPtr, SPA_DIRECTION_INPUT, spa_hook,
    spa_pod,
};
use pipewire::sys::{
    PW_VERSION_STREAM_EVENTS, pw_buffer, pw_context, pw_stream, pw_stream_events,
    pw_stream_flags_PW_STREAM_FLAG_AUTOCONNECT as AUTOCONNECT,
    pw_stream_flags_PW_STREAM_FLAG_DONT_RECONNECT as DONT_RECONNECT,
    pw_stream_flags_PW_STREAM_FLAG_MAP_BUFFERS as MAP_BUFFERS, pw_stream_state,
    pw_stream_state_PW_STREAM_STATE_ERROR as ERROR,
    pw_stream_state_PW_STREAM_STATE_UNCONNECTED as UNCONNECTED, pw_thread_loop,
};

use super::format;
use super::library::Library;
use super::newest::Newest;
use super::remote::Remote;
use super::rows::{Chunk, Layout};

/// A stream of pictures, which a thread of its own receives. It ends when this is dropped.
pub(crate) struct Stream {
    library: &'static Library,
    thread: *mut pw_thread_loop,
    context: *mut pw_context,
    stream: *mut pw_stream,
    receiver: *mut Receiver,
    newest: Arc<Newest>,
}

// SAFETY: the library's objects belong to no thread. All use of them is under the lock of their thread.
unsafe impl Send for Stream {}

/// What the library calls, in its thread or under its lock.
struct Receiver {
    library: &'static Library,
    stream: Cell<*mut pw_stream>,
    /// The stream's list of what it calls, of which this is an element.
    hook: Cell<spa_hook>,
    newest: Arc<Newest>,
    layout: Cell<Option<Layout>>,
    /// For the next picture.
    spare: RefCell<Vec<u8>>,
}

static EVENTS: pw_stream_events = pw_stream_events {
    version: PW_VERSION_STREAM_EVENTS,
    destroy: None,
    state_changed: Some(state_changed),
    control_info: None,
    io_changed: None,
    param_changed: Some(param_changed),
    add_buffer: None,
    remove_buffer: None,
    process: Some(process),
    drained: None,
    command: None,
    trigger_done: None,
};

/// It is not connected to another source when its own has gone.
const PROPERTIES: &CStr =
    c"media.type=Video media.category=Capture media.role=Screen node.dont-reconnect=true";

impl Stream {
    /// Begins to receive from a node.
    ///
    /// # Errors
    /// Why PipeWire can't be used.
    pub(crate) fn open(node: u32, remote: Remote) -> Result<Self, String> {
        const FAILED: &str = "PipeWire does not start";
        let library = Library::get()?;
        let newest: Arc<Newest> = Arc::default();
        // SAFETY: a name, and no properties.
        let thread = unsafe { (library.pw_thread_loop_new)(c"pictures".as_ptr(), null()) };
        if thread.is_null() {
            return Err(FAILED.to_owned());
        }
        let receiver = Box::into_raw(Box::new(Receiver {
            library,
            stream: Cell::new(null_mut()),
            // SAFETY: zeros are what it is before it is in a list.
            hook: Cell::new(unsafe { MaybeUninit::zeroed().assume_init() }),
            newest: Arc::clone(&newest),
            layout: Cell::new(None),
            spare: RefCell::default(),
        }));
        // What has been made until an error is gone with this.
        let mut stream = Self {
            library,
            thread,
            context: null_mut(),
            stream: null_mut(),
            receiver,
            newest,
        };
        // SAFETY: the loop is there.
        if unsafe { (library.pw_thread_loop_start)(thread) } < 0 {
            return Err(FAILED.to_owned());
        }
        stream.locked(|it| it.connect(node, remote))?;
        Ok(stream)
    }

    pub(crate) fn newest(&self) -> &Arc<Newest> {
        &self.newest
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

    fn connect(&mut self, node: u32, remote: Remote) -> Result<(), String> {
        let failed = |what: &str| format!("PipeWire gives no pictures: {what}");
        let library = self.library;
        let offered = format::offered().ok_or_else(|| failed("no format"))?;
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
        let core = core.map_err(|what| failed(&what))?;
        // SAFETY: the text is one, and the core is there. The stream takes the properties.
        self.stream = unsafe {
            let properties = (library.pw_properties_new_string)(PROPERTIES.as_ptr());
            (library.pw_stream_new)(core, c"flowpipe".as_ptr(), properties)
        };
        if self.stream.is_null() {
            return Err(failed("no stream"));
        }
        // SAFETY: it is there, and nothing has a reference to it that excludes others.
        let receiver = unsafe { &*self.receiver };
        receiver.stream.set(self.stream);
        // SAFETY: the hook and the receiver are there until the stream is destroyed, and the events for ever.
        unsafe {
            (library.pw_stream_add_listener)(
                self.stream,
                receiver.hook.as_ptr(),
                &raw const EVENTS,
                self.receiver.cast(),
            );
        }
        let mut formats = [offered.as_ptr().cast::<spa_pod>()];
        // SAFETY: the stream is there, and copies the formats, which are whole.
        let connected = unsafe {
            (library.pw_stream_connect)(
                self.stream,
                SPA_DIRECTION_INPUT,
                node,
                AUTOCONNECT | DONT_RECONNECT | MAP_BUFFERS,
                formats.as_mut_ptr(),
                1,
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
        drop(unsafe { Box::from_raw(self.receiver) });
    }
}

impl Receiver {
    /// Takes all pictures that are there.
    fn receive(&self) {
        loop {
            // SAFETY: the stream is there, and this is its thread.
            let buffer = unsafe { (self.library.pw_stream_dequeue_buffer)(self.stream.get()) };
            if buffer.is_null() {
                return;
            }
            // SAFETY: it belongs to this until it is given back.
            if let Err(reason) = unsafe { self.take(buffer) } {
                self.newest.refuse(reason);
            }
            // SAFETY: it came from this stream. That it can't be given back is the stream's end, which is reported.
            unsafe { (self.library.pw_stream_queue_buffer)(self.stream.get(), buffer) };
        }
    }

    /// Copies a picture, if there is one.
    ///
    /// # Errors
    /// What is wrong with it.
    ///
    /// # Safety
    /// The buffer is one of the stream's that was taken out and not given back.
    unsafe fn take(&self, buffer: *mut pw_buffer) -> Result<(), String> {
        const EMPTY: &str = "the compositor sends buffers without memory";
        // SAFETY: the library fills it in so, or leaves it null.
        let buffer = unsafe { (*buffer).buffer.as_ref() }.ok_or(EMPTY)?;
        if buffer.n_datas == 0 {
            return Err(EMPTY.to_owned());
        }
        // SAFETY: as above. There is one at least.
        let data = unsafe { buffer.datas.as_ref() }.ok_or(EMPTY)?;
        // SAFETY: as above.
        let chunk = unsafe { data.chunk.as_ref() }.ok_or(EMPTY)?;
        let is_corrupted = chunk.flags & SPA_CHUNK_FLAG_CORRUPTED as i32 != 0;
        // Without any pixels, it only says something else that has changed.
        if is_corrupted || chunk.size == 0 {
            return Ok(());
        }
        if ![SPA_DATA_MemFd, SPA_DATA_MemPtr].contains(&data.type_) || data.data.is_null() {
            return Err("the compositor sends pictures in memory that can't be mapped".to_owned());
        }
        let layout = self
            .layout
            .get()
            .ok_or("the compositor has named no format")?;
        // SAFETY: the library has mapped as much. The compositor writes to it only after it was given back.
        let memory =
            unsafe { std::slice::from_raw_parts(data.data.cast::<u8>(), data.maxsize as usize) };
        let chunk = Chunk {
            offset: chunk.offset,
            size: chunk.size,
            stride: chunk.stride,
        };
        let mut pixels = self.spare.take();
        let copied = layout.copy(memory, chunk, &mut pixels);
        let spare = match copied {
            Ok(()) => self.newest.put(layout, pixels),
            Err(_) => pixels,
        };
        self.spare.replace(spare);
        copied
    }

    /// Notes the format, and says what memory is wanted then.
    fn agree(&self, format: &Pod) {
        let agreed = format::agreed(format);
        self.layout.set(agreed.as_ref().ok().copied());
        if let Err(reason) = agreed {
            self.newest.refuse(reason);
            return;
        }
        if let Some(memory) = format::memory() {
            let mut wanted = [memory.as_ptr().cast::<spa_pod>()];
            // SAFETY: the stream is there, and copies what is wanted.
            unsafe {
                (self.library.pw_stream_update_params)(self.stream.get(), wanted.as_mut_ptr(), 1);
            }
        }
    }
}

unsafe extern "C" fn process(receiver: *mut c_void) {
    // SAFETY: it is the one that the stream was made with.
    unsafe { &*receiver.cast::<Receiver>() }.receive();
}

unsafe extern "C" fn param_changed(receiver: *mut c_void, id: u32, param: *const spa_pod) {
    // SAFETY: as above.
    let receiver = unsafe { &*receiver.cast::<Receiver>() };
    if id == ParamType::Format.as_raw() && !param.is_null() {
        // SAFETY: the library gives whole ones.
        receiver.agree(unsafe { Pod::from_raw(param) });
    }
}

unsafe extern "C" fn state_changed(
    receiver: *mut c_void,
    _: pw_stream_state,
    state: pw_stream_state,
    error: *const c_char,
) {
    // SAFETY: as above.
    let receiver = unsafe { &*receiver.cast::<Receiver>() };
    if state == UNCONNECTED {
        receiver.newest.end("PipeWire has ended");
    } else if state == ERROR {
        let error = match error.is_null() {
            true => "an error".into(),
            // SAFETY: it is a text of the library's.
            false => unsafe { CStr::from_ptr(error) }.to_string_lossy(),
        };
        receiver.newest.end(&format!("PipeWire: {error}"));
    }
}
