//! Reads a recording, also a truncated one.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flowpipe_abi::BufferInfo;

use crate::bodies::{Bodies, Body};
use crate::budget::{self, Limits};
use crate::chunk::ChunkStore;
use crate::entry::{About, Call, Change, DroppedLineages, Entry, MISSING};
use crate::error::ReadError;
use crate::fault::{Fault, Place};
use crate::file::RecordingFile;
use crate::image::Pixels;
use crate::message::RecordedMessage;
use crate::name::Name;
use crate::payload::{Payload, PayloadKind};
use crate::pictures::{Picture, Pictures};
use crate::scan::{EntryPlace, Scan, Wanted};
use crate::topic::Topic;
use crate::writer::ABOUT;

/// A recording: its entries in memory, its pictures in the file.
#[derive(Debug)]
pub struct Recording {
    path: PathBuf,
    file: RecordingFile,
    about: About,
    pipeline: String,
    changes: Vec<Change>,
    dropped_lineages: Vec<DroppedLineages>,
    entries: Vec<Entry>,
    /// By entry.
    places: Vec<EntryPlace>,
    bodies: Bodies,
    /// By output: numbers and entries, in their order.
    messages: HashMap<Topic, Vec<(u32, u32)>>,
    pictures: Pictures,
    cut_off: bool,
    unreadable: usize,
    first_unreadable: Option<Fault>,
    /// The chunks of the last requested pictures.
    unpacked: ChunkStore,
}

