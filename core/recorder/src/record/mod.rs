//! Records a run.
//!
//! A [`Recorder`] observes the run on the stages' threads and sends everything to a thread of its own, which writes the
//! file. The [`queue`] between them is bounded in bytes. When the thread can't keep up, whole lineages are dropped, and
//! the recording lists them. In lossless mode the stages wait instead.

mod about;
mod change;
mod file_sink;
mod flight;
mod flight_buffer;
mod item_size;
pub(crate) mod lineages;
mod queue;
#[cfg(test)]
mod tests;
mod transfer;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

pub use about::about;
pub use file_sink::{Annotator, Extra};
pub use flight::{Flight, FlightFile, FlightTrigger, Opened};
use flowpipe_config::pipeline::PortRef;
use flowpipe_engine::numbers::Numbers;
use flowpipe_engine::payload::payload_kind;
use flowpipe_engine::run::{Observer, PipelineChange};
use flowpipe_host::clock::Clock;
use flowpipe_host::message::Message;
use flowpipe_host::problem::Problem;
use flowpipe_recording::entry::{About, Call, Dropped, DroppedLineages, Event, MISSING, Trouble};
use flowpipe_recording::{Packed, PayloadKind, Topic, WriteError, Writer};
use flowpipe_sync::lock;
pub use transfer::{SendPart, TransferError, TransferReader};

use crate::record::change::PendingChange;
use crate::record::file_sink::FileSink;
use crate::record::lineages::MessageKey;
use crate::record::queue::{Dependency, Popped, Queue};
use crate::record::transfer::{LAST_NUMBER, TransferSink};

/// Observes a run and records it.
pub struct Recorder {
    /// With all stages and queues that the run has had so far.
    about: RwLock<About>,
    to: Arc<Queue>,
    arrivals: Arrivals,
    ends_early: Arc<AtomicBool>,
}

/// What becomes of messages that arrive from stages of other machines.
enum Arrivals {
    /// They are recorded like any other.
    Recorded,
    /// Their own machine records them.
    Ignored,
    /// Recorders there send them too: each is recorded once. Its number, by output.
    Once(Mutex<HashMap<PortRef, Numbers>>),
}

/// A handle of the recorder's thread, to wait for when the run is over.
pub struct Recording {
    thread: JoinHandle<Result<(), WriteError>>,
    queue: Arc<Queue>,
    counts: Arc<Counts>,
}

/// The settings of a recorder.
pub struct Settings {
    /// Lossless mode: stages wait until there is room, and nothing is dropped.
    pub lossless: bool,
    /// The most bytes in the queue.
    pub limit: usize,
    /// Called at once when writing fails, on the thread that writes. [`Recording::finish`] returns the error too.
    pub failed: Box<dyn FnOnce(&WriteError) + Send>,
    /// Recorders of other machines send what their stages do: see [`TransferReader::add`].
    pub has_others: bool,
}

/// The counts of a finished recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Written {
    /// Messages.
    pub messages: u64,
    /// Pictures, also those that were stored already.
    pub pictures: u64,
    /// Buffers, also those that were stored already.
    pub buffers: u64,
    /// Pictures and buffers that were stored already.
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
    buffers: AtomicU64,
    repeated: AtomicU64,
}

/// An item for the recorder's thread.
#[derive(Clone)]
pub(crate) enum Item {
    /// A message, with its pixels.
    Message(Topic, Arc<Message>, Picture),
    Call(Box<Call>),
    Dropped(Dropped),
    DroppedLineages(DroppedLineages),
    Problem(Trouble),
    Change(Box<PendingChange>),
}

/// The pixels of a message that is to be recorded.
#[derive(Clone)]
pub(crate) enum Picture {
    /// It has none.
    None,
    /// Its frame: pixels, or a buffer.
    Frame,
    /// There was no memory for it. The message has no frame.
    LeftOut(PayloadKind),
    /// It is packed already. The message has no frame.
    Packed(Arc<Packed>),
}

/// The default limit of the queue in bytes: half a second of 1080p at 60 frames a second.
const MOST_WAITING: usize = 256 << 20;
/// The flush interval.
const FLUSH: Duration = Duration::from_millis(400);

