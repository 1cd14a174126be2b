//! Ctrl-C, SIGTERM and SIGHUP.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use flowpipe_runtime::run::{RunHandle, Stopper};

use crate::exit::{Failure, INTERRUPTED};

/// The run that a signal stops.
static RUN: Mutex<Option<Stopper>> = Mutex::new(None);
/// What SIGHUP does while the terminal is there.
static HANG_UP: Mutex<Option<Box<dyn Fn() + Send>>> = Mutex::new(None);
static ASKED: AtomicBool = AtomicBool::new(false);
/// Nothing runs that has to be ended: see [`at_once`].
static AT_ONCE: AtomicBool = AtomicBool::new(false);

/// Until the next run begins, a signal ends the program at once: while a recording is read, prepared or summed up there
/// is nothing that has to be brought to an end.
///
/// # Errors
/// When the system lets nobody listen.
pub fn at_once() -> Result<(), Failure> {
    AT_ONCE.store(true, Ordering::SeqCst);
    listening()
}

/// The first signal asks a run to end as its pipeline says, a second one ends it at once. Runs come one after the
/// other: what came before is over.
///
/// # Errors
/// When the system lets nobody listen.
pub fn stop(handle: &RunHandle) -> Result<(), Failure> {
    *RUN.lock().unwrap_or_else(PoisonError::into_inner) = Some(handle.stopper());
    AT_ONCE.store(false, Ordering::SeqCst);
    let listening = listening();
    // A signal between two runs is meant for both.
    if was_asked() {
        handle.stop();
    }
    listening
}

fn listening() -> Result<(), Failure> {
    static LISTENING: OnceLock<Result<(), String>> = OnceLock::new();
    let listening = LISTENING.get_or_init(|| listen().map_err(|error| error.to_string()));
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
    if AT_ONCE.load(Ordering::SeqCst) {
        leave();
    }
    let run = RUN.lock().unwrap_or_else(PoisonError::into_inner);
    let again = ASKED.swap(true, Ordering::Relaxed);
    match &*run {
        Some(run) if again => run.abort(),
        Some(run) => run.stop(),
        None => {}
    }
}

/// Ends the program without asking anybody: a plugin may be in the middle of something.
#[cfg(unix)]
fn leave() -> ! {
    signal_hook::low_level::exit(INTERRUPTED)
}

#[cfg(not(unix))]
fn leave() -> ! {
    std::process::exit(INTERRUPTED)
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
