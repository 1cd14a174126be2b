//! Ends a run whose time is up while no message comes: the window may not be there.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use flowpipe_plugin::{Ending, Host, tracing};

/// Between two checks. While messages come, the referee itself ends the run.
const EVERY: Duration = Duration::from_millis(200);

/// When the run is to end, by the host's clock in nanoseconds, and why.
type Due = Option<(i64, String)>;

/// A thread that ends the run when it is due. It ends with this.
pub struct Alarm {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    due: Due,
    ends: bool,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing can be left half done in there.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Alarm {
    /// Starts the thread. If the system has none, a run without messages does not end by itself.
    pub fn start(host: Host) -> Self {
        let shared = Arc::new(Shared::default());
        let watched = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("referee-alarm".to_owned())
            .spawn(move || watch(&watched, host));
        if let Err(error) = &thread {
            tracing::warn!("the run ends by the time only while frames come: {error}");
        }
        Self {
            shared,
            thread: thread.ok(),
        }
    }

    /// Sets when the run is due.
    pub fn set(&self, due: Due) {
        self.shared.state().due = due;
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        self.shared.state().ends = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // One that panicked has ended too.
            let _ = thread.join();
        }
    }
}

fn watch(shared: &Shared, host: Host) {
    let mut state = shared.state();
    while !state.ends {
        let grace = EVERY.as_nanos() as i64;
        let is_due = |(due, _): &&(i64, String)| host.now_ns().saturating_sub(*due) > grace;
        if let Some((_, reason)) = state.due.as_ref().filter(is_due) {
            host.end_run(Ending::Done, reason);
            return;
        }
        let waited = shared.changed.wait_timeout(state, EVERY);
        state = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
}
