//! Writes down who worked on what, when, as a trace that `chrome://tracing` and <https://ui.perfetto.dev> show.
//!
//! A [`Tracer`] observes a run on the stages' threads and hands small notes to a thread of its own, which writes the
//! file in pieces: what a killed process leaves is a trace too, for the format does not ask for its last bracket.
//! What it knows of the run stands in `chart`, the format in `chrome`, what becomes of a note in `scribe`.

mod chart;
mod chrome;
mod scribe;
#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::io::{self, Write};
use std::sync::Arc;
use std::thread::JoinHandle;

use chart::Chart;
use crossbeam_channel::Sender;
use flowpipe_config::pipeline::{Pipeline, PortRef};
use flowpipe_engine::run::{Completion, Observer, Task, TaskResult};
use flowpipe_host::clock::Clock;
use flowpipe_host::message::{Message, Origin};
use flowpipe_host::problem::Problem;
use flowpipe_recording::entry::Event;
use scribe::Scribe;

/// Observes a run and has its trace written.
pub struct Tracer {
    clock: Clock,
    chart: Arc<Chart>,
    notes: Sender<Note>,
}

/// The writing side, to be waited for when the run is over.
pub struct Trace {
    notes: Sender<Note>,
    thread: JoinHandle<io::Result<Traced>>,
}

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Traced {
    /// Calls of plugins.
    pub calls: u64,
    /// Messages that were emitted in them.
    pub messages: u64,
}

/// What goes from the stages to the writer.
enum Note {
    Completion(Box<Slice>),
    Began {
        taken: Option<Taken>,
        at_ns: i64,
    },
    Emitted {
        /// In which call, where it was in one of a plugin.
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

/// A call that goes on.
#[derive(Clone, Copy)]
struct Current {
    track: usize,
    began_ns: i64,
}

thread_local! {
    /// The call that goes on, on this thread.
    static CURRENT: Cell<Option<Current>> = const { Cell::new(None) };
}

impl Tracer {
    /// Begins a trace. `has_queues`: messages wait in queues, as in a run of its own; in one that is run again they do not.
    ///
    /// # Errors
    /// When nothing can be written, or there is no thread to be had.
    pub fn start<W: Write + Send + 'static>(
        out: W,
        pipeline: &Pipeline,
        clock: Clock,
        has_queues: bool,
    ) -> io::Result<(Arc<Self>, Trace)> {
        let chart = Arc::new(Chart::new(pipeline));
        let (notes, told) = crossbeam_channel::unbounded();
        let mut scribe = Scribe::begin(out, chart.clone(), has_queues)?;
        let thread = std::thread::Builder::new()
            .name("flowpipe-tracer".into())
            .spawn(move || {
                let written = scribe.write(&told);
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

    /// Nobody takes it only when writing failed, which [`Trace::finish`] tells.
    fn note(&self, note: Note) {
        let _ = self.notes.send(note);
    }

    /// The track of what happens on this thread now to a stage.
    fn track(&self, stage: usize) -> usize {
        CURRENT
            .get()
            .map(|current| current.track)
            .filter(|&track| self.chart.stage_of(track) == Some(stage))
            .unwrap_or_else(|| self.chart.track(stage, 0))
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

    fn begins(&self, task: &Task<'_>) {
        if !self.chart.has(task.stage) {
            return;
        }
        CURRENT.set(Some(Current {
            track: self.chart.track(task.stage, task.plugin),
            began_ns: task.began_ns,
        }));
        self.note(Note::Began {
            taken: taken(task),
            at_ns: task.began_ns,
        });
    }

    fn worked(&self, task: &Task<'_>, worked: &Completion<'_>) {
        if !self.chart.has(task.stage) {
            return;
        }
        CURRENT.set(None);
        let (lost, stopped, failed) = match worked.result {
            TaskResult::Done => (false, false, None),
            TaskResult::Lost => (true, false, None),
            TaskResult::Stopped => (false, true, None),
            TaskResult::Failed(text) => (false, false, Some(text.to_owned())),
        };
        self.note(Note::Completion(Box::new(Slice {
            track: self.chart.track(task.stage, task.plugin),
            event: task.event,
            taken: taken(task),
            origin: task.origin,
            began_ns: task.began_ns,
            ended_ns: worked.ended_ns,
            waited_ns: worked.waited_ns,
            emitted: worked.emitted,
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
        // A stage that was given up may hold on to the tracer for ever, so that the channel's end can't be waited for.
        let _ = self.notes.send(Note::Over);
        match self.thread.join() {
            Ok(traced) => traced,
            Err(panic) => std::panic::resume_unwind(panic),
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
