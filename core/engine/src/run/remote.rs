//! Stages that other machines run, and the edges to and from them.
//!
//! A run of [`Options::elsewhere`] creates the other stages, and gives its caller the ends of the edges that leave it or
//! come from outside: the caller takes messages from [`OutgoingEdge`]s and gives messages to [`IncomingEdge`]s. What
//! arrives is validated as what a plugin emits: nothing here trusts another machine.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use flowpipe_abi as abi;
use flowpipe_config::manifest::Content;
use flowpipe_config::pipeline::{Edge, Pipeline, PortRef, Queue, WhenFull};
use flowpipe_host::document::Document;
use flowpipe_host::frame::{Frame, Layout};
use flowpipe_host::message::{CapturedMessage, Hops, Lineage, MOST_HOPS, Message, Origin};
use flowpipe_recording::LATEST_TIME;
use flowpipe_sync::lock;

use crate::check::Judgement;
pub use crate::edge::Receipt;
use crate::edge::counters::Counters;
use crate::edge::cycle::Cycle;
use crate::edge::gate::Gate;
use crate::edge::outputs::{OutEdge, Sending};
use crate::edge::{Head, Item, Received};
use crate::numbers::Numbers;
use crate::run::Options;
use crate::run::error::StartError;
use crate::run::plan::misfit;
use crate::run::stage::Stage;

/// The ends of the edges to and from stages that other machines run.
#[derive(Default)]
pub struct RemoteEnds {
    /// From stages here.
    pub outgoing: Vec<OutgoingEdge>,
    /// To stages here.
    pub incoming: Vec<IncomingEdge>,
    /// The cycles of which other machines have stages too.
    pub cycles: Vec<DividedCycle>,
}

/// A cycle of which other machines have stages too. It ends when each of these machines has been idle.
#[derive(Clone)]
pub struct DividedCycle {
    index: usize,
    stages: Vec<usize>,
    cycle: Arc<Cycle>,
}

/// The receiving end of an edge to a stage that another machine runs.
pub struct OutgoingEdge {
    index: usize,
    edge: Edge,
    receiver: Head,
}

/// The sending end of an edge from a stage that another machine runs.
pub struct IncomingEdge {
    index: usize,
    edge: Edge,
    stage: Arc<Stage>,
    sender: OutEdge,
    /// How many stages the pipeline has.
    stages: usize,
    /// The number of the last message.
    last: u64,
    /// The messages of its output that observers have had, if several edges bring them.
    observed: Option<Arc<Mutex<Numbers>>>,
}

/// The highest number of a message. No run emits so many.
const LAST_SEQUENCE: u64 = 1 << 53;

/// The result of waiting for a message.
#[derive(Debug)]
pub enum Taken {
    /// A message, and what it keeps until it has arrived elsewhere.
    Message(Arc<Message>, Option<Receipt>),
    /// There is none now.
    Empty,
    /// The stream has ended.
    Ended,
}

/// A message of another machine, as it arrived. Times are of this run's clock.
#[derive(Clone, Debug)]
pub struct ArrivedMessage {
    /// The id of its schema.
    pub schema: String,
    /// Its JSON.
    pub json: Vec<u8>,
    /// Its pixels: their layout and bytes.
    pub pixels: Option<(Layout, Arc<Vec<u8>>)>,
    /// Its number, from 1.
    pub sequence: u64,
    /// The frame that it descends from.
    pub origin: Option<Origin>,
    /// The message that carried that frame, if it is another one: its schema and JSON.
    pub captured: Option<(String, Vec<u8>)>,
    /// The stages that processed it or its ancestors, oldest first.
    pub hops: Vec<abi::Hop>,
    /// The first ancestor: its output, and its number there.
    pub root: Option<(PortRef, u64)>,
}

/// Where a message of another machine went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Into the queue of its edge.
    Queued,
    /// Nowhere: the receiving stage has ended.
    Gone,
    /// Nowhere: memory is short here for its frame.
    NoMemory,
}

/// An edge to another machine, before the stages exist.
pub(crate) struct ToOther {
    pub index: usize,
    pub edge: Edge,
    pub receiver: Head,
}

/// An edge from another machine, before the stages exist.
pub(crate) struct FromOther {
    pub index: usize,
    pub edge: Edge,
    pub sender: OutEdge,
}

/// The queue at the sender of an edge between machines. If it blocks, most messages wait at the receiver; otherwise here,
/// so that what waits can be dropped.
pub(crate) fn queue_to(queue: Queue) -> Queue {
    let capacity = match queue.when_full {
        WhenFull::Block => share(queue.capacity),
        _ => queue.capacity,
    };
    Queue { capacity, ..queue }
}

