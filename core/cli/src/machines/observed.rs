//! What the machines of a run send each other of their stages.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use flowpipe_config::pipeline::Pipeline;
use flowpipe_engine::report::Report;
use flowpipe_machines::{ObservationSender, Observed, Peer, read_report, write_report};

/// What the first byte says of the others.
const REPORT: u8 = 0;

/// How often a thread that waits checks what it waits for.
const STEP: Duration = Duration::from_millis(100);

/// What another machine has sent of its stages.
pub struct Observations {
    state: Mutex<ObservedState>,
    changed: Condvar,
}

#[derive(Default)]
struct ObservedState {
    is_over: bool,
    report: Option<Report>,
}

impl Observations {
    /// Takes what a machine sends from now on.
    pub fn of(peer: &mut Peer, pipeline: &Pipeline) -> Arc<Self> {
        let observations = Arc::new(Self {
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let (own, pipeline) = (observations.clone(), pipeline.clone());
        peer.observe(move |observed| own.take(observed, &pipeline));
        observations
    }

    fn take(&self, observed: Observed, pipeline: &Pipeline) -> Result<(), String> {
        match observed {
            Observed::Sent(body) => match body.split_first() {
                Some((&REPORT, body)) => {
                    let report = read_report(body, pipeline).map_err(|error| error.to_string())?;
                    self.lock().report = Some(report);
                    Ok(())
                }
                _ => Err("it sent something that it should not".to_owned()),
            },
            Observed::Ended | Observed::Lost => {
                self.lock().is_over = true;
                self.changed.notify_all();
                Ok(())
            }
        }
    }

    /// Waits until it has sent everything, or is dead. Returns the report of its run.
    pub fn wait(&self) -> Option<Report> {
        let mut state = self.lock();
        while !state.is_over {
            let woken = self.changed.wait_timeout(state, STEP);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.report.take()
    }

    fn lock(&self) -> MutexGuard<'_, ObservedState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends the report of the run here, which has ended, and nothing more.
pub fn send_last(to: &ObservationSender, report: &Report) {
    let mut body = vec![REPORT];
    body.extend(write_report(report));
    // False: it is dead, or takes nothing more.
    to.send(body);
    to.end();
}
