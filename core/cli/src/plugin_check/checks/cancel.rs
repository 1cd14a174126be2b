//! Work that is not wanted any more: it is given up soon.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use flowpipe_engine::trial::{End, Trial, Tried};
use flowpipe_host::problem::ProblemKind;

use crate::plugin_check::samples;
use crate::plugin_check::subject::Subject;
use crate::plugin_check::telling::Teller;

/// Plugins are to look at least every 10 ms; machines are busy now and then.
const SOON: Duration = Duration::from_millis(100);
/// What is longer makes people wait.
const FAR_TOO_LATE: Duration = Duration::from_secs(2);
/// A call gets so long before it is cancelled.
const HEAD_START: Duration = Duration::from_millis(20);
/// The sides of the boards that it is put to.
const SIDES: [usize; 4] = [7, 10, 14, 20];

/// Lets a stage do something and cancels it after a time. The second: whether it had to be cancelled.
pub fn within<T>(
    patience: Duration,
    trial: &mut Trial,
    call: impl FnOnce(&mut Trial) -> T,
) -> (T, bool) {
    let canceller = trial.canceller();
    let (done, is_done) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let watcher = scope.spawn(move || {
            let mut late = false;
            let mut wait = patience;
            while is_done.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                late = true;
                canceller.cancel();
                wait = Duration::from_millis(1);
            }
            late
        });
        let result = call(trial);
        drop(done);
        (result, watcher.join().unwrap_or(true))
    })
}

pub fn check(subject: &Subject, tell: &Teller) {
    tell.doing("making it");
    let mut trial = match subject.make() {
        Ok(trial) => trial,
        Err(error) => return tell.fail(error.to_string()),
    };
    let mut seen = Seen::default();
    if let Some(takes) = subject.takes() {
        for side in SIDES {
            tell.doing(format!("making a board of {side} x {side}"));
            let message = samples::large(side).and_then(|board| board.message(takes));
            let Some(message) = message else { continue };
            tell.doing(format!("giving up a board of {side} x {side}"));
            let frame = message.frame(&trial);
            let json = message.body.to_string();
            seen.look(&mut trial, |trial| {
                trial
                    .message(0, &message.schema, json.as_bytes(), frame)
                    .ok()
            });
        }
    } else {
        for _ in 0..3 {
            tell.doing("giving up a tick");
            seen.look(&mut trial, |trial| Some(trial.tick()));
        }
    }
    tell.doing("destroying it");
    trial.end();
    seen.tell(tell);
}

/// What was seen of stages that were cancelled.
#[derive(Default)]
struct Seen {
    cancelled: usize,
    slowest: Duration,
    /// Panics, and answers that the host's checks refused.
    broken: Option<String>,
    failed: Option<String>,
}

impl Seen {
    fn look(&mut self, trial: &mut Trial, call: impl FnOnce(&mut Trial) -> Option<Tried>) {
        let began = Instant::now();
        let (tried, late) = within(HEAD_START, trial, call);
        if late {
            self.cancelled += 1;
            let after = began.elapsed().saturating_sub(HEAD_START);
            self.slowest = self.slowest.max(after);
        }
        let when = if late { " when it was cancelled" } else { "" };
        match tried.map(|tried| tried.end) {
            Some(End::Panicked(text)) => {
                let detail = text.strip_prefix("it panicked").unwrap_or_default();
                self.broken
                    .get_or_insert(format!("it panicked{when}{detail}"));
            }
            Some(End::Failed(ProblemKind::BadMessage, text)) => {
                self.broken
                    .get_or_insert(format!("it answered wrongly{when}: {text}"));
            }
            Some(End::Failed(_, text)) if late => {
                self.failed.get_or_insert(text);
            }
            // Other failures are no matter of cancelling.
            Some(End::Fine | End::Ended | End::Stopped | End::Failed(..)) | None => {}
        }
    }

    fn tell(self, tell: &Teller) {
        if let Some(broken) = self.broken {
            tell.fail(broken);
        }
        if let Some(failed) = self.failed {
            tell.warn(format!(
                "it failed when it was cancelled, instead of giving up with FLOWPIPE_CANCELLED: {failed}"
            ));
        }
        let after = format!(
            "it gave up {} ms after it was told to",
            self.slowest.as_millis()
        );
        if self.cancelled == 0 {
            tell.skip(format!("all was done within {} ms", HEAD_START.as_millis()));
        } else if self.slowest > FAR_TOO_LATE {
            tell.fail(format!("{after}: ask `cancelled` at least every 10 ms"));
        } else if self.slowest > SOON {
            tell.warn(format!("{after}: ask `cancelled` at least every 10 ms"));
        } else {
            tell.pass(after);
        }
    }
}
