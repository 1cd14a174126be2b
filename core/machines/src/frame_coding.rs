//! Frames of one edge as bytes: only what has changed since the frame before.
//!
//! Both ends keep the last frame of the edge. A link delivers all messages of an edge in order and once, so that both
//! keep the same. A picture is divided into tiles ([`crate::frame_tiles`]); the last ones of a row and of a column may
//! be smaller. It is sent whole where that takes no more bytes, before compression, and a buffer always. Bytes are
//! compressed with LZ4 where that makes them smaller and the connection is slower than LZ4.

use std::borrow::Cow;
use std::sync::Arc;

use flowpipe_host::frame::{Frame, Layout, Shape};
use lz4::block::{CompressionMode, compress, decompress_to_buffer};
use serde::{Deserialize, Serialize};

use crate::frame_tiles::Grid;
use crate::shared_memory::{SharedBlock, Sharing};

/// The largest frame, in bytes: 8K with four bytes for each pixel. A short message can describe a larger one.
pub(crate) const MOST_FRAME_BYTES: usize = 128 << 20;

/// How the bytes of a frame are coded, and its layout: what is in front of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FrameHead {
    layout: Layout,
    content: Content,
    /// Whether the bytes, without the list of tiles, are compressed.
    is_compressed: bool,
}

/// What the bytes contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Content {
    /// All of them.
    Whole,
    /// The tiles that differ from the frame with this number on this edge: a bit for each tile, and then the bytes of each
    /// whose bit is set, row by row. None differs: nothing.
    Changed { since: u64 },
    /// Nothing: the frame is in memory that the receiver may read.
    Shared(SharedBlock),
}

/// What is in front of the parts of a message, as far as it says where its frame is.
#[derive(Deserialize)]
struct HeadOfFrame {
    frame: Option<FrameHead>,
}

/// The longest head of a message, in bytes. It has at most 256 hops.
pub(crate) const LONGEST_HEAD: usize = 64 << 10;

/// The head of a message, which follows its length, and the rest. `None`: the message is shorter, or its head is longer
/// than so many bytes.
pub(crate) fn split_head(message: &[u8], longest: usize) -> Option<(&[u8], &[u8])> {
    let (length, rest) = message.split_first_chunk()?;
    let length = u32::from_le_bytes(*length) as usize;
    (length <= longest)
        .then(|| rest.split_at_checked(length))
        .flatten()
}

/// Where the other end has the frame of a message, if it is in its memory. The head of the message is JSON.
pub(crate) fn shared_block_in(message: &[u8]) -> Option<SharedBlock> {
    let (head, _) = split_head(message, LONGEST_HEAD)?;
    let head: HeadOfFrame = serde_json::from_slice(head).ok()?;
    match head.frame?.content {
        Content::Shared(block) => Some(block),
        Content::Whole | Content::Changed { .. } => None,
    }
}

/// What was sent on an edge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameTraffic {
    /// Frames.
    pub frames: u64,
    /// Those of them that the other machine has read in memory of this one.
    pub shared: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The bytes that were sent for them.
    pub sent_bytes: u64,
}

impl FrameTraffic {
    /// Counts a frame with so many bytes. `is_shared`: the other machine reads it in memory of this one.
    pub(crate) fn add(&mut self, bytes: usize, is_shared: bool, sent_bytes: usize) {
        self.frames += 1;
        self.shared += u64::from(is_shared);
        self.bytes += bytes as u64;
        self.sent_bytes += sent_bytes as u64;
    }
}

/// The sender's end.
pub(crate) struct FrameEncoder {
    compresses: bool,
    /// How many frames were encoded.
    count: u64,
    last: Option<(Shape, Vec<u8>)>,
}

/// A frame with its layout.
pub(crate) type DecodedFrame = (Layout, Arc<Vec<u8>>);

