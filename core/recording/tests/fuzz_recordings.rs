//! Damaged recordings, also with valid checksums: no panic, no hang, and memory in proportion to the file.
#![allow(
    clippy::unwrap_used,
    reason = "what fails in a test's helper fails the test"
)]

#[path = "../../../tests/fuzz/bounds.rs"]
mod bounds;
#[path = "../../../tests/fuzz/spoil.rs"]
mod spoil;
mod support;

use std::io::{Read as _, Write as _};
use std::sync::OnceLock;

use bounds::{MIB, within};
use flowpipe_recording::ReadError;
use mcap::records::{Record, op};
use proptest::prelude::*;
use support::{open, read_all, write};

#[global_allocator]
static COUNTING: bounds::Counting = bounds::Counting;

const WORDS: &[&str] = &[
    "lz4",
    "zstd",
    "\u{5}",
    "\u{6}",
    "run.json",
    "frame/1",
    "{",
    "}",
    "[",
    "\"",
    "\u{89}MCAP0\r\n",
    "\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{10}",
];

const MAGIC: &[u8] = b"\x89MCAP0\r\n";

/// A record of a file: its kind and its body.
type Piece = (u8, Vec<u8>);

fn good() -> &'static [u8] {
    static GOOD: OnceLock<Vec<u8>> = OnceLock::new();
    GOOD.get_or_init(|| write(4))
}

/// The records of a file or of a chunk.
fn pieces(mut bytes: &[u8]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    while let Some((code, rest)) = bytes.split_first() {
        let Some((length, rest)) = rest.split_first_chunk::<8>() else {
            break;
        };
        let (body, rest) = rest.split_at(usize::try_from(u64::from_le_bytes(*length)).unwrap());
        pieces.push((*code, body.to_vec()));
        bytes = rest;
        if *code == op::FOOTER {
            break;
        }
    }
    pieces
}

fn piece(bytes: &mut Vec<u8>, code: u8, length: u64, body: &[u8]) {
    bytes.push(code);
    bytes.extend(length.to_le_bytes());
    bytes.extend(body);
}

/// A chunk with this declared size, without a checksum.
fn chunk(size: u64, packed: &str, content: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    body.extend([0; 16]);
    body.extend(size.to_le_bytes());
    body.extend([0; 4]);
    body.extend(u32::try_from(packed.len()).unwrap().to_le_bytes());
    body.extend(packed.as_bytes());
    body.extend((content.len() as u64).to_le_bytes());
    body.extend(content);
    body
}

/// The good recording's first records up to its first chunk, then these.
fn with_chunks(chunks: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    let all = pieces(&good()[MAGIC.len()..]);
    for (code, body) in all.iter().take_while(|(code, _)| *code != op::CHUNK) {
        piece(&mut bytes, *code, body.len() as u64, body);
    }
    for body in chunks {
        piece(&mut bytes, op::CHUNK, body.len() as u64, body);
    }
    bytes
}

/// The contents of the good recording's chunks.
fn contents() -> Vec<Vec<u8>> {
    let all = pieces(&good()[MAGIC.len()..]);
    let chunks = all.iter().filter(|(code, _)| *code == op::CHUNK);
    let contents = chunks.map(|(code, body)| match mcap::parse_record(*code, body) {
        Ok(Record::Chunk { data, .. }) => {
            let mut content = Vec::new();
            lz4::Decoder::new(&*data)
                .unwrap()
                .read_to_end(&mut content)
                .unwrap();
            content
        }
        other => panic!("{other:?}"),
    });
    contents.collect()
}

fn packed(content: &[u8]) -> Vec<u8> {
    let mut encoder = lz4::EncoderBuilder::new().build(Vec::new()).unwrap();
    encoder.write_all(content).unwrap();
    let (packed, result) = encoder.finish();
    result.unwrap();
    packed
}

