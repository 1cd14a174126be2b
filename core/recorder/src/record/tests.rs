#![allow(clippy::unwrap_used, reason = "tests end by panicking")]

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::*;

/// Panics at the first item.
struct PanickingSink;

impl Sink for PanickingSink {
    fn put(&mut self, _: Item) -> Result<Put, WriteError> {
        panic!("on purpose");
    }

    fn flush(&mut self) -> Result<(), WriteError> {
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), WriteError> {
        Ok(())
    }
}

#[test]
fn lossless_stages_do_not_wait_for_a_sink_that_panicked() {
    let about = About {
        format: 0,
        flowpipe: String::new(),
        name: String::new(),
        file: String::new(),
        started_unix_ns: 0,
        since_ns: None,
        excerpt: false,
        dry: false,
        stages: Vec::new(),
        edges: Vec::new(),
    };
    let settings = Settings {
        lossless: true,
        // Full after one item.
        limit: 1,
        ..Settings::default()
    };
    let sink = Box::new(PanickingSink);
    let (recorder, recording) = Recorder::start(about, sink, settings).unwrap();
    recorder.call(0, &Call::default());
    let limit = Instant::now() + Duration::from_secs(60);
    recorder.wait_for_room(&|| Instant::now() > limit);
    assert!(Instant::now() < limit, "a stage waits");
    assert!(!recorder.wants_time());
    let finished = catch_unwind(AssertUnwindSafe(|| recording.finish()));
    assert!(finished.is_err(), "the panic is not hidden");
}
