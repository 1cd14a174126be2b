//! Sends the entries of a recording to another machine, which records or traces them.
//!
//! They are one stream of bytes, sent in parts. Each entry is its length and that of its head, the head as JSON, and what
//! it announces: the JSON of a message, and its pixels, packed. Nothing that arrives is trusted.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use flowpipe_config::pipeline::PortRef;
use flowpipe_engine::payload::{payload, payload_kind};
use flowpipe_host::message::{Hops, Message, Origin};
use flowpipe_recording::entry::{About, AboutStage, Call, Dropped, Trouble};
use flowpipe_recording::{LATEST_TIME, Packed, PackedLayout, PayloadKind, Topic, WriteError};
use serde::{Deserialize, Serialize};

use crate::record::{Item, Picture, Put, Recorder, Sink};
use crate::trace::Tracer;

/// The most bytes of a part of the stream, unless a short entry is added to a shorter one.
const PART: usize = 256 << 10;
/// The most bytes of an entry.
const LONGEST: usize = 60 << 20;
/// The most bytes of a head: a call can have many readings of the clock.
const LONGEST_HEAD: usize = 8 << 20;
/// The highest number of a message that a recording counts.
pub(crate) const LAST_NUMBER: u64 = u32::MAX as u64;

/// Sends a part of the stream. Returns false if it can't be sent.
pub type SendPart = Box<dyn FnMut(&[u8]) -> bool + Send>;

/// Why what another machine has sent is refused.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransferError {
    /// It is no batch of entries.
    #[error("it sent a malformed entry for the recording")]
    Malformed,
    /// An entry is of a stage that another machine runs.
    #[error("it sent an entry of the stage {0:?}, which it does not run")]
    Stage(String),
    /// An entry names something that the pipeline does not have.
    #[error("it sent an entry with {0} that the pipeline does not have")]
    Unknown(&'static str),
    /// The numbers of an output do not rise.
    #[error("it sent message {found} after message {last} of {topic}")]
    Order {
        /// The output.
        topic: String,
        /// The number.
        found: u64,
        /// The number before.
        last: u64,
    },
    /// Times or numbers are out of range.
    #[error("it sent an entry whose times or numbers are out of range")]
    Range,
    /// A call contradicts itself.
    #[error("it sent a call that contradicts itself: {0}")]
    Contradiction(&'static str),
}

/// What is in front of the parts.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Head {
    Message(Box<MessageHead>),
    Call(Box<Call>),
    Dropped(Box<Dropped>),
    Problem(Box<Trouble>),
    /// The run has ended: this is the last entry.
    End,
}

#[derive(Serialize, Deserialize)]
struct MessageHead {
    /// Stage and output.
    source: (usize, usize),
    schema: String,
    sequence: u64,
    at_ns: i64,
    /// The stage, the number and the time of the frame that it descends from.
    origin: Option<(usize, u64, i64)>,
    /// Bytes of its JSON.
    json: usize,
    picture: PictureHead,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum PictureHead {
    None,
    LeftOut(PayloadKind),
    /// Bytes of the packed pixels or elements.
    Packed(PackedLayout, usize),
}

/// A sink that sends to another machine.
pub(crate) struct TransferSink {
    /// What was not sent.
    pending: Vec<u8>,
    send: SendPart,
    /// Whether messages are sent, besides the calls.
    messages: bool,
}

impl TransferSink {
    pub(crate) fn new(send: SendPart, messages: bool) -> Self {
        Self {
            pending: Vec::new(),
            send,
            messages,
        }
    }

    fn append(&mut self, head: &Head, parts: [&[u8]; 2]) -> Result<(), WriteError> {
        // It has no maps with other keys than text, so that it is always JSON.
        let head = serde_json::to_vec(head).unwrap_or_default();
        let length = head.len() + parts[0].len() + parts[1].len();
        if head.len() > LONGEST_HEAD || length > LONGEST {
            let text = format!("an entry of {length} bytes is too long to be sent");
            return Err(std::io::Error::other(text).into());
        }
        if !self.pending.is_empty() && self.pending.len() + length > PART {
            self.send()?;
        }
        for length in [length, head.len()] {
            self.pending.extend((length as u32).to_le_bytes());
        }
        for part in [&head, parts[0], parts[1]] {
            self.pending.extend_from_slice(part);
        }
        Ok(())
    }