/// Opens and reads everything. LZ4 unpacks a byte to at most 255, and a record takes a few times as much memory.
fn try_file(bytes: &[u8]) -> Result<usize, ReadError> {
    within(MIB + 2_000 * bytes.len(), bytes, || {
        let recording = open(bytes)?;
        let _ = recording.calls().count();
        Ok(read_all(&recording) + recording.entries().len())
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn spoiled_files(bytes in spoil::spoiled(vec![good().to_vec()], WORDS)) {
        let _ = try_file(&bytes);
    }

    #[test]
    fn spoiled_behind_the_checksum(content in spoil::spoiled(contents(), WORDS), pack: bool) {
        let size = content.len() as u64;
        let body = if pack { chunk(size, "lz4", &packed(&content)) } else { chunk(size, "", &content) };
        let mut chunks: Vec<_> =
            contents().iter().map(|content| chunk(content.len() as u64, "", content)).collect();
        // After the first chunk, which has the channels, and in its place.
        chunks.insert(1, body.clone());
        let _ = try_file(&with_chunks(&chunks));
        let _ = try_file(&with_chunks(&[body]));
    }
}

#[test]
fn the_pieces_make_the_same_recording() {
    let chunks: Vec<_> = contents()
        .iter()
        .map(|content| chunk(content.len() as u64, "lz4", &packed(content)))
        .collect();
    assert_eq!(
        try_file(&with_chunks(&chunks)).unwrap(),
        try_file(good()).unwrap()
    );
}

#[test]
fn lengths_that_are_not_there() {
    for length in [1 << 60, u64::MAX, u64::MAX - 8, 1 << 32, i64::MAX as u64] {
        for code in [
            op::HEADER,
            op::CHUNK,
            op::ATTACHMENT,
            op::MESSAGE,
            op::SCHEMA,
            0x80,
        ] {
            let mut bytes = with_chunks(&[]);
            piece(&mut bytes, code, length, b"short");
            let _ = try_file(&bytes);
            // The same inside of a chunk.
            let mut inside = Vec::new();
            piece(&mut inside, code, length, b"short");
            let _ = try_file(&with_chunks(&[chunk(inside.len() as u64, "", &inside)]));
        }
        // A chunk with the same declared length of its content.
        let _ = try_file(&with_chunks(&[chunk(length, "lz4", &packed(b"short"))]));
        let _ = try_file(&with_chunks(&[chunk(length, "", b"short")]));
    }
    // Texts, lists and maps in records with declared lengths beyond the file.
    for code in 1..=op::DATA_END {
        for filler in [0xff, 0x7f, 0x10] {
            for length in 0..64 {
                let mut bytes = with_chunks(&[]);
                piece(&mut bytes, code, length as u64, &vec![filler; length]);
                let _ = try_file(&bytes);
            }
        }
    }
}

#[test]
fn texts_that_are_not_there() {
    for (code, before) in [
        (op::HEADER, 0),
        (op::SCHEMA, 2),
        (op::CHANNEL, 4),
        (op::CHUNK, 28),
        (op::ATTACHMENT, 16),
        (op::METADATA, 0),
    ] {
        for first in [0, 3] {
            let mut body = vec![0; before];
            for length in [first, u32::MAX] {
                body.extend(length.to_le_bytes());
                body.extend(vec![
                    b'x';
                    if length == first { first as usize } else { 50 }
                ]);
            }
            let mut bytes = with_chunks(&[]);
            piece(&mut bytes, code, body.len() as u64, &body);
            let _ = within(MIB, &bytes, || open(&bytes).map(|it| it.entries().len()));
            let mut inside = Vec::new();
            piece(&mut inside, code, body.len() as u64, &body);
            let _ = try_file(&with_chunks(&[chunk(inside.len() as u64, "", &inside)]));
        }
    }
}

#[test]
fn an_attachment_that_ends_in_its_head() {
    for name in 0..20_u32 {
        let mut body = vec![0; 16];
        body.extend(name.to_le_bytes());
        body.extend(vec![b'x'; name as usize]);
        body.extend(0_u32.to_le_bytes());
        body.extend(0_u64.to_le_bytes());
        let mut bytes = with_chunks(&[]);
        piece(&mut bytes, op::ATTACHMENT, body.len() as u64, &body);
        assert!(
            open(&bytes).unwrap().is_cut_off(),
            "its checksum is missing"
        );
    }
}

#[test]
fn a_chunk_that_swells() {
    let zeros = vec![0; 64 * MIB];
    let small = packed(&zeros);
    assert!(small.len() < MIB);
    let file = with_chunks(&[chunk(zeros.len() as u64, "lz4", &small)]);
    let _ = try_file(&file);
    // Longer than declared: no more is unpacked than declared.
    let file = with_chunks(&[chunk(1_000, "lz4", &small)]);
    within(MIB, &file, || assert!(open(&file).unwrap().is_cut_off()));
}

#[test]
fn chunks_within_chunks() {
    let mut inner = contents().remove(0);
    for _ in 0..500 {
        let body = chunk(inner.len() as u64, "", &inner);
        inner = Vec::new();
        piece(&mut inner, op::CHUNK, body.len() as u64, &body);
    }
    let file = with_chunks(&[chunk(inner.len() as u64, "", &inner)]);
    assert_eq!(
        try_file(&file).unwrap(),
        0,
        "only chunks of the file are read"
    );
}
