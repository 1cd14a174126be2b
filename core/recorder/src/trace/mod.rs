//! Traces the calls of a run in the format of `chrome://tracing` and <https://ui.perfetto.dev>.
//!
//! A [`Tracer`] observes a run on the stages' threads and sends small notes to a thread of its own, which writes the
//! file incrementally. The trace of a killed process is readable too, because the format does not require the last
//! bracket. The queue between them (`backlog`) is bounded: when the thread can't keep up, notes are dropped. `chart`
//! holds the tracks of the run, `chrome` the format; `writer` writes the notes.

mod chart;
mod chrome;
mod ordered;
#[cfg(test)]
mod tests;
mod transferred;
mod writer;

use std::cell::Cell;
use std::io::{self, Write};
use std::sync::Arc;
use std::thread::JoinHandle;

use chart::Chart;
use flowpipe_config::pipeline::{Pipeline, PortRef};
use flowpipe_engine::run::{Completion, Observer, Task, TaskResult};
use flowpipe_host::clock::Clock;
use flowpipe_host::message::{Message, Origin};
use flowpipe_host::problem::Problem;
use flowpipe_recording::entry::{About, Call, Dropped, Event, Trouble};
use ordered::OrderedNotes;
use writer::TraceWriter;

use crate::backlog::{MOST_WAITING, NoteSender, Queueable, backlog};

/// Observes a run and traces it.
pub struct Tracer {
    clock: Clock,
    chart: Arc<Chart>,
    notes: NoteSender<Note>,
}

/// A handle of the tracer's thread, to wait for when the run is over.
pub struct Trace {
    notes: NoteSender<Note>,
    thread: JoinHandle<io::Result<Traced>>,
}

/// The counts of a finished trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Traced {
    /// Calls of plugins.
    pub calls: u64,
    /// Messages that were emitted in them.
    pub messages: u64,
    /// Notes that were dropped, because the trace could not be written fast enough: what they contain is missing.
    pub dropped: u64,
}

/// A note for the tracer's thread.
enum Note {
    Completion(Box<Slice>),
    Began {
        taken: Option<Taken>,
        at_ns: i64,
    },
    Emitted {
        /// The call that emitted it, if a plugin did.
        call: Option<Current>,
        source: PortRef,
        sequence: u64,
        at_ns: i64,
    },
    Dropped {
        track: usize,
        edge: usize,
        sequence: u64,
        frame: u64,
        at_ns: i64,
    },
    Marked {
        track: usize,
        name: String,
        frame: u64,
        at_ns: i64,
    },
    Problem {
        problem: Box<Problem>,
        at_ns: i64,
    },
    /// How the clock of a machine was set.
    Clock {
        machine: usize,
        set_ahead_ns: i64,
        error_ns: i64,
    },
    Over,
}

/// A message that a stage took.
#[derive(Clone, Copy)]
struct Taken {
    from: PortRef,
    to: PortRef,
    sequence: u64,
}

/// One call of a plugin.
struct Slice {
    track: usize,
    event: Event,
    taken: Option<Taken>,
    origin: Option<Origin>,
    began_ns: i64,
    ended_ns: i64,
    waited_ns: i64,
    emitted: u64,
    lost: bool,
    stopped: bool,
    failed: Option<String>,
}

/// A call in progress.
#[derive(Clone, Copy)]
struct Current {
    track: usize,
    began_ns: i64,
}

/// The warning of the first drop.
const WHEN_DROPPED: &str =
    "the trace can't be written as fast as the run goes: it lacks some events";

thread_local! {
    /// The call in progress on this thread.
    static CURRENT: Cell<Option<Current>> = const { Cell::new(None) };
}

