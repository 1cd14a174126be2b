//! The flight recorder: keeps the last seconds of a run, and writes them to a file when a problem occurs.

use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use flowpipe_host::clock::Clock;
use flowpipe_host::message::Message;
use flowpipe_host::problem::ProblemKind;
use flowpipe_output::OutputFile;
use flowpipe_recording::entry::About;
use flowpipe_recording::{WriteError, Writer};

use crate::record::change::PendingChange;
use crate::record::file_sink::{Annotator, FileSink};
use crate::record::flight_buffer::{FlightBuffer, Kept};
use crate::record::{Item, Put, Sink};

/// The settings of the flight recorder.
pub struct Flight {
    /// How many seconds are kept.
    pub length: Duration,
    /// Detects problems in messages. Problems of stages are detected without it.
    pub alarm: Option<Box<dyn FlightTrigger>>,
    /// Creates a file for a recording.
    pub open: Arc<Open>,
    /// Creates the annotator of a file.
    pub annotator: fn() -> Option<Box<dyn Annotator>>,
    /// Called after each file.
    pub on_file: Arc<OnFile>,
}

/// Creates a file for a recording.
pub type Open = dyn Fn(&About) -> Result<Opened, WriteError> + Send + Sync;

/// A file for a recording.
pub struct Opened {
    /// Its final path.
    pub path: PathBuf,
    /// The file, until it is committed.
    pub file: OutputFile,
    /// The writer of the recording.
    pub writer: Writer<BufWriter<File>>,
}

/// Called after each file, on a thread of its own.
pub type OnFile = dyn Fn(FlightFile) + Send + Sync;

/// Detects problems in messages. Called on the recorder's thread.
pub trait FlightTrigger: Send {
    /// Returns a short description if the message shows a problem.
    fn alarm(&mut self, message: &Message) -> Option<String>;
}

/// A file with the last seconds of a run.
#[derive(Debug)]
pub struct FlightFile {
    /// The problem.
    pub reason: String,
    /// The stage that reported it, if one did.
    pub stage: Option<String>,
    /// The file's path, or why writing failed.
    pub file: Result<PathBuf, WriteError>,
    /// How long the recording is.
    pub length: Duration,
    /// Whether it is the last file of this run.
    pub is_last: bool,
}

/// The most bytes to keep in memory. A busy screen is kept for a shorter time.
const MOST_HELD: usize = 512 << 20;
/// The most files per run.
const MOST_FILES: usize = 20;
/// How long to keep recording after a problem, until calls in progress and their messages are recorded too.
const AFTER: Duration = Duration::from_millis(600);

/// Keeps the last seconds in memory, and writes them to files.
pub(crate) struct FlightSink {
    flight: Flight,
    about: About,
    clock: Clock,
    buffer: FlightBuffer,
    /// The changes of the pipeline.
    changes: Vec<PendingChange>,
    pending: Option<PendingFile>,
    /// When the last file was written.
    last_file_ns: Option<i64>,
    files: usize,
    writing: Option<JoinHandle<()>>,
}

/// A file to be written because of a problem. Times by the run's clock.
struct PendingFile {
    reason: String,
    /// The stage that reported the problem.
    stage: Option<String>,
    at_ns: i64,
    /// The earliest time to write it.
    due_ns: i64,
}

impl FlightSink {
    pub(crate) fn new(flight: Flight, about: About, clock: Clock) -> Self {
        Self {
            buffer: FlightBuffer::new(&about.edges, MOST_HELD),
            flight,
            changes: Vec::new(),
            about,
            clock,
            pending: None,
            last_file_ns: None,
            files: 0,
            writing: None,
        }
    }

    /// Requests a file because of a problem. Problems that follow soon go into the same file. A file starts no earlier
    /// than the previous one ended, except at the end of the run.
    fn request_file(&mut self, reason: String, stage: Option<String>) {
        if self.pending.is_some() || self.files == MOST_FILES {
            return;
        }
        let at_ns = self.clock.now();
        let soon = at_ns + nanoseconds(AFTER);
        let apart = self.last_file_ns.map_or(soon, |it| it + self.length_ns());
        self.pending = Some(PendingFile {
            reason,
            stage,
            at_ns,
            due_ns: soon.max(apart),
        });
    }

