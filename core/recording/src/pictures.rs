//! The positions of messages' pixels.

use std::collections::HashMap;

use crate::entry::PictureNote;
use crate::topic::Topic;

/// Where a picture is.
#[derive(Clone, Debug)]
pub(crate) enum Picture {
    /// In the chunk at this byte of the file, at this byte of its content, with this many bytes.
    Stored {
        chunk: usize,
        offset: usize,
        length: usize,
    },
    /// Beside another message.
    SameAs(Box<(Topic, u64)>),
    /// Not recorded.
    LeftOut,
}

/// By output and number.
#[derive(Debug, Default)]
pub(crate) struct Pictures(HashMap<Topic, HashMap<u64, Picture>>);

impl Pictures {
    pub(crate) fn get(&self, topic: &Topic, sequence: u64) -> Option<&Picture> {
        self.0.get(topic)?.get(&sequence)
    }

    pub(crate) fn insert(&mut self, topic: Topic, sequence: u64, picture: Picture) {
        self.0.entry(topic).or_default().insert(sequence, picture);
    }

    /// Adds the position of a note.
    pub(crate) fn note(&mut self, note: PictureNote) {
        let picture = note
            .same_as
            .map_or(Picture::LeftOut, |(stage, port, number)| {
                Picture::SameAs(Box::new((Topic::new(stage, port), number)))
            });
        self.insert(Topic::new(note.stage, note.port), note.sequence, picture);
    }
}
