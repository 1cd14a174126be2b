//! Waiting for what comes next.

use std::time::{Duration, Instant};

use flowpipe_plugin::{Context, Result};

/// The shortest wait.
const SHORTEST: Duration = Duration::from_micros(500);
/// The longest wait.
const LONGEST: Duration = Duration::from_millis(10);
/// How long one call waits: the host pauses or replaces a stage only between two calls.
const LONGEST_CALL: Duration = Duration::from_secs(1);

/// A source to which nothing comes.
pub struct Idle {
    since: Instant,
    /// When the call began to wait, also by the host's clock: a recording has each reading of that.
    call: Option<(Instant, i64)>,
}

impl Idle {
    /// Something has come just now.
    pub fn new() -> Self {
        Self {
            since: Instant::now(),
            call: None,
        }
    }

    /// A call begins.
    pub fn begin_call(&mut self) {
        self.call = None;
    }

    /// Waits for a moment, by the host: that is no work. `false`: this call has waited for long enough.
    ///
    /// # Errors
    /// When the call is cancelled.
    pub fn wait(&mut self, context: &mut Context<'_>) -> Result<bool> {
        let host = context.host();
        let (began, began_ns) = *self
            .call
            .get_or_insert_with(|| (Instant::now(), host.now_ns()));
        let waited = began.elapsed();
        if waited >= LONGEST_CALL {
            return Ok(false);
        }
        // What comes soon after something else is read soon.
        let until = waited + (self.since.elapsed() / 8).clamp(SHORTEST, LONGEST);
        let until_ns = i64::try_from(until.as_nanos()).unwrap_or(i64::MAX);
        context.wait_until(began_ns.saturating_add(until_ns))?;
        Ok(true)
    }
}
