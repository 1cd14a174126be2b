//! Ctrl-C, SIGTERM and SIGHUP. SIGHUP is a request to end, unless the command has set another action for it.
//!
//! The first signal asks the command to end, or ends the program if the command needs no orderly shutdown. If stages take
//! long to stop, a message says how to end them.
//! The second one aborts a run, and ends the program two seconds later, whatever is stuck: a plugin, a full pipe, a
//! disk. The thread that receives signals therefore never blocks; another thread handles them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
#[cfg(unix)]
use std::sync::{Arc, OnceLock};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use flowpipe_engine::run::{RunHandle, Stopper};

use crate::exit::INTERRUPTED;

/// What the first signal shuts down in order.
static TARGET: Mutex<Option<Target>> = Mutex::new(None);
/// What SIGHUP does while the terminal is there.
static HANG_UP: Mutex<Option<Box<dyn Fn() + Send>>> = Mutex::new(None);
static ASKED: AtomicBool = AtomicBool::new(false);
static ASKED_AGAIN: AtomicBool = AtomicBool::new(false);

/// A run that stops for longer than this says what can be done.
const NOTICE_AFTER: Duration = Duration::from_secs(3);
/// The program ends this long after the second signal.
const GRACE: Duration = Duration::from_secs(2);
/// How long it tries to print why, at the end of that time.
const MESSAGE_TIMEOUT: Duration = Duration::from_millis(100);

enum Target {
    Run(Stopper),
    Call(Box<dyn Fn() + Send>),
}

/// The request of a signal.
enum Request {
    Stop {
        again: bool,
    },
    #[cfg(unix)]
    HangUp,
}

/// Makes Ctrl-C, SIGTERM and SIGHUP end the program with its exit code.
pub fn listen() {
    // Otherwise the signals have the system's default action.
    if let Err(error) = start() {
        tracing::warn!("can't handle Ctrl-C: {error}");
    }
}

/// Until the next run starts, a signal ends the program at once: reading a recording and summarizing a run need no
/// orderly shutdown.
pub fn at_once() {
    *TARGET.lock().unwrap_or_else(PoisonError::into_inner) = None;
}

/// The first signal stops this run as its pipeline configures, the second one aborts it. Replaces the run before it.
pub fn stop(handle: &RunHandle) {
    set(Target::Run(handle.stopper()));
    handle_hang_up();
    // A signal between two runs stops the next one too.
    if was_asked() {
        handle.stop();
    }
}

/// Sets the action of the first signal.
pub fn on_interrupt(then: impl Fn() + Send + 'static) {
    set(Target::Call(Box::new(then)));
}

/// Sets the action of SIGHUP while the terminal exists. Without a terminal, or before this, SIGHUP stops the run.
pub fn on_hang_up(then: impl Fn() + Send + 'static) {
    *HANG_UP.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(then));
}

/// Whether a signal has asked to end.
pub fn was_asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// Ends the program now, without an orderly shutdown.
pub fn leave() -> ! {
    flowpipe_output::remove_hidden();
    #[cfg(unix)]
    signal_hook::low_level::exit(INTERRUPTED);
    #[cfg(not(unix))]
    std::process::exit(INTERRUPTED)
}

fn set(target: Target) {
    *TARGET.lock().unwrap_or_else(PoisonError::into_inner) = Some(target);
}

/// Handles the requests of signals. It may block forever.
fn handle_requests(asks: &Receiver<Request>) {
    for ask in asks {
        match ask {
            Request::Stop { again } => {
                let target = TARGET.lock().unwrap_or_else(PoisonError::into_inner);
                match &*target {
                    Some(Target::Run(run)) if again => run.abort(),
                    Some(Target::Run(run)) => {
                        run.stop();
                        notice_later();
                    }
                    Some(Target::Call(then)) => then(),
                    None => leave(),
                }
            }
            #[cfg(unix)]
            Request::HangUp => {
                let then = HANG_UP.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(then) = &*then {
                    then();
                }
            }
        }
    }
}

