//! Ctrl-C, SIGTERM and SIGHUP.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use flowpipe_runtime::run::{RunHandle, Stopper};

use crate::exit::Failure;

/// The run that a signal stops.
static RUN: Mutex<Option<Stopper>> = Mutex::new(None);
/// What SIGHUP does while the terminal is there.
static HANG_UP: Mutex<Option<Box<dyn Fn() + Send>>> = Mutex::new(None);
static ASKED: AtomicBool = AtomicBool::new(false);

/// The first signal asks a run to end as its pipeline says, a second one ends it at once. Runs come one after the
/// other: what came before is over.
///
/// # Errors
/// When the system lets nobody listen.
pub fn stop(handle: &RunHandle) -> Result<(), Failure> {
    static LISTENING: OnceLock<Result<(), String>> = OnceLock::new();
    *RUN.lock().unwrap_or_else(PoisonError::into_inner) = Some(handle.stopper());
    let listening = LISTENING.get_or_init(|| listen().map_err(|error| error.to_string()));
    // A signal between two runs is meant for both.
    if was_asked() {
        handle.stop();
    }
    let failure = |error| Failure::Run(format!("can't listen for Ctrl-C: {error}"));
    listening.clone().map_err(failure)
}

/// From now on SIGHUP does this, unless the terminal has gone away: then it stops the run, as it does where nothing
/// was said here. `None`: nothing any more.
pub fn on_hang_up(then: Option<Box<dyn Fn() + Send>>) {
    *HANG_UP.lock().unwrap_or_else(PoisonError::into_inner) = then;
}

/// Whether a signal has asked to end.
pub fn was_asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

fn ask() {
    let run = RUN.lock().unwrap_or_else(PoisonError::into_inner);
    let again = ASKED.swap(true, Ordering::Relaxed);
    match &*run {
        Some(run) if again => run.abort(),
        Some(run) => run.stop(),
        None => {}
    }
}

#[cfg(unix)]
fn listen() -> std::io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

    let had_terminal = has_terminal();
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    std::thread::Builder::new()
        .name("flowpipe-signals".into())
        .spawn(move || {
            for signal in signals.forever() {
                let is_for_us = signal == SIGHUP && (!had_terminal || has_terminal());
                let then = HANG_UP.lock().unwrap_or_else(PoisonError::into_inner);
                match &*then {
                    Some(then) if is_for_us => then(),
                    _ => ask(),
                }
            }
        })?;
    Ok(())
}

/// Whether there is a terminal that the program belongs to. One that was closed can't be opened any more.
#[cfg(unix)]
fn has_terminal() -> bool {
    std::fs::File::open("/dev/tty").is_ok()
}

#[cfg(not(unix))]
fn listen() -> std::io::Result<()> {
    ctrlc::set_handler(ask).map_err(std::io::Error::other)
}
