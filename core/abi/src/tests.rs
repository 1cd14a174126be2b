//! The tables as both sides use them, through the pointers that cross the ABI alone: for Miri, which detects reads
//! beyond a table's end, through a wrong pointer, or during another thread's write.

use core::ffi::CStr;
use core::ptr::{null, null_mut};
use core::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// The target of this host's frame pointers.
struct Picture {
    references: AtomicUsize,
    bytes: [u8; 4],
}

/// The texts that the host received.
#[derive(Default)]
struct Received {
    texts: Vec<(Level, Vec<u8>)>,
}

/// The text of a pointer and a length: null and zero bytes are empty.
///
/// # Safety
/// The pointer is null, or points at this many bytes.
unsafe fn bytes<'a>(pointer: *const c_char, length: usize) -> &'a [u8] {
    match pointer.is_null() {
        true => &[],
        // SAFETY: by the contract above.
        false => unsafe { core::slice::from_raw_parts(pointer.cast(), length) },
    }
}

unsafe extern "C" fn log(host: *const Host, level: Level, text: *const c_char, length: usize) {
    // SAFETY: the tests pass a table whose data is a `Received` that nothing else uses, and readable text.
    unsafe {
        let received: *mut Received = (*host).data.cast();
        (*received)
            .texts
            .push((level, bytes(text, length).to_vec()));
    }
}

unsafe extern "C" fn set_error(host: *const Host, _: i32, text: *const c_char, length: usize) {
    // SAFETY: as for `log`.
    unsafe { log(host, LEVEL_ERROR, text, length) }
}

unsafe extern "C" fn clock_now(_: *const Host) -> i64 {
    7
}

unsafe extern "C" fn frame_new(_: *const Host, info: *const FrameInfo) -> *mut Frame {
    // SAFETY: null or a readable info.
    match unsafe { info.as_ref() } {
        None => null_mut(),
        Some(_) => Box::into_raw(Box::new(Picture {
            references: AtomicUsize::new(1),
            bytes: [0; 4],
        }))
        .cast(),
    }
}

unsafe extern "C" fn add_reference(frame: *mut Frame) -> *mut Frame {
    // SAFETY: null or a frame of this host.
    if let Some(picture) = unsafe { frame.cast::<Picture>().as_ref() } {
        picture.references.fetch_add(1, Ordering::Relaxed);
    }
    frame
}

unsafe extern "C" fn release(frame: *mut Frame) {
    let picture = frame.cast::<Picture>();
    // SAFETY: as above; the last reference owns the box.
    unsafe {
        if !frame.is_null() && (*picture).references.fetch_sub(1, Ordering::AcqRel) == 1 {
            drop(Box::from_raw(picture));
        }
    }
}

unsafe extern "C" fn info(_: *const Frame, info: *mut FrameInfo) {
    // SAFETY: the size comes first, and nothing beyond it is written to.
    unsafe {
        let size = (&raw const (*info).struct_size).read() as usize;
        if size >= size_of::<FrameInfo>() {
            (*info).size = 4;
        }
    }
}

unsafe extern "C" fn read(frame: *const Frame) -> *const u8 {
    // SAFETY: a frame of this host.
    unsafe { (&raw const (*frame.cast::<Picture>()).bytes).cast() }
}

unsafe extern "C" fn write(frame: *mut *mut Frame) -> *mut u8 {
    // SAFETY: a place with a frame of this host, to which there is one reference.
    unsafe { (&raw mut (*(*frame).cast::<Picture>()).bytes).cast() }
}

static FRAMES: Frames = Frames {
    struct_size: size_of::<Frames>() as u32,
    reserved: 0,
    add_reference,
    release,
    info,
    read,
    write,
};

unsafe extern "C" fn get_extension(_: *const Host, id: *const c_char) -> *const c_void {
    // SAFETY: null or NUL-terminated text.
    match !id.is_null() && unsafe { CStr::from_ptr(id) } == EXTENSION_FRAMES {
        true => (&raw const FRAMES).cast(),
        false => null(),
    }
}

unsafe extern "C" fn frame_ref(_: *const Host, frame: *mut Frame) -> *mut Frame {
    // SAFETY: as for `add_reference`.
    unsafe { add_reference(frame) }
}