/// Requests the end. The second time it ends the program: it does not return.
fn ask(to: &Sender<Request>) {
    let again = ASKED.swap(true, Ordering::Relaxed);
    // The receiver exists as long as the program.
    let _ = to.send(Request::Stop { again });
    if again {
        ASKED_AGAIN.store(true, Ordering::Relaxed);
        std::thread::sleep(GRACE.saturating_sub(MESSAGE_TIMEOUT));
        report_and_leave();
    }
}

/// Says later how to end what takes long.
fn notice_later() {
    // Writing to standard error may block. Without a thread there is no message.
    let _ = std::thread::Builder::new().spawn(|| {
        std::thread::sleep(NOTICE_AFTER);
        if !ASKED_AGAIN.load(Ordering::Relaxed) {
            flowpipe_terminal::eprintln!(
                "flowpipe: still stopping: press Ctrl-C again to end without what is not finished"
            );
        }
    });
}

fn report_and_leave() -> ! {
    // Writing to standard error may block. Without a thread there is no message.
    let _ = std::thread::Builder::new().spawn(|| {
        flowpipe_terminal::eprintln!(
            "flowpipe: something is stuck: ended without it, 2 s after the second signal"
        );
    });
    std::thread::sleep(MESSAGE_TIMEOUT);
    leave()
}

fn spawn_handler() -> std::io::Result<Sender<Request>> {
    let (to, asks) = channel();
    std::thread::Builder::new()
        .name("flowpipe-stop".into())
        .spawn(move || handle_requests(&asks))?;
    Ok(to)
}

#[cfg(unix)]
static SIGNALS: OnceLock<signal_hook::iterator::Handle> = OnceLock::new();

#[cfg(unix)]
fn start() -> std::io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

    // A file that reaches its size limit fails the write, and does not end the program.
    let too_large = rustix::process::Signal::XFSZ.as_raw();
    signal_hook::flag::register(too_large, Arc::default())?;
    let to = spawn_handler()?;
    let had_terminal = has_terminal();
    // Signals that the parent process ignores (`nohup`, a shell's `&`) stay ignored, until a run handles them.
    let survives_terminal = is_ignored(SIGHUP);
    let handled = [SIGINT, SIGTERM, SIGHUP]
        .into_iter()
        .filter(|&it| !is_ignored(it));
    let mut signals = signal_hook::iterator::Signals::new(handled)?;
    let _ = SIGNALS.set(signals.handle());
    std::thread::Builder::new()
        .name("flowpipe-signals".into())
        .spawn(move || {
            for signal in signals.forever() {
                let is_for_us = signal == SIGHUP && (!had_terminal || has_terminal());
                let then = HANG_UP.lock().unwrap_or_else(PoisonError::into_inner);
                let hangs_up = is_for_us && then.is_some();
                drop(then);
                if hangs_up {
                    let _ = to.send(Request::HangUp);
                } else if signal != SIGHUP || !survives_terminal {
                    ask(&to);
                }
            }
        })?;
    Ok(())
}

/// A run handles all signals, whatever its terminal does. Started by `nohup`, it goes on when the terminal is closed.
#[cfg(unix)]
fn handle_hang_up() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

    for signal in [SIGINT, SIGTERM, SIGHUP] {
        if let Some(Err(error)) = SIGNALS.get().map(|it| it.add_signal(signal)) {
            tracing::warn!("can't handle signal {signal}: {error}");
        }
    }
}

/// Whether this process was started with a signal ignored. `false` if the system does not report it.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|set| u64::from_str_radix(set.trim(), 16).ok());
    ignored.is_some_and(|set| set >> (signal - 1) & 1 == 1)
}

/// Whether the program has a controlling terminal. A closed one can't be opened.
#[cfg(unix)]
fn has_terminal() -> bool {
    std::fs::File::open("/dev/tty").is_ok()
}

#[cfg(not(unix))]
fn start() -> std::io::Result<()> {
    let to = spawn_handler()?;
    ctrlc::set_handler(move || ask(&to)).map_err(std::io::Error::other)
}

#[cfg(not(unix))]
fn handle_hang_up() {}