    fn send(&mut self) -> Result<(), WriteError> {
        let pending = std::mem::take(&mut self.pending);
        match pending.chunks(PART).all(&mut self.send) {
            true => Ok(()),
            false => Err(WriteError::Gone),
        }
    }

    fn message(&mut self, message: &Message, picture: &Picture) -> Result<Put, WriteError> {
        let json = message.json().as_bytes();
        let packed = match picture {
            Picture::None => None,
            Picture::LeftOut(kind) => Some((*kind, None)),
            Picture::Packed(packed) => Some((packed.layout().kind(), Some(packed.clone()))),
            Picture::Frame => {
                let packed = message.frame().and_then(payload);
                let packed = packed.and_then(|it| Packed::new(&it));
                let kind = payload_kind(message).unwrap_or(PayloadKind::Picture);
                Some((kind, packed.map(Arc::new)))
            }
        };
        let has_room = |packed: &Packed| packed.size() + json.len() + LONGEST_HEAD < LONGEST;
        let (picture, bytes, put) = match &packed {
            None => (PictureHead::None, &[][..], Put::Plain),
            Some((_, Some(packed))) if has_room(packed) => {
                let head = PictureHead::Packed(packed.layout().clone(), packed.size());
                (head, packed.bytes(), Put::Stored)
            }
            Some((kind, _)) => (PictureHead::LeftOut(*kind), &[][..], Put::Plain),
        };
        let lineage = message.lineage();
        let source = message.source();
        let origin = lineage.origin;
        let head = Head::Message(Box::new(MessageHead {
            source: (source.stage, source.port),
            schema: message.schema().to_owned(),
            sequence: lineage.sequence,
            at_ns: message.emitted_ns(),
            origin: origin.map(|it| (it.stage, it.sequence, it.captured_ns)),
            json: json.len(),
            picture,
        }));
        self.append(&head, [json, bytes])?;
        Ok(put)
    }
}

impl Sink for TransferSink {
    fn put(&mut self, item: Item) -> Result<Put, WriteError> {
        let head = match item {
            Item::Message(..) if !self.messages => return Ok(Put::Plain),
            Item::Message(_, message, picture) => return self.message(&message, &picture),
            Item::Call(call) => Head::Call(call),
            Item::Dropped(dropped) => Head::Dropped(Box::new(dropped)),
            Item::Problem(problem) => Head::Problem(Box::new(problem)),
            // A recorder that sends drops nothing, and a run on several machines does not change.
            Item::DroppedLineages(_) | Item::Change(_) => return Ok(Put::Plain),
        };
        self.append(&head, [&[], &[]])?;
        Ok(Put::Plain)
    }

    fn flush(&mut self) -> Result<(), WriteError> {
        self.send()
    }

    fn finish(mut self: Box<Self>) -> Result<(), WriteError> {
        self.append(&Head::End, [&[], &[]])?;
        self.send()
    }
}

/// An entry of another machine.
enum Arrived {
    /// A message that it emitted, or another entry.
    Item(Box<Item>),
    /// Its run has ended.
    End,
}

/// Reads the entries of another machine.
#[derive(Debug)]
pub struct TransferReader {
    /// The run.
    about: Arc<About>,
    /// The beginning of an entry whose rest has not arrived.
    pending: Vec<u8>,
    /// The stages that it runs.
    stages: BTreeSet<usize>,
    /// The last number of each output.
    last: HashMap<PortRef, u64>,
}

impl TransferReader {
    /// For a machine that runs these stages.
    #[must_use]
    pub fn new(about: About, stages: BTreeSet<usize>) -> Self {
        Self {
            about: about.into(),
            pending: Vec::new(),
            stages,
            last: HashMap::new(),
        }
    }

