//! Sends the metrics of a run now and then, and at its end.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use flowpipe_host::clock::Clock;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceResponse;

use super::client::{Client, SendError};
use super::metric_points::{self, PointTimes};
use super::resource::{Origin, bounded};
use super::status::ExportStatus;
use crate::metric_families::source::FamilySource;

/// How often metrics are sent.
const INTERVAL: Duration = Duration::from_secs(10);

/// The thread that sends metrics.
pub struct MetricExport {
    /// Dropped at the end of the run.
    shutdown: Sender<()>,
    thread: JoinHandle<()>,
}

/// A thread that sends the last metrics.
pub struct LastMetrics(JoinHandle<()>);

/// What the thread knows.
struct MetricThread {
    client: Client,
    source: FamilySource,
    origin: Arc<Origin>,
    status: Arc<ExportStatus>,
    clock: Clock,
}

impl MetricExport {
    /// Starts to send the metrics of a run by this client. `clock`: that of the run.
    ///
    /// # Errors
    /// When the system can't create a thread.
    pub fn start(
        client: Client,
        (source, origin): (FamilySource, Arc<Origin>),
        status: Arc<ExportStatus>,
        clock: Clock,
    ) -> io::Result<Self> {
        let (shutdown, waiter) = crossbeam_channel::bounded(0);
        let sender = MetricThread {
            client,
            source,
            origin,
            status,
            clock,
        };
        let thread = std::thread::Builder::new()
            .name("flowpipe-otlp".into())
            .spawn(move || sender.run(&waiter))?;
        Ok(Self { shutdown, thread })
    }

    /// The run is over: sends the last metrics.
    pub fn end(self) -> LastMetrics {
        drop(self.shutdown);
        LastMetrics(self.thread)
    }
}

impl LastMetrics {
    /// Waits until they are sent.
    pub fn wait(self) {
        // A panic has been printed.
        let _ = self.0.join();
    }
}

impl MetricThread {
    fn run(&self, shutdown: &Receiver<()>) {
        loop {
            let waited = shutdown.recv_timeout(INTERVAL);
            self.send();
            if waited != Err(RecvTimeoutError::Timeout) {
                return;
            }
        }
    }

    fn send(&self) {
        let Some(left) = self.status.time_left() else {
            return;
        };
        let start = self.clock.start_unix_ns();
        let times = PointTimes {
            start,
            now: start.saturating_add_signed(self.clock.now()),
        };
        let request = metric_points::request(&self.origin, &self.source.families(), times);
        let sent: Result<ExportMetricsServiceResponse, SendError> =
            self.client.post(&request, left);
        match sent {
            Ok(response) => {
                self.status.sent_metrics();
                let rejected = response.partial_success.unwrap_or_default();
                if rejected.rejected_data_points > 0 {
                    self.status
                        .rejected("metrics", &bounded(&rejected.error_message));
                }
            }
            Err(error) => self.status.failed(&error),
        }
    }
}
