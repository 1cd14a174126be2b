//! Writes a recording during a run.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{BufWriter, Write};

use flowpipe_output::OutputFile;
use mcap::records::MessageHeader;
use mcap::write::NoSeek;
use mcap::{Attachment, Compression, WriteOptions};
use serde::Serialize;

use crate::entry::{self, About, Call, Change, Dropped, DroppedLineages, PictureNote, Trouble};
use crate::error::WriteError;
use crate::image::{self, Pixels};
use crate::name::Name;
use crate::payload::{BUFFER_SCHEMA, Payload, PayloadKind, buffer_descriptor};
use crate::topic::{ChannelKind, Topic};

/// JSON Schemas of the messages, by schema id.
pub type Schemas = BTreeMap<String, String>;

/// Writes a recording.
///
/// Everything written before [`Self::flush`] is in the file: the file is never rewritten, so that a truncated file can
/// be read up to its end. [`Self::finish`] adds the index that viewers seek by.
pub struct Writer<W: Write> {
    mcap: mcap::Writer<NoSeek<W>>,
    started_unix_ns: u64,
    schemas: Schemas,
    /// By schema id: an output may emit messages of several.
    channels: HashMap<ChannelKind, Vec<(String, u16)>>,
    /// Where each picture is stored, by its hash.
    stored: HashMap<u128, (Topic, u64)>,
    buffer: Vec<u8>,
}

/// A chunk is closed at this many bytes.
const CHUNK: u64 = 4 << 20;

/// The schema of messages without one.
const ANY: &str = r#"{"type":"object"}"#;

impl Writer<BufWriter<File>> {
    /// Starts a recording in a growing file, and gives the file its temporary name: from here on it can be opened.
    /// After
    /// [`Self::finish`] the caller has to commit the file.
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn grow(
        file: &mut OutputFile,
        about: &About,
        pipeline: &str,
        schemas: Schemas,
    ) -> Result<Self, WriteError> {
        let failure = |error| WriteError::Write(mcap::McapError::Io(error));
        let to = BufWriter::new(file.file().map_err(failure)?);
        let writer = Self::new(to, about, pipeline, schemas)?;
        file.show().map_err(failure)?;
        Ok(writer)
    }
}

