//! Reads a recording, also one that was cut off.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use mcap::records::{ChunkHeader, MessageHeader, Record};
use memmap2::Mmap;
use serde::de::DeserializeOwned;

use crate::entry::{About, AboutEdge, Call, Change, Dropped, PictureNote, Trouble};
use crate::error::ReadError;
use crate::image::Pixels;
use crate::record::{parse, record};
use crate::topic::{Holds, Topic};
use crate::writer::{ABOUT, PIPELINE};

/// A recording: what happened in memory, the pictures in the file.
#[derive(Debug)]
pub struct Recording {
    path: PathBuf,
    bytes: Mmap,
    about: About,
    pipeline: String,
    changes: Vec<Change>,
    entries: Vec<Entry>,
    messages: HashMap<(Topic, u64), usize>,
    pictures: HashMap<(Topic, u64), Picture>,
    cut_off: bool,
    unreadable: usize,
    /// The pictures' chunk that was unpacked last.
    chunk: Mutex<Option<(usize, Arc<Vec<u8>>)>>,
}

/// Something that happened, in the order of the file.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// A message was emitted.
    Message {
        /// Where.
        topic: Topic,
        /// Its schema id.
        schema: Arc<str>,
        /// Its number there, from 1.
        sequence: u64,
        /// When, by the run's clock.
        at_ns: i64,
        /// Its body, as it was.
        body: Box<str>,
    },
    /// A call has ended.
    Call(Box<Call>),
    /// A full queue dropped a message.
    Dropped(Dropped),
    /// Something went wrong.
    Problem(Trouble),
}

/// Where a picture is.
#[derive(Clone, Debug)]
enum Picture {
    /// In the chunk that begins at this byte of the file, at this byte of its content, so many bytes long.
    Stored {
        chunk: usize,
        offset: usize,
        length: usize,
    },
    /// Beside another message.
    SameAs(Topic, u64),
    /// Nowhere.
    LeftOut,
}

/// The first bytes of an MCAP file.
const MAGIC: &[u8] = b"\x89MCAP0\r\n";
/// A chunk that says it holds more than this is damaged: a picture has at most 1 GiB.
const LARGEST_CHUNK: u64 = 3 << 30;

