//! Writes a run down while it goes on.
//!
//! A [`Recorder`] observes the run on the stages' threads and hands everything to a thread of its own, which
//! writes the file. Between them lies a [`queue`] that is bounded in bytes: when that thread can't keep up, whole
//! lineages are dropped, and the recording says which; or the stages wait, where nothing may be lost.

mod about;
mod change;
mod flight;
mod lineages;
mod queue;
mod strand;
mod tell;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use flowpipe_recording::entry::{About, Call, Dropped, DroppedLineages, Event, Trouble};
use flowpipe_recording::{Packed, Topic, WriteError, Writer};

use crate::clock::Clock;
use crate::message::Message;
use crate::pipeline::PortRef;
use crate::problem::Problem;
use crate::record::change::Changing;
use crate::record::queue::{Belongs, Popped, Queue};
use crate::run::{LineUp, Observer};

pub use about::about;
pub use flight::{Alarm, Flight, Landed, Opened};
pub(crate) use tell::pixels;
pub use tell::{Annotator, Extra};

/// Observes a run and has it written down.
pub struct Recorder {
    /// With all stages and queues that the run has had so far.
    about: RwLock<About>,
    to: Arc<Queue>,
}

/// The writing side, to be waited for when the run is over.
pub struct Recording {
    thread: JoinHandle<Result<(), WriteError>>,
    queue: Arc<Queue>,
    counts: Arc<Counts>,
}

/// How a run is recorded.
pub struct Settings {
    /// Nothing is dropped: stages wait until there is room.
    pub lossless: bool,
    /// Bytes that may wait to be written.
    pub limit: usize,
    /// Is told at once when the recording can't be written any more, which [`Recording::finish`] gives too.
    pub failed: Box<dyn FnOnce(&WriteError) + Send>,
}

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Written {
    /// Messages.
    pub messages: u64,
    /// Pictures stored.
    pub pictures: u64,
    /// Pictures that were there already.
    pub repeated: u64,
    /// Lineages that were dropped, because the disk or the processor could not keep up.
    pub dropped_lineages: u64,
    /// The messages in them.
    pub dropped_messages: u64,
}

#[derive(Debug, Default)]
struct Counts {
    messages: AtomicU64,
    pictures: AtomicU64,
    repeated: AtomicU64,
}

/// What goes from the stages to the writer.
#[derive(Clone)]
pub(crate) enum Item {
    /// A message, and what is to become of its pixels.
    Message(Topic, Arc<Message>, Picture),
    Call(Box<Call>),
    Dropped(Dropped),
    DroppedLineages(DroppedLineages),
    Problem(Trouble),
    Change(Box<Changing>),
}

/// The pixels of a message that is to be recorded.
#[derive(Clone)]
pub(crate) enum Picture {
    /// It has none.
    None,
    /// Those of its frame.
    Frame,
    /// There was no memory for them: the message comes without its frame.
    LeftOut,
    /// They are packed already: the message comes without its frame.
    Packed(Arc<Packed>),
}

/// So many bytes may wait for the writer: half a second of 1080p at 60 frames a second.
const MOST_WAITING: usize = 256 << 20;
/// What was recorded lies in the file after this time.
const FLUSH: Duration = Duration::from_millis(400);

impl Default for Settings {
    fn default() -> Self {
        Self {
            lossless: false,
            limit: MOST_WAITING,
            failed: Box::new(|_| {}),
        }
    }
}

/// Where a recorder writes to.
pub(crate) trait Sink: Send {
    /// Takes one item.
    fn put(&mut self, item: Item) -> Result<Put, WriteError>;
    /// Makes what was put safe. Called now and then, also when nothing was put.
    fn flush(&mut self) -> Result<(), WriteError>;
    /// The run is over.
    fn finish(self: Box<Self>) -> Result<(), WriteError>;
}

/// What became of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Put {
    /// It is written; it had no pixels.
    Plain,
    /// Its pixels are stored.
    Stored,
    /// Its pixels are there already.
    Repeated,
}

impl Recorder {
    /// Begins a recording in a file.
    ///
    /// # Errors
    /// When there is no thread to be had.
    pub fn to_file<W: std::io::Write + Send + 'static>(
        writer: Writer<W>,
        about: About,
        annotator: Option<Box<dyn Annotator>>,
        settings: Settings,
    ) -> std::io::Result<(Arc<Self>, Recording)> {
        let sink = tell::File::new(writer, annotator);
        Self::start(about, Box::new(sink), settings)
    }

    /// Keeps the last of the run in memory, and writes it into files when something goes wrong.
    ///
    /// # Errors
    /// When there is no thread to be had.
    pub fn in_flight(
        flight: Flight,
        about: About,
        clock: Clock,
    ) -> std::io::Result<(Arc<Self>, Recording)> {
        let sink = flight::Ring::new(flight, about.clone(), clock);
        Self::start(about, Box::new(sink), Settings::default())
    }

    fn start(
        about: About,
        sink: Box<dyn Sink>,
        settings: Settings,
    ) -> std::io::Result<(Arc<Self>, Recording)> {
        let queue = Queue::new(settings.limit, settings.lossless);
        let counts = Arc::new(Counts::default());
        let scribe = Scribe {
            items: queue.clone(),
            sink,
            counts: counts.clone(),
        };
        let failed = settings.failed;
        let thread = std::thread::Builder::new()
            .name("flowpipe-recorder".into())
            .spawn(move || scribe.write().inspect_err(|error| failed(error)))?;
        let recorder = Self {
            about: RwLock::new(about),
            to: queue.clone(),
        };
        let recording = Recording {
            thread,
            queue,
            counts,
        };
        Ok((Arc::new(recorder), recording))
    }

    fn topic(&self, stage: usize, port: usize) -> Option<Topic> {
        let about = self.about();
        let stage = about.stages.get(stage)?;
        Some(Topic::new(&stage.name, &stage.outputs.get(port)?.0))
    }

    fn about(&self) -> RwLockReadGuard<'_, About> {
        self.about.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The output of a name, as messages have it.
    fn port(&self, stage: &str, output: &str) -> Option<PortRef> {
        let about = self.about();
        let index = about.stages.iter().position(|it| it.name == stage)?;
        let mut outputs = about.stages[index].outputs.iter();
        let port = outputs.position(|(name, _)| name == output)?;
        Some(PortRef { stage: index, port })
    }
}