impl Default for Settings {
    fn default() -> Self {
        Self {
            lossless: false,
            limit: MOST_WAITING,
            failed: Box::new(|_| {}),
            has_others: false,
        }
    }
}

/// The destination of a recorder.
pub(crate) trait Sink: Send {
    /// Takes one item.
    fn put(&mut self, item: Item) -> Result<Put, WriteError>;
    /// Flushes what was put. Called periodically, also when nothing was put.
    fn flush(&mut self) -> Result<(), WriteError>;
    /// Completes the recording, when the run is over.
    fn finish(self: Box<Self>) -> Result<(), WriteError>;
    /// Ends the recording where the rest is missing.
    fn end_early(self: Box<Self>) -> Result<(), WriteError> {
        self.finish()
    }
}

/// How an item was stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Put {
    /// It was written, without pixels.
    Plain,
    /// Its pixels were stored.
    Stored,
    /// Its pixels were stored already.
    Repeated,
}

impl Recorder {
    /// Starts a recording in a file.
    ///
    /// # Errors
    /// When the system can't create a thread.
    pub fn to_file<W: std::io::Write + Send + 'static>(
        writer: Writer<W>,
        about: About,
        annotator: Option<Box<dyn Annotator>>,
        settings: Settings,
    ) -> std::io::Result<(Arc<Self>, Recording)> {
        let sink = FileSink::new(writer, annotator);
        Self::start(about, Box::new(sink), settings)
    }

    /// Starts a flight recorder: keeps the last seconds in memory, and writes them to a file when a problem occurs.
    ///
    /// # Errors
    /// When the system can't create a thread.
    pub fn in_flight(
        flight: Flight,
        about: About,
        clock: Clock,
    ) -> std::io::Result<(Arc<Self>, Recording)> {
        let sink = flight::FlightSink::new(flight, about.clone(), clock);
        Self::start(about, Box::new(sink), Settings::default())
    }

    /// Starts a recorder of the stages here that sends everything to another machine. It is to be lossless. `messages`:
    /// not only the calls.
    ///
    /// # Errors
    /// When the system can't create a thread.
    pub fn to_other(
        send: SendPart,
        about: About,
        settings: Settings,
        messages: bool,
    ) -> std::io::Result<(Arc<Self>, Recording)> {
        let sink = Box::new(TransferSink::new(send, messages));
        Self::start_with(about, sink, settings, Arrivals::Ignored)
    }

    fn start(
        about: About,
        sink: Box<dyn Sink>,
        settings: Settings,
    ) -> std::io::Result<(Arc<Self>, Recording)> {
        let arrivals = match settings.has_others {
            true => Arrivals::Once(Mutex::default()),
            false => Arrivals::Recorded,
        };
        Self::start_with(about, sink, settings, arrivals)
    }

    fn start_with(
        about: About,
        sink: Box<dyn Sink>,
        settings: Settings,
        arrivals: Arrivals,
    ) -> std::io::Result<(Arc<Self>, Recording)> {
        let queue = Queue::new(settings.limit, settings.lossless);
        let ends_early: Arc<AtomicBool> = Arc::default();
        let counts = Arc::new(Counts::default());
        let writer_thread = RecorderThread {
            items: queue.clone(),
            sink,
            counts: counts.clone(),
            ends_early: ends_early.clone(),
        };
        let failed = settings.failed;
        let thread = std::thread::Builder::new()
            .name("flowpipe-recorder".into())
            .spawn(move || writer_thread.write().inspect_err(|error| failed(error)))?;
        let recorder = Self {
            about: RwLock::new(about),
            to: queue.clone(),
            arrivals,
            ends_early,
        };
        let recording = Recording {
            thread,
            queue,
            counts,
        };
        Ok((Arc::new(recorder), recording))
    }

    /// Adds an entry of another machine, waiting for room.
    fn add(&self, item: Item) {
        if let Item::Message(_, message, _) = &item
            && !self.is_new(message.key())
        {
            return;
        }
        self.to.wait_for_room(&|| false);
        self.to.push(item, Dependency::Always);
    }

    /// What follows is missing: the recording ends without its index, so that readers say so. `why` becomes an entry.
    pub fn end_early(&self, why: &str, now_ns: i64) {
        self.ends_early.store(true, Ordering::Relaxed);
        let trouble = Trouble {
            kind: MISSING.into(),
            stage: "".into(),
            plugin: "".into(),
            text: why.to_owned(),
            at_ns: now_ns,
        };
        self.to.push(Item::Problem(trouble), Dependency::Always);
    }

    /// Whether a message that another machine sends too is to be recorded.
    fn is_new(&self, (output, number): MessageKey) -> bool {
        let Arrivals::Once(seen) = &self.arrivals else {
            return true;
        };
        number <= LAST_NUMBER && lock(seen).entry(output).or_default().insert(number)
    }

    fn topic(&self, stage: usize, port: usize) -> Option<Topic> {
        let about = self.about();
        let stage = about.stages.get(stage)?;
        Some(Topic::new(&stage.name, &stage.outputs.get(port)?.0))
    }

    fn about(&self) -> RwLockReadGuard<'_, About> {
        self.about.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds an output by name.
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
        let dependency = Dependency::Message {
            own: message.key(),
            root: message.root(),
        };
        self.to
            .push(Item::Message(topic, message.clone(), picture), dependency);
    }

    fn arrived(&self, stage: usize, port: usize, message: &Arc<Message>) {
        let is_recorded = match &self.arrivals {
            Arrivals::Recorded => true,
            Arrivals::Ignored => false,
            Arrivals::Once(_) => self.is_new(message.key()),
        };
        if is_recorded {
            self.message(stage, port, message);
        }
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
        self.to.push(Item::Problem(trouble), Dependency::Nothing);
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
        let dependency = Dependency::Call {
            took,
            emitted: emitted.collect(),
            is_of_source: call.event == Event::Tick,
        };
        self.to.push(Item::Call(Box::new(call.clone())), dependency);
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
            let dependency = Dependency::About(message.key());
            self.to.push(Item::Dropped(dropped), dependency);
        }
    }

    fn changed(&self, change: &PipelineChange<'_>) {
        let change = PendingChange::new(change);
        let (stages, edges) = change.names();
        {
            let mut about = self.about.write().unwrap_or_else(PoisonError::into_inner);
            let known = about.stages.len();
            about.stages.extend(stages.into_iter().skip(known));
            let known = about.edges.len();
            about.edges.extend(edges.into_iter().skip(known).flatten());
        }
        self.to
            .push(Item::Change(Box::new(change)), Dependency::Always);
    }
}

