//! Ends a run that is due while no message comes: the window may not be there.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use flowpipe_plugin::{Ending, Host, tracing};

use crate::referee::{Action, Referee};

/// Between two checks. While messages come, the referee itself ends the run.
const EVERY: Duration = Duration::from_millis(200);

/// A thread that ends the run when it is due. It ends with this.
pub struct Alarm {
    stop: Arc<Stop>,
    thread: Option<JoinHandle<()>>,
}

/// How the thread learns that it is to end.
#[derive(Default)]
struct Stop {
    is_set: Mutex<bool>,
    changed: Condvar,
}

impl Alarm {
    /// Starts the thread, which asks the referee. If the system has none, a run without messages does not end by itself.
    pub fn start(referee: Arc<Mutex<Referee>>, host: Host) -> Self {
        let stop = Arc::new(Stop::default());
        let watched = Arc::clone(&stop);
        let thread = std::thread::Builder::new()
            .name("referee-alarm".to_owned())
            .spawn(move || watch(&watched, &referee, host));
        if let Err(error) = &thread {
            tracing::warn!("the run ends by the time only while frames come: {error}");
        }
        Self {
            stop,
            thread: thread.ok(),
        }
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        *lock(&self.stop.is_set) = true;
        self.stop.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // One that panicked has ended too.
            let _ = thread.join();
        }
    }
}

fn watch(stop: &Stop, referee: &Mutex<Referee>, host: Host) {
    let mut is_set = lock(&stop.is_set);
    while !*is_set {
        if let Some(reason) = overdue(&mut lock(referee), host.now_ns()) {
            host.end_run(Ending::Done, &reason);
            return;
        }
        let waited = stop.changed.wait_timeout(is_set, EVERY);
        is_set = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
}

/// Why the run ends now, if it should have ended before by a message.
fn overdue(referee: &mut Referee, now: i64) -> Option<String> {
    let grace = EVERY.as_nanos() as i64;
    let (due, _) = referee.due()?;
    let is_over = now.saturating_sub(due) > grace;
    let actions = is_over.then(|| referee.tick(now))?;
    actions.into_iter().find_map(|action| match action {
        Action::End(reason) => Some(reason),
        _ => None,
    })
}

/// Locks what the stage and its alarm share.
pub fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    // After a panic in the stage it is recreated, with a referee and an alarm of its own.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
