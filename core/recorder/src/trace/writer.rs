//! The thread that writes a trace.

use std::collections::{HashMap, VecDeque};
use std::io::{self, BufWriter, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::RecvTimeoutError;
use flowpipe_config::pipeline::PortRef;
use flowpipe_engine::run::event_name;
use serde::Serialize;

use super::chart::Chart;
use super::chrome::{Entry, Phase, TraceFile, microseconds};
use super::ordered::OrderedNotes;
use super::{Current, Note, Slice, Taken, Traced};
use crate::backlog::{NoteReceiver, QueuedNote};

/// The flush interval.
const FLUSH: Duration = Duration::from_millis(400);

/// The most emitted messages that are remembered for arrows.
pub(super) const REMEMBERED: usize = 65_536;

/// Writes notes to the trace file.
pub(super) struct TraceWriter<W: Write> {
    file: TraceFile<BufWriter<W>>,
    chart: Arc<Chart>,
    /// By queue. Empty without queues.
    fills: Vec<Fill>,
    emissions: Emissions,
    /// The number of arrows so far.
    arrows: u64,
    /// The time of the latest note.
    latest_ns: i64,
    traced: Traced,
}

/// The calls that emitted the latest messages.
#[derive(Default)]
pub(super) struct Emissions {
    pub of: HashMap<(PortRef, u64), Current>,
    oldest: VecDeque<(PortRef, u64)>,
}

/// The fill level of a queue.
#[derive(Clone, Default)]
struct Fill {
    messages: u64,
    /// The numbers of the last messages that were taken. In a race several plugins take one, and several workers do so in
    /// another order.
    taken: VecDeque<u64>,
}

/// How many messages of a queue are remembered once they are taken.
const TAKEN: usize = 256;

/// The arguments of a call's event.
#[derive(Serialize)]
struct Call<'a> {
    plugin: &'a str,
    event: &'static str,
    /// The edge that the message went over.
    #[serde(skip_serializing_if = "Option::is_none")]
    edge: Option<&'a str>,
    /// The index of its input.
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sequence: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    frame: Option<u64>,
    /// The stage that captured the frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    captured_by: Option<&'a str>,
    emitted: u64,
    waited_us: f64,
    result: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<&'a str>,
}

#[derive(Serialize)]
struct Named<'a> {
    name: &'a str,
}

#[derive(Serialize)]
struct ClockSetting {
    set_ahead_us: f64,
    error_us: f64,
}

#[derive(Serialize)]
struct Labelled<'a> {
    labels: &'a str,
}

#[derive(Serialize)]
struct Sorted {
    sort_index: usize,
}

#[derive(Serialize)]
struct Which<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sequence: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    frame: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
}

#[derive(Serialize)]
struct Missing {
    notes: u64,
}

#[derive(Serialize)]
struct Messages {
    messages: u64,
}

impl<W: Write> TraceWriter<W> {
    /// Starts a trace with the names of its tracks.
    pub(super) fn begin(out: W, chart: Arc<Chart>, has_queues: bool) -> io::Result<Self> {
        let mut file = TraceFile::begin(BufWriter::new(out))?;
        for (process, name) in chart.processes() {
            let process = Entry::new(Phase::Name, "process_name", (process, None), 0);
            file.put(&process.with(Named { name: &name }))?;
        }
        for (index, track) in chart.tracks.iter().enumerate() {
            let place = (chart.process(Some(index)), Some(index));
            let thread = Entry::new(Phase::Name, "thread_name", place, 0);
            file.put(&thread.with(Named { name: &track.name }))?;
            let order = Entry::new(Phase::Name, "thread_sort_index", place, 0);
            file.put(&order.with(Sorted { sort_index: index }))?;
        }
        file.flush()?;
        let queues = if has_queues { chart.queues.len() } else { 0 };
        Ok(Self {
            file,
            chart,
            fills: vec![Fill::default(); queues],
            emissions: Emissions::default(),
            arrows: 0,
            latest_ns: 0,
            traced: Traced::default(),
        })
    }

    /// Writes the received notes until the run is over. `ordered`: in the order of their times.
    pub(super) fn write(
        &mut self,
        notes: &NoteReceiver<Note>,
        mut ordered: Option<OrderedNotes>,
    ) -> io::Result<Traced> {
        let mut flushed = Instant::now();
        loop {
            match notes.receive(FLUSH) {
                Ok(queued) => {
                    self.missing(queued.dropped_before)?;
                    if matches!(queued.note, Note::Over) {
                        break;
                    }
                    match &mut ordered {
                        Some(ordered) => ordered.hold(queued),
                        None => self.put_queued(notes, queued)?,
                    }
                }
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {}
            }
            while let Some(queued) = ordered.as_mut().and_then(OrderedNotes::next) {
                self.put_queued(notes, queued)?;
            }
            if flushed.elapsed() >= FLUSH {
                self.file.flush()?;
                flushed = Instant::now();
            }
        }
        while let Some(queued) = ordered.as_mut().and_then(OrderedNotes::next_of_rest) {
            self.put_queued(notes, queued)?;
        }
        self.file.end()?;
        Ok(self.traced)
    }

