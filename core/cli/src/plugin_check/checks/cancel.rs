//! A cancelled call must return soon.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use flowpipe_engine::trial::{CallEnd, Trial, TrialResult};
use flowpipe_host::problem::ProblemKind;

use crate::plugin_check::protocol::Reporter;
use crate::plugin_check::samples::{self, SampleMessage};
use crate::plugin_check::subject::Subject;

/// Later than this is a warning. Plugins should poll at least every 10 ms; the machine may be busy.
const SOON: Duration = Duration::from_millis(100);
/// Later than this is a failure.
const FAR_TOO_LATE: Duration = Duration::from_secs(2);
/// A call is cancelled after this time.
const HEAD_START: Duration = Duration::from_millis(20);
/// The sides of the boards.
const SIDES: [usize; 4] = [7, 10, 14, 20];

/// Makes a call and cancels it at the timeout. Returns the result, and whether it was cancelled.
pub fn within<T>(
    timeout: Duration,
    trial: &mut Trial,
    call: impl FnOnce(&mut Trial) -> T,
) -> (T, bool) {
    let canceller = trial.canceller();
    let (done, is_done) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let watcher = scope.spawn(move || {
            let mut late = false;
            let mut wait = timeout;
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

pub fn check(subject: &Subject, report: &Reporter) {
    report.doing("creating it");
    let mut trial = match subject.create() {
        Ok(trial) => trial,
        Err(error) => return report.fail(error.to_string()),
    };
    let mut stats = CancelStats::default();
    if let Some(input) = subject.first_input() {
        for side in SIDES {
            report.doing(format!("generating a board of {side} x {side}"));
            let message = samples::large(side).and_then(|board| board.message(&input.schema));
            let Some(message) = message else { continue };
            report.doing(format!("cancelling a board of {side} x {side}"));
            stats.add_message(&mut trial, &message);
        }
        // Those that belong to no domain are of no board.
        for (_, message) in samples::messages(&[], input) {
            report.doing(format!("cancelling {}", message.name));
            stats.add_message(&mut trial, &message);
        }
    } else {
        for _ in 0..3 {
            report.doing("cancelling a tick");
            stats.add(&mut trial, |trial| Some(trial.tick()));
        }
    }
    report.doing("destroying it");
    trial.end();
    stats.report(report);
}

/// The results of cancelled calls.
#[derive(Default)]
struct CancelStats {
    cancelled: usize,
    slowest: Duration,
    /// Panics, and answers that the host's checks refused.
    broken: Option<String>,
    failed: Option<String>,
}

impl CancelStats {
    fn add_message(&mut self, trial: &mut Trial, message: &SampleMessage) {
        let frame = message.frame(trial);
        let json = message.body.to_string();
        self.add(trial, |trial| {
            trial
                .message(0, &message.schema, json.as_bytes(), frame)
                .ok()
        });
    }

    fn add(&mut self, trial: &mut Trial, call: impl FnOnce(&mut Trial) -> Option<TrialResult>) {
        let began = Instant::now();
        let (tried, late) = within(HEAD_START, trial, call);
        if late {
            self.cancelled += 1;
            let after = began.elapsed().saturating_sub(HEAD_START);
            self.slowest = self.slowest.max(after);
        }
        let when = if late { " when it was cancelled" } else { "" };
        match tried.map(|tried| tried.end) {
            Some(CallEnd::Panicked(text)) => {
                let detail = text.strip_prefix("it panicked").unwrap_or_default();
                self.broken
                    .get_or_insert(format!("it panicked{when}{detail}"));
            }
            Some(CallEnd::Failed(ProblemKind::BadMessage, text)) => {
                self.broken
                    .get_or_insert(format!("it answered wrongly{when}: {text}"));
            }
            Some(CallEnd::Failed(_, text)) if late => {
                self.failed.get_or_insert(text);
            }
            // Other failures have nothing to do with cancelling.
            Some(CallEnd::Fine | CallEnd::Ended | CallEnd::Stopped | CallEnd::Failed(..))
            | None => {}
        }
    }

    fn report(self, report: &Reporter) {
        if let Some(broken) = self.broken {
            report.fail(broken);
        }
        if let Some(failed) = self.failed {
            report.warn(format!(
                "it failed when it was cancelled, instead of returning FLOWPIPE_CANCELLED: {failed}"
            ));
        }
        let after = format!(
            "it returned {} ms after it was cancelled",
            self.slowest.as_millis()
        );
        if self.cancelled == 0 {
            report.skip(format!("all was done within {} ms", HEAD_START.as_millis()));
        } else if self.slowest > FAR_TOO_LATE {
            report.fail(format!("{after}: poll `cancelled` at least every 10 ms"));
        } else if self.slowest > SOON {
            report.warn(format!("{after}: poll `cancelled` at least every 10 ms"));
        } else {
            report.pass(after);
        }
    }
}
