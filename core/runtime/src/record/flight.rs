//! The flight recorder: keeps the last seconds of a run, and writes them into a file when something goes wrong.

use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use flowpipe_output::OutputFile;
use flowpipe_recording::entry::About;
use flowpipe_recording::{WriteError, Writer};

use crate::clock::Clock;
use crate::message::Message;
use crate::problem::ProblemKind;
use crate::record::change::Changing;
use crate::record::strand::{Kept, Strands};
use crate::record::tell::{self, Annotator};
use crate::record::{Item, Put, Sink};

/// How the last seconds of a run are kept.
pub struct Flight {
    /// How long back.
    pub length: Duration,
    /// Sees in messages that something went wrong. What goes wrong in stages is seen without it.
    pub alarm: Option<Box<dyn Alarm>>,
    /// Makes a file for a recording.
    pub open: Arc<Open>,
    /// What viewers draw over pictures.
    pub annotator: fn() -> Option<Box<dyn Annotator>>,
    /// Is told of each file.
    pub told: Arc<Told>,
}

/// Makes a file for a recording.
pub type Open = dyn Fn(&About) -> Result<Opened, WriteError> + Send + Sync;

/// A file for a recording.
pub struct Opened {
    /// Where it belongs.
    pub path: PathBuf,
    /// The file, which grows.
    pub file: OutputFile,
    /// Writes on it.
    pub writer: Writer<BufWriter<File>>,
}

/// Is told of each file, on a thread of its own.
pub type Told = dyn Fn(Landed) + Send + Sync;

/// Sees in a message that something went wrong. Called on the recorder's thread.
pub trait Alarm: Send {
    /// What went wrong, in a few words, if anything did.
    fn alarm(&mut self, message: &Message) -> Option<String>;
}

/// The last seconds, written into a file.
#[derive(Debug)]
pub struct Landed {
    /// What went wrong.
    pub reason: String,
    /// The file, or why there is none.
    pub file: Result<PathBuf, WriteError>,
    /// How long the recording is.
    pub length: Duration,
    /// Whether it is the last: no more are written in this run.
    pub is_last: bool,
}

/// What is kept takes at most so many bytes; a busy screen is then kept for less long.
const MOST_HELD: usize = 512 << 20;
/// So many files are written in one run.
const MOST_FILES: usize = 20;
/// What still comes after something went wrong is waited for so long: the end of the call, and what others make of it.
const AFTER: Duration = Duration::from_millis(600);

/// Keeps what is recorded, for a while.
pub(crate) struct Ring {
    flight: Flight,
    about: About,
    clock: Clock,
    strands: Strands,
    /// How the pipeline changed.
    changes: Vec<Changing>,
    wanted: Option<Wanted>,
    /// When the last file was written.
    landed_ns: Option<i64>,
    files: usize,
    landing: Option<JoinHandle<()>>,
}

/// What went wrong and is to be written. Times by the run's clock.
struct Wanted {
    reason: String,
    at_ns: i64,
    /// Not before.
    due_ns: i64,
}

impl Ring {
    pub(crate) fn new(flight: Flight, about: About, clock: Clock) -> Self {
        Self {
            strands: Strands::new(&about.edges, MOST_HELD),
            flight,
            changes: Vec::new(),
            about,
            clock,
            wanted: None,
            landed_ns: None,
            files: 0,
            landing: None,
        }
    }

    /// Something went wrong. What comes soon after it goes into the same file, and files begin no earlier than the one before
    /// ended; only the end of the run does not wait for that.
    fn want(&mut self, reason: String) {
        if self.wanted.is_some() || self.files == MOST_FILES {
            return;
        }
        let at_ns = self.clock.now();
        let soon = at_ns + nanoseconds(AFTER);
        let apart = self.landed_ns.map_or(soon, |it| it + self.length_ns());
        self.wanted = Some(Wanted {
            reason,
            at_ns,
            due_ns: soon.max(apart),
        });
    }

    /// Lets go of what is too old, also for what is to be written.
    fn forget(&mut self, now: i64) {
        let wanted = self.wanted.as_ref();
        let from = wanted.map_or(now, |wanted| wanted.at_ns);
        self.strands.forget_before(from - self.length_ns());
    }

    fn length_ns(&self) -> i64 {
        nanoseconds(self.flight.length)
    }

    /// Writes everything that is kept into a file, on a thread of its own: the run goes on meanwhile.
    fn land(&mut self) {
        self.wait();
        let now = self.clock.now();
        self.forget(now);
        let Some(Wanted { reason, .. }) = self.wanted.take() else {
            return;
        };
        self.files += 1;
        self.landed_ns = Some(now);
        let Kept { items, since_ns } = self.strands.kept();
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
        let (open, told) = (self.flight.open.clone(), self.flight.told.clone());
        let annotator = (self.flight.annotator)();
        let write = move || {
            let file = write(&*open, &about, items, annotator);
            told(Landed {
                reason,
                file,
                length,
                is_last,
            });
        };
        let thread = std::thread::Builder::new().name("flowpipe-landing".into());
        match thread.spawn(write) {
            Ok(landing) => self.landing = Some(landing),
            Err(error) => tracing::warn!("can't write the last seconds: no thread: {error}"),
        }
    }

    fn wait(&mut self) {
        if let Some(landing) = self.landing.take()
            && let Err(panic) = landing.join()
        {
            std::panic::resume_unwind(panic);
        }
    }
}

impl Sink for Ring {
    fn put(&mut self, item: Item) -> Result<Put, WriteError> {
        if let Item::Change(changing) = item {
            // How it came about belongs to each recording, however short.
            self.strands.join(&changing.entry().edges);
            self.changes.push(*changing);
            return Ok(Put::Plain);
        }
        let wrong = match &item {
            Item::Message(_, message, _) => {
                let alarm = self.flight.alarm.as_mut();
                alarm.and_then(|alarm| alarm.alarm(message))
            }
            Item::Problem(problem) => {
                (problem.kind != ProblemKind::Slow.word()).then(|| problem.text.clone())
            }
            Item::Call(_) | Item::Dropped(_) | Item::DroppedLineages(_) | Item::Change(_) => None,
        };
        let repeated = self.strands.add(item);
        if let Some(wrong) = wrong {
            self.want(wrong);
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
        let is_due = self.wanted.as_ref().is_some_and(|it| it.due_ns <= now);
        if is_due && self.landing.as_ref().is_none_or(JoinHandle::is_finished) {
            self.land();
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), WriteError> {
        self.land();
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
    let mut recording = Box::new(tell::File::new(writer, annotator));
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
