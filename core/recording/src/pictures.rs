//! The positions of messages' pictures and buffers.

use std::collections::HashMap;
use std::sync::Arc;

use flowpipe_abi::BufferInfo;

use crate::entry::PictureNote;
use crate::payload::PayloadKind;
use crate::topic::Topic;

/// Where a picture or a buffer is.
#[derive(Clone, Debug)]
pub(crate) enum Picture {
    /// In the chunk at this byte of the file, at this byte of its content, with this many bytes.
    Stored {
        chunk: usize,
        offset: usize,
        length: usize,
        /// The layout of a buffer, unless it is malformed.
        info: Option<Arc<BufferInfo>>,
    },
    /// Beside another message.
    SameAs(Box<(Topic, u64)>),
    /// Not recorded.
    LeftOut,
}

/// By output and number.
#[derive(Debug, Default)]
pub(crate) struct Pictures(HashMap<Topic, HashMap<u64, (PayloadKind, Picture)>>);

impl Pictures {
    pub(crate) fn get(&self, topic: &Topic, sequence: u64) -> Option<&(PayloadKind, Picture)> {
        self.0.get(topic)?.get(&sequence)
    }

    pub(crate) fn insert(
        &mut self,
        topic: Topic,
        sequence: u64,
        kind: PayloadKind,
        picture: Picture,
    ) {
        let of_topic = self.0.entry(topic).or_default();
        of_topic.insert(sequence, (kind, picture));
    }

    /// Adds the position of a note.
    pub(crate) fn note(&mut self, note: PictureNote) {
        let kind = match note.is_buffer {
            true => PayloadKind::Buffer,
            false => PayloadKind::Picture,
        };
        let picture = note
            .same_as
            .map_or(Picture::LeftOut, |(stage, port, number)| {
                Picture::SameAs(Box::new((Topic::new(stage, port), number)))
            });
        let topic = Topic::new(note.stage, note.port);
        self.insert(topic, note.sequence, kind, picture);
    }
}
