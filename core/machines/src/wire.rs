//! Messages of stages as bytes: the length of the head, the head as JSON, and the parts that it announces. The last part
//! is a frame ([`crate::frame_coding`]).

use std::sync::Arc;

use flowpipe_abi as abi;
use flowpipe_config::pipeline::PortRef;
use flowpipe_engine::run::remote::ArrivedMessage;
use flowpipe_host::message::{Message, Origin};
use flowpipe_link::clock_offset::Offset;
use serde::{Deserialize, Serialize};

use crate::frame_coding::{FrameDecoder, FrameEncoder, FrameHead, LONGEST_HEAD, split_head};
use crate::shared_memory::{SharedBlock, Sharing};

/// How the head of a message or packet without a frame ends: the frame is its last key.
const NO_FRAME: &[u8] = br#""frame":null}"#;

/// What is in front of the parts. Times are of the sender's clock.
#[derive(Serialize, Deserialize)]
struct Head {
    schema: String,
    sequence: u64,
    /// Bytes of its JSON, the first part.
    json: usize,
    /// The stage, the number and the time of the frame that it descends from.
    origin: Option<(usize, u64, i64)>,
    /// The message that carried that frame: its schema, and bytes of its JSON, the second part.
    captured: Option<(String, usize)>,
    /// Stage, taken, emitted.
    hops: Vec<(u32, i64, i64)>,
    /// Stage, port, number.
    root: Option<(usize, usize, u64)>,
    /// The frame, whose bytes are the last part. The last key: see [`has_frame`].
    frame: Option<FrameHead>,
}

/// The bytes of a message, and how many of them are of its frame. `shared`: where the receiver may read the frame.
pub(crate) fn encode(
    message: &Message,
    frames: &mut FrameEncoder,
    shared: Option<SharedBlock>,
) -> (Arc<[u8]>, usize) {
    let lineage = message.lineage();
    let json = message.json().as_bytes();
    // The message that carries the frame is its own.
    let captured = lineage
        .captured
        .as_deref()
        .filter(|_| message.frame().is_none());
    let captured_json = captured.map_or(&[][..], |it| it.body.json().as_bytes());
    let (frame, list, pixels) = frames.encode_any(message.frame(), shared);
    let head = Head {
        schema: message.schema().to_owned(),
        sequence: lineage.sequence,
        json: json.len(),
        origin: lineage
            .origin
            .map(|it| (it.stage, it.sequence, it.captured_ns)),
        captured: captured.map(|it| {
            let schema = it.schema.to_string_lossy().into_owned();
            (schema, captured_json.len())
        }),
        hops: lineage
            .hops
            .iter()
            .map(|hop| (hop.stage, hop.taken_ns, hop.emitted_ns))
            .collect(),
        root: lineage
            .root
            .map(|(port, number)| (port.stage, port.port, number)),
        frame,
    };
    // It has no maps with other keys than text, so that it is always JSON.
    let head = serde_json::to_vec(&head).unwrap_or_default();
    let head_length = (head.len() as u32).to_le_bytes();
    let parts = [&head_length[..], &head, json, captured_json, &list, &pixels];
    (joined(&parts), list.len() + pixels.len())
}

/// The parts in one piece, each copied once: frames are large.
fn joined(parts: &[&[u8]]) -> Arc<[u8]> {
    let length = parts.iter().map(|part| part.len()).sum();
    let mut bytes: Arc<[u8]> = std::iter::repeat_n(0, length).collect();
    // Nobody else has it yet.
    if let Some(all) = Arc::get_mut(&mut bytes) {
        let mut at = 0;
        for part in parts {
            let end = at + part.len();
            if let Some(place) = all.get_mut(at..end) {
                place.copy_from_slice(part);
            }
            at = end;
        }
    }
    bytes
}

/// Whether a message or packet has a frame. The head is not parsed: the result for a malformed one is unspecified.
pub(crate) fn has_frame(bytes: &[u8]) -> bool {
    split_head(bytes, LONGEST_HEAD).is_some_and(|(head, _)| !head.ends_with(NO_FRAME))
}

/// Reads a message, and converts its times to those of this machine. `None`: it is malformed.
pub(crate) fn decode(
    bytes: &[u8],
    clock: Offset,
    frames: &mut FrameDecoder,
    sharing: &Sharing,
) -> Option<ArrivedMessage> {
    let (head, rest) = split_head(bytes, LONGEST_HEAD)?;
    let head: Head = serde_json::from_slice(head).ok()?;
    let (json, rest) = rest.split_at_checked(head.json)?;
    let captured_length = head.captured.as_ref().map_or(0, |(_, length)| *length);
    let (captured, rest) = rest.split_at_checked(captured_length)?;
    let pixels = frames.decode_any(head.frame.as_ref(), rest, sharing)?;
    Some(ArrivedMessage {
        schema: head.schema,
        json: json.to_vec(),
        pixels,
        sequence: head.sequence,
        origin: head.origin.map(|(stage, sequence, captured_ns)| Origin {
            stage,
            sequence,
            captured_ns: clock.to_own(captured_ns),
        }),
        captured: head.captured.map(|(schema, _)| (schema, captured.to_vec())),
        hops: head
            .hops
            .into_iter()
            .map(|(stage, taken_ns, emitted_ns)| abi::Hop {
                stage,
                reserved: 0,
                taken_ns: clock.to_own(taken_ns),
                emitted_ns: clock.to_own(emitted_ns),
            })
            .collect(),
        root: head
            .root
            .map(|(stage, port, number)| (PortRef { stage, port }, number)),
    })
}

