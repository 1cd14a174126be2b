//! The size of an entry in memory, and the limits of its times.

use crate::budget::is_time;
use crate::entry::{Call, Change, Dropped, DroppedLineages, Emitted, PictureNote, Trouble};

/// The limits of an entry in memory.
pub(crate) trait EntryLimits {
    /// The most bytes of memory for a byte of its JSON: a list of numbers.
    const READ: usize = 4;

    /// Bytes besides its place in a list.
    fn size(&self, json: usize) -> usize;

    /// Whether all its times are within the limits.
    fn is_in_time(&self) -> bool;
}

/// The memory of a text besides its bytes.
const TEXT: usize = size_of::<String>() + 16;

impl EntryLimits for Call {
    fn size(&self, _: usize) -> usize {
        let emitted = |it: &Emitted| {
            let origin = it
                .origin
                .as_ref()
                .map_or(0, |origin| TEXT + origin.stage.len());
            size_of::<Emitted>() + 16 + it.port.len() + origin
        };
        let took = self.took.as_ref();
        let took = took.map_or(0, |it| {
            3 * TEXT + it.port.len() + it.from.len() + it.output.len()
        });
        let marks = self.marks.iter().map(|mark| 2 * TEXT + mark.name.len());
        size_of::<Self>()
            + self.stage.len()
            + took
            + self.emitted.iter().map(emitted).sum::<usize>()
            + self.clock.len() * size_of::<i64>()
            + self.waits.len()
            + marks.sum::<usize>()
            + self.failed.as_ref().map_or(0, String::len)
    }

    fn is_in_time(&self) -> bool {
        let own = [self.taken_ns, self.ended_ns, self.waited_ns].into_iter();
        let emitted = self.emitted.iter().flat_map(|emitted| {
            let captured = emitted.origin.as_ref().map(|origin| origin.captured_ns);
            [emitted.at_ns, captured.unwrap_or(0)]
        });
        let marks = self.marks.iter().map(|mark| mark.at_ns);
        own.chain(emitted).chain(marks).all(is_time)
    }
}

impl EntryLimits for Dropped {
    fn size(&self, json: usize) -> usize {
        json
    }

    fn is_in_time(&self) -> bool {
        is_time(self.at_ns)
    }
}

impl EntryLimits for DroppedLineages {
    fn size(&self, json: usize) -> usize {
        json
    }

    fn is_in_time(&self) -> bool {
        is_time(self.at_ns) && is_time(self.until_ns)
    }
}

impl EntryLimits for Trouble {
    fn size(&self, json: usize) -> usize {
        json
    }

    fn is_in_time(&self) -> bool {
        is_time(self.at_ns)
    }
}

impl EntryLimits for PictureNote {
    fn size(&self, json: usize) -> usize {
        json
    }

    fn is_in_time(&self) -> bool {
        true
    }
}

impl EntryLimits for Change {
    /// Configs can contain any JSON.
    const READ: usize = 16;

    fn size(&self, json: usize) -> usize {
        json.saturating_mul(Self::READ)
    }

    fn is_in_time(&self) -> bool {
        is_time(self.at_ns)
    }
}
