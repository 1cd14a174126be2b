//! The calls of a run as spans, as systems for distributed tracing have them: one trace for each lineage.
//!
//! A trace has everything that descends from one message of a source. Its first span is the call of the source that
//! emitted this message. The span of a call that took a message is a child of the one of the call that emitted it. A call
//! without a message that emits several begins a trace with each. [`ids`] computes all ids from what messages carry, so
//! that a span that is missing changes no other one.
//!
//! A [`SpanObserver`] observes a run on the stages' threads. A thread of its own gives the spans to a [`SpanSink`], which
//! may block: no stage waits for it. The queue between them is bounded, and what it has no room for is counted.

mod ids;
mod note;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::RecvTimeoutError;
use flowpipe_config::pipeline::Pipeline;
use flowpipe_engine::run::{Completion, Observer, PipelineChange, Task, TaskResult};
use flowpipe_host::message::Message;

use crate::backlog::{MOST_WAITING, NoteReceiver, NoteSender, backlog};
use crate::record::lineages::MessageKey;
use crate::spans::note::{CallNote, CallResult, SpanNote, StageNames, TakenNote};

/// How often a sink without spans is called.
const PASS_INTERVAL: Duration = Duration::from_millis(200);
/// The most messages of one call that begin a trace. A source that emits more in one call begins no further ones.
const MOST_ROOTS: usize = 1024;
/// The most marks of a span.
const MOST_MARKS: usize = 32;
/// The warning of the first drop.
const WHEN_DROPPED: &str = "spans can't be sent as fast as the run goes: some are missing";

/// A call of a plugin as a span of a trace. Times are those of the run's clock.
#[derive(Clone, Copy, Debug)]
pub struct Span<'a> {
    /// The trace; not 0.
    pub trace: u128,
    /// The span; not 0.
    pub id: u64,
    /// The span of the call that emitted the message which this one took. `None`: the trace begins here, or another machine
    /// emitted it.
    pub parent: Option<u64>,
    /// The stage.
    pub stage: &'a str,
    /// The plugin.
    pub plugin: &'a str,
    /// The worker, from 1, if the stage has several.
    pub worker: Option<usize>,
    /// Why it was called: `message`, `tick` or `finish`.
    pub event: &'static str,
    /// The message that it took.
    pub taken: Option<TakenMessage<'a>>,
    /// The number of the frame that it worked on.
    pub frame: Option<u64>,
    /// When it took the message, or its turn came.
    pub began_ns: i64,
    /// When it returned; not before `began_ns`.
    pub ended_ns: i64,
    /// Nanoseconds of that time spent waiting: for full queues, for its turn, or because the plugin asked to wait.
    pub waited_ns: i64,
    /// Messages that it emitted.
    pub emitted: u64,
    /// How it ended.
    pub result: TaskResult<'a>,
    /// The names of its marks, and when they were set.
    pub marks: &'a [(String, i64)],
}

/// The message that a call took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TakenMessage<'a> {
    /// The stage that emitted it.
    pub from: &'a str,
    /// Its number at the output there.
    pub sequence: u64,
    /// How long it was on the way: in the queue, and before it in the hands of a sender that waited for room.
    pub queued_ns: i64,
}

/// What takes the spans of a run, on a thread of its own.
pub trait SpanSink: Send {
    /// Takes a span. Those of a trace come in the order in which the calls have returned.
    fn take(&mut self, span: &Span<'_>);

    /// So many calls have no span, because spans were not taken fast enough.
    fn missing(&mut self, calls: u64);

    /// Some time has passed. Called a few times a second at least, also between spans.
    fn pass(&mut self);

    /// The run is over, and there are no more spans.
    fn end(&mut self);
}

/// Observes a run, for spans.
pub struct SpanObserver {
    notes: NoteSender<SpanNote>,
}

/// The thread of a sink, to wait for when the run is over.
pub struct SpanThread {
    notes: NoteSender<SpanNote>,
    thread: JoinHandle<()>,
}

/// A call in progress.
struct CurrentCall {
    stage: usize,
    roots: Vec<MessageKey>,
    marks: Vec<(String, i64)>,
}

thread_local! {
    /// The call in progress on this thread.
    static CURRENT: RefCell<Option<CurrentCall>> = const { RefCell::new(None) };
}

impl SpanObserver {
    /// Starts the thread of a sink. `run`: the id of the run, from which the ids of its traces are computed. `elsewhere`: the
    /// stages that other machines run.
    ///
    /// # Errors
    /// When the system can't create a thread.
    pub fn start(
        sink: impl SpanSink + 'static,
        pipeline: &Pipeline,
        run: u128,
        elsewhere: BTreeSet<usize>,
    ) -> io::Result<(Arc<Self>, SpanThread)> {
        Self::bounded(sink, pipeline, (run, elsewhere), MOST_WAITING)
    }