/// The queue at the receiver. Other messages wait in front of it, as many as [`IncomingEdge::capacity`].
pub(crate) fn queue_from(queue: Queue) -> Queue {
    let capacity = match queue.when_full {
        WhenFull::Block => share(queue.capacity),
        _ => 1,
    };
    Queue {
        capacity,
        when_full: WhenFull::Block,
    }
}

/// How much of the capacity of a queue that blocks is between the queues at both ends. One place of each of these is beyond
/// the capacity, as if that were 1.
fn between(capacity: usize) -> usize {
    (capacity + 2).saturating_sub(2 * share(capacity)).max(1)
}

/// How much of the capacity of a queue that blocks is in the stages' own queues at each end. With one place, two threads
/// would wait for each other at each message.
fn share(capacity: usize) -> usize {
    (capacity / 4).max(1)
}

/// Checks that the stages of a pipeline can be on several machines.
pub(crate) fn check(pipeline: &Pipeline, options: &Options) -> Result<(), StartError> {
    let elsewhere = &options.elsewhere | &options.fed;
    let Some(&last) = elsewhere.last() else {
        return Ok(());
    };
    let refuse = |stage: usize, reason: &str| {
        let name = pipeline.stages.get(stage).map_or("?", |it| &it.name);
        Err(misfit(name, reason.to_owned()))
    };
    if last >= pipeline.stages.len() {
        return refuse(last, "the pipeline does not have so many stages");
    }
    if options.replay.is_some() {
        return refuse(last, "a replay runs all stages on one machine");
    }
    Ok(())
}

/// The cycles that have stages here and elsewhere. `of`: the cycle of each stage.
pub(crate) fn divided_cycles(
    of: &[Option<usize>],
    cycles: &[Arc<Cycle>],
    elsewhere: &BTreeSet<usize>,
) -> Vec<DividedCycle> {
    let all = cycles
        .iter()
        .enumerate()
        .map(|(index, cycle)| DividedCycle {
            index,
            stages: (0..of.len()).filter(|&it| of[it] == Some(index)).collect(),
            cycle: cycle.clone(),
        });
    let is_divided = |it: &DividedCycle| {
        let count = it
            .stages
            .iter()
            .filter(|stage| elsewhere.contains(stage))
            .count();
        count > 0 && count < it.stages.len()
    };
    all.filter(is_divided).collect()
}

impl RemoteEnds {
    pub(crate) fn new(
        stages: &[Arc<Stage>],
        to: Vec<ToOther>,
        from: Vec<FromOther>,
        cycles: Vec<DividedCycle>,
    ) -> Self {
        let mut edges: HashMap<PortRef, usize> = HashMap::new();
        for it in &from {
            *edges.entry(it.edge.from).or_default() += 1;
        }
        let several = edges.into_iter().filter(|(_, count)| *count > 1);
        let several = several.map(|(output, _)| (output, Arc::default()));
        let observed: HashMap<_, Arc<Mutex<Numbers>>> = several.collect();
        let outgoing = to.into_iter().map(|it| OutgoingEdge {
            index: it.index,
            edge: it.edge,
            receiver: it.receiver,
        });
        let incoming = from.into_iter().map(|it| IncomingEdge {
            index: it.index,
            stage: stages[it.edge.from.stage].clone(),
            sender: it.sender,
            stages: stages.len(),
            last: 0,
            observed: observed.get(&it.edge.from).cloned(),
            edge: it.edge,
        });
        Self {
            outgoing: outgoing.collect(),
            incoming: incoming.collect(),
            cycles,
        }
    }
}

impl DividedCycle {
    /// Its number in the pipeline, which is the same on all machines.
    #[must_use]
    pub fn index(&self) -> usize {
        self.index
    }

    /// All its stages.
    #[must_use]
    pub fn stages(&self) -> &[usize] {
        &self.stages
    }

    /// Checks whether this machine has been idle: all that was caused here has ended, everywhere.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        // The stages here may have ended, and check no more.
        self.cycle.check();
        self.cycle.is_idle()
    }

    /// Does not let this machine be idle while `are_there` returns true: while messages of one of its edges have arrived
    /// that [`IncomingEdge::accept`] has not accepted. It is called from any thread.
    pub fn watch_arrivals(&self, are_there: impl Fn() -> bool + Send + Sync + 'static) {
        self.cycle.watch_arrivals(are_there);
    }

    /// All other machines with stages of it have been idle.
    pub fn others_are_idle(&self) {
        self.cycle.others_are_idle();
    }
}

impl OutgoingEdge {
    /// Its index in the pipeline.
    #[must_use]
    pub fn index(&self) -> usize {
        self.index
    }

    /// The edge in the pipeline.
    #[must_use]
    pub fn edge(&self) -> Edge {
        self.edge
    }

