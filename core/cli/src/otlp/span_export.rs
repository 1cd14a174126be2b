//! Sends the spans of calls.
//!
//! They are sent in batches, when one is full or a second old. While the collector does not take them, a few thousand are
//! held and the rest is counted; it is asked again after a second, then after twice as long each time.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use flowpipe_engine::run::TaskResult;
use flowpipe_host::clock::Clock;
use flowpipe_recorder::spans::{self, SpanSink};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::trace::v1::span::{Event, SpanKind};
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};

use super::client::{Client, SendError};
use super::resource::{Origin, bounded, number, text};
use super::status::ExportStatus;

/// The most spans of a request.
const BATCH: usize = 512;
/// The most spans that wait.
const MOST_HELD: usize = 8 * BATCH;
/// How old a span is when it is sent.
const BATCH_INTERVAL: Duration = Duration::from_secs(1);
/// How long the collector is left alone after a failure: the first time, and at most.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// The flag of a trace that is recorded, of which every span is sent.
const SAMPLED: u32 = 1;

/// Sends the spans of a run, on the thread that it gets them on.
pub struct SpanExport {
    client: Client,
    origin: Arc<Origin>,
    status: Arc<ExportStatus>,
    clock: Clock,
    held: VecDeque<Span>,
    /// When the first of them came, unless they were tried since.
    since: Option<Instant>,
    /// After a failure: until when nothing is sent, and how long that is.
    pause: Option<(Instant, Duration)>,
}

impl SpanExport {
    /// Sends what it gets by this client. `clock`: that of the run.
    pub fn new(
        client: Client,
        origin: Arc<Origin>,
        status: Arc<ExportStatus>,
        clock: Clock,
    ) -> Self {
        Self {
            client,
            origin,
            status,
            clock,
            held: VecDeque::new(),
            since: None,
            pause: None,
        }
    }

    /// Sends one batch. Returns whether the collector has answered as it should.
    fn send(&mut self, timeout: Duration) -> bool {
        let count = self.held.len().min(BATCH);
        let batch: Vec<Span> = self.held.drain(..count).collect();
        let request = request(&self.origin, batch);
        let sent: Result<ExportTraceServiceResponse, SendError> =
            self.client.post(&request, timeout);
        match sent {
            Ok(response) => {
                let rejected = response.partial_success.unwrap_or_default();
                let lost = u64::try_from(rejected.rejected_spans).unwrap_or(0);
                let lost = lost.min(count as u64);
                self.status.sent_spans(count as u64 - lost);
                self.status.lost_spans(lost);
                if lost > 0 {
                    self.status
                        .rejected("spans", &bounded(&rejected.error_message));
                }
                self.pause = None;
                true
            }
            Err(error) => {
                match error.is_temporary() {
                    true => self.hold_again(request),
                    false => self.status.lost_spans(count as u64),
                }
                self.status.failed(&error);
                let before = self.pause.map_or(Duration::ZERO, |(_, pause)| pause * 2);
                let pause = before.clamp(FIRST_PAUSE, LONGEST_PAUSE);
                self.pause = Some((Instant::now() + pause, pause));
                false
            }
        }
    }

    /// Holds the spans of a request again, which was not taken.
    fn hold_again(&mut self, request: ExportTraceServiceRequest) {
        let resources = request.resource_spans.into_iter();
        let scopes = resources.flat_map(|it| it.scope_spans);
        let spans: Vec<Span> = scopes.flat_map(|it| it.spans).collect();
        for span in spans.into_iter().rev() {
            self.held.push_front(span);
        }
    }

    /// Sends what is to be sent now.
    fn send_due(&mut self) {
        let is_due = self.held.len() >= BATCH
            || self
                .since
                .is_some_and(|since| since.elapsed() >= BATCH_INTERVAL);
        let now = Instant::now();
        if !is_due || self.pause.is_some_and(|(until, _)| now < until) {
            return;
        }
        if let Some(left) = self.status.time_left() {
            self.send(left);
            self.since = (!self.held.is_empty()).then(Instant::now);
        }
    }
}

impl SpanSink for SpanExport {
    fn take(&mut self, span: &spans::Span<'_>) {
        if self.held.len() >= MOST_HELD {
            self.status.lost_spans(1);
        } else {
            self.since.get_or_insert_with(Instant::now);
            self.held.push_back(message(span, &self.clock));
        }
        self.send_due();
    }

    fn missing(&mut self, calls: u64) {
        self.status.lost_calls(calls);
    }

    fn pass(&mut self) {
        self.send_due();
    }

    /// Sends the rest while the collector takes it and there is time.
    fn end(&mut self) {
        while !self.held.is_empty() {
            let left = self.status.time_left();
            if !left.is_some_and(|left| self.send(left)) {
                break;
            }
        }
        self.status.lost_spans(self.held.len() as u64);
        self.held.clear();
    }
}

fn request(origin: &Origin, spans: Vec<Span>) -> ExportTraceServiceRequest {
    ExportTraceServiceRequest {
        resource_spans: vec![ResourceSpans {
            resource: Some(origin.resource.clone()),
            scope_spans: vec![ScopeSpans {
                scope: Some(origin.scope.clone()),
                spans,
                ..ScopeSpans::default()
            }],
            ..ResourceSpans::default()
        }],
    }
}

/// A span as OTLP has it.
fn message(span: &spans::Span<'_>, clock: &Clock) -> Span {
    let unix = |at_ns: i64| clock.start_unix_ns().saturating_add_signed(at_ns);
    let mut attributes = vec![
        text("flowpipe.stage", span.stage),
        text("flowpipe.plugin", span.plugin),
        text("flowpipe.event", span.event),
    ];
    attributes.extend(span.worker.map(|it| number("flowpipe.worker", it as u64)));
    if let Some(taken) = span.taken {
        attributes.push(text("flowpipe.message.from", taken.from));
        attributes.push(number("flowpipe.message.sequence", taken.sequence));
        attributes.push(number("flowpipe.queued_ns", taken.queued_ns.unsigned_abs()));
    }
    attributes.extend(span.frame.map(|it| number("flowpipe.frame", it)));
    attributes.push(number("flowpipe.waited_ns", span.waited_ns.unsigned_abs()));
    attributes.push(number("flowpipe.emitted", span.emitted));
    let (result, failed) = match span.result {
        TaskResult::Done => ("done", None),
        TaskResult::Stopped => ("stopped", None),
        TaskResult::Lost => ("lost", None),
        TaskResult::Failed(text) => ("failed", Some(text)),
    };
    attributes.push(text("flowpipe.result", result));
    let events = span.marks.iter().map(|(name, at_ns)| Event {
        time_unix_nano: unix(*at_ns),
        name: bounded(name),
        ..Event::default()
    });
    let parent = span.parent.map(|it| it.to_be_bytes().to_vec());
    Span {
        trace_id: span.trace.to_be_bytes().to_vec(),
        span_id: span.id.to_be_bytes().to_vec(),
        parent_span_id: parent.unwrap_or_default(),
        flags: SAMPLED,
        name: bounded(span.stage),
        kind: SpanKind::Internal as i32,
        start_time_unix_nano: unix(span.began_ns),
        end_time_unix_nano: unix(span.ended_ns),
        attributes,
        events: events.collect(),
        status: failed.map(|text| Status {
            message: bounded(text),
            code: StatusCode::Error as i32,
        }),
        ..Span::default()
    }
}