impl Observer for Recorder {
    fn message(&self, stage: usize, port: usize, message: &Arc<Message>) {
        let Some(topic) = self.topic(stage, port) else {
            return;
        };
        let picture = match message.frame() {
            Some(_) => Picture::Frame,
            None => Picture::None,
        };
        let belongs = Belongs::Message {
            own: message.key(),
            root: message.root(),
        };
        self.to
            .push(Item::Message(topic, message.clone(), picture), belongs);
    }

    fn wants_time(&self) -> bool {
        self.to.wants_time()
    }

    fn wait_for_room(&self, gives_up: &dyn Fn() -> bool) {
        self.to.wait_for_room(gives_up);
    }

    fn problem(&self, problem: &Problem, now_ns: i64) {
        let trouble = Trouble {
            kind: problem.kind.word().into(),
            stage: (&problem.stage).into(),
            plugin: (&problem.plugin).into(),
            text: problem.to_string(),
            at_ns: now_ns,
        };
        self.to.push(Item::Problem(trouble), Belongs::Nothing);
    }

    fn wants_calls(&self) -> bool {
        true
    }

    fn call(&self, _: usize, call: &Call) {
        let took = call.took.as_ref();
        let took = took.and_then(|it| Some((self.port(&it.from, &it.output)?, it.sequence)));
        let emitted = call.emitted.iter();
        let emitted =
            emitted.filter_map(|it| Some((self.port(&call.stage, &it.port)?, it.sequence)));
        let belongs = Belongs::Call {
            took,
            emitted: emitted.collect(),
            is_of_source: call.event == Event::Tick,
        };
        self.to.push(Item::Call(Box::new(call.clone())), belongs);
    }

    fn dropped(&self, edge: usize, message: &Message, now_ns: i64) {
        let dropped = self.about().edges.get(edge).map(|edge| Dropped {
            from: (&edge.from.0).into(),
            output: (&edge.from.1).into(),
            sequence: message.lineage().sequence,
            to: ((&edge.to.0).into(), (&edge.to.1).into()),
            at_ns: now_ns,
        });
        if let Some(dropped) = dropped {
            let belongs = Belongs::About(message.key());
            self.to.push(Item::Dropped(dropped), belongs);
        }
    }

    fn changed(&self, line: &LineUp<'_>) {
        let changing = Changing::new(line);
        let (stages, edges) = changing.names();
        {
            let mut about = self.about.write().unwrap_or_else(PoisonError::into_inner);
            let known = about.stages.len();
            about.stages.extend(stages.into_iter().skip(known));
            let known = about.edges.len();
            about.edges.extend(edges.into_iter().skip(known).flatten());
        }
        self.to
            .push(Item::Change(Box::new(changing)), Belongs::Always);
    }
}

impl Recording {
    /// The run is over: takes nothing more. What waits is still written.
    pub fn close(&self) {
        self.queue.close();
    }

    /// Whether [`Self::finish`] would return at once.
    #[must_use]
    pub fn is_written(&self) -> bool {
        self.thread.is_finished()
    }

    /// Waits until everything is written. Call it when the run is over.
    ///
    /// # Errors
    /// When something could not be written.
    pub fn finish(self) -> Result<Written, WriteError> {
        self.close();
        match self.thread.join() {
            Ok(written) => written?,
            Err(panic) => std::panic::resume_unwind(panic),
        }
        let (dropped_lineages, dropped_messages) = self.queue.dropped();
        Ok(Written {
            messages: self.counts.messages.load(Ordering::Relaxed),
            pictures: self.counts.pictures.load(Ordering::Relaxed),
            repeated: self.counts.repeated.load(Ordering::Relaxed),
            dropped_lineages,
            dropped_messages,
        })
    }
}

/// The thread that writes.
struct Scribe {
    items: Arc<Queue>,
    sink: Box<dyn Sink>,
    counts: Arc<Counts>,
}

impl Scribe {
    fn write(mut self) -> Result<(), WriteError> {
        let written = self.write_all();
        if written.is_err() {
            // Nobody waits for room any more, and no memory is held.
            self.items.fail();
        }
        written?;
        self.sink.finish()
    }

    fn write_all(&mut self) -> Result<(), WriteError> {
        let mut next = Instant::now() + FLUSH;
        loop {
            match self.items.pop(next) {
                Popped::Item(item, size) => {
                    self.put(item)?;
                    self.items.written(size);
                }
                Popped::Nothing => {}
                // A stage that was given up may hold on to the recorder for ever: it is told when the run is over.
                Popped::Over => return Ok(()),
            }
            if Instant::now() >= next {
                self.sink.flush()?;
                next = Instant::now() + FLUSH;
            }
        }
    }

    fn put(&mut self, item: Item) -> Result<(), WriteError> {
        if let Item::Message(..) = &item {
            self.counts.messages.fetch_add(1, Ordering::Relaxed);
        }
        match self.sink.put(item)? {
            Put::Plain => {}
            Put::Stored => {
                self.counts.pictures.fetch_add(1, Ordering::Relaxed);
            }
            Put::Repeated => {
                self.counts.repeated.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(())
    }
}