    /// Drops what is too old, also for a pending file.
    fn forget(&mut self, now: i64) {
        let pending = self.pending.as_ref();
        let from = pending.map_or(now, |pending| pending.at_ns);
        self.buffer.forget_before(from - self.length_ns());
    }

    fn length_ns(&self) -> i64 {
        nanoseconds(self.flight.length)
    }

    /// Writes everything that is kept to a file, on a thread of its own, so that the run is not blocked.
    fn write_file(&mut self) {
        self.wait();
        let now = self.clock.now();
        self.forget(now);
        let Some(PendingFile { reason, stage, .. }) = self.pending.take() else {
            return;
        };
        self.files += 1;
        self.last_file_ns = Some(now);
        let Kept { items, since_ns } = self.buffer.kept();
        let changes = self.changes.iter().cloned().map(Box::new).map(Item::Change);
        let items = changes.chain(items).collect();
        let about = About {
            since_ns,
            excerpt: true,
            ..self.about.clone()
        };
        let since = since_ns.unwrap_or_default();
        let length = Duration::from_nanos(u64::try_from(now - since).unwrap_or_default());
        let is_last = self.files == MOST_FILES;
        let (open, on_file) = (self.flight.open.clone(), self.flight.on_file.clone());
        let annotator = (self.flight.annotator)();
        let write = move || {
            let file = write(&*open, &about, items, annotator);
            on_file(FlightFile {
                reason,
                stage,
                file,
                length,
                is_last,
            });
        };
        let thread = std::thread::Builder::new().name("flowpipe-flight".into());
        match thread.spawn(write) {
            Ok(writing) => self.writing = Some(writing),
            Err(error) => tracing::warn!(
                "failed to write the last seconds: failed to start a thread: {error}"
            ),
        }
    }

    fn wait(&mut self) {
        if let Some(writing) = self.writing.take()
            && let Err(panic) = writing.join()
        {
            std::panic::resume_unwind(panic);
        }
    }
}

impl Sink for FlightSink {
    fn put(&mut self, item: Item) -> Result<Put, WriteError> {
        if let Item::Change(change) = item {
            // Each file contains all changes.
            self.buffer.join(&change.entry().edges);
            self.buffer.reserve(change.size());
            self.changes.push(*change);
            return Ok(Put::Plain);
        }
        let wrong = match &item {
            Item::Message(_, message, _) => {
                let alarm = self.flight.alarm.as_mut();
                let reason = alarm.and_then(|alarm| alarm.alarm(message));
                reason.map(|reason| (reason, None))
            }
            Item::Problem(problem) => (problem.kind != ProblemKind::Slow.word())
                .then(|| (problem.text.clone(), Some(problem.stage.to_string()))),
            Item::Call(_) | Item::Dropped(_) | Item::DroppedLineages(_) | Item::Change(_) => None,
        };
        let repeated = self.buffer.add(item);
        if let Some((reason, stage)) = wrong {
            self.request_file(reason, stage);
        }
        Ok(match repeated {
            None => Put::Plain,
            Some(true) => Put::Repeated,
            Some(false) => Put::Stored,
        })
    }

    fn flush(&mut self) -> Result<(), WriteError> {
        let now = self.clock.now();
        self.forget(now);
        let is_due = self.pending.as_ref().is_some_and(|it| it.due_ns <= now);
        if is_due && self.writing.as_ref().is_none_or(JoinHandle::is_finished) {
            self.write_file();
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), WriteError> {
        self.write_file();
        self.wait();
        Ok(())
    }
}

fn write(
    open: &Open,
    about: &About,
    items: Vec<Item>,
    annotator: Option<Box<dyn Annotator>>,
) -> Result<PathBuf, WriteError> {
    let Opened { path, file, writer } = open(about)?;
    let mut recording = Box::new(FileSink::new(writer, annotator));
    for item in items {
        recording.put(item)?;
    }
    recording.finish()?;
    file.commit().map_err(|error| WriteError::Create {
        path: path.clone(),
        error,
    })?;
    Ok(path)
}

fn nanoseconds(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX / 4)
}
