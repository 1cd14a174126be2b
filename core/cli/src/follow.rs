//! Waiting on a run while it tells what happens.

use std::ops::ControlFlow;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError};
use flowpipe_engine::run::RunHandle;

use crate::exit::Failure;

/// How soon the end of the run is noticed.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Hands everything that is told to `each` until the run is over and nothing is left, and `None`
/// now and then while nothing is told. The run itself holds a sender, so that the channel's end can't
/// be waited for.
///
/// # Errors
/// What `each` fails with; it is not called again then.
pub fn follow<T>(
    handle: &RunHandle,
    told: &Receiver<T>,
    mut each: impl FnMut(Option<T>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let followed = follow_until(
        || handle.is_over(),
        told,
        |one| match each(one) {
            Ok(()) => ControlFlow::Continue(()),
            Err(failure) => ControlFlow::Break(failure),
        },
    );
    match followed {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(failure) => Err(failure),
    }
}

/// As [`follow`], with several runs or for another reason than their end: until `is_over`, or until
/// `each` breaks off.
pub fn follow_until<T, B>(
    is_over: impl Fn() -> bool,
    told: &Receiver<T>,
    mut each: impl FnMut(Option<T>) -> ControlFlow<B>,
) -> ControlFlow<B> {
    loop {
        match told.recv_timeout(LOOK_EVERY) {
            Ok(one) => each(Some(one))?,
            Err(RecvTimeoutError::Timeout) if !is_over() => each(None)?,
            // The last may have come between the two looks.
            Err(_) => return told.try_iter().try_for_each(|one| each(Some(one))),
        }
    }
}