impl Recording {
    /// Opens a recording and reads everything but the pixels. Of a file that was cut off, what is whole is read.
    ///
    /// # Errors
    /// When it can't be opened, or is no recording of a run.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let open = |error| ReadError::Open {
            path: path.to_owned(),
            error,
        };
        let file = File::open(path).map_err(open)?;
        // SAFETY: recordings are not changed once they are written; one that still grows is read up to
        // where it was, and one that is cut short meanwhile ends this process, as with any mapped file.
        let bytes = unsafe { Mmap::map(&file) }.map_err(open)?;
        let not_a_run = |what: &str| ReadError::NotARun {
            path: path.to_owned(),
            what: what.to_owned(),
        };
        if !bytes.starts_with(MAGIC) {
            return Err(ReadError::NotMcap {
                path: path.to_owned(),
            });
        }
        let mut scan = Scan::default();
        let whole = scan.file(&bytes);
        let about = scan
            .about
            .ok_or_else(|| not_a_run("the attachment run.json is missing"))?
            .map_err(|error| not_a_run(&format!("run.json: {error}")))?;
        if about.format != crate::FORMAT {
            return Err(not_a_run(&format!(
                "its layout is number {}, and this flowpipe reads number {}",
                about.format,
                crate::FORMAT
            )));
        }
        let mut recording = Self {
            path: path.to_owned(),
            bytes,
            about,
            changes: scan.changes,
            pipeline: scan.pipeline.unwrap_or_default(),
            entries: scan.entries,
            messages: HashMap::new(),
            pictures: scan.pictures,
            cut_off: !whole,
            unreadable: scan.unreadable,
            chunk: Mutex::default(),
        };
        recording.index();
        recording.join_in();
        Ok(recording)
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The run as a whole: with what came in while it went on, and all else as it was at the start.
    #[must_use]
    pub fn about(&self) -> &About {
        &self.about
    }

    /// How the pipeline changed while it ran, in the order of time.
    #[must_use]
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// The pipeline's file, as it was written.
    #[must_use]
    pub fn pipeline(&self) -> &str {
        &self.pipeline
    }

    /// What happened, in the order of the file.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Whether the recording ends early: the process that wrote it was killed, or the file is damaged.
    #[must_use]
    pub fn is_cut_off(&self) -> bool {
        self.cut_off
    }

    /// How many entries could not be understood.
    #[must_use]
    pub fn unreadable(&self) -> usize {
        self.unreadable
    }

    /// The calls, in the order in which they ended.
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::Call(call) => Some(&**call),
            _ => None,
        })
    }

    /// A message: its schema id and its body.
    #[must_use]
    pub fn message(&self, topic: &Topic, sequence: u64) -> Option<(&Arc<str>, &str)> {
        let index = *self.messages.get(&(topic.clone(), sequence))?;
        match self.entries.get(index)? {
            Entry::Message { schema, body, .. } => Some((schema, body)),
            _ => None,
        }
    }

    /// Whether a message came with pixels, here or left out.
    #[must_use]
    pub fn has_pixels(&self, topic: &Topic, sequence: u64) -> bool {
        self.pictures.contains_key(&(topic.clone(), sequence))
    }

    /// The message beside which the pixels of this one are stored: itself, or the first of the same picture. `None`: they were left out, or it has none.
    #[must_use]
    pub fn picture_of(&self, topic: &Topic, sequence: u64) -> Option<(Topic, u64)> {
        match self.pictures.get(&(topic.clone(), sequence))? {
            Picture::Stored { .. } => Some((topic.clone(), sequence)),
            Picture::SameAs(other, number) => Some((other.clone(), *number)),
            Picture::LeftOut => None,
        }
    }

    /// Hands the pixels of a message to `read`. `Ok(None)`: it has none, or they were left out.
    ///
    /// # Errors
    /// When the file is damaged there.
    pub fn pixels<T>(
        &self,
        topic: &Topic,
        sequence: u64,
        read: impl FnOnce(&Pixels<'_>) -> T,
    ) -> Result<Option<T>, ReadError> {
        let Some(place) = self.picture_of(topic, sequence) else {
            return Ok(None);
        };
        let Some(Picture::Stored {
            chunk,
            offset,
            length,
        }) = self.pictures.get(&place)
        else {
            return Ok(None);
        };
        let wrong = |what: String| ReadError::Picture {
            topic: topic.to_string(),
            sequence,
            what,
        };
        let content = self.chunk(*chunk).map_err(wrong)?;
        let message = content
            .get(*offset..offset + length)
            .ok_or_else(|| wrong("it lies beyond its chunk".into()))?;
        let pixels = Pixels::decode(message).map_err(wrong)?;
        Ok(Some(read(&pixels)))
    }

    fn chunk(&self, at: usize) -> Result<Arc<Vec<u8>>, String> {
        let mut kept = self.chunk.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, content)) = &*kept
            && *known == at
        {
            return Ok(content.clone());
        }
        let (code, body, _) =
            record(&self.bytes, at).ok_or_else(|| "the file is cut off".to_owned())?;
        let content = match parse(code, body) {
            Some(Record::Chunk { header, data }) => unpack(&header, &data)?,
            _ => return Err("there is no chunk".into()),
        };
        let content = Arc::new(content);
        *kept = Some((at, content.clone()));
        Ok(content)
    }

    /// Adds stages and queues that came in while the run went on to what there was at its start.
    fn join_in(&mut self) {
        for change in &self.changes {
            for changed in change.stages.iter().filter(|it| it.added) {
                let known = &mut self.about.stages;
                if known.iter().all(|it| it.name != changed.stage.name) {
                    known.push(changed.stage.clone());
                }
            }
            for edge in &change.edges {
                let known = &mut self.about.edges;
                let is_it = |it: &&AboutEdge| (&it.from, &it.to) == (&edge.from, &edge.to);
                if !known.iter().any(|it| is_it(&it)) {
                    known.push(edge.clone());
                }
            }
        }
    }

    fn index(&mut self) {
        for (index, entry) in self.entries.iter().enumerate() {
            if let Entry::Message {
                topic, sequence, ..
            } = entry
            {
                self.messages.insert((topic.clone(), *sequence), index);
            }
        }
    }
}

/// What is found on the way through a file.
#[derive(Default)]
struct Scan {
    about: Option<Result<About, String>>,
    pipeline: Option<String>,
    schemas: HashMap<u16, Arc<str>>,
    channels: HashMap<u16, (Holds, Arc<str>)>,
    changes: Vec<Change>,
    entries: Vec<Entry>,
    pictures: HashMap<(Topic, u64), Picture>,
    unreadable: usize,
}

impl Scan {
    /// Returns whether the file goes on to its proper end.
    fn file(&mut self, bytes: &[u8]) -> bool {
        let mut at = MAGIC.len();
        while let Some((code, body, next)) = record(bytes, at) {
            match parse(code, body) {
                Some(Record::DataEnd(_)) => return true,
                Some(Record::Attachment { header, data, .. }) => {
                    self.attachment(&header.name, &data);
                }
                Some(Record::Chunk { header, data }) => {
                    let Ok(content) = unpack(&header, &data) else {
                        return false;
                    };
                    self.chunk(at, &content);
                }
                Some(other) => self.channel(other),
                None => return false,
            }
            at = next;
        }
        false
    }