    /// Waits for a message, or for the end of the stream.
    #[must_use]
    pub fn take(&self) -> Taken {
        self.receiver.take(&Gate::default()).into()
    }

    /// Counts what the other machine has finished.
    #[must_use]
    pub fn finished_count(&self) -> FinishedCount {
        FinishedCount(self.receiver.counters.clone())
    }

    /// Takes a message if there is one.
    #[must_use]
    pub fn try_take(&self) -> Taken {
        self.receiver.try_take().into()
    }
}

impl From<Received> for Taken {
    fn from(received: Received) -> Self {
        match received {
            Received::Message(Item { message, receipt }) => Self::Message(message, receipt),
            Received::Empty => Self::Empty,
            Received::Ended => Self::Ended,
        }
    }
}

/// How many messages of an edge another machine has finished.
#[derive(Clone)]
pub struct FinishedCount(Arc<Counters>);

impl FinishedCount {
    /// It has finished so many more, or they were not sent.
    pub fn add(&self, count: u64) {
        self.0.finish(count);
    }
}

impl IncomingEdge {
    /// Its index in the pipeline.
    #[must_use]
    pub fn index(&self) -> usize {
        self.index
    }

    /// The edge in the pipeline.
    #[must_use]
    pub fn edge(&self) -> Edge {
        self.edge
    }

    /// Waits until no message waits for the stage here, or that has ended, but not much longer than `most`. Returns whether
    /// it is so.
    #[must_use]
    pub fn wait_until_taken(&self, most: Duration) -> bool {
        self.sender.wait_until_taken(most)
    }

    /// How many messages may wait before they are passed on here: what the sender is granted. Of a queue that drops, one:
    /// the others wait at the sender, where they can be dropped.
    #[must_use]
    pub fn capacity(&self) -> usize {
        match self.edge.queue.when_full {
            WhenFull::Block => between(self.edge.queue.capacity),
            _ => 1,
        }
    }

    /// Passes a message on to the stage here, as if the other stage had emitted it. Waits while the queue is full. The
    /// message and what descends from it keep `receipt` while they wait or are processed here.
    ///
    /// # Errors
    /// Why the message is refused: it is not what the other stage may emit. It is dropped.
    pub fn accept(
        &mut self,
        arrived: ArrivedMessage,
        receipt: Option<Receipt>,
    ) -> Result<Delivery, String> {
        let sequence = arrived.sequence;
        if sequence <= self.last {
            return Err(format!(
                "message {sequence} came after message {}",
                self.last
            ));
        }
        if sequence > LAST_SEQUENCE {
            return Err(format!("no run has a message {sequence}"));
        }
        let Some(message) = self.message(arrived)? else {
            return Ok(Delivery::NoMemory);
        };
        match self.judge(&message) {
            Judgement::Refuse(reason) => {
                return Err(format!("a message does not pass the checks: {reason}"));
            }
            Judgement::Accept | Judgement::Weak(_) => {}
        }
        self.last = sequence;
        let message = Arc::new(message);
        let observed = self.observed.as_ref();
        if observed.is_none_or(|observed| lock(observed).insert(sequence)) {
            for observer in &self.stage.run.observers {
                observer.accepted(&message);
                observer.arrived(self.stage.index, self.edge.from.port, &message);
            }
        }
        match self.sender.send(Item { message, receipt }, &NoClock) {
            true => Ok(Delivery::Queued),
            false => Ok(Delivery::Gone),
        }
    }

    /// `None`: memory is short for its frame.
    fn message(&self, arrived: ArrivedMessage) -> Result<Option<Message>, String> {
        let port = self.stage.outputs.get(self.edge.from.port);
        let port = port.ok_or("the stage has no such output")?;
        let schema = match &port.schema {
            Some(schema) if schema.to_bytes() == arrived.schema.as_bytes() => schema.clone(),
            Some(schema) => {
                let (got, declared) = (&arrived.schema, schema.to_string_lossy());
                return Err(format!(
                    "a message of schema {got:?} came where {declared:?} is declared"
                ));
            }
            None => text(&arrived.schema)?,
        };
        let content = arrived
            .pixels
            .as_ref()
            .map_or(Content::Nothing, |(layout, _)| layout.content());
        port.check_content(content)?;
        if let Some(why) = self.sender.refusal(&schema, content) {
            return Err(why);
        }
        let lineage = self.lineage(&arrived)?;
        let body = document(&arrived.json)?;
        let frame = match arrived.pixels {
            Some((layout, bytes)) => {
                if bytes.len() != layout.size() {
                    return Err("its bytes do not fit its layout".to_owned());
                }
                let owner = self.stage.index as u32;
                let pool = &self.stage.run.services.pool;
                let Some(frame) = Frame::from_bytes(pool, layout, owner, &bytes) else {
                    return Ok(None);
                };
                Some(frame)
            }
            None => None,
        };
        Ok(Some(Message {
            schema,
            body,
            frame,
            lineage,
            source: self.edge.from,
        }))
    }

