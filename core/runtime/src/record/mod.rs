//! Writes a run down while it goes on.
//!
//! A [`Recorder`] observes the run on the stages' threads and hands everything to a thread of its own, which
//! writes the file. When that thread can't keep up, pixels are left out, and the recording says of which messages; nothing
//! else ever is.

mod about;
mod change;
mod flight;
mod strand;
mod tell;

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use flowpipe_recording::entry::{About, Call, Dropped, Trouble};
use flowpipe_recording::{Packed, Topic, WriteError, Writer};

use crate::clock::Clock;
use crate::message::Message;
use crate::problem::Problem;
use crate::record::change::Changing;
use crate::run::{LineUp, Observer};

pub use about::about;
pub use flight::{Alarm, Flight, Landed};
pub(crate) use tell::pixels;
pub use tell::{Annotator, Extra};

/// Observes a run and has it written down.
pub struct Recorder {
    /// With all stages and queues that the run has had so far.
    about: RwLock<About>,
    to: Sender<Item>,
    /// Bytes of pixels on their way.
    in_flight: Arc<AtomicUsize>,
    /// How far the writer is behind, nanoseconds.
    behind_ns: Arc<AtomicI64>,
    counts: Arc<Counts>,
}

/// The writing side, to be waited for when the run is over.
pub struct Recording {
    thread: JoinHandle<Result<(), WriteError>>,
    over: Arc<AtomicBool>,
    counts: Arc<Counts>,
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
    /// Pictures left out, because the disk or the processor could not keep up.
    pub left_out: u64,
}

#[derive(Debug, Default)]
struct Counts {
    messages: AtomicU64,
    pictures: AtomicU64,
    repeated: AtomicU64,
    left_out: AtomicU64,
}

/// What goes from the stages to the writer.
#[derive(Clone)]
pub(crate) enum Item {
    /// A message, and what is to become of its pixels.
    Message(Topic, Arc<Message>, Picture),
    Call(Box<Call>),
    Dropped(Dropped),
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
    /// There was no room for them: the message comes without its frame.
    LeftOut,
    /// They are packed already: the message comes without its frame.
    Packed(Arc<Packed>),
}