    fn put_queued(
        &mut self,
        notes: &NoteReceiver<Note>,
        queued: QueuedNote<Note>,
    ) -> io::Result<()> {
        self.put(&queued.note)?;
        self.latest_ns = self.latest_ns.max(queued.note.at_ns());
        notes.free(&queued);
        Ok(())
    }

    /// Writes that notes are missing here, if there are any.
    fn missing(&mut self, notes: u64) -> io::Result<()> {
        if notes == 0 {
            return Ok(());
        }
        self.traced.dropped += notes;
        // A missed take would leave a level too high forever. One that is too low is right again at 0.
        self.fills.iter_mut().for_each(|fill| fill.messages = 0);
        let place = (self.chart.process(None), None);
        let entry = Entry::new(Phase::Instant, "events are missing", place, self.latest_ns);
        self.file
            .put(&entry.of_kind(Some("missing")).with(Missing { notes }))
    }

    fn put(&mut self, note: &Note) -> io::Result<()> {
        match note {
            Note::Completion(slice) => self.slice(slice),
            Note::Began { taken, at_ns } => match taken {
                Some(taken) => self.taken(taken, *at_ns),
                None => Ok(()),
            },
            Note::Emitted {
                call,
                source,
                sequence,
                at_ns,
            } => {
                self.traced.messages += 1;
                if let Some(call) = *call {
                    self.emissions.note((*source, *sequence), call);
                }
                for queue in 0..self.fills.len() {
                    // By the clocks of two machines, one may be taken before it was emitted.
                    let is_taken = !self.chart.machines.is_empty()
                        && self.fills[queue]
                            .taken
                            .iter()
                            .rev()
                            .any(|it| it == sequence);
                    if self.chart.queues[queue].from == *source && !is_taken {
                        self.fill(queue, *at_ns, |fill| fill.messages += 1)?;
                    }
                }
                Ok(())
            }
            Note::Dropped {
                track,
                edge,
                sequence,
                frame,
                at_ns,
            } => {
                let chart = self.chart.clone();
                let which = Which {
                    queue: chart.queues.get(*edge).map(|queue| &*queue.name),
                    sequence: Some(*sequence),
                    frame: some(*frame),
                    text: None,
                };
                self.instant("dropped", "drop", *track, *at_ns, which)?;
                self.fill(*edge, *at_ns, |fill| {
                    fill.messages = fill.messages.saturating_sub(1);
                })
            }
            Note::Marked {
                track,
                name,
                frame,
                at_ns,
            } => {
                let which = Which {
                    queue: None,
                    sequence: None,
                    frame: some(*frame),
                    text: None,
                };
                self.instant(name, "mark", *track, *at_ns, which)
            }
            Note::Problem { problem, at_ns } => {
                let track = self.chart.named(&problem.stage, &problem.plugin);
                let message = problem.message.as_ref();
                let which = Which {
                    queue: None,
                    sequence: message.map(|message| message.sequence),
                    frame: message.and_then(|message| some(message.frame)),
                    text: Some(&problem.text),
                };
                self.instant(problem.kind.word(), "problem", track, *at_ns, which)
            }
            Note::Clock {
                machine,
                set_ahead_ns,
                error_ns,
            } => self.clock(*machine, *set_ahead_ns, *error_ns),
            Note::Over => Ok(()),
        }
    }

    /// Writes how the clock of a machine was set, also as a label that viewers show.
    fn clock(&mut self, machine: usize, set_ahead_ns: i64, error_ns: i64) -> io::Result<()> {
        let place = (Chart::process_of_machine(machine), None);
        let error_us = microseconds(error_ns);
        let entry = Entry::new(Phase::Name, "clock", place, 0);
        self.file.put(&entry.with(ClockSetting {
            set_ahead_us: microseconds(set_ahead_ns),
            error_us,
        }))?;
        let labels = format!("clock ± {error_us:.1} µs");
        let entry = Entry::new(Phase::Name, "process_labels", place, 0);
        self.file.put(&entry.with(Labelled { labels: &labels }))
    }

