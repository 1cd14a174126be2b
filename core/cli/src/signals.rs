//! Ctrl-C, SIGTERM and SIGHUP.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use flowpipe_runtime::run::{RunHandle, Stopper};

use crate::exit::Failure;

/// The run that a signal stops.
static RUN: Mutex<Option<Stopper>> = Mutex::new(None);
static ASKED: AtomicBool = AtomicBool::new(false);

/// The first signal asks a run to end as its pipeline says, a second one ends it at once. Runs come one after the
/// other: what came before is over.
///
/// # Errors
/// When the system lets nobody listen.
pub fn stop(handle: &RunHandle) -> Result<(), Failure> {
    static LISTENING: OnceLock<Result<(), String>> = OnceLock::new();
    *RUN.lock().unwrap_or_else(PoisonError::into_inner) = Some(handle.stopper());
    let listening = LISTENING.get_or_init(|| {
        ctrlc::set_handler(|| {
            let run = RUN.lock().unwrap_or_else(PoisonError::into_inner);
            let again = ASKED.swap(true, Ordering::Relaxed);
            match &*run {
                Some(run) if again => run.abort(),
                Some(run) => run.stop(),
                None => {}
            }
        })
        .map_err(|error| format!("can't listen for Ctrl-C: {error}"))
    });
    // A signal between two runs is meant for both.
    if was_asked() {
        handle.stop();
    }
    listening.clone().map_err(Failure::Run)
}

/// Whether a signal has asked to end.
pub fn was_asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}
