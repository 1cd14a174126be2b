//! Decisions about calls in progress.

use std::time::Duration;

use flowpipe_host::run::Mode;

use super::super::event::CallProcess;
use super::super::{
    Action, Event, Policy, Resumed, Settings, Slot, StopCause, Supervisor, ThreadModel,
};
use super::stage_with;
use crate::watch::{Reason, Watch};

const SLOT: Slot = Slot {
    stage: 0,
    worker: 0,
    contestant: 0,
};
const SECOND: i64 = 1_000_000_000;

/// A running stage with a timeout of 2 s and a watchdog of 1 s.
fn supervisor() -> Supervisor {
    let mut supervisor = Supervisor::default();
    let settings = Settings {
        policy: Policy::new(&stage_with(None, false, false)),
        is_source: false,
        threads: ThreadModel::One,
        workers: 1,
        contestants: 1,
        timeout: Some(Duration::from_secs(2)),
        watchdog: Duration::from_secs(1),
    };
    let resumed = Resumed {
        stage: 0,
        settings: Some(settings),
        present: vec![SLOT],
        lost: Vec::new(),
    };
    supervisor.handle(Event::Resumed(vec![resumed]), 0);
    supervisor
}

/// What is done about a call at these times. Cancellations reach the call.
fn actions(process: CallProcess, times: &[i64], stop: Option<StopCause>) -> Vec<String> {
    let mut supervisor = supervisor();
    let watch = Watch::default();
    watch.begin(0, None);
    if let Some(cause) = stop {
        let actions = supervisor.handle(Event::Stop(cause), 0);
        assert!(matches!(actions[..], [Action::SetMode(Mode::Abort)]));
    }
    let mut all = Vec::new();
    for &now in times {
        let call = watch.snapshot(now).unwrap();
        let slot = SLOT;
        let observed = Event::Observed {
            slot,
            call,
            process,
        };
        for action in supervisor.handle(observed, now) {
            all.push(match action {
                Action::Cancel { call, reason } => {
                    watch.cancel(call, reason);
                    assert_eq!(reason, Reason::Timeout);
                    "cancel".to_owned()
                }
                Action::Warn { worked } => format!("warn {worked:?}"),
                Action::Kill { why } => format!("kill: {why}"),
                Action::Abandon { why } => format!("abandon: {why}"),
                Action::ObserveAgain { after } => format!("again {after:?}"),
                other => panic!("{other:?}"),
            });
        }
    }
    all
}

#[test]
fn a_call_is_reported_then_cancelled_then_abandoned() {
    let times = [0, SECOND, 2 * SECOND, 3 * SECOND];
    let here = actions(CallProcess::Here, &times, None);
    let hangs = "it hangs: after 3.0s it has not noticed that its 2s were over";
    let expected = ["again 1s", "warn 1s", "again 1s", "cancel", "again 1s"];
    assert_eq!(here[..5], expected);
    assert_eq!(here[5..], [format!("abandon: {hangs}")]);
    let apart = actions(CallProcess::Busy, &times, None);
    assert_eq!(apart[5..], [format!("kill: {hangs}")]);
    let idle = actions(CallProcess::Idle, &times, None);
    assert_eq!(idle[5..], ["again 0ns"]);
}

#[test]
fn an_aborted_run_waits_a_second() {
    let times = [0, SECOND];
    let here = actions(CallProcess::Here, &times, Some(StopCause::Abort));
    let hangs = "it hangs: after 1.0s it has not noticed that the run was ending";
    assert_eq!(here[0], "again 1s");
    assert_eq!(here[1..], [format!("abandon: {hangs}")]);
}
