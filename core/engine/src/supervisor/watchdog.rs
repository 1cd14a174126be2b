//! The watchdog: detects calls that take too long. It cancels them, reports a warning, and finally decides to kill or to
//! abandon the plugin. A plugin in this program's process can't be killed.

use std::time::Duration;

use flowpipe_host::run::Mode;
use flowpipe_sync::calls::CallNumber;

use crate::supervisor::event::{Action, CallProcess, Slot, SlotState};
use crate::supervisor::slots::Slots;
use crate::watch::{CallSnapshot, Reason, nanoseconds};

/// The watchdog's state of the call in progress.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Watchdog {
    call: Option<CallNumber>,
    is_warned: bool,
    /// How long the call had taken when it was first seen cancelled.
    cancelled_at: Option<Duration>,
}

/// How long a call may take.
#[derive(Clone, Copy, Debug)]
struct Limits {
    timeout: Option<Duration>,
    watchdog: Duration,
    /// The mode of the run.
    mode: Mode,
    is_source: bool,
}

/// The result of one check of a call.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    /// Cancel the call.
    cancel: Option<Reason>,
    /// Report that it has not returned for this time.
    warn: Option<Duration>,
    /// It hangs, with a description.
    hangs: Option<String>,
    /// Check again after this time.
    next: Duration,
}

/// How long plugins have at most to return after an abort.
pub(crate) const ABORT_GRACE: Duration = Duration::from_secs(1);

/// The longest time between two checks.
const LONGEST: Duration = Duration::from_secs(60);

/// Decides about a call in progress.
pub(super) fn observed(slots: &mut Slots, slot: Slot, call: &CallSnapshot, process: CallProcess) {
    let mode = slots.end.mode;
    let Some(stage) = slots.stages.get(slot.stage) else {
        return;
    };
    let limits = Limits {
        timeout: stage.settings.timeout,
        watchdog: stage.settings.watchdog,
        mode,
        is_source: stage.settings.is_source,
    };
    let Some(contestant) = slots.contestant(slot) else {
        return;
    };
    if !matches!(contestant.state, SlotState::Running(_)) {
        return;
    }
    let finding = contestant.watchdog.check(call, &limits);
    let call = call.call;
    let cancel = finding.cancel.map(|reason| Action::Cancel { call, reason });
    let warn = finding.warn.map(|worked| Action::Warn { worked });
    slots.actions.extend(cancel.into_iter().chain(warn));
    let after = finding.next;
    slots.actions.push(match (finding.hangs, process) {
        (Some(why), CallProcess::Here) => Action::Abandon { why },
        (Some(why), CallProcess::Busy) => Action::Kill { why },
        // The call has just returned, or is about to start.
        (Some(_), CallProcess::Idle) => Action::ObserveAgain {
            after: Duration::ZERO,
        },
        (None, _) => Action::ObserveAgain { after },
    });
}

impl Watchdog {
    /// Checks a call in progress.
    fn check(&mut self, snapshot: &CallSnapshot, limits: &Limits) -> Finding {
        if self.call != Some(snapshot.call) {
            *self = Self {
                call: Some(snapshot.call),
                ..Self::default()
            };
        }
        let mut finding = Finding {
            cancel: None,
            warn: None,
            hangs: None,
            next: LONGEST,
        };
        let Limits {
            timeout,
            watchdog,
            mode,
            is_source,
        } = *limits;
        let worked = nanoseconds(snapshot.worked);
        let stops = mode.cancels(is_source);
        let mut cancelled = snapshot.cancelled.or(stops.then_some(Reason::Stop));
        if let (None, Some(timeout)) = (cancelled, timeout) {
            if worked >= timeout {
                cancelled = Some(Reason::Timeout);
                finding.cancel = cancelled;
            } else {
                finding.check_again_after(timeout - worked);
            }
        }
        if let Some(reason) = cancelled {
            let since = *self.cancelled_at.get_or_insert(worked);
            let grace = match mode {
                Mode::Abort => watchdog.min(ABORT_GRACE),
                _ => snapshot.grace.unwrap_or(watchdog),
            };
            let ignored = worked.saturating_sub(since);
            if ignored >= grace {
                finding.hangs = Some(describe(reason, worked, timeout));
                return finding;
            }
            finding.check_again_after(grace - ignored);
        }
        if !self.is_warned {
            if worked >= watchdog {
                self.is_warned = true;
                finding.warn = Some(worked);
            } else {
                finding.check_again_after(watchdog - worked);
            }
        }
        finding
    }
}

impl Finding {
    fn check_again_after(&mut self, time: Duration) {
        self.next = self.next.min(time);
    }
}

fn describe(reason: Reason, worked: Duration, timeout: Option<Duration>) -> String {
    let why = match (reason, timeout) {
        (Reason::Timeout, Some(timeout)) => format!("its {timeout:?} were over"),
        (Reason::Timeout, None) => "its time was over".to_owned(),
        (Reason::Lost, _) => "another plugin had answered".to_owned(),
        (Reason::Stop, _) => "the run was ending".to_owned(),
    };
    format!("it hangs: after {worked:.1?} it has not noticed that {why}")
}