    /// Adds what has arrived to a recording, waiting for room, and to a trace. Returns whether the last entry has come.
    ///
    /// # Errors
    /// When an entry is malformed, or not one of that machine. Those before it are added.
    pub fn add(
        &mut self,
        part: &[u8],
        recorder: Option<&Recorder>,
        tracer: Option<&Tracer>,
    ) -> Result<bool, TransferError> {
        let about = self.about.clone();
        self.read(part, |item| {
            match (&item, tracer) {
                (Item::Call(call), Some(tracer)) => tracer.add_call(&about, call),
                (Item::Dropped(dropped), Some(tracer)) => tracer.add_dropped(&about, dropped),
                (Item::Problem(problem), Some(tracer)) => tracer.add_problem(problem),
                _ => {}
            }
            if let Some(recorder) = recorder {
                recorder.add(item);
            }
        })
    }

    /// Reads all entries that have arrived. Returns whether the last one has come.
    fn read(&mut self, part: &[u8], mut each: impl FnMut(Item)) -> Result<bool, TransferError> {
        let mut pending = std::mem::take(&mut self.pending);
        pending.extend_from_slice(part);
        let mut rest = &pending[..];
        while let Some(entry) = next_entry(&mut rest)? {
            match self.entry(entry)? {
                Arrived::Item(item) => each(*item),
                Arrived::End if rest.is_empty() => return Ok(true),
                Arrived::End => return Err(TransferError::Malformed),
            }
        }
        let read = pending.len() - rest.len();
        pending.drain(..read);
        // A long one leaves no room behind.
        self.pending = match pending.is_empty() {
            true => Vec::new(),
            false => pending,
        };
        Ok(false)
    }

    /// Reads an entry.
    fn entry(&mut self, mut entry: &[u8]) -> Result<Arrived, TransferError> {
        let entry = &mut entry;
        let length = number(split(entry, 4)?);
        if length > LONGEST_HEAD {
            return Err(TransferError::Malformed);
        }
        let head = serde_json::from_slice(split(entry, length)?);
        let item = match head.map_err(|_| TransferError::Malformed)? {
            Head::Message(head) => self.message(*head, entry)?,
            Head::Call(call) => {
                self.check_call(&call)?;
                Item::Call(call)
            }
            Head::Dropped(dropped) => {
                self.stage(&dropped.from)?;
                if !dropped.is_readable() {
                    return Err(TransferError::Range);
                }
                let is_it = |edge: &flowpipe_recording::entry::AboutEdge| {
                    edge.from.0 == *dropped.from
                        && edge.from.1 == *dropped.output
                        && edge.to.0 == *dropped.to.0
                        && edge.to.1 == *dropped.to.1
                };
                if !self.about.edges.iter().any(is_it) {
                    return Err(TransferError::Unknown("an edge"));
                }
                Item::Dropped(*dropped)
            }
            Head::Problem(problem) => {
                self.stage(&problem.stage)?;
                if !problem.is_readable() {
                    return Err(TransferError::Range);
                }
                Item::Problem(*problem)
            }
            Head::End => return Ok(Arrived::End),
        };
        match entry.is_empty() {
            true => Ok(Arrived::Item(Box::new(item))),
            false => Err(TransferError::Malformed),
        }
    }

    fn message(&mut self, head: MessageHead, entry: &mut &[u8]) -> Result<Item, TransferError> {
        let about = &self.about;
        let json = split(entry, head.json)?;
        let picture = match head.picture {
            PictureHead::None => Picture::None,
            PictureHead::LeftOut(kind) => Picture::LeftOut(kind),
            PictureHead::Packed(layout, length) => {
                let bytes = split(entry, length)?.to_vec();
                let packed = Packed::from_elsewhere(layout, bytes);
                Picture::Packed(packed.ok_or(TransferError::Malformed)?.into())
            }
        };
        let (stage, port) = head.source;
        let source = PortRef { stage, port };
        let known = about
            .stages
            .get(stage)
            .ok_or(TransferError::Unknown("a stage"))?;
        if !self.stages.contains(&stage) {
            return Err(TransferError::Stage(known.name.clone()));
        }
        let output = known.outputs.get(port);
        let (output, schema) = output.ok_or(TransferError::Unknown("an output"))?;
        if head.schema.is_empty() || schema != "*" && *schema != head.schema {
            return Err(TransferError::Unknown("a schema"));
        }
        let is_time = |time_ns: i64| (-LATEST_TIME..=LATEST_TIME).contains(&time_ns);
        let is_number = |number: u64| (1..=LAST_NUMBER).contains(&number);
        let is_origin = |(stage, number, captured_ns): (usize, u64, i64)| {
            stage < about.stages.len() && is_number(number) && is_time(captured_ns)
        };
        if !is_number(head.sequence) || !is_time(head.at_ns) || !head.origin.is_none_or(is_origin) {
            return Err(TransferError::Range);
        }
        let topic = Topic::new(&known.name, output);
        let last = self.last.entry(source).or_default();
        if head.sequence <= *last {
            return Err(TransferError::Order {
                topic: topic.to_string(),
                found: head.sequence,
                last: *last,
            });
        }
        *last = head.sequence;
        let message = Message::detached(&head.schema, json);
        let mut message = message.map_err(|_| TransferError::Malformed)?;
        message.source = source;
        message.lineage.sequence = head.sequence;
        message.lineage.origin = head.origin.map(|(stage, sequence, captured_ns)| Origin {
            stage,
            sequence,
            captured_ns,
        });
        message.lineage.hops = Hops::from_slice(&[flowpipe_abi::Hop {
            stage: stage as u32,
            reserved: 0,
            taken_ns: head.at_ns,
            emitted_ns: head.at_ns,
        }]);
        Ok(Item::Message(topic, message.into(), picture))
    }