/// The receiver's end.
#[derive(Default)]
pub(crate) struct FrameDecoder {
    /// How many frames were decoded.
    count: u64,
    last: Option<(Shape, Arc<Vec<u8>>)>,
}

impl FrameHead {
    fn new(layout: Layout, content: Content, is_compressed: bool) -> Self {
        Self {
            layout,
            content,
            is_compressed,
        }
    }
}

impl FrameEncoder {
    /// `compresses`: whether the connection is slower than LZ4.
    pub(crate) fn new(compresses: bool) -> Self {
        Self {
            compresses,
            count: 0,
            last: None,
        }
    }

    /// The head and the bytes of the frame of a message, if it has one. `shared`: where the receiver may read it. It has to
    /// stay there until the receiver has finished the message.
    pub(crate) fn encode_any<'a>(
        &mut self,
        frame: Option<&'a Frame>,
        shared: Option<SharedBlock>,
    ) -> (Option<FrameHead>, Vec<u8>, Cow<'a, [u8]>) {
        match (frame, shared) {
            (Some(frame), Some(block)) => {
                let head = self.encode_shared(*frame.layout(), block);
                (Some(head), Vec::new(), Cow::default())
            }
            (Some(frame), None) => {
                let (head, list, bytes) = self.encode(*frame.layout(), frame.bytes());
                (Some(head), list, bytes)
            }
            (None, _) => (None, Vec::new(), Cow::default()),
        }
    }

    /// The head of the next frame, and its bytes in two parts: the list of tiles, and what may be compressed.
    pub(crate) fn encode<'a>(
        &mut self,
        layout: impl Into<Layout>,
        pixels: &'a [u8],
    ) -> (FrameHead, Vec<u8>, Cow<'a, [u8]>) {
        let layout = layout.into();
        let (content, list, bytes) = match (layout, &mut self.last) {
            // Buffers have no tiles: a chunk of audio has little in common with the one before.
            (Layout::Buffer(_), last) => {
                *last = None;
                (Content::Whole, Vec::new(), Cow::from(pixels))
            }
            (Layout::Picture(shape), Some((before, kept)))
                if *before == shape && kept.len() == pixels.len() =>
            {
                let since = self.count;
                match changed(shape, kept, pixels) {
                    Some((list, bytes)) => (Content::Changed { since }, list, bytes.into()),
                    None => {
                        kept.copy_from_slice(pixels);
                        (Content::Whole, Vec::new(), pixels.into())
                    }
                }
            }
            (Layout::Picture(shape), last) => {
                *last = Some((shape, pixels.to_vec()));
                (Content::Whole, Vec::new(), Cow::from(pixels))
            }
        };
        self.count += 1;
        let compressed = match self.compresses {
            true => compress(&bytes, Some(CompressionMode::FAST(1)), false).ok(),
            false => None,
        };
        let compressed = compressed.filter(|it| it.len() < bytes.len());
        let head = FrameHead::new(layout, content, compressed.is_some());
        (head, list, compressed.map_or(bytes, Cow::from))
    }

    /// The head of the next frame, which is in memory that the receiver may read. It has to stay there until the receiver has
    /// finished its message.
    pub(crate) fn encode_shared(&mut self, layout: Layout, block: SharedBlock) -> FrameHead {
        self.last = None;
        self.count += 1;
        FrameHead::new(layout, Content::Shared(block), false)
    }

    /// The last frame was not sent: the next one is whole.
    pub(crate) fn forget(&mut self) {
        self.last = None;
        self.count = self.count.saturating_sub(1);
    }
}

impl FrameDecoder {
    /// The frame of a message whose head has one, or not. `bytes`: the rest of the message. `None`: it is malformed.
    pub(crate) fn decode_any(
        &mut self,
        head: Option<&FrameHead>,
        bytes: &[u8],
        sharing: &Sharing,
    ) -> Option<Option<DecodedFrame>> {
        match head {
            Some(head) => Some(Some(self.decode(head, bytes, sharing)?)),
            None => bytes.is_empty().then_some(None),
        }
    }