impl<W: Write> Writer<W> {
    /// Starts a recording. `pipeline`: the text of its file.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn new(
        to: W,
        about: &About,
        pipeline: &str,
        mut schemas: Schemas,
    ) -> Result<Self, WriteError> {
        for (id, schema) in entry::schemas() {
            schemas.insert(id.to_owned(), schema.as_value().to_string());
        }
        let mut mcap = WriteOptions::new()
            .compression(Some(Compression::Lz4))
            .chunk_size(Some(CHUNK))
            // Each chunk is written whole, when it is closed.
            .disable_seeking(true)
            .library(concat!("flowpipe ", env!("CARGO_PKG_VERSION")))
            .create(NoSeek::new(to))?;
        let mut attach = |name: &str, media_type: &str, data: &[u8]| {
            mcap.attach(&Attachment {
                log_time: about.started_unix_ns,
                create_time: about.started_unix_ns,
                name: name.to_owned(),
                media_type: media_type.to_owned(),
                data: data.into(),
            })
        };
        attach(ABOUT, "application/json", &json(about))?;
        attach(PIPELINE, "application/toml", pipeline.as_bytes())?;
        mcap.flush()?;
        Ok(Self {
            mcap,
            started_unix_ns: about.started_unix_ns,
            schemas,
            channels: HashMap::new(),
            stored: HashMap::new(),
            buffer: Vec::new(),
        })
    }

    /// Adds a message of an output. `at_ns`, `captured_ns`: when it was emitted, and when its frame was captured, by
    /// the run's clock in nanoseconds.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn message(
        &mut self,
        topic: &Topic,
        schema: &str,
        body: &str,
        sequence: u64,
        (at_ns, captured_ns): (i64, i64),
    ) -> Result<(), WriteError> {
        let channel = self.channel(ChannelKind::Messages(topic.clone()), schema)?;
        let header = MessageHeader {
            channel_id: channel,
            sequence: wrapped(sequence),
            log_time: self.unix(at_ns),
            publish_time: self.unix(captured_ns),
        };
        Ok(self.mcap.write_to_known_channel(&header, body.as_bytes())?)
    }

    /// Adds the pixels of a message: see [`Self::payload`].
    ///
    /// # Errors
    /// When they can't be written.
    pub fn pixels(
        &mut self,
        topic: &Topic,
        sequence: u64,
        pixels: &Pixels<'_>,
        times: (i64, i64),
    ) -> Result<bool, WriteError> {
        self.payload(topic, sequence, &Payload::Picture(*pixels), times)
    }

    /// Adds the picture or buffer of a message. One that is stored already only gets a note of its position. Returns
    /// whether it was stored.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn payload(
        &mut self,
        topic: &Topic,
        sequence: u64,
        payload: &Payload<'_>,
        (at_ns, captured_ns): (i64, i64),
    ) -> Result<bool, WriteError> {
        let hash = payload.hash();
        if let Some((stored, number)) = self.stored.get(&hash) {
            let same_as = Some((stored.stage.clone(), stored.port.clone(), *number));
            self.picture_note(topic, sequence, payload.kind(), same_as, at_ns)?;
            return Ok(false);
        }
        let channel = match payload.kind() {
            PayloadKind::Picture => {
                self.channel(ChannelKind::Pictures(topic.clone()), image::SCHEMA)?
            }
            PayloadKind::Buffer => {
                self.channel(ChannelKind::Buffers(topic.clone()), BUFFER_SCHEMA)?
            }
        };
        let mut buffer = std::mem::take(&mut self.buffer);
        payload.encode(&topic.stage, self.unix(captured_ns), &mut buffer);
        let header = MessageHeader {
            channel_id: channel,
            sequence: wrapped(sequence),
            log_time: self.unix(at_ns),
            publish_time: self.unix(captured_ns),
        };
        let written = self.mcap.write_to_known_channel(&header, &buffer);
        self.buffer = buffer;
        written?;
        self.stored.insert(hash, (topic.clone(), sequence));
        Ok(true)
    }

    /// Records that the picture or buffer of a message was dropped.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn left_out(
        &mut self,
        topic: &Topic,
        sequence: u64,
        kind: PayloadKind,
        at_ns: i64,
    ) -> Result<(), WriteError> {
        self.picture_note(topic, sequence, kind, None, at_ns)
    }

    fn picture_note(
        &mut self,
        topic: &Topic,
        sequence: u64,
        kind: PayloadKind,
        same_as: Option<(Name, Name, u64)>,
        at_ns: i64,
    ) -> Result<(), WriteError> {
        let note = PictureNote {
            stage: topic.stage.clone(),
            port: topic.port.clone(),
            sequence,
            same_as,
            is_buffer: kind == PayloadKind::Buffer,
        };
        self.entry(ChannelKind::PictureNotes, entry::PICTURE, &note, at_ns)
    }

    /// Adds a call that has ended.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn call(&mut self, call: &Call) -> Result<(), WriteError> {
        self.entry(ChannelKind::Calls, entry::CALL, call, call.ended_ns)
    }

    /// Adds a drop.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn dropped(&mut self, dropped: &Dropped) -> Result<(), WriteError> {
        self.entry(ChannelKind::Drops, entry::DROPPED, dropped, dropped.at_ns)
    }

    /// Adds lineages that the recorder dropped.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn dropped_lineages(&mut self, dropped: &DroppedLineages) -> Result<(), WriteError> {
        let kind = ChannelKind::DroppedLineages;
        self.entry(kind, entry::DROPPED_LINEAGES, dropped, dropped.until_ns)
    }

    /// Adds a problem.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn problem(&mut self, problem: &Trouble) -> Result<(), WriteError> {
        self.entry(
            ChannelKind::Problems,
            entry::TROUBLE,
            problem,
            problem.at_ns,
        )
    }

    /// Adds a change of the pipeline.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn change(&mut self, change: &Change) -> Result<(), WriteError> {
        self.entry(ChannelKind::Changes, entry::CHANGE, change, change.at_ns)
    }

    /// Adds data for viewers that replays do not need, on its own topic.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn extra(
        &mut self,
        topic: &str,
        schema: &str,
        body: &[u8],
        at_ns: i64,
    ) -> Result<(), WriteError> {
        self.write(ChannelKind::Extra(topic.to_owned()), schema, body, at_ns)
    }

    /// Closes the chunk and flushes everything to the system: it outlives this process.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        Ok(self.mcap.flush()?)
    }

    /// Ends the recording with its index.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn finish(mut self) -> Result<W, WriteError> {
        self.mcap.finish()?;
        let mut to = self.mcap.into_inner().into_inner();
        to.flush().map_err(mcap::McapError::from)?;
        Ok(to)
    }

    /// Ends the recording without its index: what follows is missing, and readers say so.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn end_early(mut self) -> Result<W, WriteError> {
        self.mcap.flush()?;
        let mut to = self.mcap.into_inner().into_inner();
        to.flush().map_err(mcap::McapError::from)?;
        Ok(to)
    }

    fn entry(
        &mut self,
        kind: ChannelKind,
        schema: &str,
        entry: &impl Serialize,
        at_ns: i64,
    ) -> Result<(), WriteError> {
        self.write(kind, schema, &json(entry), at_ns)
    }

    fn write(
        &mut self,
        kind: ChannelKind,
        schema: &str,
        body: &[u8],
        at_ns: i64,
    ) -> Result<(), WriteError> {
        let time = self.unix(at_ns);
        let header = MessageHeader {
            channel_id: self.channel(kind, schema)?,
            sequence: 0,
            log_time: time,
            publish_time: time,
        };
        Ok(self.mcap.write_to_known_channel(&header, body)?)
    }

    /// The channel. It is created when it is first needed.
    fn channel(&mut self, kind: ChannelKind, schema: &str) -> Result<u16, WriteError> {
        let mut known = self.channels.get(&kind).into_iter().flatten();
        if let Some((_, channel)) = known.find(|(known, _)| known == schema) {
            return Ok(*channel);
        }
        let descriptor = match kind {
            ChannelKind::Pictures(_) => Some(image::descriptor()),
            ChannelKind::Buffers(_) => Some(buffer_descriptor()),
            _ => None,
        };
        let (encoding, schema_encoding) = match descriptor {
            Some(_) => ("protobuf", "protobuf"),
            None => ("json", "jsonschema"),
        };
        let schema_id = match &descriptor {
            Some(descriptor) => self.mcap.add_schema(schema, schema_encoding, descriptor)?,
            None => {
                let text = self.schemas.get(schema).map_or(ANY, String::as_str);
                self.mcap
                    .add_schema(schema, schema_encoding, text.as_bytes())?
            }
        };
        let channel = self
            .mcap
            .add_channel(schema_id, &kind.name(), encoding, &kind.metadata())?;
        let known = self.channels.entry(kind).or_default();
        known.push((schema.to_owned(), channel));
        Ok(channel)
    }

    /// Unix time in nanoseconds of a time of the run's clock.
    #[must_use]
    pub fn unix(&self, run_ns: i64) -> u64 {
        self.started_unix_ns.saturating_add_signed(run_ns)
    }
}

/// Name of the attachment that is an [`About`].
pub(crate) const ABOUT: &str = "run.json";
/// Name of the attachment that is the pipeline's file.
pub(crate) const PIPELINE: &str = "pipeline.toml";

/// MCAP counts in 32 bits: 2 years at 60 a second.
fn wrapped(sequence: u64) -> u32 {
    sequence as u32
}

fn json(value: &impl Serialize) -> Vec<u8> {
    // The entries are structs of numbers, texts and lists, which always serialize.
    serde_json::to_vec(value).unwrap_or_default()
}