    fn slice(&mut self, slice: &Slice) -> io::Result<()> {
        self.traced.calls += 1;
        let chart = self.chart.clone();
        let Some(track) = chart.tracks.get(slice.track) else {
            return Ok(());
        };
        let taken = slice.taken.as_ref();
        let edge = taken.map(|taken| chart.edge_name(taken.from, taken.to));
        let captured_by = slice.origin.map(|origin| chart.track(origin.stage, 0, 0));
        let captured_by = captured_by.and_then(|track| chart.tracks.get(track));
        let frame = slice.origin.map(|origin| origin.sequence);
        let entry = Entry::new(
            Phase::Slice,
            &track.stage_name,
            (chart.process(Some(slice.track)), Some(slice.track)),
            slice.began_ns,
        );
        let entry = entry.lasting(slice.ended_ns - slice.began_ns).with(Call {
            plugin: &track.plugin,
            event: event_name(slice.event),
            edge: edge.as_deref(),
            input: taken.map(|taken| taken.to.port),
            sequence: taken.map(|taken| taken.sequence),
            frame,
            captured_by: captured_by.map(|track| &*track.stage_name),
            emitted: slice.emitted,
            waited_us: microseconds(slice.waited_ns),
            result: match slice {
                Slice { lost: true, .. } => "lost",
                Slice { stopped: true, .. } => "stopped",
                Slice {
                    failed: Some(_), ..
                } => "failed",
                _ => "done",
            },
            failed: slice.failed.as_deref(),
        });
        self.file.put(&entry.of_kind(Some("call")))?;
        match (taken, edge) {
            (Some(taken), Some(edge)) => self.arrow(slice, taken, &edge),
            _ => Ok(()),
        }
    }

    /// Writes the arrow from the call that emitted a message to the one that took it. There is none if no traced call
    /// emitted it, such as for a recorded message.
    fn arrow(&mut self, slice: &Slice, taken: &Taken, edge: &str) -> io::Result<()> {
        let emission = self.emissions.of.get(&(taken.from, taken.sequence));
        let Some(&call) = emission else {
            return Ok(());
        };
        let name = match slice.origin {
            None => "message".to_owned(),
            Some(origin) => format!("frame {}", origin.sequence),
        };
        self.arrows += 1;
        let ends = [
            // Viewers bind an arrow to the last event before it, which may be a mark: so the arrow starts where the
            // call starts.
            (Phase::Leaves, call.track, call.began_ns + 1),
            (Phase::Arrives, slice.track, slice.began_ns),
        ];
        for (phase, track, at_ns) in ends {
            let place = (self.chart.process(Some(track)), Some(track));
            let entry = Entry::<()>::new(phase, &name, place, at_ns)
                .of_kind(Some(edge))
                .of_flow(self.arrows);
            self.file.put(&entry)?;
        }
        Ok(())
    }

    fn instant(
        &mut self,
        name: &str,
        category: &str,
        track: usize,
        at_ns: i64,
        which: Which<'_>,
    ) -> io::Result<()> {
        let place = (self.chart.process(Some(track)), Some(track));
        let entry = Entry::new(Phase::Instant, name, place, at_ns);
        self.file.put(&entry.of_kind(Some(category)).with(which))
    }

    /// Handles that a plugin takes a message. The message leaves its queue the first time.
    fn taken(&mut self, taken: &Taken, at_ns: i64) -> io::Result<()> {
        let Some(queue) = self.chart.queue(taken.from, taken.to) else {
            return Ok(());
        };
        let sequence = taken.sequence;
        // Most are found at once.
        let is_new = |fill: &Fill| !fill.taken.iter().rev().any(|it| *it == sequence);
        if !self.fills.get(queue).is_some_and(is_new) {
            return Ok(());
        }
        self.fill(queue, at_ns, |fill| {
            fill.taken.push_back(sequence);
            if fill.taken.len() > TAKEN {
                fill.taken.pop_front();
            }
            fill.messages = fill.messages.saturating_sub(1);
        })
    }

    fn fill(&mut self, queue: usize, at_ns: i64, change: impl FnOnce(&mut Fill)) -> io::Result<()> {
        let (Some(fill), Some(of)) = (self.fills.get_mut(queue), self.chart.queues.get(queue))
        else {
            return Ok(());
        };
        change(fill);
        // A message beyond the capacity is held by the waiting sender.
        let messages = fill.messages.min(of.capacity);
        let name = format!("queue {}", of.name);
        let process = self.chart.process_of_stage(Some(of.to.stage));
        let entry = Entry::new(Phase::Counter, &name, (process, None), at_ns);
        self.file.put(&entry.with(Messages { messages }))
    }
}

impl Note {
    /// Its latest time.
    pub(super) fn at_ns(&self) -> i64 {
        match self {
            Self::Completion(slice) => slice.ended_ns,
            Self::Began { at_ns, .. }
            | Self::Emitted { at_ns, .. }
            | Self::Dropped { at_ns, .. }
            | Self::Marked { at_ns, .. }
            | Self::Problem { at_ns, .. } => *at_ns,
            Self::Clock { .. } | Self::Over => 0,
        }
    }
}

impl Emissions {
    pub(super) fn note(&mut self, message: (PortRef, u64), call: Current) {
        self.of.insert(message, call);
        self.oldest.push_back(message);
        if self.oldest.len() > REMEMBERED
            && let Some(oldest) = self.oldest.pop_front()
        {
            self.of.remove(&oldest);
        }
    }
}

fn some(frame: u64) -> Option<u64> {
    (frame != 0).then_some(frame)
}