impl Tracer {
    /// Starts a trace. `has_queues`: messages wait in queues; false for a replay.
    ///
    /// # Errors
    /// When writing fails, or the system can't create a thread.
    pub fn start<W: Write + Send + 'static>(
        out: W,
        pipeline: &Pipeline,
        clock: Clock,
        has_queues: bool,
    ) -> io::Result<(Arc<Self>, Trace)> {
        Self::bounded(out, pipeline, clock, has_queues, MOST_WAITING)
    }

    /// Starts a trace of a run on several machines, of which this one is `own`: what the others send comes later, and is
    /// put in its place.
    ///
    /// # Errors
    /// When writing fails, or the system can't create a thread.
    pub fn of_machines<W: Write + Send + 'static>(
        out: W,
        pipeline: &Pipeline,
        clock: Clock,
        own: usize,
    ) -> io::Result<(Arc<Self>, Trace)> {
        let chart = Chart::new(pipeline, Some(own));
        let ordered = Some(OrderedNotes::new(clock));
        let (tracer, trace) = Self::start_with(out, chart, clock, true, (MOST_WAITING, ordered))?;
        // The others are set to it.
        tracer.add_clock(own, 0, 0);
        Ok((tracer, trace))
    }

    /// Starts a trace with a queue of at most `most` bytes.
    fn bounded<W: Write + Send + 'static>(
        out: W,
        pipeline: &Pipeline,
        clock: Clock,
        has_queues: bool,
        most: usize,
    ) -> io::Result<(Arc<Self>, Trace)> {
        let chart = Chart::new(pipeline, None);
        Self::start_with(out, chart, clock, has_queues, (most, None))
    }

    fn start_with<W: Write + Send + 'static>(
        out: W,
        chart: Chart,
        clock: Clock,
        has_queues: bool,
        (most, ordered): (usize, Option<OrderedNotes>),
    ) -> io::Result<(Arc<Self>, Trace)> {
        let chart = Arc::new(chart);
        let (notes, received) = backlog(most, WHEN_DROPPED);
        let mut writer = TraceWriter::begin(out, chart.clone(), has_queues)?;
        let thread = std::thread::Builder::new()
            .name("flowpipe-tracer".into())
            .spawn(move || {
                let written = writer.write(&received, ordered);
                written.inspect_err(|error| tracing::error!("the trace ends here: {error}"))
            })?;
        let trace = Trace {
            notes: notes.clone(),
            thread,
        };
        let tracer = Self {
            clock,
            chart,
            notes,
        };
        Ok((Arc::new(tracer), trace))
    }

    fn note(&self, note: Note) {
        self.notes.send(note);
    }

    /// Adds how the clock of a machine was set before the run: ahead by so much, with this error at most.
    pub fn add_clock(&self, machine: usize, set_ahead_ns: i64, error_ns: i64) {
        self.note(Note::Clock {
            machine,
            set_ahead_ns,
            error_ns,
        });
    }

    /// Adds a call of another machine.
    pub(crate) fn add_call(&self, about: &About, call: &Call) {
        for note in transferred::call(&self.chart, about, call) {
            self.note(note);
        }
    }

    /// Adds a message that a queue of another machine dropped.
    pub(crate) fn add_dropped(&self, about: &About, dropped: &Dropped) {
        if let Some(note) = transferred::dropped(&self.chart, about, dropped) {
            self.note(note);
        }
    }

    /// Adds a problem of another machine.
    pub(crate) fn add_problem(&self, trouble: &Trouble) {
        if let Some(note) = transferred::problem(trouble) {
            self.note(note);
        }
    }

    /// The track of the call in progress on this thread, if it is one of this stage; else the stage's first track.
    fn track(&self, stage: usize) -> usize {
        CURRENT
            .get()
            .map(|current| current.track)
            .filter(|&track| self.chart.stage_of(track) == Some(stage))
            .unwrap_or_else(|| self.chart.track(stage, 0, 0))
    }
}

