//! Reads a file from its start and collects its entries.

use std::collections::HashMap;
use std::sync::Arc;

use flowpipe_abi::BufferInfo;
use mcap::records::{MessageHeader, Record, op};
use serde::de::DeserializeOwned;

use crate::bodies::Bodies;
use crate::budget::{Budget, LONGEST_CHANNEL, Limits, is_time};
use crate::chunk::unpack_into;
use crate::entry::{About, Change, DroppedLineages, Entry};
use crate::entry_limits::EntryLimits;
use crate::fault::{Fault, Place};
use crate::file::{FileRecord, RecordingFile, Records};
use crate::json_memory::json_memory;
use crate::message::{Output, RecordedMessage};
use crate::name::Names;
use crate::payload::{Elements, PayloadKind};
use crate::pictures::{Picture, Pictures};
use crate::record::{parse, record};
use crate::topic::ChannelKind;
use crate::writer::{ABOUT, PIPELINE};

/// Which entries are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    All,
    /// All except calls, drops and problems.
    Messages,
}

/// The entries that a scan has found.
pub(crate) struct Scan {
    wanted: Wanted,
    budget: Budget,
    names: Names,
    pub about: Option<Result<About, String>>,
    pub about_at: Place,
    pub pipeline: Option<String>,
    schemas: HashMap<u16, Arc<str>>,
    channels: HashMap<u16, Channel>,
    pub bodies: Bodies,
    pub changes: Vec<Change>,
    pub dropped_lineages: Vec<DroppedLineages>,
    pub entries: Vec<Entry>,
    /// By entry.
    pub places: Vec<EntryPlace>,
    pub pictures: Pictures,
    /// Malformed entries: how many, and the first.
    pub unreadable: usize,
    pub first_unreadable: Option<Fault>,
}

struct Channel {
    kind: ChannelKind,
    /// Of a channel of messages.
    output: Option<Arc<Output>>,
    /// Of a channel of buffers: the layout of the last one.
    layout: Option<Arc<BufferInfo>>,
}

/// As [`Place`], in less memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EntryPlace {
    at: usize,
    /// Entries are in chunks.
    within: u32,
}

impl EntryPlace {
    pub(crate) fn place(self) -> Place {
        Place {
            at: self.at,
            within: Some(self.within as usize),
        }
    }
}

/// A message record of the file.
struct Stored<'a> {
    header: &'a MessageHeader,
    data: &'a [u8],
    place: Place,
}

/// The memory of an entry besides its content: its place in growing lists and in an index, and what a replay, a report
/// or a comparison keeps for it.
const ENTRY: usize = 160;
/// The memory of a schema, a channel or a picture: its place in a table that may be half empty.
const ROW: usize = 300;
/// How often a replay holds the content of `run.json`: configs can contain any JSON.
const ABOUT_COPIES: usize = 3;

impl Scan {
    /// A scan of a file of this many bytes.
    pub(crate) fn of(length: usize, wanted: Wanted, limits: Limits) -> Self {
        Self {
            wanted,
            budget: Budget::of(length, limits),
            names: Names::default(),
            bodies: Bodies::default(),
            about: None,
            about_at: Place::default(),
            pipeline: None,
            schemas: HashMap::new(),
            channels: HashMap::new(),
            changes: Vec::new(),
            dropped_lineages: Vec::new(),
            entries: Vec::new(),
            places: Vec::new(),
            pictures: Pictures::default(),
            unreadable: 0,
            first_unreadable: None,
        }
    }

    /// Returns whether the file has its proper end.
    ///
    /// # Errors
    /// When it exceeds the limits.
    pub(crate) fn file(&mut self, file: &RecordingFile) -> Result<bool, Fault> {
        let is_whole = file.records(mcap::MAGIC.len(), |records| self.records(records));
        self.bodies.finish();
        is_whole
    }

    fn records(&mut self, records: &mut Records<'_>) -> Result<bool, Fault> {
        let mut unpacked = Vec::new();
        while let Some(FileRecord { at, code, body }) = records.next() {
            let place = Place { at, within: None };
            match self.parse(code, body, place) {
                Some(Record::DataEnd(_)) => return Ok(true),
                Some(Record::Attachment { header, data, .. }) => {
                    self.attachment(&header.name, &data, place)?;
                }
                Some(Record::Chunk { header, data }) => {
                    let most = self.budget.chunk(header.uncompressed_size);
                    most.map_err(|what| fault("(chunk)", place, what))?;
                    let Ok(content) = unpack_into(&mut unpacked, &header, &data) else {
                        return Ok(false);
                    };
                    self.chunk(at, content)?;
                }
                Some(other) => self.channel(other, place)?,
                None => return Ok(false),
            }
        }
        Ok(false)
    }

