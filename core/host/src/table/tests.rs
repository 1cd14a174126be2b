use std::sync::atomic::AtomicU32;

use super::*;
use crate::run::StageProcess;
use crate::run::{Ended, Mode};

fn host() -> Arc<Host> {
    let services = Arc::new(Services {
        clock: Clock::start(),
        pool: Pool::new(1),
        run: OnceLock::new(),
    });
    Host::new("a-stage", 0, services, StageClock::Run)
}

/// A host's table, as a plugin stores it.
#[derive(Clone, Copy)]
struct Table(*const abi::Host);

// SAFETY: the tests call functions that are [any-thread] alone.
unsafe impl Send for Table {}
// SAFETY: as above.
unsafe impl Sync for Table {}

impl Table {
    fn table(&self) -> &'static abi::Host {
        // SAFETY: tables are never freed.
        unsafe { &*self.0 }
    }

    fn new_frame(&self) -> *mut abi::Frame {
        let info = abi::FrameInfo {
            struct_size: size_of::<abi::FrameInfo>() as u32,
            format: abi::FORMAT_GREY8,
            width: 4,
            height: 2,
            stride: 0,
            size: 0,
        };
        // SAFETY: tables are never freed, and the info is valid for the call.
        unsafe { (self.table().frame_new)(self.0, &raw const info) }
    }

    fn now(&self) -> i64 {
        // SAFETY: tables are never freed.
        unsafe { (self.table().clock_now)(self.0) }
    }

    fn extension(&self, id: *const c_char) -> *const c_void {
        // SAFETY: tables are never freed, and the tests' ids are null or NUL-terminated.
        unsafe { (self.table().get_extension)(self.0, id) }
    }

    /// Writes a line to the log and sets an error.
    fn report(&self, text: &str) {
        let (pointer, length) = (text.as_ptr().cast(), text.len());
        // SAFETY: tables are never freed, and the text is valid for the calls.
        unsafe {
            (self.table().log)(self.0, abi::LEVEL_TRACE, pointer, length);
            (self.table().set_error)(self.0, 7, pointer, length);
        }
    }
}

#[test]
fn texts_may_be_null_empty_or_not_utf8() {
    let host = host();
    let table = Table(host.show());
    let set_error = |pointer: *const c_char, length| {
        // SAFETY: the text is readable, and the table is never freed.
        unsafe { (table.table().set_error)(table.0, 7, pointer, length) };
        host.take_error()
    };
    let error = |text: &str| Some((7, text.to_owned()));
    assert_eq!(set_error(null(), 0), error(""));
    assert_eq!(set_error(null(), 99), error(""));
    assert_eq!(set_error(c"abc".as_ptr(), 0), error(""));
    assert_eq!(set_error(std::ptr::dangling(), 0), error(""));
    assert_eq!(set_error(b"a\xff".as_ptr().cast(), 2), error("a\u{fffd}"));
    assert_eq!(host.take_error(), None);
}

#[test]
fn errors_are_cut() {
    let host = host();
    // As of a process that does not cut what it sends. The limit is within a character.
    host.note_error(7, format!("x{}", "\u{e9}".repeat(LONGEST_TEXT)));
    let (_, text) = host.take_error().unwrap();
    assert_eq!(text.len(), LONGEST_TEXT - 1);
    assert!(text.capacity() <= LONGEST_TEXT);
}