    fn lineage(&self, arrived: &ArrivedMessage) -> Result<Lineage, String> {
        let is_stage = |stage: usize| stage < self.stages;
        let hops = &arrived.hops;
        check_hops(hops, self.stages)?;
        let is_from_stage = |hop: &abi::Hop| hop.stage as usize == self.stage.index;
        if !hops.last().is_some_and(is_from_stage) {
            return Err(WRONG_HOPS.to_owned());
        }
        let is_origin = |origin: &Origin| {
            is_stage(origin.stage) && is_number(origin.sequence) && is_time(origin.captured_ns)
        };
        let is_root =
            |(port, sequence): &(PortRef, u64)| is_stage(port.stage) && is_number(*sequence);
        if !arrived.origin.as_ref().is_none_or(is_origin)
            || !arrived.root.as_ref().is_none_or(is_root)
        {
            return Err("the frame that a message descends from is wrong".to_owned());
        }
        if arrived.captured.is_some() && arrived.origin.is_none() {
            return Err("a message descends from no frame, and from one".to_owned());
        }
        let captured = match &arrived.captured {
            Some((schema, json)) => Some(captured(schema, json)?),
            None if arrived.pixels.is_some() && arrived.origin.is_some() => {
                Some(captured(&arrived.schema, &arrived.json)?)
            }
            None => None,
        };
        Ok(Lineage {
            sequence: arrived.sequence,
            origin: arrived.origin,
            captured,
            hops: Hops::from_slice(hops),
            root: arrived.root,
        })
    }

    /// What the checks here say. The message that the other stage processed is not here: its machine has compared them.
    fn judge(&self, message: &Message) -> Judgement {
        let run = &self.stage.run;
        if let Some(schema) = run.message_schema(message.schema())
            && let Err(reason) = schema.check(message)
        {
            return Judgement::Refuse(reason);
        }
        match self.stage.outputs.get(self.edge.from.port) {
            Some(output) if output.schema.is_some() => output.checks.judge(None, message),
            _ => run.checks.of_any(message.schema()).judge(None, message),
        }
    }
}

const WRONG_HOPS: &str = "the stages that a message passed are wrong";

/// Whether a run can have a message of this number.
pub(crate) fn is_number(number: u64) -> bool {
    (1..=LAST_SEQUENCE).contains(&number)
}

/// Whether a clock can show this time, and a recording hold it.
pub(crate) fn is_time(time_ns: i64) -> bool {
    (-LATEST_TIME..=LATEST_TIME).contains(&time_ns)
}

/// Checks the stages that a message of another machine passed. `stages`: how many the pipeline has.
pub(crate) fn check_hops(hops: &[abi::Hop], stages: usize) -> Result<(), String> {
    let is_hop = |hop: &abi::Hop| {
        (hop.stage as usize) < stages && is_time(hop.taken_ns) && is_time(hop.emitted_ns)
    };
    match hops.len() <= MOST_HOPS && hops.iter().all(is_hop) {
        true => Ok(()),
        false => Err(WRONG_HOPS.to_owned()),
    }
}

fn captured(schema: &str, json: &[u8]) -> Result<Arc<CapturedMessage>, String> {
    Ok(Arc::new(CapturedMessage {
        schema: text(schema)?,
        body: document(json)?,
    }))
}

pub(crate) fn document(json: &[u8]) -> Result<Document, String> {
    Document::new(json).map_err(|error| format!("a message is {error}"))
}

pub(crate) fn text(text: &str) -> Result<Arc<std::ffi::CStr>, String> {
    let text = std::ffi::CString::new(text);
    let text = text.ok().filter(|text| !text.is_empty());
    Ok(text.ok_or("a message has no schema")?.into())
}

/// A sender without a call whose time counts.
struct NoClock;

impl Sending for NoClock {
    fn begin_wait(&self) {}

    fn end_wait(&self) {}

    /// A queue from another machine blocks.
    fn dropped(&self, _: usize, _: &Message) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_queue_that_blocks_are_its_capacity_and_two_places() {
        for capacity in 1..=300 {
            let when_full = WhenFull::Block;
            let queue = Queue {
                capacity,
                when_full,
            };
            let ends = queue_to(queue).capacity + queue_from(queue).capacity;
            assert_eq!(ends + between(capacity), capacity + 2, "{capacity}");
            assert!(between(capacity) * 2 >= capacity, "{capacity}");
        }
    }
}