unsafe extern "C" fn frame_unref(_: *const Host, frame: *mut Frame) {
    // SAFETY: as for `release`.
    unsafe { release(frame) }
}

unsafe extern "C" fn frame_info(_: *const Host, frame: *const Frame, place: *mut FrameInfo) {
    // SAFETY: as for `info`.
    unsafe { info(frame, place) }
}

unsafe extern "C" fn frame_read(_: *const Host, frame: *const Frame) -> *const u8 {
    // SAFETY: as for `read`.
    unsafe { read(frame) }
}

unsafe extern "C" fn frame_write(_: *const Host, frame: *mut *mut Frame) -> *mut u8 {
    // SAFETY: as for `write`.
    unsafe { write(frame) }
}

/// Reads a message, as a host does: its text goes to the log.
unsafe extern "C" fn emit(host: *const Host, _: *mut Context, output: *const Output) -> Status {
    // SAFETY: an output that states its size, with null or json_length bytes.
    unsafe {
        if ((&raw const (*output).struct_size).read() as usize) < size_of::<Output>() {
            return BAD_MESSAGE;
        }
        log(host, LEVEL_INFO, (*output).json, (*output).json_length);
    }
    OK
}

unsafe extern "C" fn cancelled(_: *const Host, context: *const Context) -> i32 {
    context.is_null().into()
}

unsafe extern "C" fn mark(_: *const Host, _: *mut Context, _: *const c_char) {}

unsafe extern "C" fn wait_until(_: *const Host, _: *mut Context, _: i64) -> Status {
    OK
}

unsafe extern "C" fn get<T>(
    _: *const Host,
    _: *const Document,
    _: *const c_char,
    _: *mut T,
) -> Status {
    NOT_FOUND
}

unsafe extern "C" fn get_string(
    _: *const Host,
    _: *const Document,
    _: *const c_char,
    value: *mut *const c_char,
    length: *mut usize,
) -> Status {
    // SAFETY: null or writable.
    unsafe {
        if let (Some(value), Some(length)) = (value.as_mut(), length.as_mut()) {
            (*value, *length) = (c"".as_ptr(), 0);
        }
    }
    OK
}

/// Calls a function with a host, and returns what the host received.
fn with_host(call: impl FnOnce(&Host)) -> Vec<(Level, Vec<u8>)> {
    let received = Box::into_raw(Box::<Received>::default());
    let host = Host {
        struct_size: size_of::<Host>() as u32,
        abi_major: ABI_MAJOR,
        abi_minor: ABI_MINOR,
        reserved: 0,
        name: c"test".as_ptr(),
        version: c"".as_ptr(),
        data: received.cast(),
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
        get_bool: get,
        get_int: get,
        get_number: get,
        get_string,
        get_count: get,
        get_extension,
        wait_until,
    };
    call(&host);
    // SAFETY: it was boxed above, and no call of the host is in progress.
    unsafe { Box::from_raw(received) }.texts
}

#[test]
fn texts_may_be_null_or_have_no_bytes() {
    let text = "h\u{e9}";
    let received = with_host(|host| {
        // SAFETY: the tables are this file's, and the texts are valid for the calls.
        unsafe {
            (host.log)(host, LEVEL_INFO, null(), 0);
            (host.log)(host, LEVEL_WARN, text.as_ptr().cast(), 0);
            // A slice of zero bytes may point at no memory.
            (host.log)(host, LEVEL_WARN, core::ptr::dangling(), 0);
            (host.set_error)(host, ERROR, text.as_ptr().cast(), text.len());
            let (mut value, mut length) = (null(), 1);
            let status = (host.get_string)(host, null(), null(), &mut value, &mut length);
            assert_eq!((status, bytes(value, length)), (OK, [].as_slice()));
            assert_eq!(
                (host.get_string)(host, null(), null(), null_mut(), null_mut()),
                OK
            );
            assert_eq!((host.get_int)(host, null(), null(), null_mut()), NOT_FOUND);
        }
    });
    let received: Vec<_> = received.iter().map(|(_, text)| text.as_slice()).collect();
    assert_eq!(received, [b"", b"", b"", text.as_bytes()]);
}

