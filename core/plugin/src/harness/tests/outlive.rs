//! Handles and frames that outlive their stage.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use super::*;

/// What a stage has kept.
type Kept = (Host, Frame);

static SENDER: Mutex<Option<Sender<Kept>>> = Mutex::new(None);

/// Only one test at a time uses the sender.
static ONE: Mutex<()> = Mutex::new(());

/// Sends the handle and a frame from its creation; fails if its config is true.
struct Keeper;

impl Stage for Keeper {
    const NAME: &'static str = "keeper";
    type Config = bool;

    fn inputs() -> Vec<Port> {
        Vec::new()
    }

    fn outputs() -> Vec<Port> {
        Vec::new()
    }

    fn new(fails: bool, host: &Host) -> Result<Self> {
        let mut frame = host.new_frame(Format::Rgb8, 2, 1)?;
        frame.pixels_mut()?.fill(7);
        if let Some(sender) = &*lock(&SENDER) {
            let _ = sender.send((*host, frame));
        }
        match fails {
            true => Err(Error::new("on command")),
            false => Ok(Self),
        }
    }

    fn process(&mut self, _: Input<'_>, _: &mut Context<'_>) -> Result<Next> {
        Ok(Next::End)
    }
}

/// Creates a stage that keeps its host and a frame.
fn keeper(fails: bool) -> (Result<Harness>, Receiver<Kept>) {
    let _one = lock(&ONE);
    let (sender, receiver) = channel();
    *lock(&SENDER) = Some(sender);
    let harness = crate::harness!(Keeper, json!(fails));
    *lock(&SENDER) = None;
    (harness, receiver)
}

#[track_caller]
fn assert_revoked(host: Host) {
    assert_eq!(host.now_ns(), Host::REVOKED_NS);
    assert!(host.is_ending() && host.is_dry() && host.as_raw().is_null());
    host.log(tracing::Level::INFO, "ignored");
    host.end_run(Ending::Done, "ignored");
    let error = host.new_frame(Format::Rgb8, 2, 1).err().unwrap();
    assert!(error.to_string().contains("was destroyed"), "{error}");
}

#[test]
fn a_host_is_revoked_and_a_frame_lasts() {
    let (harness, kept) = keeper(false);
    let (of_harness, (of_stage, mut frame)) =
        (harness.as_ref().unwrap().host(), kept.recv().unwrap());
    assert!(of_stage.now_ns() < Host::REVOKED_NS && !of_stage.is_ending());
    drop(harness);
    assert_revoked(of_stage);
    assert_revoked(of_harness);
    let shared = frame.clone();
    frame.pixels_mut().unwrap().fill(9);
    assert_eq!(
        (shared.pixels(), frame.pixels()),
        ([7; 6].as_slice(), [9; 6].as_slice())
    );
    assert_eq!(frame.info().unwrap().width, 2);
}

#[test]
fn a_refused_stage_has_no_host() {
    let (harness, kept) = keeper(true);
    let (host, frame) = kept.recv().unwrap();
    assert_eq!(harness.err().unwrap().to_string(), "on command");
    assert_revoked(host);
    assert_eq!(frame.pixels(), [7; 6]);
}

#[test]
fn threads_use_a_host_while_it_is_revoked() {
    let rounds = if cfg!(miri) { 4 } else { 200 };
    for _ in 0..rounds {
        let (harness, kept) = keeper(false);
        let (host, frame) = kept.recv().unwrap();
        let uses = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while host.now_ns() < Host::REVOKED_NS {
                        host.log(tracing::Level::INFO, "still here");
                        let _ = host.new_frame(Format::Grey8, 1, 1);
                        let _ = (host.is_dry(), host.is_ending());
                        assert_eq!(frame.clone().pixels(), [7; 6]);
                        uses.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            while uses.load(Ordering::Relaxed) < 2 {
                std::thread::yield_now();
            }
            drop(harness);
            assert_revoked(host);
        });
    }
}

#[test]
fn the_harness_is_changed_while_threads_use_it() {
    let (harness, kept) = keeper(false);
    let (mut harness, (host, _)) = (harness.unwrap(), kept.recv().unwrap());
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let _ = (host.is_ending(), host.is_dry());
            }
        });
        for _ in 0..if cfg!(miri) { 5 } else { 1000 } {
            let text = Arc::new(String::from("freed with the closure"));
            harness.cancel_when(move || text.is_empty());
            harness.make_dry();
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert!(host.is_dry());
}

/// A host that is older than `flowpipe.frames/1`.
#[test]
fn with_an_older_host_a_late_frame_has_no_pixels() {
    unsafe extern "C" fn nothing(
        _: *const abi::Host,
        _: *const std::ffi::c_char,
    ) -> *const std::ffi::c_void {
        null()
    }
    let (harness, _kept) = keeper(false);
    let harness = harness.unwrap();
    // SAFETY: the table is valid as long as the harness.
    let mut table = unsafe { std::ptr::read(&raw const (*harness.shared.as_ptr()).table) };
    table.get_extension = nothing;
    // SAFETY: it is valid until the end of this function.
    let host = unsafe { Host::grant(&raw const table) };
    assert!(host.is_dry() && host.is_ending(), "it has no run");
    let mut frame = host.new_frame(Format::Rgb8, 2, 1).unwrap();
    frame.pixels_mut().unwrap().fill(7);
    let shared = frame.clone();
    frame.pixels_mut().unwrap().fill(9);
    assert_eq!(
        (shared.pixels(), frame.pixels()),
        ([7; 6].as_slice(), [9; 6].as_slice())
    );
    let early = shared.pixels();
    host.revoke();
    assert_eq!(early, [7; 6], "a reference is held");
    assert!(shared.pixels().is_empty() && shared.clone().pixels().is_empty());
    assert!(frame.pixels_mut().is_err() && frame.info().is_err());
    // They leak; the harness's frames need no host, so that this test can free them.
    let leaked = [shared.as_raw(), frame.as_raw()];
    drop((shared, frame));
    for frame in leaked {
        // SAFETY: the references that were not released.
        unsafe { (table.frame_unref)(&raw const table, frame) };
    }
}
