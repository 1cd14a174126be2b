//! What is sent of a run, from its start to its end.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;

use flowpipe_config::pipeline::Pipeline;
use flowpipe_engine::run::Options;
use flowpipe_host::clock::Clock;
use flowpipe_recorder::spans::{SpanObserver, SpanThread};

use super::client::Client;
use super::endpoint::Endpoint;
use super::metric_export::MetricExport;
use super::resource::Origin;
use super::span_export::SpanExport;
use super::status::ExportStatus;
use crate::exit::Failure;
use crate::metric_families::source::FamilySource;

/// Where a run that is about to start is sent to.
pub struct OtlpExport {
    endpoint: Endpoint,
    observed: Option<ObservedRun>,
}

/// A run whose calls are sent.
struct ObservedRun {
    clock: Clock,
    origin: Arc<Origin>,
    status: Arc<ExportStatus>,
    spans: SpanThread,
}

/// A run that is sent while it goes on.
pub struct ActiveExport {
    status: Arc<ExportStatus>,
    spans: SpanThread,
    metrics: MetricExport,
}

impl OtlpExport {
    /// Reads where the collector is: a URL, or `env` for the variables of OpenTelemetry.
    ///
    /// # Errors
    /// When that can't be used.
    pub fn prepare(to: &str) -> Result<Self, Failure> {
        let endpoint = Endpoint::read(to, |name| std::env::var(name).ok());
        let endpoint =
            endpoint.map_err(|error| Failure::Usage(format!("--otlp {}: {error}", shown(to))))?;
        Ok(Self {
            endpoint,
            observed: None,
        })
    }

    /// Observes a run that is about to start. `own`: this machine, if it has others.
    ///
    /// # Errors
    /// When the system has no thread for it.
    pub fn observe(
        &mut self,
        pipeline: &Pipeline,
        own: Option<usize>,
        options: &mut Options,
    ) -> Result<(), Failure> {
        let run = random_id();
        let clock = options.clock;
        let machine = own.and_then(|own| pipeline.machines.all.get(own));
        let machine = machine.map(|it| it.name.as_str());
        let origin = Origin::new(&self.endpoint, &pipeline.name, machine, run);
        let origin = Arc::new(origin);
        let status = Arc::new(ExportStatus::new(&self.endpoint));
        let client = Client::new(&self.endpoint.traces, &self.endpoint);
        let sink = SpanExport::new(client, origin.clone(), status.clone(), clock);
        let elsewhere = options.elsewhere.clone();
        let started = SpanObserver::start(sink, pipeline, run, elsewhere);
        let (observer, spans) = started.map_err(no_thread)?;
        options.observers.push(observer);
        self.observed = Some(ObservedRun {
            clock,
            origin,
            status,
            spans,
        });
        Ok(())
    }

    /// Sends the metrics of the run, which has started. `None`: it is not observed.
    ///
    /// # Errors
    /// When the system has no thread for it.
    pub fn start(self, source: FamilySource) -> Result<Option<ActiveExport>, Failure> {
        let Some(observed) = self.observed else {
            return Ok(None);
        };
        let ObservedRun {
            clock,
            origin,
            status,
            spans,
        } = observed;
        let client = Client::new(&self.endpoint.metrics, &self.endpoint);
        let metrics = MetricExport::start(client, (source, origin), status.clone(), clock);
        Ok(Some(ActiveExport {
            status,
            spans,
            metrics: metrics.map_err(no_thread)?,
        }))
    }
}

impl ActiveExport {
    /// The run is over: sends the rest, which takes a few seconds at most, and prints what was sent.
    pub fn finish(self) {
        self.status.ends();
        // Both at once.
        let metrics = self.metrics.end();
        self.spans.finish();
        metrics.wait();
        self.status.print();
    }
}

fn no_thread(error: std::io::Error) -> Failure {
    Failure::Run(format!("--otlp: can't start: {error}"))
}

/// What was given, without a password.
fn shown(to: &str) -> &str {
    match to.contains('@') {
        true => "URL",
        false => to,
    }
}

/// An id that no other run has.
fn random_id() -> u128 {
    // Its keys are random, and others for each.
    let half = || u128::from(RandomState::new().hash_one(std::process::id()));
    half() << 64 | half()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_runs_differ() {
        let ids: std::collections::BTreeSet<u128> = (0..1000).map(|_| random_id()).collect();
        assert_eq!(ids.len(), 1000);
    }

    #[test]
    fn a_password_is_not_printed() {
        let Err(Failure::Usage(text)) = OtlpExport::prepare("http://ann:secret@localhost") else {
            panic!("it was accepted");
        };
        assert!(!text.contains("secret"), "{text}");
    }
}