    /// Starts it with a queue of at most `most` bytes.
    fn bounded(
        mut sink: impl SpanSink + 'static,
        pipeline: &Pipeline,
        (run, elsewhere): (u128, BTreeSet<usize>),
        most: usize,
    ) -> io::Result<(Arc<Self>, SpanThread)> {
        let (notes, received) = backlog(most, WHEN_DROPPED);
        let names = StageNames::of(pipeline);
        let thread = std::thread::Builder::new()
            .name("flowpipe-spans".into())
            .spawn(move || pass_on(&received, &mut sink, names, (run, &elsewhere)))?;
        let observer = Self {
            notes: notes.clone(),
        };
        Ok((Arc::new(observer), SpanThread { notes, thread }))
    }
}

impl Observer for SpanObserver {
    fn message(&self, stage: usize, _: usize, message: &Arc<Message>) {
        CURRENT.with_borrow_mut(|current| {
            let Some(current) = current.as_mut().filter(|it| it.stage == stage) else {
                return;
            };
            // It has no ancestor: a trace begins with it.
            if message.lineage().root.is_none() && current.roots.len() < MOST_ROOTS {
                current.roots.push(message.key());
            }
        });
    }

    /// Its own machine has the call that emitted it.
    fn arrived(&self, _: usize, _: usize, _: &Arc<Message>) {}

    fn mark(&self, stage: usize, name: &str, _: Option<&Message>, now_ns: i64) {
        CURRENT.with_borrow_mut(|current| {
            if let Some(current) = current.as_mut().filter(|it| it.stage == stage)
                && current.marks.len() < MOST_MARKS
            {
                current.marks.push((name.to_owned(), now_ns));
            }
        });
    }

    fn wants_tasks(&self) -> bool {
        true
    }

    fn task_started(&self, task: &Task<'_>) {
        CURRENT.set(Some(CurrentCall {
            stage: task.stage,
            roots: Vec::new(),
            marks: Vec::new(),
        }));
    }

    fn task_finished(&self, task: &Task<'_>, completion: &Completion<'_>) {
        let (roots, marks) = match CURRENT.take() {
            Some(current) => (current.roots, current.marks),
            None => (Vec::new(), Vec::new()),
        };
        self.notes.send(SpanNote::Call(Box::new(CallNote {
            stage: task.stage,
            plugin: task.plugin,
            worker: task.worker,
            event: task.event,
            taken: task.taken.map(|(_, message)| TakenNote::of(message)),
            frame: task.origin.map(|origin| origin.sequence),
            taken_ns: task.taken_ns,
            ended_ns: completion.ended_ns,
            waited_ns: completion.waited_ns,
            emitted: completion.emitted,
            result: match completion.result {
                TaskResult::Done => CallResult::Done,
                TaskResult::Stopped => CallResult::Stopped,
                TaskResult::Lost => CallResult::Lost,
                TaskResult::Failed(text) => CallResult::Failed(text.to_owned()),
            },
            roots,
            marks,
        })));
    }

    fn changed(&self, change: &PipelineChange<'_>) {
        let names = StageNames::of(&change.pipeline());
        self.notes.send_last(SpanNote::Stages(names));
    }
}

impl SpanThread {
    /// Waits until the sink has all spans and has ended. Call it when the run is over.
    pub fn finish(self) {
        // An abandoned stage may hold a reference to the observer forever, so the channel may never disconnect.
        self.notes.send_last(SpanNote::Over);
        if let Err(panic) = self.thread.join() {
            std::panic::resume_unwind(panic);
        }
    }
}

/// Gives spans to the sink until the run is over.
fn pass_on(
    notes: &NoteReceiver<SpanNote>,
    sink: &mut impl SpanSink,
    mut names: Arc<[StageNames]>,
    run: (u128, &BTreeSet<usize>),
) {
    let mut passed = Instant::now();
    loop {
        match notes.receive(PASS_INTERVAL) {
            Ok(queued) => {
                if queued.dropped_before > 0 {
                    sink.missing(queued.dropped_before);
                }
                match &queued.note {
                    SpanNote::Call(call) => call.spans(&names, run, |span| sink.take(span)),
                    SpanNote::Stages(changed) => names = changed.clone(),
                    SpanNote::Over => break,
                }
                notes.free(&queued);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if passed.elapsed() >= PASS_INTERVAL {
            sink.pass();
            passed = Instant::now();
        }
    }
    sink.end();
}