    /// The next frame. `None`: it is malformed. Then the one before stays. `sharing`: whether it may be in memory of the
    /// other end.
    pub(crate) fn decode(
        &mut self,
        head: &FrameHead,
        bytes: &[u8],
        sharing: &Sharing,
    ) -> Option<DecodedFrame> {
        let layout = head.layout;
        if layout.size() > MOST_FRAME_BYTES {
            return None;
        }
        let bytes = match (head.content, layout, &mut self.last) {
            (Content::Whole, _, _) => {
                let expected = layout.size();
                Arc::new(unpacked(bytes, expected, head.is_compressed)?)
            }
            (Content::Changed { since }, Layout::Picture(shape), Some((before, kept)))
                if since == self.count && *before == shape =>
            {
                let grid = Grid::of(shape);
                let (list, bytes) = bytes.split_at_checked(grid.list_length())?;
                let listed = grid.listed(list)?;
                let expected = listed.iter().map(|tile| grid.length(*tile)).sum();
                let bytes = unpacked(bytes, expected, head.is_compressed)?;
                // Nobody else has it once the frame before was passed on.
                let pixels = Arc::make_mut(kept);
                let mut rest = &bytes[..];
                for tile in listed {
                    for row in grid.rows(tile) {
                        let (new, after) = rest.split_at_checked(row.len())?;
                        pixels.get_mut(row)?.copy_from_slice(new);
                        rest = after;
                    }
                }
                kept.clone()
            }
            (Content::Changed { .. }, _, _) => return None,
            (Content::Shared(block), _, last) => {
                // The sender has counted it, too.
                self.count += 1;
                *last = None;
                let copied = sharing.copy(block, layout.size());
                let copied = Arc::new(copied.filter(|_| bytes.is_empty())?);
                return Some((layout, copied));
            }
        };
        self.count += 1;
        self.last = match layout {
            Layout::Picture(shape) => Some((shape, bytes.clone())),
            Layout::Buffer(_) => None,
        };
        Some((layout, bytes))
    }
}

/// The tiles that have changed: their list, and their bytes. `kept` becomes `pixels`. `None`: the whole frame has no more
/// bytes than both; then `kept` stays.
fn changed(shape: Shape, kept: &mut [u8], pixels: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let grid = Grid::of(shape);
    let differs = |tile: &usize| {
        let mut rows = grid.rows(*tile);
        rows.any(|row| kept[row.clone()] != pixels[row])
    };
    let tiles: Vec<usize> = (0..grid.count()).filter(differs).collect();
    let length: usize = tiles.iter().map(|tile| grid.length(*tile)).sum();
    if pixels.len() <= grid.list_length() + length {
        return None;
    }
    let mut list = vec![0; grid.list_length()];
    let mut bytes = Vec::with_capacity(length);
    for tile in tiles {
        list[tile / 8] |= 1 << (tile % 8);
        for row in grid.rows(tile) {
            kept[row.clone()].copy_from_slice(&pixels[row.clone()]);
            bytes.extend_from_slice(&pixels[row]);
        }
    }
    Some((list, bytes))
}

/// Bytes as they were before they were compressed. `None`: they are not as many as expected.
fn unpacked(bytes: &[u8], expected: usize, is_compressed: bool) -> Option<Vec<u8>> {
    if !is_compressed {
        return (bytes.len() == expected).then(|| bytes.to_vec());
    }
    // LZ4 makes at most 255 bytes of one.
    if expected / 255 > bytes.len() {
        return None;
    }
    let mut unpacked = vec![0; expected];
    let size = i32::try_from(expected).ok()?;
    let length = decompress_to_buffer(bytes, Some(size), &mut unpacked).ok()?;
    (length == expected).then_some(unpacked)
}

#[cfg(test)]
mod tests;