impl Recording {
    /// Closes the queue, when the run is over. Queued items are still written.
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
            buffers: self.counts.buffers.load(Ordering::Relaxed),
            repeated: self.counts.repeated.load(Ordering::Relaxed),
            dropped_lineages,
            dropped_messages,
        })
    }
}

/// The recorder's thread.
struct RecorderThread {
    items: Arc<Queue>,
    sink: Box<dyn Sink>,
    counts: Arc<Counts>,
    ends_early: Arc<AtomicBool>,
}

/// Closes and clears the queue when dropped. After [`Popped::Over`] it is closed and empty already.
struct CloseOnDrop(Arc<Queue>);

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        self.0.fail();
    }
}

impl RecorderThread {
    fn write(mut self) -> Result<(), WriteError> {
        // After an error or a panic of the sink too, stages don't wait and the memory is free.
        let _closed = CloseOnDrop(self.items.clone());
        self.write_all()?;
        match self.ends_early.load(Ordering::Relaxed) {
            true => self.sink.end_early(),
            false => self.sink.finish(),
        }
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
                // An abandoned stage may hold a reference to the recorder forever, so the queue is closed explicitly.
                Popped::Over => return Ok(()),
            }
            if Instant::now() >= next {
                self.sink.flush()?;
                next = Instant::now() + FLUSH;
            }
        }
    }

    fn put(&mut self, item: Item) -> Result<(), WriteError> {
        let mut carried = &self.counts.pictures;
        if let Item::Message(_, message, _) = &item {
            self.counts.messages.fetch_add(1, Ordering::Relaxed);
            if payload_kind(message) == Some(PayloadKind::Buffer) {
                carried = &self.counts.buffers;
            }
        }
        let put = self.sink.put(item)?;
        if !matches!(put, Put::Plain) {
            carried.fetch_add(1, Ordering::Relaxed);
        }
        if matches!(put, Put::Repeated) {
            self.counts.repeated.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }
}
