//! What an entry takes in memory, and whether its times can be calculated with.

use crate::budget::is_time;
use crate::entry::{Call, Change, Dropped, DroppedLineages, Emitted, PictureNote, Trouble};
use crate::name::Names;

/// An entry that is kept in memory.
pub(crate) trait Kept {
    /// A byte of its JSON takes at most so many bytes of memory: a list of numbers.
    const READ: usize = 4;

    /// Lets its names share their memory with equal ones. Returns how many bytes it takes beside a place in a list.
    fn settle(&mut self, json: usize, names: &mut Names) -> usize;

    /// Whether all its times can be calculated with.
    fn is_in_time(&self) -> bool;
}

/// What each piece of memory takes beside its bytes.
const PIECE: usize = 16;

/// What a replay knows of a call beside it: where what it took comes from, who else takes it, and that it is left out.
const REPLAYED: usize = 128;
/// What a replay knows of a message that a call emitted: where it comes from.
const SOURCE: usize = 32;

/// Bytes of a list, whose memory fits its length from now on.
fn list<T>(list: &mut Vec<T>) -> usize {
    list.shrink_to_fit();
    match list.len() {
        0 => 0,
        length => PIECE + length * size_of::<T>(),
    }
}

impl Kept for Call {
    fn settle(&mut self, _: usize, names: &mut Names) -> usize {
        let mut size = size_of::<Self>() + PIECE + REPLAYED;
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
        size += self.failed.as_ref().map_or(0, |it| PIECE + it.len());
        size + list(&mut self.emitted)
            + list(&mut self.clock)
            + list(&mut self.waits)
            + list(&mut self.marks)
    }

    fn is_in_time(&self) -> bool {
        let own = [self.taken_ns, self.ended_ns, self.waited_ns].into_iter();
        let emitted = self.emitted.iter().flat_map(|emitted: &Emitted| {
            let captured = emitted.origin.as_ref().map(|origin| origin.captured_ns);
            [emitted.at_ns, captured.unwrap_or(0)]
        });
        let marks = self.marks.iter().map(|mark| mark.at_ns);
        own.chain(emitted).chain(marks).all(is_time)
    }
}

impl Kept for Dropped {
    fn settle(&mut self, _: usize, names: &mut Names) -> usize {
        let mut size = size_of::<Self>() + PIECE;
        let (stage, input) = &mut self.to;
        for name in [&mut self.from, &mut self.output, stage, input] {
            size += names.share(name);
        }
        size
    }

    fn is_in_time(&self) -> bool {
        is_time(self.at_ns)
    }
}

impl Kept for DroppedLineages {
    fn settle(&mut self, _: usize, names: &mut Names) -> usize {
        let shared = names.share(&mut self.stage) + names.share(&mut self.port);
        size_of::<Self>() + shared
    }

    fn is_in_time(&self) -> bool {
        is_time(self.at_ns) && is_time(self.until_ns)
    }
}

impl Kept for Trouble {
    fn settle(&mut self, _: usize, names: &mut Names) -> usize {
        let mut size = size_of::<Self>() + 2 * PIECE + self.text.len();
        for name in [&mut self.kind, &mut self.stage, &mut self.plugin] {
            size += names.share(name);
        }
        size
    }

    fn is_in_time(&self) -> bool {
        is_time(self.at_ns)
    }
}

impl Kept for PictureNote {
    fn settle(&mut self, _: usize, names: &mut Names) -> usize {
        let mut size = names.share(&mut self.stage) + names.share(&mut self.port);
        if let Some((stage, port, _)) = &mut self.same_as {
            size += names.share(stage) + names.share(port);
            // It is kept as a topic and a number.
            size += PIECE + size_of_val(stage) + size_of_val(port) + size_of::<u64>();
        }
        size
    }

    fn is_in_time(&self) -> bool {
        true
    }
}

impl Kept for Change {
    /// Configs can hold anything.
    const READ: usize = 16;

    fn settle(&mut self, json: usize, _: &mut Names) -> usize {
        json.saturating_mul(Self::READ)
    }

    fn is_in_time(&self) -> bool {
        is_time(self.at_ns)
    }
}
