//! What became of all that was sent.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use flowpipe_terminal::{counted, eprintln, escaped};

use super::client::{REQUEST_TIMEOUT, SendError};
use super::endpoint::Endpoint;

/// How long the end of the run waits for the collector. A request that is on its way then adds its own timeout.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(3);

/// What became of all that was sent, and until when more is.
pub struct ExportStatus {
    to: String,
    deadline: OnceLock<Instant>,
    has_reported: AtomicBool,
    spans: AtomicU64,
    missing_spans: AtomicU64,
    missing_calls: AtomicU64,
    metrics: AtomicU64,
}

impl ExportStatus {
    /// Nothing is sent yet.
    pub fn new(endpoint: &Endpoint) -> Self {
        Self {
            to: endpoint.shown.clone(),
            deadline: OnceLock::new(),
            has_reported: AtomicBool::new(false),
            spans: AtomicU64::new(0),
            missing_spans: AtomicU64::new(0),
            missing_calls: AtomicU64::new(0),
            metrics: AtomicU64::new(0),
        }
    }

    /// The run is over: little more time is left.
    pub fn ends(&self) {
        // It is called once.
        let _ = self.deadline.set(Instant::now() + FLUSH_TIMEOUT);
    }

    /// How long the next request may take. `None`: it is too late for one.
    pub fn time_left(&self) -> Option<Duration> {
        let Some(deadline) = self.deadline.get() else {
            return Some(REQUEST_TIMEOUT);
        };
        let left = deadline.saturating_duration_since(Instant::now());
        (!left.is_zero()).then_some(left)
    }

    /// The collector has taken spans.
    pub fn sent_spans(&self, count: u64) {
        self.spans.fetch_add(count, Ordering::Relaxed);
    }

    /// The collector has taken the metrics.
    pub fn sent_metrics(&self) {
        self.metrics.fetch_add(1, Ordering::Relaxed);
    }

    /// Spans are missing, since the collector has not taken them.
    pub fn lost_spans(&self, count: u64) {
        self.missing_spans.fetch_add(count, Ordering::Relaxed);
    }

    /// Calls have no span, since spans were not sent as fast as the run went.
    pub fn lost_calls(&self, count: u64) {
        self.missing_calls.fetch_add(count, Ordering::Relaxed);
    }

    /// Logs the first failure. More would say the same.
    pub fn failed(&self, error: &SendError) {
        self.report(&error.to_string());
    }

    /// Logs that the collector has rejected a part of what it got, if it is the first failure.
    pub fn rejected(&self, what: &str, reason: &str) {
        self.report(&format!("it rejects {what}: {reason}"));
    }

    fn report(&self, why: &str) {
        if !self.has_reported.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "can't send to the collector at {}: {}; the run goes on without it, and further failures are not logged",
                escaped(&self.to),
                escaped(why)
            );
        }
    }

    /// Prints what was sent.
    pub fn print(&self) {
        eprintln!("{}", self.summary());
    }

    fn summary(&self) -> String {
        let get = |number: &AtomicU64| number.load(Ordering::Relaxed) as usize;
        let mut text = format!(
            "sent {} and metrics {} to {}",
            counted(get(&self.spans), "span"),
            counted(get(&self.metrics), "time"),
            escaped(&self.to)
        );
        let missing = get(&self.missing_spans);
        if missing > 0 {
            text += &format!(
                "; {} missing, because the collector did not take them",
                counted(missing, "span")
            );
        }
        let missing = get(&self.missing_calls);
        if missing > 0 {
            text += &format!(
                "; those of {} missing, because they could not be sent fast enough",
                counted(missing, "call")
            );
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status() -> ExportStatus {
        let endpoint = Endpoint::read("http://127.0.0.1:4318", |_| None);
        ExportStatus::new(&endpoint.unwrap())
    }

    #[test]
    fn the_summary_has_what_is_missing() {
        let status = status();
        status.sent_spans(1);
        status.sent_metrics();
        let all = "sent 1 span and metrics 1 time to http://127.0.0.1:4318";
        assert_eq!(status.summary(), all);
        status.lost_spans(2);
        status.lost_calls(3);
        let expected = format!(
            "{all}; 2 spans missing, because the collector did not take them; those of 3 calls missing, because they could \
             not be sent fast enough"
        );
        assert_eq!(status.summary(), expected);
    }

    #[test]
    fn there_is_time_until_the_end_and_little_after_it() {
        let status = status();
        assert_eq!(status.time_left(), Some(REQUEST_TIMEOUT));
        status.ends();
        assert!(status.time_left().is_some_and(|left| left <= FLUSH_TIMEOUT));
        let over = self::status();
        over.deadline.set(Instant::now()).unwrap();
        assert_eq!(over.time_left(), None);
    }
}
