//! The bodies of messages in memory, in blocks. The first blocks are kept unpacked, later ones are packed (LZ4):
//! sightings of a board that hardly changes become 10 to 100 times smaller, and the bodies of a recording take hardly
//! more memory than its file takes space on the disk.

use std::collections::VecDeque;
use std::fmt;
use std::ops::{Deref, Range};
use std::sync::{Arc, Mutex, PoisonError};

/// The bytes of a block, which is unpacked as a whole. A longer body has a block of its own.
const BLOCK: usize = 128 << 10;
/// The most bytes of blocks that are kept unpacked.
const PLAIN: usize = 32 << 20;
/// The most bytes of cached blocks; the last one stays in any case.
const UNPACKED: usize = 8 << 20;

/// Where a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BodyPlace {
    block: u32,
    offset: u32,
    length: u32,
}

/// All bodies of a recording.
#[derive(Default)]
pub(crate) struct Bodies {
    blocks: Vec<Block>,
    /// The block that is not full yet.
    open: String,
    /// Bytes of blocks that are not packed.
    plain: usize,
    unpacked: Mutex<UnpackedBlocks>,
}

enum Block {
    Plain(Box<str>),
    Packed {
        bytes: Box<[u8]>,
        /// Bytes when it is unpacked.
        length: usize,
    },
}

/// By block, the latest last.
#[derive(Default)]
struct UnpackedBlocks {
    blocks: VecDeque<(u32, Arc<str>)>,
    bytes: usize,
}

/// The body of a message: JSON, as it was emitted.
#[derive(Clone)]
pub struct Body<'a>(Held<'a>);

#[derive(Clone)]
enum Held<'a> {
    Plain(&'a str),
    Unpacked(Arc<str>, Range<usize>),
}

impl Bodies {
    /// Adds a body. Returns its place, and how many more bytes of memory are used. `None`: there are too many.
    pub(crate) fn add(&mut self, body: &str) -> Option<(BodyPlace, usize)> {
        let mut taken = 0;
        if !self.open.is_empty() && self.open.len() + body.len() > BLOCK {
            taken += self.close();
        }
        let place = BodyPlace {
            block: u32::try_from(self.blocks.len()).ok()?,
            offset: u32::try_from(self.open.len()).ok()?,
            length: u32::try_from(body.len()).ok()?,
        };
        self.open.push_str(body);
        if self.open.len() >= BLOCK {
            taken += self.close();
        }
        Some((place, taken))
    }

    /// Closes the last block. Returns how many more bytes of memory are used.
    pub(crate) fn finish(&mut self) -> usize {
        let taken = self.close();
        self.open = String::new();
        self.blocks.shrink_to_fit();
        taken
    }

    pub(crate) fn get(&self, place: BodyPlace) -> Body<'_> {
        let start = place.offset as usize;
        let range = start..start + place.length as usize;
        let held = match self.blocks.get(place.block as usize) {
            Some(Block::Plain(block)) => Held::Plain(block.get(range).unwrap_or_default()),
            Some(Block::Packed { bytes, length }) => {
                Held::Unpacked(self.unpack(place.block, bytes, *length), range)
            }
            None => Held::Plain(self.open.get(range).unwrap_or_default()),
        };
        Body(held)
    }

    /// Closes the open block.
    fn close(&mut self) -> usize {
        let length = self.open.len();
        if length == 0 {
            return 0;
        }
        let block = match self.plain + length <= PLAIN {
            true => None,
            // No body exceeds the limit of LZ4: no chunk is so large.
            false => lz4::block::compress(self.open.as_bytes(), None, false).ok(),
        };
        let (block, taken) = match block {
            Some(bytes) if bytes.len() < length => {
                let bytes = bytes.into_boxed_slice();
                let taken = bytes.len();
                (Block::Packed { bytes, length }, taken)
            }
            _ => {
                self.plain += length;
                (Block::Plain(self.open.as_str().into()), length)
            }
        };
        self.open.clear();
        self.open.shrink_to(BLOCK);
        self.blocks.push(block);
        taken + size_of::<Block>()
    }

    fn unpack(&self, number: u32, bytes: &[u8], length: usize) -> Arc<str> {
        let mut unpacked = self.unpacked.lock().unwrap_or_else(PoisonError::into_inner);
        unpacked.block(number, length, || {
            // It was packed by this process.
            let length = i32::try_from(length).ok();
            let plain = lz4::block::decompress(bytes, length).unwrap_or_default();
            String::from_utf8(plain).unwrap_or_default().into()
        })
    }
}

impl UnpackedBlocks {
    fn block(&mut self, number: u32, length: usize, unpack: impl FnOnce() -> Arc<str>) -> Arc<str> {
        let known = self.blocks.iter().rposition(|(known, _)| *known == number);
        if let Some(found) = known.and_then(|place| self.blocks.remove(place)) {
            let block = found.1.clone();
            self.blocks.push_back(found);
            return block;
        }
        while self.bytes + length > UNPACKED
            && let Some((_, oldest)) = self.blocks.pop_front()
        {
            self.bytes -= oldest.len();
        }
        let block = unpack();
        self.bytes += block.len();
        self.blocks.push_back((number, block.clone()));
        block
    }
}

impl Deref for Body<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match &self.0 {
            Held::Plain(text) => text,
            Held::Unpacked(block, range) => block.get(range.clone()).unwrap_or_default(),
        }
    }
}

impl fmt::Debug for Body<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl fmt::Debug for Bodies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} blocks of bodies", self.blocks.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_the_same_when_unpacked() {
        let body = |number: usize| match number % 100 {
            0 => String::new(),
            99 => "long ".repeat(60_000),
            _ => format!(
                "{{\"number\":{number},\"text\":\"é{}\"}}",
                "x".repeat(number % 977)
            ),
        };
        let mut bodies = Bodies::default();
        let mut taken = 0;
        let mut places = Vec::new();
        let mut plain = 0;
        for number in 0..20_000 {
            let body = body(number);
            plain += body.len();
            let (place, more) = bodies.add(&body).unwrap();
            places.push(place);
            taken += more;
            // While others are still added.
            assert_eq!(*bodies.get(place), *body);
        }
        taken += bodies.finish();
        assert!(
            plain > 2 * PLAIN && taken < PLAIN + plain / 20,
            "{taken} of {plain}"
        );
        let mut random = 1_usize;
        for _ in 0..2_000 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let number = (random >> 33) % places.len();
            assert_eq!(*bodies.get(places[number]), *body(number), "{number}");
        }
        let unpacked = bodies.unpacked.lock().unwrap();
        assert!(unpacked.bytes <= UNPACKED && !unpacked.blocks.is_empty());
    }

    #[test]
    fn what_cannot_be_packed_is_kept_as_it_is() {
        let mut bodies = Bodies::default();
        let mut random = 7_u64;
        let mut noise = |length: usize| -> String {
            let letters = std::iter::repeat_with(|| {
                random = random
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                char::from((random >> 57) as u8)
            });
            letters.take(length).collect()
        };
        let all: Vec<String> = (0..400).map(|_| noise(100_000)).collect();
        let places: Vec<_> = all.iter().map(|it| bodies.add(it).unwrap().0).collect();
        bodies.finish();
        for (body, place) in all.iter().zip(places) {
            assert_eq!(*bodies.get(place), **body);
        }
    }
}