impl Observer for Tracer {
    fn message(&self, stage: usize, _: usize, message: &Arc<Message>) {
        if !self.chart.has(stage) {
            return;
        }
        self.note(Note::Emitted {
            call: CURRENT.get(),
            source: message.source(),
            sequence: message.lineage().sequence,
            at_ns: self.clock.now(),
        });
    }

    /// Its own machine sends the call that emitted it.
    fn arrived(&self, _: usize, _: usize, _: &Arc<Message>) {}

    fn mark(&self, stage: usize, name: &str, message: Option<&Message>, now_ns: i64) {
        if !self.chart.has(stage) {
            return;
        }
        self.note(Note::Marked {
            track: self.track(stage),
            name: name.to_owned(),
            frame: frame(message.and_then(|message| message.lineage().origin)),
            at_ns: now_ns,
        });
    }

    fn problem(&self, problem: &Problem, now_ns: i64) {
        self.note(Note::Problem {
            problem: Box::new(problem.clone()),
            at_ns: now_ns,
        });
    }

    fn wants_tasks(&self) -> bool {
        true
    }

    fn task_started(&self, task: &Task<'_>) {
        if !self.chart.has(task.stage) {
            return;
        }
        CURRENT.set(Some(Current {
            track: self.chart.track(task.stage, task.worker, task.plugin),
            began_ns: task.began_ns,
        }));
        self.note(Note::Began {
            taken: taken(task),
            at_ns: task.began_ns,
        });
    }

    fn task_finished(&self, task: &Task<'_>, completion: &Completion<'_>) {
        if !self.chart.has(task.stage) {
            return;
        }
        CURRENT.set(None);
        let (lost, stopped, failed) = match completion.result {
            TaskResult::Done => (false, false, None),
            TaskResult::Lost => (true, false, None),
            TaskResult::Stopped => (false, true, None),
            TaskResult::Failed(text) => (false, false, Some(text.to_owned())),
        };
        self.note(Note::Completion(Box::new(Slice {
            track: self.chart.track(task.stage, task.worker, task.plugin),
            event: task.event,
            taken: taken(task),
            origin: task.origin,
            began_ns: task.began_ns,
            ended_ns: completion.ended_ns,
            waited_ns: completion.waited_ns,
            emitted: completion.emitted,
            lost,
            stopped,
            failed,
        })));
    }

    fn dropped(&self, edge: usize, message: &Message, now_ns: i64) {
        self.note(Note::Dropped {
            track: self.track(message.source().stage),
            edge,
            sequence: message.lineage().sequence,
            frame: frame(message.lineage().origin),
            at_ns: now_ns,
        });
    }
}

impl Trace {
    /// Waits until everything is written. Call it when the run is over.
    ///
    /// # Errors
    /// When something could not be written.
    pub fn finish(self) -> io::Result<Traced> {
        // An abandoned stage may hold a reference to the tracer forever, so the channel may never disconnect.
        self.notes.send_last(Note::Over);
        match self.thread.join() {
            Ok(traced) => traced,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

impl Queueable for Note {
    fn owned_bytes(&self) -> usize {
        match self {
            Self::Completion(slice) => {
                size_of::<Slice>() + slice.failed.as_ref().map_or(0, String::len)
            }
            Self::Marked { name, .. } => name.len(),
            Self::Problem { problem, .. } => {
                let names = problem.stage.len() + problem.plugin.len();
                size_of::<Problem>() + names + problem.text.len()
            }
            Self::Began { .. }
            | Self::Emitted { .. }
            | Self::Dropped { .. }
            | Self::Clock { .. }
            | Self::Over => 0,
        }
    }
}

fn taken(task: &Task<'_>) -> Option<Taken> {
    task.taken.map(|(port, message)| Taken {
        from: message.source(),
        to: PortRef {
            stage: task.stage,
            port,
        },
        sequence: message.lineage().sequence,
    })
}

/// The frame's number; 0: none.
fn frame(origin: Option<Origin>) -> u64 {
    origin.map_or(0, |origin| origin.sequence)
}
