//! Frames of one edge as bytes: only what has changed since the frame before.
//!
//! Both ends keep the last frame of the edge. A link delivers all messages of an edge in order and once, so that both keep
//! the same. A picture is divided into tiles ([`crate::frame_tiles`]); the last ones of a row and of a column may be
//! smaller. A buffer is sent whole. Bytes are compressed with LZ4 where that makes them smaller and the connection is slower than LZ4.

use std::borrow::Cow;
use std::ops::Range;
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

/// The tiles that have changed: their list, and their bytes. `kept` becomes `pixels`. `None`: so many that the whole frame is
/// cheaper; then `kept` is unspecified.
fn changed(shape: Shape, kept: &mut [u8], pixels: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let grid = Grid::of(shape);
    let mut list = vec![0; grid.list_length()];
    let mut bytes = Vec::new();
    for tile in 0..grid.count() {
        let differs = |row: Range<usize>| kept[row.clone()] != pixels[row];
        if !grid.rows(tile).any(differs) {
            continue;
        }
        list[tile / 8] |= 1 << (tile % 8);
        for row in grid.rows(tile) {
            kept[row.clone()].copy_from_slice(&pixels[row.clone()]);
            bytes.extend_from_slice(&pixels[row]);
        }
        if bytes.len() > pixels.len() / 2 {
            return None;
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
mod tests {
    use flowpipe_abi as abi;
    use flowpipe_host::frame::BufferLayout;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::frame_tiles::{TILE_BYTES, TILE_ROWS};

    fn shape(width: u32, height: u32, stride: u64) -> Shape {
        Shape {
            format: abi::FORMAT_GREY8,
            width,
            height,
            stride,
        }
    }

    fn encode(encoder: &mut FrameEncoder, shape: Shape, pixels: &[u8]) -> (FrameHead, Vec<u8>) {
        let (head, list, bytes) = encoder.encode(shape, pixels);
        (head, [&list[..], &bytes].concat())
    }

    /// As [`FrameDecoder::decode`], of a head that was sent.
    fn decoded(decoder: &mut FrameDecoder, head: &FrameHead, bytes: &[u8]) -> Option<DecodedFrame> {
        let head = serde_json::from_value(serde_json::to_value(head).unwrap()).ok()?;
        decoder.decode(&head, bytes, &Sharing::default())
    }

    /// What is sent for a frame, and that it arrives.
    fn sent(
        encoder: &mut FrameEncoder,
        decoder: &mut FrameDecoder,
        shape: Shape,
        pixels: &[u8],
    ) -> (FrameHead, usize) {
        let (head, bytes) = encode(encoder, shape, pixels);
        let arrived = decoder.decode(&head, &bytes, &Sharing::default());
        assert_eq!(
            arrived,
            Some((shape.into(), Arc::new(pixels.to_vec()))),
            "{head:?}"
        );
        (head, bytes.len())
    }

    #[test]
    fn buffers_are_sent_whole() {
        let info = abi::BufferInfo::new("audio/pcm", abi::Element::F32, &[480, 2]).unwrap();
        let layout = Layout::from(BufferLayout::new(&info).unwrap());
        let (mut encoder, mut decoder) = (FrameEncoder::new(true), FrameDecoder::default());
        for value in [0, 0, 7] {
            let sound = [value; 3840];
            let (head, list, bytes) = encoder.encode(layout, &sound);
            assert_eq!((head.content, list.len()), (Content::Whole, 0));
            assert!(head.is_compressed && bytes.len() < 100);
            let decoded = decoder.decode(&head, &bytes, &Sharing::default());
            assert_eq!(decoded, Some((layout, Arc::new(sound.to_vec()))));
        }
        // A picture after buffers is whole again.
        let shape = shape(10, 10, 10);
        sent(&mut encoder, &mut decoder, shape, &[1; 100]);
        let (head, _) = sent(&mut encoder, &mut decoder, shape, &[1; 100]);
        assert!(matches!(head.content, Content::Changed { .. }));
        // Tiles of a buffer are nothing that a sender sends.
        let tiles = FrameHead::new(layout, head.content, false);
        assert!(decoder.decode(&tiles, &[], &Sharing::default()).is_none());
    }

    #[test]
    fn only_what_has_changed_is_sent() {
        let shape = shape(1000, 200, 1000);
        let mut pixels: Vec<u8> = (0..shape.size()).map(|it| (it * 7 % 251) as u8).collect();
        let (mut encoder, mut decoder) = (FrameEncoder::new(false), FrameDecoder::default());
        let mut send = |pixels: &[u8]| sent(&mut encoder, &mut decoder, shape, pixels).1;
        assert_eq!(send(&pixels), 200_000);
        // 4 x 4 tiles have a list of two bytes.
        assert_eq!(send(&pixels), 2);
        pixels[70 * 1000 + 300] ^= 1;
        assert_eq!(send(&pixels), 2 + TILE_BYTES * TILE_ROWS);
        // The last tile: 232 bytes and 8 rows.
        pixels[199_999] ^= 1;
        assert_eq!(send(&pixels), 2 + 232 * 8);
        pixels.iter_mut().for_each(|it| *it ^= 1);
        assert_eq!(send(&pixels), 200_000, "the whole is cheaper");
        assert_eq!(send(&pixels), 2);
    }

    #[test]
    fn what_can_be_compressed_is_compressed_where_that_is_wanted() {
        let shape = shape(640, 480, 640);
        let plain = vec![7; shape.size()];
        let (mut encoder, mut decoder) = (FrameEncoder::new(true), FrameDecoder::default());
        let (head, length) = sent(&mut encoder, &mut decoder, shape, &plain);
        assert!(head.is_compressed && length < 2_000, "{length}");
        let noise: Vec<u8> = std::iter::repeat_with(|| fastrand::u8(..))
            .take(shape.size())
            .collect();
        let (head, length) = sent(&mut encoder, &mut decoder, shape, &noise);
        assert_eq!((head.is_compressed, length), (false, noise.len()));
        let (head, _) = sent(
            &mut FrameEncoder::new(false),
            &mut FrameDecoder::default(),
            shape,
            &plain,
        );
        assert!(!head.is_compressed);
    }

    #[test]
    fn where_a_frame_is_can_be_read_from_its_message() {
        let block: SharedBlock = serde_json::from_str("{\"descriptor\":7,\"id\":9}").unwrap();
        let message = |head: &serde_json::Value| {
            let head = head.to_string();
            [&(head.len() as u32).to_le_bytes()[..], head.as_bytes()].concat()
        };
        let frame = FrameEncoder::new(false).encode_shared(shape(1, 1, 1).into(), block);
        let shared = serde_json::json!({ "json": 0, "frame": frame });
        assert_eq!(shared_block_in(&message(&shared)), Some(block));
        let (whole, _) = encode(&mut FrameEncoder::new(false), shape(1, 1, 1), &[0]);
        for other in [
            serde_json::json!({ "frame": whole }),
            serde_json::json!({ "frame": null }),
        ] {
            assert_eq!(shared_block_in(&message(&other)), None);
        }
        for odd in [&b""[..], b"\xff\xff\xff\xff{}", b"\x02\0\0\0{}"] {
            assert_eq!(shared_block_in(odd), None);
        }
    }

    #[test]
    fn after_a_frame_that_was_not_sent_the_next_one_is_whole() {
        let shape = shape(8, 2, 8);
        let (mut encoder, mut decoder) = (FrameEncoder::new(false), FrameDecoder::default());
        sent(&mut encoder, &mut decoder, shape, &[1; 16]);
        let _ = encoder.encode(shape, &[2; 16]);
        encoder.forget();
        assert_eq!(sent(&mut encoder, &mut decoder, shape, &[3; 16]).1, 16);
        assert_eq!(sent(&mut encoder, &mut decoder, shape, &[3; 16]).1, 1);
    }

    #[test]
    fn malformed_frames_are_refused_and_change_nothing() {
        let shape = shape(300, 3, 300);
        let (mut encoder, mut decoder) = (FrameEncoder::new(true), FrameDecoder::default());
        let first = encode(&mut encoder, shape, &[5; 900]);
        let mut pixels = [5; 900];
        pixels[299] = 6;
        let second = encode(&mut encoder, shape, &pixels);
        assert!(
            decoder
                .decode(&second.0, &second.1, &Sharing::default())
                .is_none(),
            "it is too early"
        );
        assert!(
            decoder
                .decode(&first.0, &first.1, &Sharing::default())
                .is_some()
        );
        assert!(first.0.is_compressed);
        let bad = |change: &dyn Fn(&mut FrameHead, &mut Vec<u8>)| {
            let (mut head, mut bytes) = second.clone();
            change(&mut head, &mut bytes);
            (head, bytes)
        };
        for (head, bytes) in [
            bad(&|head, _| head.content = Content::Changed { since: 0 }),
            bad(&|head, _| head.content = Content::Whole),
            bad(&|head, _| {
                head.layout = Shape {
                    width: 299,
                    ..shape
                }
                .into()
            }),
            bad(&|head, _| head.layout = Shape { height: 4, ..shape }.into()),
            bad(&|head, _| {
                let height = u32::MAX;
                head.layout = Shape { height, ..shape }.into();
            }),
            bad(&|head, _| {
                head.layout = Shape {
                    format: 99,
                    ..shape
                }
                .into()
            }),
            bad(&|_, bytes| bytes.truncate(0)),
            bad(&|_, bytes| bytes.push(0)),
            // A tile that is not there, all tiles, and none.
            bad(&|_, bytes| bytes[0] |= 4),
            bad(&|_, bytes| bytes[0] = 3),
            bad(&|_, bytes| bytes[0] = 0),
            // As large as a frame can be, of a few bytes.
            bad(&|head, _| {
                let (width, height, stride) = (1 << 15, 1 << 15, 1 << 15);
                let format = shape.format;
                let large = Shape {
                    format,
                    width,
                    height,
                    stride,
                };
                head.layout = large.into();
                (head.content, head.is_compressed) = (Content::Whole, true);
            }),
        ] {
            assert!(decoded(&mut decoder, &head, &bytes).is_none(), "{head:?}");
        }
        let (_, arrived) = decoder
            .decode(&second.0, &second.1, &Sharing::default())
            .unwrap();
        assert_eq!(arrived[..], pixels);
    }

    #[test]
    fn a_short_message_does_not_expand_to_any_frame() {
        let least = MOST_FRAME_BYTES as u64 / (1 << 14);
        for (height, is_permitted) in [(least, true), (least + 1, false)] {
            let shape = shape(1 << 14, height as u32, 1 << 14);
            let pixels = vec![0; shape.size()];
            let (head, bytes) = encode(&mut FrameEncoder::new(true), shape, &pixels);
            assert!(head.is_compressed && bytes.len() < 1 << 20);
            drop(pixels);
            let decoded = FrameDecoder::default().decode(&head, &bytes, &Sharing::default());
            assert_eq!(decoded.is_some(), is_permitted, "{height}");
        }
    }

    proptest! {
        #[test]
        fn frames_arrive_as_they_were_sent(
            compresses: bool,
            sizes in prop::collection::vec((1_u32..600, 1_u32..150, 0_u64..9), 1..3),
            changes in prop::collection::vec(
                (any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0_usize..40_000, any::<u8>()),
                1..12,
            ),
        ) {
            let (mut encoder, mut decoder) = (FrameEncoder::new(compresses), FrameDecoder::default());
            let mut frames: Vec<(Shape, Vec<u8>)> = sizes
                .iter()
                .map(|&(width, height, gap)| {
                    let shape = shape(width, height, u64::from(width) + gap);
                    (shape, vec![0; shape.size()])
                })
                .collect();
            for (which, at, length, value) in changes {
                let (shape, pixels) = which.get_mut(&mut frames[..]);
                let at = at.index(pixels.len());
                let end = (at + length).min(pixels.len());
                pixels[at..end].fill(value);
                sent(&mut encoder, &mut decoder, *shape, pixels);
            }
        }

        #[test]
        fn fuzz_arrived_frames(
            first in prop::collection::vec(any::<u8>(), 0..64),
            bytes in prop::collection::vec(any::<u8>(), 0..64),
            width in 0_u32..40, height in 0_u32..40, stride in 0_u64..80,
            since in 0_u64..3, is_picture: bool, is_whole: bool, is_compressed: bool,
        ) {
            let mut decoder = FrameDecoder::default();
            let content = match is_whole {
                true => Content::Whole,
                false => Content::Changed { since },
            };
            let layout = match is_picture {
                true => json!({ "picture": { "format": abi::FORMAT_GREY8, "width": width, "height": height, "stride": stride } }),
                false => json!({ "buffer": { "media_type": "a/b", "element": height % 13, "shape": [width, stride] } }),
            };
            let Ok(layout) = serde_json::from_value(layout) else {
                return Ok(());
            };
            let whole = FrameHead::new(layout, Content::Whole, is_compressed);
            let _ = decoder.decode(&whole, &first, &Sharing::default());
            let _ = decoder.decode(&FrameHead { content, ..whole }, &bytes, &Sharing::default());
        }
    }
}
