//! Ctrl-C, SIGTERM and SIGHUP.
//!
//! The first Ctrl-C or SIGTERM asks the command to end, or ends the program where nothing is to be ended in order. The second
//! one ends a run at once, and two seconds later the program is gone, whatever is stuck: a plugin, a full pipe, a
//! disk. The thread that listens therefore waits for nobody; another one does what the signals ask for.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
#[cfg(unix)]
use std::sync::{Arc, OnceLock};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use flowpipe_engine::run::{RunHandle, Stopper};

use crate::exit::INTERRUPTED;

/// What is to be ended in order.
static TARGET: Mutex<Option<Target>> = Mutex::new(None);
/// What SIGHUP does while the terminal is there.
static HANG_UP: Mutex<Option<Box<dyn Fn() + Send>>> = Mutex::new(None);
static ASKED: AtomicBool = AtomicBool::new(false);

/// So long after the second signal the program is gone.
const GRACE: Duration = Duration::from_secs(2);
/// So long it tries to say why.
const LAST_WORDS: Duration = Duration::from_millis(100);

enum Target {
    Run(Stopper),
    Call(Box<dyn Fn() + Send>),
}

/// What a signal asks for.
enum Ask {
    Stop { again: bool },
    HangUp,
}

/// From now on Ctrl-C and SIGTERM end the program with its exit code.
pub fn listen() {
    // Without it they end the program as the system does.
    if let Err(error) = begin() {
        tracing::warn!("can't listen for Ctrl-C: {error}");
    }
}

/// Until the next run begins, a signal ends the program at once: while a recording is read, prepared or summed up there
/// is nothing that has to be brought to an end.
pub fn at_once() {
    *TARGET.lock().unwrap_or_else(PoisonError::into_inner) = None;
}

/// The first signal asks a run to end as its pipeline says, a second one ends it at once. Runs come one after the
/// other: what came before is over.
pub fn stop(handle: &RunHandle) {
    set(Target::Run(handle.stopper()));
    heed_hang_up();
    // A signal between two runs is meant for both.
    if was_asked() {
        handle.stop();
    }
}

/// From now on the first signal does this.
pub fn on_interrupt(then: impl Fn() + Send + 'static) {
    set(Target::Call(Box::new(then)));
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

/// Ends the program now, without a look at what goes on in it.
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

/// Does what signals ask for. It may be stuck for ever.
fn obey(asks: &Receiver<Ask>) {
    for ask in asks {
        match ask {
            Ask::Stop { again } => {
                let target = TARGET.lock().unwrap_or_else(PoisonError::into_inner);
                match &*target {
                    Some(Target::Run(run)) if again => run.abort(),
                    Some(Target::Run(run)) => run.stop(),
                    Some(Target::Call(then)) => then(),
                    None => leave(),
                }
            }
            Ask::HangUp => {
                let then = HANG_UP.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(then) = &*then {
                    then();
                }
            }
        }
    }
}

/// Somebody asks for the end. With the second time it is the end: this does not come back.
fn ask(to: &Sender<Ask>) {
    let again = ASKED.swap(true, Ordering::Relaxed);
    // It is there for as long as the program.
    let _ = to.send(Ask::Stop { again });
    if again {
        std::thread::sleep(GRACE);
        say_and_leave();
    }
}

fn say_and_leave() -> ! {
    // Standard error may be what is stuck.
    let said = std::thread::Builder::new().spawn(|| {
        flowpipe_terminal::eprintln!(
            "flowpipe: something is stuck: ended without it, 2 s after the second signal"
        );
    });
    if said.is_ok() {
        std::thread::sleep(LAST_WORDS);
    }
    leave()
}

fn obeying() -> std::io::Result<Sender<Ask>> {
    let (to, asks) = channel();
    std::thread::Builder::new()
        .name("flowpipe-stop".into())
        .spawn(move || obey(&asks))?;
    Ok(to)
}

#[cfg(unix)]
static SIGNALS: OnceLock<signal_hook::iterator::Handle> = OnceLock::new();

#[cfg(unix)]
fn begin() -> std::io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

    // A file that must not grow beyond a limit is an error of the write, and does not end the program.
    let too_large = rustix::process::Signal::XFSZ.as_raw();
    signal_hook::flag::register(too_large, Arc::default())?;
    let to = obeying()?;
    let had_terminal = has_terminal();
    // What whoever started the program has it ignore (`nohup`, a shell's `&`) stays ignored.
    let heeded = [SIGINT, SIGTERM].into_iter().filter(|&it| !is_ignored(it));
    let mut signals = signal_hook::iterator::Signals::new(heeded)?;
    let _ = SIGNALS.set(signals.handle());
    std::thread::Builder::new()
        .name("flowpipe-signals".into())
        .spawn(move || {
            for signal in signals.forever() {
                let is_for_us = signal == SIGHUP && (!had_terminal || has_terminal());
                let then = HANG_UP.lock().unwrap_or_else(PoisonError::into_inner);
                let hangs_up = is_for_us && then.is_some();
                drop(then);
                match hangs_up {
                    true => {
                        let _ = to.send(Ask::HangUp);
                    }
                    false => ask(&to),
                }
            }
        })?;
    Ok(())
}

/// A run heeds all signals, whatever its terminal does.
#[cfg(unix)]
fn heed_hang_up() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

    for signal in [SIGINT, SIGTERM, SIGHUP] {
        if let Some(Err(error)) = SIGNALS.get().map(|it| it.add_signal(signal)) {
            tracing::warn!("can't listen for signal {signal}: {error}");
        }
    }
}

/// Whether this process was started with a signal ignored. Where the system does not say, it was not.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|set| u64::from_str_radix(set.trim(), 16).ok());
    ignored.is_some_and(|set| set >> (signal - 1) & 1 == 1)
}

/// Whether there is a terminal that the program belongs to. One that was closed can't be opened any more.
#[cfg(unix)]
fn has_terminal() -> bool {
    std::fs::File::open("/dev/tty").is_ok()
}

#[cfg(not(unix))]
fn begin() -> std::io::Result<()> {
    let to = obeying()?;
    ctrlc::set_handler(move || ask(&to)).map_err(std::io::Error::other)
}

#[cfg(not(unix))]
fn heed_hang_up() {}