#[cfg(test)]
mod tests {
    use flowpipe_host::frame::pool::Pool;
    use flowpipe_host::frame::{Frame, Shape};
    use flowpipe_host::message::CapturedMessage;
    use proptest::prelude::*;

    use super::*;

    fn encode(message: &Message) -> Vec<u8> {
        let (bytes, _) = super::encode(message, &mut FrameEncoder::new(true), None);
        bytes.to_vec()
    }

    fn decode(bytes: &[u8], clock: Offset) -> Option<ArrivedMessage> {
        super::decode(
            bytes,
            clock,
            &mut FrameDecoder::default(),
            &Sharing::default(),
        )
    }

    const AHEAD: Offset = Offset {
        offset_ns: 1_000,
        error_ns: 0,
    };

    fn message() -> Message {
        let mut message = Message::detached("test/1", br#"{"n": 1}"#).unwrap();
        message.source = PortRef { stage: 2, port: 1 };
        message.lineage.sequence = 7;
        message.lineage.origin = Some(Origin {
            stage: 0,
            sequence: 3,
            captured_ns: 5_000,
        });
        message.lineage.hops.push(abi::Hop {
            stage: 2,
            reserved: 0,
            taken_ns: 6_000,
            emitted_ns: 7_000,
        });
        message.lineage.root = Some((PortRef { stage: 0, port: 0 }, 3));
        message
    }

    #[test]
    fn a_message_arrives_as_it_was_sent() {
        let mut message = message();
        let body = Message::detached("frame/1", b"[4]").unwrap().body;
        message.lineage.captured = Some(Arc::new(CapturedMessage {
            schema: Arc::from(c"frame/1"),
            body,
        }));
        assert!(!has_frame(&encode(&message)));
        let arrived = decode(&encode(&message), AHEAD).unwrap();
        assert_eq!((arrived.schema.as_str(), arrived.sequence), ("test/1", 7));
        assert_eq!(arrived.json, br#"{"n": 1}"#);
        assert_eq!(arrived.root, message.lineage.root);
        assert_eq!(
            arrived.captured,
            Some(("frame/1".to_owned(), b"[4]".to_vec()))
        );
        assert_eq!(arrived.pixels, None);
        // By the clock of this machine.
        assert_eq!(arrived.origin.unwrap().captured_ns, 4_000);
        let hop = arrived.hops[0];
        assert_eq!((hop.stage, hop.taken_ns, hop.emitted_ns), (2, 5_000, 6_000));
    }

    #[test]
    fn pixels_arrive_as_they_were_sent() {
        let mut message = message();
        let shape = Shape {
            format: abi::FORMAT_GREY8,
            width: 3,
            height: 2,
            stride: 4,
        };
        let pixels = [1, 2, 3, 4, 5, 6, 7, 8];
        message.frame = Frame::from_bytes(&Pool::new(1), shape, 0, &pixels);
        assert!(has_frame(&encode(&message)));
        let arrived = decode(&encode(&message), AHEAD).unwrap();
        assert_eq!(
            arrived.pixels,
            Some((shape.into(), Arc::new(pixels.to_vec())))
        );
        assert_eq!(arrived.captured, None, "it is the message itself");
    }

    proptest! {
        #[test]
        fn fuzz_arrived_messages(
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..9),
            cut in any::<prop::sample::Index>(),
        ) {
            let mut bytes = encode(&message());
            for (index, byte) in changes {
                let index = index.index(bytes.len());
                bytes[index] = byte;
            }
            let _ = decode(&bytes, AHEAD);
            let cut = cut.index(bytes.len());
            let _ = decode(&bytes[..cut], AHEAD);
        }
    }

    #[test]
    fn malformed_messages_are_refused() {
        let good = encode(&message());
        assert!(decode(&good, AHEAD).is_some());
        let mut long = good.clone();
        long.push(0);
        let announced = [u32::MAX.to_le_bytes().as_slice(), &good[4..]].concat();
        for bad in [
            &[][..],
            &good[..3],
            &good[..good.len() - 1],
            &long,
            &announced,
        ] {
            assert!(decode(bad, AHEAD).is_none());
        }
    }
}