impl Recording {
    /// Opens a recording and reads everything but the pixels. Of a truncated file it reads the whole records.
    ///
    /// # Errors
    /// When it can't be opened, is no recording of a run, or exceeds the limits for a recording of its size. The size
    /// of an entry in memory is checked before it is allocated.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        Self::open_within(path, Limits::Strict)
    }

    /// As [`Self::open`], with other limits on its memory.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_within(path: &Path, limits: Limits) -> Result<Self, ReadError> {
        Self::read(path, Wanted::All, limits)
    }

    /// As [`Self::open`], but only with messages and pictures: calls, drops and problems are left out.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_messages(path: &Path) -> Result<Self, ReadError> {
        Self::read(path, Wanted::Messages, Limits::Strict)
    }

    fn read(path: &Path, wanted: Wanted, limits: Limits) -> Result<Self, ReadError> {
        let open = |error| match flowpipe_output::left_of(path) {
            Some(left) => ReadError::Unfinished {
                path: path.to_owned(),
                left,
            },
            None => ReadError::Open {
                path: path.to_owned(),
                error,
            },
        };
        // A growing file is read up to its length now.
        let file = RecordingFile::open(path, limits).map_err(open)?;
        let not_a_run = |what: &str| ReadError::NotARun {
            path: path.to_owned(),
            what: what.to_owned(),
        };
        if !file.starts_with(mcap::MAGIC) {
            return Err(ReadError::NotMcap {
                path: path.to_owned(),
            });
        }
        let over = |fault| ReadError::Fault {
            path: path.to_owned(),
            fault: Box::new(fault),
        };
        let mut scan = Scan::of(file.length(), wanted, limits);
        let whole = scan.file(&file).map_err(over)?;
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
            file,
            about,
            changes: scan.changes,
            dropped_lineages: scan.dropped_lineages,
            pipeline: scan.pipeline.unwrap_or_default(),
            entries: scan.entries,
            places: scan.places,
            bodies: scan.bodies,
            messages: HashMap::new(),
            pictures: scan.pictures,
            cut_off: !whole,
            unreadable: scan.unreadable,
            first_unreadable: scan.first_unreadable,
            unpacked: ChunkStore::default(),
        };
        recording.index();
        recording.join_in();
        budget::parts(&recording.about).map_err(|what| {
            over(Fault {
                topic: ABOUT.to_owned(),
                place: scan.about_at,
                what,
            })
        })?;
        Ok(recording)
    }

    /// The path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The run as a whole: with stages and queues that were added while it ran, and all else as at the start.
    #[must_use]
    pub fn about(&self) -> &About {
        &self.about
    }

    /// The changes of the pipeline while it ran, in the order of time.
    #[must_use]
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// What the recorder dropped because it could not keep up, in the order of time.
    #[must_use]
    pub fn dropped_lineages(&self) -> &[DroppedLineages] {
        &self.dropped_lineages
    }

    /// The pipeline's file, unchanged.
    #[must_use]
    pub fn pipeline(&self) -> &str {
        &self.pipeline
    }

    /// All entries, in the order of the file.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The position of an entry in the file, by its index in [`Self::entries`].
    #[must_use]
    pub fn place(&self, entry: usize) -> Option<Place> {
        self.places.get(entry).map(|place| place.place())
    }

    /// Whether the recording ends early: the process that wrote it was killed, or the file is damaged.
    #[must_use]
    pub fn is_cut_off(&self) -> bool {
        self.cut_off
    }

    /// Why it ends early, if the program that wrote it knew: it then has no index, and all that was written. A sentence of
    /// that program, of any length.
    #[must_use]
    pub fn noted_end(&self) -> Option<&str> {
        let mut last_first = self.entries.iter().rev();
        last_first.find_map(|entry| match entry {
            Entry::Problem(problem) if self.cut_off && problem.kind.as_str() == MISSING => {
                Some(problem.text.as_str())
            }
            _ => None,
        })
    }

    /// The number of malformed entries.
    #[must_use]
    pub fn unreadable(&self) -> usize {
        self.unreadable
    }

    /// The first of them.
    #[must_use]
    pub fn first_unreadable(&self) -> Option<&Fault> {
        self.first_unreadable.as_ref()
    }

    /// The calls, in the order in which they ended.
    pub fn calls(&self) -> impl Iterator<Item = &Arc<Call>> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::Call(call) => Some(call),
            _ => None,
        })
    }

    /// The calls by stage, in the order in which they began.
    #[must_use]
    pub fn calls_by_stage(&self) -> HashMap<Name, Vec<Arc<Call>>> {
        let mut stages: HashMap<Name, Vec<Arc<Call>>> = HashMap::new();
        for call in self.calls() {
            match stages.get_mut(&call.stage) {
                Some(calls) => calls.push(call.clone()),
                None => {
                    stages.insert(call.stage.clone(), vec![call.clone()]);
                }
            }
        }
        for calls in stages.values_mut() {
            calls.shrink_to_fit();
            calls.sort_by_key(|call| (call.taken_ns, call.worker, call.plugin));
        }
        stages
    }

    /// A message: its schema id and its body.
    #[must_use]
    pub fn message(&self, topic: &Topic, sequence: u64) -> Option<(&Arc<str>, Body<'_>)> {
        let message = self.entries.get(self.find(topic, sequence)?)?;
        match message {
            Entry::Message(message) => Some((message.schema(), self.body(message))),
            _ => None,
        }
    }

    /// The index of a message in [`Self::entries`].
    #[must_use]
    pub fn find(&self, topic: &Topic, sequence: u64) -> Option<usize> {
        let known = self.messages.get(topic)?;
        let sequence = u32::try_from(sequence).ok()?;
        let after = known.partition_point(|(number, _)| *number <= sequence);
        let (number, entry) = *known.get(after.checked_sub(1)?)?;
        (number == sequence).then_some(entry as usize)
    }

    /// The body of one of its messages.
    #[must_use]
    pub fn body(&self, message: &RecordedMessage) -> Body<'_> {
        self.bodies.get(message.body)
    }

    /// Whether a message came with a picture or a buffer, recorded or not. `None`: with neither.
    #[must_use]
    pub fn payload_kind(&self, topic: &Topic, sequence: u64) -> Option<PayloadKind> {
        self.pictures.get(topic, sequence).map(|(kind, _)| *kind)
    }

    /// The layout of a message's buffer. `None`: it has none, or it was left out or is malformed.
    #[must_use]
    pub fn buffer_info(&self, topic: &Topic, sequence: u64) -> Option<&BufferInfo> {
        let (place, number) = self.stored_at(topic, sequence, PayloadKind::Buffer)?;
        match self.pictures.get(&place, number)? {
            (_, Picture::Stored { info, .. }) => info.as_deref(),
            _ => None,
        }
    }

    /// Whether a message came with pixels, recorded or not.
    #[must_use]
    pub fn has_pixels(&self, topic: &Topic, sequence: u64) -> bool {
        self.payload_kind(topic, sequence) == Some(PayloadKind::Picture)
    }

    /// Whether the recorder left out the picture or buffer of a message, and recorded that it did.
    #[must_use]
    pub fn is_left_out(&self, topic: &Topic, sequence: u64) -> bool {
        let picture = self.pictures.get(topic, sequence);
        matches!(picture, Some((_, Picture::LeftOut)))
    }

    /// The message beside which the pixels of this one are stored: itself, or the first of the same picture. `None`:
    /// they were left out, or it has none.
    #[must_use]
    pub fn picture_of(&self, topic: &Topic, sequence: u64) -> Option<(Topic, u64)> {
        self.stored_at(topic, sequence, PayloadKind::Picture)
    }

    /// The message beside which the picture or buffer of this one is stored.
    fn stored_at(&self, topic: &Topic, sequence: u64, wanted: PayloadKind) -> Option<(Topic, u64)> {
        let (kind, picture) = self.pictures.get(topic, sequence)?;
        match picture {
            _ if *kind != wanted => None,
            Picture::Stored { .. } => Some((topic.clone(), sequence)),
            Picture::SameAs(other) => Some((**other).clone()),
            Picture::LeftOut => None,
        }
    }

    /// Passes the pixels of a message to `read`. `Ok(None)`: it has none, or they were left out.
    ///
    /// # Errors
    /// When that part of the file is damaged.
    pub fn pixels<T>(
        &self,
        topic: &Topic,
        sequence: u64,
        read: impl FnOnce(&Pixels<'_>) -> T,
    ) -> Result<Option<T>, ReadError> {
        if !self.has_pixels(topic, sequence) {
            return Ok(None);
        }
        let read = |payload: &Payload<'_>| match payload {
            Payload::Picture(pixels) => Some(read(pixels)),
            Payload::Buffer(_) => None,
        };
        self.payload(topic, sequence, read).map(Option::flatten)
    }

    /// Passes the picture or buffer of a message to `read`. `Ok(None)`: it has none, or it was left out.
    ///
    /// # Errors
    /// When that part of the file is damaged.
    pub fn payload<T>(
        &self,
        topic: &Topic,
        sequence: u64,
        read: impl FnOnce(&Payload<'_>) -> T,
    ) -> Result<Option<T>, ReadError> {
        let Some(kind) = self.payload_kind(topic, sequence) else {
            return Ok(None);
        };
        let Some((place, number)) = self.stored_at(topic, sequence, kind) else {
            return Ok(None);
        };
        let Some((
            stored_kind,
            Picture::Stored {
                chunk,
                offset,
                length,
                ..
            },
        )) = self.pictures.get(&place, number)
        else {
            return Ok(None);
        };
        // The note of a recording may be wrong.
        if *stored_kind != kind {
            return Ok(None);
        }
        let wrong = |what: String| ReadError::Picture {
            topic: topic.to_string(),
            sequence,
            what,
        };
        let read = self.unpacked.with(&self.file, *chunk, *length, |content| {
            let message = content
                .get(*offset..offset + length)
                .ok_or_else(|| "it is outside of its chunk".to_owned())?;
            Payload::decode(kind, message).map(|payload| read(&payload))
        });
        read.flatten().map(Some).map_err(wrong)
    }

    /// Adds stages and queues that were added during the run to those of its start.
    fn join_in(&mut self) {
        let (stages, edges) = (&mut self.about.stages, &mut self.about.edges);
        let mut names: HashSet<String> = stages.iter().map(|it| it.name.clone()).collect();
        let mut ends: HashSet<_> = edges
            .iter()
            .map(|it| (it.from.clone(), it.to.clone()))
            .collect();
        for change in &self.changes {
            for changed in change.stages.iter().filter(|it| it.added) {
                if names.insert(changed.stage.name.clone()) {
                    stages.push(changed.stage.clone());
                }
            }
            for edge in &change.edges {
                if ends.insert((edge.from.clone(), edge.to.clone())) {
                    edges.push(edge.clone());
                }
            }
        }
    }

    fn index(&mut self) {
        self.entries.shrink_to_fit();
        self.places.shrink_to_fit();
        for (index, entry) in self.entries.iter().enumerate() {
            let Entry::Message(message) = entry else {
                continue;
            };
            // Memory is short long before there are so many.
            let Ok(index) = u32::try_from(index) else {
                break;
            };
            let at = (message.sequence, index);
            match self.messages.get_mut(message.topic()) {
                Some(known) => known.push(at),
                None => {
                    self.messages.insert(message.topic().clone(), vec![at]);
                }
            }
        }
        for known in self.messages.values_mut() {
            // Of several with one number the last one counts.
            known.sort_unstable();
            known.shrink_to_fit();
        }
    }
}