/// So many bytes of pixels may wait for the writer: half a second of 1080p at 60 frames a second.
const MOST_IN_FLIGHT: usize = 256 << 20;
/// A writer that is so far behind gets no more pixels until it has caught up: what a killed process loses is what was not
/// written yet.
const MOST_BEHIND: Duration = Duration::from_millis(300);
/// What was recorded lies in the file after this time.
const FLUSH: Duration = Duration::from_millis(400);

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
    /// When the file can't be made, or there is no thread to be had.
    pub fn to_file<W: std::io::Write + Send + 'static>(
        writer: Writer<W>,
        about: About,
        clock: Clock,
        annotator: Option<Box<dyn Annotator>>,
    ) -> std::io::Result<(Arc<Self>, Recording)> {
        Self::start(about, clock, Box::new(tell::File::new(writer, annotator)))
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
        Self::start(about, clock, Box::new(sink))
    }

    fn start(
        about: About,
        clock: Clock,
        sink: Box<dyn Sink>,
    ) -> std::io::Result<(Arc<Self>, Recording)> {
        let behind_ns = Arc::new(AtomicI64::new(0));
        let (to, items) = crossbeam_channel::unbounded();
        let in_flight = Arc::new(AtomicUsize::new(0));
        let counts = Arc::new(Counts::default());
        let over = Arc::new(AtomicBool::new(false));
        let scribe = Scribe {
            items,
            sink,
            in_flight: in_flight.clone(),
            behind_ns: behind_ns.clone(),
            clock,
            counts: counts.clone(),
            over: over.clone(),
        };
        let thread = std::thread::Builder::new()
            .name("flowpipe-recorder".into())
            .spawn(move || scribe.write())?;
        let recorder = Self {
            about: RwLock::new(about),
            to,
            in_flight,
            behind_ns,
            counts: counts.clone(),
        };
        let recording = Recording {
            thread,
            over,
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

    /// Gone only when writing failed, which [`Recording::finish`] tells.
    fn tell(&self, item: Item) {
        let _ = self.to.send(item);
    }

    /// Makes room for the pixels of a message, or lets go of them: what waits to be written holds no more memory than
    /// [`MOST_IN_FLIGHT`].
    fn reserve(&self, message: &Arc<Message>) -> (Arc<Message>, Picture) {
        let Some(frame) = message.frame() else {
            return (message.clone(), Picture::None);
        };
        let size = frame.shape().size();
        let waiting = self.in_flight.load(Ordering::Relaxed);
        let behind = Duration::from_nanos(self.behind_ns.load(Ordering::Relaxed).max(0) as u64);
        if waiting + size > MOST_IN_FLIGHT || waiting > 0 && behind > MOST_BEHIND {
            self.counts.left_out.fetch_add(1, Ordering::Relaxed);
            return (Arc::new(message.without_frame()), Picture::LeftOut);
        }
        self.in_flight.fetch_add(size, Ordering::Relaxed);
        (message.clone(), Picture::Frame)
    }
}

impl Observer for Recorder {
    fn message(&self, stage: usize, port: usize, message: &Arc<Message>) {
        if let Some(topic) = self.topic(stage, port) {
            let (message, picture) = self.reserve(message);
            self.tell(Item::Message(topic, message, picture));
        }
    }

    fn problem(&self, problem: &Problem, now_ns: i64) {
        self.tell(Item::Problem(Trouble {
            kind: problem.kind.word().to_owned(),
            stage: problem.stage.clone(),
            plugin: problem.plugin.clone(),
            text: problem.to_string(),
            at_ns: now_ns,
        }));
    }

    fn wants_calls(&self) -> bool {
        true
    }

    fn call(&self, _: usize, call: &Call) {
        self.tell(Item::Call(Box::new(call.clone())));
    }

    fn dropped(&self, edge: usize, message: &Message, now_ns: i64) {
        let dropped = self.about().edges.get(edge).map(|edge| Dropped {
            from: edge.from.0.clone(),
            output: edge.from.1.clone(),
            sequence: message.lineage().sequence,
            to: edge.to.clone(),
            at_ns: now_ns,
        });
        if let Some(dropped) = dropped {
            self.tell(Item::Dropped(dropped));
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
        self.tell(Item::Change(Box::new(changing)));
    }
}

impl Recording {
    /// Waits until everything is written. Call it when the run is over.
    ///
    /// # Errors
    /// When something could not be written.
    pub fn finish(self) -> Result<Written, WriteError> {
        self.over.store(true, Ordering::Relaxed);
        match self.thread.join() {
            Ok(written) => written?,
            Err(panic) => std::panic::resume_unwind(panic),
        }
        Ok(self.counts.written())
    }
}

impl Counts {
    fn written(&self) -> Written {
        Written {
            messages: self.messages.load(Ordering::Relaxed),
            pictures: self.pictures.load(Ordering::Relaxed),
            repeated: self.repeated.load(Ordering::Relaxed),
            left_out: self.left_out.load(Ordering::Relaxed),
        }
    }
}

/// The thread that writes.
struct Scribe {
    items: Receiver<Item>,
    sink: Box<dyn Sink>,
    in_flight: Arc<AtomicUsize>,
    behind_ns: Arc<AtomicI64>,
    clock: Clock,
    counts: Arc<Counts>,
    over: Arc<AtomicBool>,
}

impl Scribe {
    fn write(mut self) -> Result<(), WriteError> {
        let mut flushed = Instant::now();
        loop {
            match self.items.recv_timeout(FLUSH) {
                Ok(item) => self.put(item)?,
                // A stage that was given up may hold on to the recorder for ever.
                Err(RecvTimeoutError::Timeout) if self.over.load(Ordering::Relaxed) => break,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if self.over.load(Ordering::Relaxed) && self.items.is_empty() {
                break;
            }
            if flushed.elapsed() >= FLUSH {
                self.sink.flush()?;
                flushed = Instant::now();
            }
        }
        self.sink.finish()
    }

    fn put(&mut self, item: Item) -> Result<(), WriteError> {
        let mut held = 0;
        if let Item::Message(_, message, picture) = &item {
            self.counts.messages.fetch_add(1, Ordering::Relaxed);
            if let (Picture::Frame, Some(frame)) = (picture, message.frame()) {
                held = frame.shape().size();
            }
            let behind = self.clock.now() - message.emitted_ns();
            self.behind_ns.store(behind, Ordering::Relaxed);
        }
        let put = self.sink.put(item)?;
        self.in_flight.fetch_sub(held, Ordering::Relaxed);
        match put {
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