    fn check_call(&self, call: &Call) -> Result<(), TransferError> {
        let about = &self.about;
        let stage = self.stage(&call.stage)?;
        let has_slot = call.worker < stage.workers && call.plugin < stage.plugins.len();
        if !call.is_readable() || !has_slot || !call.clock.iter().all(|it| is_clock(*it)) {
            return Err(TransferError::Range);
        }
        if let Some(what) = call.contradiction() {
            return Err(TransferError::Contradiction(what));
        }
        if let Some(took) = &call.took {
            let is_input = |name: &String| *name == *took.port;
            let is_output = |(name, _): &(String, String)| *name == *took.output;
            let from = about.stages.iter().find(|it| it.name == *took.from);
            if !stage.inputs.iter().any(is_input)
                || !from.is_some_and(|it| it.outputs.iter().any(is_output))
            {
                return Err(TransferError::Unknown("a message"));
            }
        }
        for emitted in &call.emitted {
            let is_it = |(name, _): &(String, String)| *name == *emitted.port;
            if !stage.outputs.iter().any(is_it) {
                return Err(TransferError::Unknown("an output"));
            }
            let origin = emitted.origin.as_ref();
            let is_known = |name: &str| about.stages.iter().any(|it| it.name == name);
            if !origin.is_none_or(|it| is_known(&it.stage)) {
                return Err(TransferError::Unknown("a stage"));
            }
        }
        Ok(())
    }

    /// A stage that the machine runs.
    fn stage(&self, name: &str) -> Result<&AboutStage, TransferError> {
        let mut stages = self.about.stages.iter().enumerate();
        let found = stages.find(|(_, stage)| stage.name == name);
        let (index, stage) = found.ok_or(TransferError::Unknown("a stage"))?;
        match self.stages.contains(&index) {
            true => Ok(stage),
            false => Err(TransferError::Stage(name.to_owned())),
        }
    }
}

fn is_clock(time_ns: i64) -> bool {
    (-LATEST_TIME..=LATEST_TIME).contains(&time_ns)
}

/// The next entry, if the whole of it is there.
fn next_entry<'a>(from: &mut &'a [u8]) -> Result<Option<&'a [u8]>, TransferError> {
    let Some((length, rest)) = from.split_at_checked(4) else {
        return Ok(None);
    };
    // With the length of the head.
    let length = number(length) + 4;
    if length > LONGEST + 4 {
        return Err(TransferError::Malformed);
    }
    let split = rest.split_at_checked(length);
    Ok(split.map(|(entry, rest)| {
        *from = rest;
        entry
    }))
}

fn number(bytes: &[u8]) -> usize {
    let bytes = bytes.iter().rev();
    bytes.fold(0, |all, it| all << 8 | usize::from(*it))
}

fn split<'a>(from: &mut &'a [u8], length: usize) -> Result<&'a [u8], TransferError> {
    let split = from.split_at_checked(length);
    let (first, rest) = split.ok_or(TransferError::Malformed)?;
    *from = rest;
    Ok(first)
}

#[cfg(test)]
mod tests;