    /// `None`: it is damaged.
    fn parse<'a>(&mut self, code: u8, body: &'a [u8], place: Place) -> Option<Record<'a>> {
        if code == op::CHANNEL && body.len() > LONGEST_CHANNEL {
            self.cannot_read("(channel)", place, "its names are too long");
            // Its messages are skipped.
            return Some(Record::Unknown {
                opcode: code,
                data: body.into(),
            });
        }
        parse(code, body)
    }

    fn attachment(&mut self, name: &str, data: &[u8], place: Place) -> Result<(), Fault> {
        let short = |what| fault(name, place, what);
        match name {
            ABOUT if self.about.is_none() => {
                self.budget
                    .take(json_memory(data).saturating_mul(ABOUT_COPIES))
                    .map_err(short)?;
                let about = serde_json::from_slice(data).map_err(|error| error.to_string());
                self.about = Some(about);
                self.about_at = place;
            }
            PIPELINE if self.pipeline.is_none() => {
                self.budget.take(data.len()).map_err(short)?;
                self.pipeline = Some(String::from_utf8_lossy(data).into_owned());
            }
            _ => {}
        }
        Ok(())
    }

    fn chunk(&mut self, chunk: usize, content: &[u8]) -> Result<(), Fault> {
        let mut at = 0;
        while let Some((code, body, next)) = record(content, at) {
            let place = Place {
                at: chunk,
                within: Some(at),
            };
            at = next;
            match self.parse(code, body, place) {
                Some(Record::Message { header, data }) => {
                    let stored = Stored {
                        header: &header,
                        data: &data,
                        place,
                    };
                    self.message(&stored, next)?;
                }
                Some(other) => self.channel(other, place)?,
                None => self.cannot_read("(record)", place, "it is damaged"),
            }
        }
        Ok(())
    }

    fn channel(&mut self, record: Record<'_>, place: Place) -> Result<(), Fault> {
        match record {
            Record::Schema { header, .. } => {
                let taken = self.budget.take(ROW + header.name.len());
                taken.map_err(|what| fault("(schema)", place, what))?;
                self.schemas.insert(header.id, header.name.into());
            }
            Record::Channel(channel) => {
                let schema = self.schemas.get(&channel.schema_id).cloned();
                if let Some(mut kind) = ChannelKind::of(&channel.topic, &channel.metadata) {
                    let mut size = ROW + kind.name().len();
                    if let ChannelKind::Messages(topic)
                    | ChannelKind::Pictures(topic)
                    | ChannelKind::Buffers(topic) = &mut kind
                    {
                        size += self.names.share(&mut topic.stage);
                        size += self.names.share(&mut topic.port);
                    }
                    let taken = self.budget.take(size);
                    taken.map_err(|what| fault(&channel.topic, place, what))?;
                    let output = match &kind {
                        ChannelKind::Messages(topic) => Some(Arc::new(Output {
                            topic: topic.clone(),
                            schema: schema.unwrap_or_else(|| "".into()),
                        })),
                        _ => None,
                    };
                    let layout = None;
                    let channel_of_kind = Channel {
                        kind,
                        output,
                        layout,
                    };
                    self.channels.insert(channel.id, channel_of_kind);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// `end`: the end of its record in its chunk, which is the end of its data.
    fn message(&mut self, stored: &Stored<'_>, end: usize) -> Result<(), Fault> {
        let Some(channel) = self.channels.get(&stored.header.channel_id) else {
            return Ok(());
        };
        let data = stored.data;
        let entry = match &channel.kind {
            ChannelKind::Messages(_) => {
                let output = channel.output.clone();
                let message = output.map(|output| self.emitted(stored, output));
                message.transpose()?.flatten().map(Entry::Message)
            }
            ChannelKind::Pictures(topic) | ChannelKind::Buffers(topic) => {
                let payload = match &channel.kind {
                    ChannelKind::Buffers(_) => PayloadKind::Buffer,
                    _ => PayloadKind::Picture,
                };
                let (topic, sequence) = (topic.clone(), u64::from(stored.header.sequence));
                self.take(stored, ROW)?;
                let info = match payload {
                    PayloadKind::Buffer => self.layout(stored)?,
                    PayloadKind::Picture => None,
                };
                let picture = Picture::Stored {
                    chunk: stored.place.at,
                    offset: end - data.len(),
                    length: data.len(),
                    info,
                };
                self.pictures.insert(topic, sequence, payload, picture);
                return Ok(());
            }
            ChannelKind::PictureNotes => {
                if let Some(note) = self.read(stored, ROW)? {
                    self.pictures.note(note);
                }
                return Ok(());
            }
            ChannelKind::Extra(_) => return Ok(()),
            ChannelKind::Changes => {
                let change = self.read(stored, ENTRY)?;
                self.changes.extend(change);
                return Ok(());
            }
            ChannelKind::DroppedLineages => {
                let dropped = self.read(stored, ENTRY)?;
                self.dropped_lineages.extend(dropped);
                return Ok(());
            }
            _ if self.wanted == Wanted::Messages => return Ok(()),
            ChannelKind::Calls => {
                let call = self.read(stored, ENTRY)?;
                call.map(|call| Entry::Call(Arc::new(call)))
            }
            ChannelKind::Drops => {
                let dropped = self.read(stored, ENTRY)?;
                dropped.map(|dropped| Entry::Dropped(Box::new(dropped)))
            }
            ChannelKind::Problems => {
                let problem = self.read(stored, ENTRY)?;
                problem.map(|problem| Entry::Problem(Box::new(problem)))
            }
        };
        if let Some(entry) = entry {
            self.entries.push(entry);
            let within = stored.place.within.unwrap_or_default();
            self.places.push(EntryPlace {
                at: stored.place.at,
                // No chunk is so large that this cuts anything off.
                within: within as u32,
            });
        }
        Ok(())
    }

    /// The layout of a buffer. Equal ones that follow each other on a channel share their memory.
    fn layout(&mut self, stored: &Stored<'_>) -> Result<Option<Arc<BufferInfo>>, Fault> {
        let Ok(elements) = Elements::decode(stored.data) else {
            // The error is reported when it is read.
            return Ok(None);
        };
        let channel = self.channels.get(&stored.header.channel_id);
        let last = channel.and_then(|channel| channel.layout.clone());
        if let Some(last) = last.filter(|last| **last == *elements.info()) {
            return Ok(Some(last));
        }
        self.take(stored, ROW)?;
        let layout = Arc::new(*elements.info());
        if let Some(channel) = self.channels.get_mut(&stored.header.channel_id) {
            channel.layout = Some(layout.clone());
        }
        Ok(Some(layout))
    }

    /// Reads an entry, if it fits. `beside`: its memory besides its content. `None`: it is malformed.
    fn read<T: DeserializeOwned + EntryLimits>(
        &mut self,
        stored: &Stored<'_>,
        beside: usize,
    ) -> Result<Option<T>, Fault> {
        let json = stored.data;
        let fits = self.budget.has(T::reading(json));
        fits.map_err(|what| self.too_much(stored, what))?;
        match serde_json::from_slice::<T>(json) {
            Ok(entry) if !entry.is_in_range() => self.cannot_use(stored, OUT_OF_RANGE),
            Ok(mut entry) => match entry.contradiction() {
                Some(what) => self.cannot_use(stored, what),
                None => {
                    let size = entry.settle(json, &mut self.names);
                    self.take(stored, beside.saturating_add(size))?;
                    return Ok(Some(entry));
                }
            },
            Err(error) => self.cannot_use(stored, &error.to_string()),
        }
        Ok(None)
    }

    /// Reads a message. `None`: it can't be used.
    fn emitted(
        &mut self,
        stored: &Stored<'_>,
        output: Arc<Output>,
    ) -> Result<Option<RecordedMessage>, Fault> {
        let started = match &self.about {
            Some(Ok(about)) => about.started_unix_ns,
            _ => 0,
        };
        let at_ns = stored.header.log_time.wrapping_sub(started) as i64;
        if !is_time(at_ns) {
            self.cannot_use(stored, NO_TIME);
            return Ok(None);
        }
        let body = match std::str::from_utf8(stored.data) {
            Ok(body) => body,
            Err(error) => {
                self.cannot_use(stored, &error.to_string());
                return Ok(None);
            }
        };
        let fits = self.budget.has(body.len());
        fits.map_err(|what| self.too_much(stored, what))?;
        if let Err(what) = self.budget.body(body.as_bytes()) {
            self.cannot_use(stored, &what);
            return Ok(None);
        }
        let Some((body, taken)) = self.bodies.add(body) else {
            return Err(self.too_much(stored, "there are too many messages".to_owned()));
        };
        self.take(stored, ENTRY + taken)?;
        Ok(Some(RecordedMessage {
            output,
            sequence: stored.header.sequence,
            at_ns,
            body,
        }))
    }

    /// Takes memory for an entry.
    fn take(&mut self, stored: &Stored<'_>, bytes: usize) -> Result<(), Fault> {
        let taken = self.budget.take(bytes);
        taken.map_err(|what| self.too_much(stored, what))
    }

    fn too_much(&self, stored: &Stored<'_>, what: String) -> Fault {
        fault(&self.topic(stored), stored.place, what)
    }

    fn cannot_use(&mut self, stored: &Stored<'_>, what: &str) {
        let topic = match self.first_unreadable {
            None => self.topic(stored),
            Some(_) => String::new(),
        };
        self.cannot_read(&topic, stored.place, what);
    }

    fn cannot_read(&mut self, topic: &str, place: Place, what: &str) {
        self.unreadable += 1;
        self.first_unreadable
            .get_or_insert_with(|| fault(topic, place, what.to_owned()));
    }

    fn topic(&self, stored: &Stored<'_>) -> String {
        let channel = self.channels.get(&stored.header.channel_id);
        channel.map_or_else(String::new, |channel| channel.kind.name())
    }
}

fn fault(topic: &str, place: Place, what: String) -> Fault {
    Fault {
        topic: topic.to_owned(),
        place,
        what,
    }
}

/// Why an entry with a number outside of the limits can't be used.
const OUT_OF_RANGE: &str = "one of its times or sequence numbers is out of range";
/// Why a message with a time outside of the limits can't be used.
const NO_TIME: &str = "one of its times is out of range";
