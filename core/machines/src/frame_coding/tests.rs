//! Frames that are coded and decoded, and malformed ones.

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
fn changed_tiles_are_sent_as_long_as_the_whole_is_longer() {
    // Five tiles, whose list has a byte.
    let wide = shape(
        5 * TILE_BYTES as u32,
        TILE_ROWS as u32,
        5 * TILE_BYTES as u64,
    );
    let tile = TILE_BYTES * TILE_ROWS;
    for (changed, expected) in [
        (1, 1 + tile),
        (3, 1 + 3 * tile),
        (4, 1 + 4 * tile),
        (5, 5 * tile),
    ] {
        let (mut encoder, mut decoder) = (FrameEncoder::new(false), FrameDecoder::default());
        let mut pixels = vec![0; wide.size()];
        sent(&mut encoder, &mut decoder, wide, &pixels);
        for tile in 0..changed {
            pixels[tile * TILE_BYTES] = 1;
        }
        let (head, length) = sent(&mut encoder, &mut decoder, wide, &pixels);
        assert_eq!(length, expected, "{changed} of 5");
        assert_eq!(
            head.content == Content::Whole,
            changed == 5,
            "{changed} of 5"
        );
        // Both ends have the same afterwards.
        assert_eq!(sent(&mut encoder, &mut decoder, wide, &pixels).1, 1);
    }
}

#[test]
fn the_whole_is_sent_when_it_has_as_many_bytes_as_the_list_and_the_tiles() {
    // The first of two tiles changes. With the list it has 257 bytes.
    for (width, is_whole) in [(257_u32, true), (258, false)] {
        let shape = shape(width, 1, width.into());
        let (mut encoder, mut decoder) = (FrameEncoder::new(false), FrameDecoder::default());
        let mut pixels = vec![0; shape.size()];
        sent(&mut encoder, &mut decoder, shape, &pixels);
        pixels[0] = 1;
        let (head, length) = sent(&mut encoder, &mut decoder, shape, &pixels);
        assert_eq!((head.content == Content::Whole, length), (is_whole, 257));
    }
    // The list alone is as long as a frame of one byte.
    let shape = shape(1, 1, 1);
    let (mut encoder, mut decoder) = (FrameEncoder::new(false), FrameDecoder::default());
    for pixel in [0, 0, 1] {
        let (head, length) = sent(&mut encoder, &mut decoder, shape, &[pixel]);
        assert_eq!((head.content, length), (Content::Whole, 1));
    }
}

#[test]
fn a_list_of_all_tiles_takes_no_more_than_the_frame() {
    let shape = shape(1 << 14, 1 << 10, 1 << 14);
    let grid = Grid::of(shape);
    let mut decoder = FrameDecoder::default();
    let (head, bytes) = encode(&mut FrameEncoder::new(true), shape, &vec![0; shape.size()]);
    assert!(decoder.decode(&head, &bytes, &Sharing::default()).is_some());
    let all = vec![0xFF; grid.list_length()];
    let head = |is_compressed| {
        let content = Content::Changed { since: 1 };
        FrameHead::new(shape.into(), content, is_compressed)
    };
    // A few bytes, of which LZ4 can't make all tiles, and more than all tiles have.
    let few = [&all[..], &[0; 100]].concat();
    let many = [&all[..], &vec![0; shape.size() + 1]].concat();
    for (is_compressed, bytes) in [(true, &few), (false, &few), (false, &many)] {
        let decoded = decoder.decode(&head(is_compressed), bytes, &Sharing::default());
        assert!(decoded.is_none(), "{is_compressed}, {}", bytes.len());
    }
    // A sender would send the whole. It costs no more as a list.
    let pixels = vec![7; shape.size()];
    let exact = [&all[..], &pixels].concat();
    let decoded = decoder.decode(&head(false), &exact, &Sharing::default());
    assert_eq!(decoded, Some((shape.into(), Arc::new(pixels))));
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