#[test]
fn outputs_may_be_null_everywhere() {
    let output = Output {
        struct_size: size_of::<Output>() as u32,
        port: 0,
        schema: null(),
        json: null(),
        json_length: 0,
        frame: null_mut(),
        captured_ns: 0,
    };
    /// An output of an earlier version with fewer fields.
    #[repr(C, align(8))]
    struct Shorter {
        struct_size: u32,
        port: u32,
    }
    let shorter = Shorter {
        struct_size: size_of::<Shorter>() as u32,
        port: 0,
    };
    let received = with_host(|host| {
        // SAFETY: the tables are this file's; no field of the shorter one is read but the first.
        unsafe {
            assert_eq!((host.emit)(host, null_mut(), &output), OK);
            let shorter = (&raw const shorter).cast();
            assert_eq!((host.emit)(host, null_mut(), shorter), BAD_MESSAGE);
            assert_eq!((host.cancelled)(host, null()), 1);
        }
    });
    assert_eq!(received, [(LEVEL_INFO, Vec::new())]);
    assert_eq!(shorter.port, 0);
}

#[test]
fn extensions_are_found_by_their_ids() {
    with_host(|host| {
        // SAFETY: the tables are this file's, and the ids are NUL-terminated.
        unsafe {
            let find = |id: *const c_char| (host.get_extension)(host, id);
            assert!(find(null()).is_null());
            assert!(find(c"".as_ptr()).is_null());
            assert!(find(c"flowpipe.frames/2".as_ptr()).is_null());
            assert!(find(EXTENSION_RUN.as_ptr()).is_null());
            let table = find(EXTENSION_FRAMES.as_ptr()).cast::<Frames>();
            assert!(table.is_aligned());
            assert_eq!(
                (&raw const (*table).struct_size).read(),
                size_of::<Frames>() as u32
            );
            // It does not use the host.
            let frame = frame_new(null(), &NO_INFO);
            assert_eq!(((*table).add_reference)(frame), frame);
            ((*table).release)(frame);
            let mut place = frame;
            ((*table).write)(&mut place).write_bytes(9, 4);
            assert_eq!(
                core::slice::from_raw_parts(((*table).read)(place), 4),
                [9; 4]
            );
            ((*table).release)(place);
            ((*table).release)(null_mut());
        }
    });
}

const NO_INFO: FrameInfo = FrameInfo {
    struct_size: size_of::<FrameInfo>() as u32,
    format: FORMAT_GREY8,
    width: 2,
    height: 2,
    stride: 2,
    size: 0,
};

#[test]
fn infos_are_filled_in_up_to_their_size() {
    with_host(|host| {
        let mut whole = NO_INFO;
        // An info that is too short is not changed.
        let mut cut = FrameInfo {
            struct_size: 4,
            ..NO_INFO
        };
        // SAFETY: the tables are this file's.
        unsafe {
            assert!((host.frame_new)(host, null()).is_null());
            let frame = (host.frame_new)(host, &whole);
            (host.frame_info)(host, frame, &mut whole);
            (host.frame_info)(host, frame, &mut cut);
            (host.frame_unref)(host, frame);
        }
        assert_eq!((whole.size, cut.size), (4, 0));
    });
}

#[test]
fn tables_and_frames_move_between_threads() {
    /// A pointer that any thread may use.
    struct Anywhere(*mut Frame);
    // SAFETY: the frame functions are [any-thread].
    unsafe impl Send for Anywhere {}

    impl Anywhere {
        fn get(self) -> *mut Frame {
            self.0
        }
    }

    static FACTORY: StageFactory = StageFactory {
        struct_size: size_of::<StageFactory>() as u32,
        reserved: 0,
        count: Some(count),
        manifest: None,
        create: None,
    };
    unsafe extern "C" fn count() -> u32 {
        3
    }

    // SAFETY: the references are counted: each thread has one.
    unsafe {
        let mut frame = frame_new(null(), &NO_INFO);
        write(&mut frame).write_bytes(7, 4);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                let mine = Anywhere(add_reference(frame));
                scope.spawn(move || {
                    let frame = mine.get();
                    assert_eq!(core::slice::from_raw_parts(read(frame), 4), [7; 4]);
                    assert_eq!(FACTORY.count.map(|count| count()), Some(3));
                    release(frame);
                });
            }
            release(frame);
        });
    }
}
