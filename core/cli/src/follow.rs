//! Reads the events of a run until it ends.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError};
use flowpipe_engine::run::RunHandle;

use crate::exit::Failure;

/// How often the end of a run is polled: first, so that a short run ends at once, and while it goes on.
const FIRST_POLL_INTERVAL: Duration = Duration::from_micros(100);
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Events that come faster than this are taken together: to be woken for each of them costs more than the event.
const BATCH: Duration = Duration::from_micros(300);

/// Passes each event to `each` until the run has ended and the channel is empty, and `None` now and then while there
/// are no events. The run itself holds a sender, so the channel does not disconnect.
///
/// # Errors
/// The error of `each`, which ends the loop.
pub fn follow<T>(
    handle: &RunHandle,
    events: &Receiver<T>,
    mut each: impl FnMut(Option<T>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let followed = follow_until(
        || handle.is_over(),
        events,
        |event| match each(event) {
            Ok(()) => ControlFlow::Continue(()),
            Err(failure) => ControlFlow::Break(failure),
        },
    );
    match followed {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(failure) => Err(failure),
    }
}

/// Like [`follow`], for several runs: until `is_over`, or until `each` breaks.
pub fn follow_until<T, B>(
    is_over: impl Fn() -> bool,
    events: &Receiver<T>,
    mut each: impl FnMut(Option<T>) -> ControlFlow<B>,
) -> ControlFlow<B> {
    let mut interval = FIRST_POLL_INTERVAL;
    loop {
        let began = Instant::now();
        match events.recv_timeout(interval) {
            Ok(event) => {
                each(Some(event))?;
                interval = FIRST_POLL_INTERVAL;
                if began.elapsed() < BATCH {
                    std::thread::sleep(BATCH);
                    events.try_iter().try_for_each(|event| each(Some(event)))?;
                }
            }
            Err(RecvTimeoutError::Timeout) if !is_over() => {
                each(None)?;
                interval = (2 * interval).min(POLL_INTERVAL);
            }
            // The last event may have come after the timeout.
            Err(_) => return events.try_iter().try_for_each(|event| each(Some(event))),
        }
    }
}