    fn attachment(&mut self, name: &str, data: &[u8]) {
        match name {
            ABOUT => {
                let about = serde_json::from_slice(data).map_err(|error| error.to_string());
                self.about.get_or_insert(about);
            }
            PIPELINE => {
                let text = String::from_utf8_lossy(data).into_owned();
                self.pipeline.get_or_insert(text);
            }
            _ => {}
        }
    }

    fn chunk(&mut self, chunk: usize, content: &[u8]) {
        let mut at = 0;
        while let Some((code, body, next)) = record(content, at) {
            at = next;
            match parse(code, body) {
                Some(Record::Message { header, data }) => {
                    // The data is the end of the record.
                    let offset = next - data.len();
                    self.message(&header, &data, chunk, offset);
                }
                Some(other) => self.channel(other),
                None => self.unreadable += 1,
            }
        }
    }

    fn channel(&mut self, record: Record<'_>) {
        match record {
            Record::Schema { header, .. } => {
                self.schemas.insert(header.id, header.name.into());
            }
            Record::Channel(channel) => {
                let schema = self.schemas.get(&channel.schema_id).cloned();
                if let Some(holds) = Holds::of(&channel.topic, &channel.metadata) {
                    let schema = schema.unwrap_or_else(|| "".into());
                    self.channels.insert(channel.id, (holds, schema));
                }
            }
            _ => {}
        }
    }

    fn message(&mut self, header: &MessageHeader, data: &[u8], chunk: usize, offset: usize) {
        let Some((holds, schema)) = self.channels.get(&header.channel_id) else {
            return;
        };
        let started = match &self.about {
            Some(Ok(about)) => about.started_unix_ns,
            _ => 0,
        };
        let sequence = u64::from(header.sequence);
        let at_ns = header.log_time.wrapping_sub(started) as i64;
        let entry = match holds {
            Holds::Messages(topic) => match std::str::from_utf8(data) {
                Ok(body) => Some(Entry::Message {
                    topic: topic.clone(),
                    schema: schema.clone(),
                    sequence,
                    at_ns,
                    body: body.into(),
                }),
                Err(_) => None,
            },
            Holds::Calls => read(data).map(|call| Entry::Call(Box::new(call))),
            Holds::Drops => read(data).map(Entry::Dropped),
            Holds::Problems => read(data).map(Entry::Problem),
            Holds::Pictures(topic) => {
                let stored = Picture::Stored {
                    chunk,
                    offset,
                    length: data.len(),
                };
                self.pictures.insert((topic.clone(), sequence), stored);
                return;
            }
            Holds::PictureNotes => {
                match read::<PictureNote>(data) {
                    Some(note) => self.picture_note(note),
                    None => self.unreadable += 1,
                }
                return;
            }
            Holds::Changes => {
                match read::<Change>(data) {
                    Some(change) => self.changes.push(change),
                    None => self.unreadable += 1,
                }
                return;
            }
            Holds::Extra(_) => return,
        };
        match entry {
            Some(entry) => self.entries.push(entry),
            None => self.unreadable += 1,
        }
    }

    fn picture_note(&mut self, note: PictureNote) {
        let picture = note
            .same_as
            .map_or(Picture::LeftOut, |(stage, port, number)| {
                Picture::SameAs(Topic::new(stage, port), number)
            });
        let topic = Topic::new(note.stage, note.port);
        self.pictures.insert((topic, note.sequence), picture);
    }
}

fn read<T: DeserializeOwned>(data: &[u8]) -> Option<T> {
    serde_json::from_slice(data).ok()
}

/// The content of a chunk, held against its checksum.
fn unpack(header: &ChunkHeader, data: &[u8]) -> Result<Vec<u8>, String> {
    use std::io::Read as _;
    if header.uncompressed_size > LARGEST_CHUNK {
        return Err("a chunk of senseless size".into());
    }
    let mut content = Vec::new();
    match header.compression.as_str() {
        "" => content.extend_from_slice(data),
        "lz4" => {
            // One byte more than it may be shows that it is longer than it says.
            let decoder = lz4::Decoder::new(data).map_err(|error| error.to_string())?;
            decoder
                .take(header.uncompressed_size + 1)
                .read_to_end(&mut content)
                .map_err(|error| error.to_string())?;
        }
        other => return Err(format!("a chunk packed by {other:?}, not by lz4")),
    }
    if content.len() as u64 != header.uncompressed_size {
        return Err("a chunk is not as long as it says".into());
    }
    if header.uncompressed_crc != 0 && crc32fast::hash(&content) != header.uncompressed_crc {
        return Err("a chunk's checksum is wrong".into());
    }
    Ok(content)
}
