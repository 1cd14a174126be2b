//! The size of an entry in memory, and the limits of its times and sequence numbers.

use crate::budget::{is_sequence, is_time};
use crate::entry::{Call, Change, Dropped, DroppedLineages, Emitted, Event, PictureNote, Trouble};
use crate::json_memory::json_memory;
use crate::name::Names;

/// The limits of an entry in memory.
pub(crate) trait EntryLimits {
    /// The most bytes of memory that reading it from its JSON takes.
    fn reading(json: &[u8]) -> usize {
        // A list of numbers.
        json.len().saturating_mul(4)
    }

    /// Makes its names share their memory with equal ones. Returns its bytes besides its place in a list.
    fn settle(&mut self, json: &[u8], names: &mut Names) -> usize;

    /// Whether all its times and sequence numbers are within the limits.
    fn is_in_range(&self) -> bool;

    /// What in it contradicts itself.
    fn contradiction(&self) -> Option<&'static str> {
        None
    }
}

/// The memory of an allocation besides its bytes.
const ALLOCATION: usize = 16;

/// What a replay keeps for a call besides it: where its message comes from, who else takes it, and that it is left out.
const REPLAYED: usize = 128;
/// What a replay keeps for a message that a call emitted: where it comes from.
const SOURCE: usize = 32;

/// The bytes of a list, which is shrunk to its length.
fn list<T>(list: &mut Vec<T>) -> usize {
    list.shrink_to_fit();
    match list.len() {
        0 => 0,
        length => ALLOCATION + length * size_of::<T>(),
    }
}

impl Call {
    /// Whether its times and sequence numbers are within the limits. A reader accepts no others.
    #[must_use]
    pub fn is_readable(&self) -> bool {
        self.is_in_range()
    }

    /// What in it contradicts itself. A reader accepts no such call: a plugin would be called as no run calls it.
    #[must_use]
    pub fn contradiction(&self) -> Option<&'static str> {
        match (self.event, &self.took) {
            (Event::Message, None) => Some("its event is a message, but it took none"),
            (Event::Tick | Event::Finish, Some(_)) => {
                Some("it took a message, but its event is another one")
            }
            (Event::Message, Some(_)) | (Event::Tick | Event::Finish, None) => None,
        }
    }
}

impl Dropped {
    /// Whether a reader accepts it.
    #[must_use]
    pub fn is_readable(&self) -> bool {
        self.is_in_range()
    }
}

impl Trouble {
    /// Whether a reader accepts it.
    #[must_use]
    pub fn is_readable(&self) -> bool {
        self.is_in_range()
    }
}

impl EntryLimits for Call {
    fn settle(&mut self, _: &[u8], names: &mut Names) -> usize {
        let mut size = size_of::<Self>() + ALLOCATION + REPLAYED;
        size += names.share(&mut self.stage);
        if let Some(took) = &mut self.took {
            size += names.share(&mut took.port);
            size += names.share(&mut took.from);
            size += names.share(&mut took.output);
        }
        for emitted in &mut self.emitted {
            size += SOURCE + names.share(&mut emitted.port);
            if let Some(origin) = &mut emitted.origin {
                size += names.share(&mut origin.stage);
            }
        }
        for mark in &mut self.marks {
            size += names.share(&mut mark.name);
        }
        size += self.failed.as_ref().map_or(0, |it| ALLOCATION + it.len());
        size + list(&mut self.emitted)
            + list(&mut self.clock)
            + list(&mut self.waits)
            + list(&mut self.marks)
    }

    fn is_in_range(&self) -> bool {
        let own = [self.taken_ns, self.ended_ns, self.waited_ns].into_iter();
        let emitted = self.emitted.iter().flat_map(|emitted: &Emitted| {
            let captured = emitted.origin.as_ref().map(|origin| origin.captured_ns);
            [emitted.at_ns, captured.unwrap_or(0)]
        });
        let marks = self.marks.iter().map(|mark| mark.at_ns);
        let sent = self.emitted.iter().flat_map(|emitted: &Emitted| {
            let origin = emitted.origin.as_ref().map(|origin| origin.sequence);
            [emitted.sequence, origin.unwrap_or(0)]
        });
        let taken = self.took.iter().map(|took| took.sequence);
        own.chain(emitted).chain(marks).all(is_time) && sent.chain(taken).all(is_sequence)
    }

    fn contradiction(&self) -> Option<&'static str> {
        Self::contradiction(self)
    }
}

impl EntryLimits for Dropped {
    fn settle(&mut self, _: &[u8], names: &mut Names) -> usize {
        let mut size = size_of::<Self>() + ALLOCATION;
        let (stage, input) = &mut self.to;
        for name in [&mut self.from, &mut self.output, stage, input] {
            size += names.share(name);
        }
        size
    }

    fn is_in_range(&self) -> bool {
        is_time(self.at_ns) && is_sequence(self.sequence)
    }
}

impl EntryLimits for DroppedLineages {
    fn settle(&mut self, _: &[u8], names: &mut Names) -> usize {
        let shared = names.share(&mut self.stage) + names.share(&mut self.port);
        size_of::<Self>() + shared
    }

    fn is_in_range(&self) -> bool {
        let numbers = [self.first, self.last];
        is_time(self.at_ns) && is_time(self.until_ns) && numbers.into_iter().all(is_sequence)
    }
}

impl EntryLimits for Trouble {
    fn settle(&mut self, _: &[u8], names: &mut Names) -> usize {
        let mut size = size_of::<Self>() + 2 * ALLOCATION + self.text.len();
        for name in [&mut self.kind, &mut self.stage, &mut self.plugin] {
            size += names.share(name);
        }
        size
    }

    fn is_in_range(&self) -> bool {
        is_time(self.at_ns)
    }
}

impl EntryLimits for PictureNote {
    fn settle(&mut self, _: &[u8], names: &mut Names) -> usize {
        let mut size = names.share(&mut self.stage) + names.share(&mut self.port);
        if let Some((stage, port, _)) = &mut self.same_as {
            size += names.share(stage) + names.share(port);
            // It is kept as a topic and a number.
            size += ALLOCATION + size_of_val(stage) + size_of_val(port) + size_of::<u64>();
        }
        size
    }

    fn is_in_range(&self) -> bool {
        let same = self.same_as.as_ref().map(|(_, _, sequence)| *sequence);
        is_sequence(self.sequence) && same.is_none_or(is_sequence)
    }
}

impl EntryLimits for Change {
    /// Configs can contain any JSON. It is held twice while it is read, since a stage is a part of a changed stage.
    fn reading(json: &[u8]) -> usize {
        json_memory(json).saturating_mul(2)
    }

    fn settle(&mut self, json: &[u8], _: &mut Names) -> usize {
        json_memory(json)
    }

    fn is_in_range(&self) -> bool {
        is_time(self.at_ns)
    }
}
