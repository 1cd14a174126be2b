//! Reads a file from its start and collects its entries.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use mcap::records::{MessageHeader, Record, op};
use serde::de::DeserializeOwned;

use crate::budget::{Budget, LONGEST_CHANNEL, is_time};
use crate::chunk::unpack;
use crate::entry::{About, Change, DroppedLineages};
use crate::entry_limits::EntryLimits;
use crate::file::{FileRecord, RecordingFile, Records};
use crate::pictures::{Picture, Pictures};
use crate::reader::Entry;
use crate::record::{parse, record};
use crate::topic::{ChannelKind, Topic};
use crate::writer::{ABOUT, PIPELINE};

/// The first bytes of an MCAP file.
pub(crate) const MAGIC: &[u8] = b"\x89MCAP0\r\n";

/// A position in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The start of its chunk, or of its own record, in the file.
    pub at: usize,
    /// The position in the unpacked chunk, if it is in one.
    pub within: Option<usize>,
}

/// A malformed entry, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The topic, or the attachment's name.
    pub topic: String,
    /// Where it is.
    pub place: Place,
    /// What is wrong with it.
    pub what: String,
}

/// The entries that a scan has found.
pub(crate) struct Scan {
    budget: Budget,
    pub about: Option<Result<About, String>>,
    pub about_at: Place,
    pub pipeline: Option<String>,
    schemas: HashMap<u16, Arc<str>>,
    channels: HashMap<u16, Channel>,
    pub changes: Vec<Change>,
    pub dropped_lineages: Vec<DroppedLineages>,
    pub entries: Vec<Entry>,
    /// By entry.
    pub places: Vec<Place>,
    pub pictures: Pictures,
    /// Malformed entries: how many, and the first.
    pub unreadable: usize,
    pub first_unreadable: Option<Fault>,
}

struct Channel {
    kind: ChannelKind,
    schema: Arc<str>,
}

/// A message record of the file.
struct Stored<'a> {
    header: &'a MessageHeader,
    data: &'a [u8],
    place: Place,
}

/// The memory of an entry besides its texts: its place in a growing list and in an index.
const ENTRY: usize = 400;
/// The most bytes of memory for a byte of `run.json`: configs can contain any JSON.
const READ_ANY: usize = 16;

impl Scan {
    /// A scan of a file of this many bytes.
    pub(crate) fn of(length: usize) -> Self {
        Self {
            budget: Budget::of(length),
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
        file.records(MAGIC.len(), |records| self.records(records))
    }

    fn records(&mut self, records: &mut Records<'_>) -> Result<bool, Fault> {
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
                    let Ok(content) = unpack(&header, &data) else {
                        return Ok(false);
                    };
                    self.chunk(at, &content)?;
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
                    .take(data.len().saturating_mul(READ_ANY))
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
                let taken = self.budget.take(ENTRY + header.name.len());
                taken.map_err(|what| fault("(schema)", place, what))?;
                self.schemas.insert(header.id, header.name.into());
            }
            Record::Channel(channel) => {
                let schema = self.schemas.get(&channel.schema_id).cloned();
                if let Some(kind) = ChannelKind::of(&channel.topic, &channel.metadata) {
                    let taken = self.budget.take(ENTRY + kind.name().len());
                    taken.map_err(|what| fault(&channel.topic, place, what))?;
                    let schema = schema.unwrap_or_else(|| "".into());
                    self.channels.insert(channel.id, Channel { kind, schema });
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
        let (kind, schema) = (channel.kind.clone(), channel.schema.clone());
        let sequence = u64::from(stored.header.sequence);
        let data = stored.data;
        let entry = match kind {
            ChannelKind::Messages(topic) => {
                self.take(stored, topic.len() + data.len())?;
                let message = self.body(stored, topic, schema);
                let message = message.map_err(|what| self.cannot_use(stored, &what));
                message.ok()
            }
            ChannelKind::Pictures(topic) => {
                self.take(stored, topic.len())?;
                let picture = Picture::Stored {
                    chunk: stored.place.at,
                    offset: end - data.len(),
                    length: data.len(),
                };
                self.pictures.insert(topic, sequence, picture);
                return Ok(());
            }
            ChannelKind::PictureNotes => {
                if let Some(note) = self.read(stored)? {
                    self.pictures.note(note);
                }
                return Ok(());
            }
            ChannelKind::Changes => {
                let change = self.read(stored)?;
                self.changes.extend(change);
                return Ok(());
            }
            ChannelKind::DroppedLineages => {
                let dropped = self.read(stored)?;
                self.dropped_lineages.extend(dropped);
                return Ok(());
            }
            ChannelKind::Calls => self.read(stored)?.map(|call| Entry::Call(Box::new(call))),
            ChannelKind::Drops => self.read(stored)?.map(Entry::Dropped),
            ChannelKind::Problems => self.read(stored)?.map(Entry::Problem),
            ChannelKind::Extra(_) => return Ok(()),
        };
        if let Some(entry) = entry {
            self.entries.push(entry);
            self.places.push(stored.place);
        }
        Ok(())
    }

    /// Reads an entry, if it fits. `None`: it is malformed.
    fn read<T: DeserializeOwned + EntryLimits>(
        &mut self,
        stored: &Stored<'_>,
    ) -> Result<Option<T>, Fault> {
        let json = stored.data.len();
        let fits = self.budget.has(json.saturating_mul(T::READ));
        fits.map_err(|what| self.too_much(stored, what))?;
        match serde_json::from_slice::<T>(stored.data) {
            Ok(entry) if entry.is_in_time() => {
                self.take(stored, entry.size(json))?;
                return Ok(Some(entry));
            }
            Ok(_) => self.cannot_use(stored, NO_TIME),
            Err(error) => self.cannot_use(stored, &error.to_string()),
        }
        Ok(None)
    }

    fn body(&self, stored: &Stored<'_>, topic: Topic, schema: Arc<str>) -> Result<Entry, String> {
        let started = match &self.about {
            Some(Ok(about)) => about.started_unix_ns,
            _ => 0,
        };
        let at_ns = stored.header.log_time.wrapping_sub(started) as i64;
        if !is_time(at_ns) {
            return Err(NO_TIME.to_owned());
        }
        let body = std::str::from_utf8(stored.data).map_err(|error| error.to_string())?;
        Ok(Entry::Message {
            topic,
            schema,
            sequence: u64::from(stored.header.sequence),
            at_ns,
            body: body.into(),
        })
    }

    /// Takes memory for an entry before it is read.
    fn take(&mut self, stored: &Stored<'_>, bytes: usize) -> Result<(), Fault> {
        let taken = self.budget.take(bytes.saturating_add(ENTRY));
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

/// Why an entry with a time outside of the limits can't be used.
const NO_TIME: &str = "one of its times is out of range";

impl Default for Place {
    fn default() -> Self {
        Self {
            at: MAGIC.len(),
            within: None,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.within {
            None => write!(f, "byte {}", self.at),
            Some(within) => write!(f, "byte {within} of the chunk at byte {}", self.at),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}: {}", self.topic, self.place, self.what)
    }
}
