//! Reads a recording, also a truncated one.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::budget;
use crate::chunk::Unpacked;
use crate::entry::{About, Call, Change, Dropped, DroppedLineages, Trouble};
use crate::error::ReadError;
use crate::file::RecordingFile;
use crate::image::Pixels;
use crate::pictures::{Picture, Pictures};
use crate::scan::{Fault, MAGIC, Place, Scan};
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
    places: Vec<Place>,
    /// Entries by output and number.
    messages: HashMap<Topic, HashMap<u64, usize>>,
    pictures: Pictures,
    cut_off: bool,
    unreadable: usize,
    first_unreadable: Option<Fault>,
    /// The chunks of the last requested pictures.
    unpacked: Unpacked,
}

/// An entry, in the order of the file.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// A message was emitted.
    Message {
        /// Its output.
        topic: Topic,
        /// Its schema id.
        schema: Arc<str>,
        /// Its number there, from 1.
        sequence: u64,
        /// When, by the run's clock.
        at_ns: i64,
        /// Its body, unchanged.
        body: Box<str>,
    },
    /// A call has ended.
    Call(Box<Call>),
    /// A full queue dropped a message.
    Dropped(Dropped),
    /// A problem occurred.
    Problem(Trouble),
}

impl Recording {
    /// Opens a recording and reads everything but the pixels. Of a truncated file it reads the whole records.
    ///
    /// # Errors
    /// When it can't be opened, is no recording of a run, or exceeds the limits for a recording of its size. The size
    /// of an entry in memory is checked before it is allocated.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
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
        let file = RecordingFile::open(path).map_err(open)?;
        let not_a_run = |what: &str| ReadError::NotARun {
            path: path.to_owned(),
            what: what.to_owned(),
        };
        if !file.starts_with(MAGIC) {
            return Err(ReadError::NotMcap {
                path: path.to_owned(),
            });
        }
        let over = |fault| ReadError::Fault {
            path: path.to_owned(),
            fault: Box::new(fault),
        };
        let mut scan = Scan::of(file.length());
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
            messages: HashMap::new(),
            pictures: scan.pictures,
            cut_off: !whole,
            unreadable: scan.unreadable,
            first_unreadable: scan.first_unreadable,
            unpacked: Unpacked::default(),
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
        self.places.get(entry).copied()
    }

    /// Whether the recording ends early: the process that wrote it was killed, or the file is damaged.
    #[must_use]
    pub fn is_cut_off(&self) -> bool {
        self.cut_off
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
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::Call(call) => Some(&**call),
            _ => None,
        })
    }

    /// A message: its schema id and its body.
    #[must_use]
    pub fn message(&self, topic: &Topic, sequence: u64) -> Option<(&Arc<str>, &str)> {
        let index = *self.messages.get(topic)?.get(&sequence)?;
        match self.entries.get(index)? {
            Entry::Message { schema, body, .. } => Some((schema, body)),
            _ => None,
        }
    }

    /// Whether a message came with pixels, recorded or not.
    #[must_use]
    pub fn has_pixels(&self, topic: &Topic, sequence: u64) -> bool {
        self.pictures.get(topic, sequence).is_some()
    }

    /// The message beside which the pixels of this one are stored: itself, or the first of the same picture. `None`:
    /// they were left out, or it has none.
    #[must_use]
    pub fn picture_of(&self, topic: &Topic, sequence: u64) -> Option<(Topic, u64)> {
        match self.pictures.get(topic, sequence)? {
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
        let Some((place, number)) = self.picture_of(topic, sequence) else {
            return Ok(None);
        };
        let Some(Picture::Stored {
            chunk,
            offset,
            length,
        }) = self.pictures.get(&place, number)
        else {
            return Ok(None);
        };
        let wrong = |what: String| ReadError::Picture {
            topic: topic.to_string(),
            sequence,
            what,
        };
        let read = self.unpacked.with(&self.file, *chunk, *length, |content| {
            let message = content
                .get(*offset..offset + length)
                .ok_or_else(|| "it is outside of its chunk".to_owned())?;
            Pixels::decode(message).map(|pixels| read(&pixels))
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
        for (index, entry) in self.entries.iter().enumerate() {
            if let Entry::Message {
                topic, sequence, ..
            } = entry
            {
                match self.messages.get_mut(topic) {
                    Some(known) => known.insert(*sequence, index),
                    None => {
                        let first = HashMap::from([(*sequence, index)]);
                        self.messages.insert(topic.clone(), first);
                        None
                    }
                };
            }
        }
    }
}