#[test]
fn getters_accept_null_everywhere() {
    let host = host();
    let table = Table(host.show()).table();
    let document = Document::new(br#"{"n": 7, "t": "", "a": [1, 2]}"#).unwrap();
    let found = document.as_abi();
    let (mut number, mut count, mut text, mut length) = (0, 0, null(), 9);
    // SAFETY: the document is valid, pointers are null or NUL-terminated, and places are null or writable.
    unsafe {
        let get_int = |document, pointer, place| (table.get_int)(table, document, pointer, place);
        assert_eq!(get_int(found, c"/n".as_ptr(), &raw mut number), abi::OK);
        assert_eq!(number, 7);
        assert_eq!(get_int(found, c"/n".as_ptr(), null_mut()), abi::OK);
        assert_eq!(get_int(found, null(), &raw mut number), abi::NOT_FOUND);
        assert_eq!(get_int(null(), c"/n".as_ptr(), null_mut()), abi::NOT_FOUND);
        assert_eq!(get_int(found, c"/t".as_ptr(), null_mut()), abi::WRONG_TYPE);
        assert_eq!(
            get_int(found, c"/\xff".as_ptr(), null_mut()),
            abi::NOT_FOUND
        );
        let status = (table.get_count)(table, found, c"/a".as_ptr(), &raw mut count);
        assert_eq!((status, count), (abi::OK, 2));
        let get = table.get_string;
        let status = get(table, found, c"/t".as_ptr(), &raw mut text, &raw mut length);
        assert_eq!((status, length), (abi::OK, 0));
        assert!(!text.is_null());
        let status = get(table, found, c"/t".as_ptr(), null_mut(), null_mut());
        assert_eq!(status, abi::OK);
    }
}

/// A run that has ended.
struct Over;

impl RunContext for Over {
    fn mode(&self) -> Mode {
        Mode::Abort
    }

    fn is_dry(&self) -> bool {
        true
    }

    fn end(&self, _: Ended) {}

    fn follow(&self, _: &Arc<dyn StageProcess>) {}
}

#[test]
fn extensions_are_found_by_their_ids() {
    let host = host();
    let table = Table(host.show());
    assert!(table.extension(null()).is_null());
    assert!(table.extension(c"".as_ptr()).is_null());
    assert!(table.extension(c"flowpipe.frames/2".as_ptr()).is_null());
    // A library's own host has no run.
    assert!(table.extension(abi::EXTENSION_RUN.as_ptr()).is_null());
    assert!(host.services.run.set(Weak::<Over>::new()).is_ok());
    assert!(!table.extension(abi::EXTENSION_RUN.as_ptr()).is_null());
    let frames = table.extension(abi::EXTENSION_FRAMES.as_ptr());
    // SAFETY: the id gives its type, and the table lasts as long as the process.
    let frames = unsafe { &*frames.cast::<abi::Frames>() };
    assert_eq!(frames.struct_size as usize, size_of::<abi::Frames>());
}

#[test]
fn frame_functions_accept_null() {
    let host = host();
    let table = Table(host.show()).table();
    let frames = &frame_functions::TABLE;
    let mut nothing = null_mut();
    // SAFETY: null is allowed everywhere.
    unsafe {
        assert!((frames.add_reference)(null_mut()).is_null());
        (frames.release)(null_mut());
        (frames.info)(null(), null_mut());
        assert!((frames.read)(null()).is_null());
        assert!((frames.write)(null_mut()).is_null());
        assert!((frames.write)(&raw mut nothing).is_null());
        assert!((table.frame_ref)(table, null_mut()).is_null());
        (table.frame_unref)(table, null_mut());
        assert!((table.frame_new)(table, null()).is_null());
    }
}

/// The first fields of a struct that may grow, as in a shorter version: the memory ends here.
#[repr(C, align(8))]
struct Head {
    struct_size: u32,
    second: u32,
}

impl Head {
    fn new() -> Self {
        Self {
            struct_size: size_of::<Self>() as u32,
            second: 7,
        }
    }
}

#[test]
fn a_shorter_info_is_not_filled_in() {
    let host = host();
    let table = Table(host.show());
    let frame = table.new_frame();
    let mut info = Head::new();
    // SAFETY: the info states its size, and the frame has one reference.
    unsafe {
        (frame_functions::TABLE.info)(frame, (&raw mut info).cast());
        (table.table().frame_unref)(table.0, frame);
    }
    assert_eq!((info.struct_size, info.second), (8, 7));
}

#[test]
fn a_shorter_output_is_refused() {
    let host = host();
    let table = Table(host.show());
    let output = Head::new();
    // SAFETY: the output states its size, and null is no context.
    let status = unsafe { (table.table().emit)(table.0, null_mut(), (&raw const output).cast()) };
    assert_eq!((status, output.second), (abi::BAD_MESSAGE, 7));
}

#[test]
fn a_table_outlives_its_host() {
    let host = host();
    let pool = Arc::downgrade(&host.services.pool);
    let table = Table(host.show());
    let mut frame = table.new_frame();
    assert!(!frame.is_null() && table.now() < REVOKED_NS);
    host.revoke();
    drop(host);
    assert_eq!(table.now(), REVOKED_NS);
    assert!(table.new_frame().is_null());
    table.report("ignored");
    assert!(!table.extension(abi::EXTENSION_FRAMES.as_ptr()).is_null());
    let run = table
        .extension(abi::EXTENSION_RUN.as_ptr())
        .cast::<abi::Run>();
    // SAFETY: the id gives its type, and the table lasts as long as the process; the frame has one reference.
    unsafe {
        let run = &*run;
        assert_eq!(((run.is_ending)(table.0), (run.is_dry)(table.0)), (1, 1));
        (run.end)(table.0, abi::ENDING_DONE, null(), 0);
        assert!(pool.upgrade().is_some(), "the frame keeps it");
        (table.table().frame_write)(table.0, &raw mut frame).write_bytes(7, 8);
        assert_eq!((table.table().frame_read)(table.0, frame).read(), 7);
        (table.table().frame_unref)(table.0, frame);
    }
    assert!(pool.upgrade().is_none(), "only the table is left");
}

#[test]
fn threads_use_a_table_while_its_host_is_revoked() {
    for _ in 0..if cfg!(miri) { 4 } else { 200 } {
        let host = host();
        let table = Table(host.show());
        let uses = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while table.now() < REVOKED_NS {
                        table.report("still here");
                        let frame = table.new_frame();
                        // SAFETY: null, or this thread's reference.
                        unsafe { (table.table().frame_unref)(table.0, frame) };
                        uses.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            while uses.load(Ordering::Relaxed) < 2 {
                std::thread::yield_now();
            }
            host.revoke();
            drop(host);
            assert_eq!(table.now(), REVOKED_NS);
        });
    }
}

/// What a restart leaks.
#[test]
fn a_table_is_small() {
    // The weak reference keeps the host's allocation, but not its fields.
    let counts = 2 * size_of::<usize>();
    let left = size_of::<Shown>() + size_of::<Host>() + counts;
    assert!(left <= 512, "{left} bytes");
}
