//! Packets of the channels of workers: the length of the head, the head as JSON, the JSON of a message, and its frame.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use flowpipe_host::frame::Frame;
use flowpipe_host::frame::pool::Pool;
use flowpipe_host::stage_clock::MOST_TIMES;
use flowpipe_host::table::LONGEST_TEXT;
use flowpipe_link::link::Link;
use flowpipe_link::session::Refusal;
use flowpipe_sync::lock;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::frame_coding::{
    self, DecodedFrame, FrameDecoder, FrameEncoder, FrameHead, FrameTraffic, MOST_FRAME_BYTES,
    split_head,
};
use crate::lent_frames::LentFrames;
use crate::shared_memory::Sharing;

/// The longest head, in bytes: besides what heads of messages have, it has at most the times of a call, each with up to 20
/// digits and a comma, and two texts, of which JSON has up to six bytes for each.
const LONGEST_HEAD: usize = frame_coding::LONGEST_HEAD + 21 * MOST_TIMES + 2 * 6 * LONGEST_TEXT;
/// How often a thread that waits checks whether the other machine is dead.
const STEP: Duration = Duration::from_millis(50);

/// Sends packets on one channel, from any thread.
pub(crate) struct PacketSender {
    link: Arc<Link>,
    channel: u32,
    /// Frames are sent in the order in which they are encoded.
    frames: Mutex<FrameEncoder>,
    sharing: Arc<Sharing>,
    lent: Mutex<Lent>,
    traffic: Mutex<FrameTraffic>,
    /// Whether the other machine is dead, or the bridge to it closed.
    is_over: AtomicBool,
}

/// What the other machine may still read here.
#[derive(Default)]
struct Lent {
    frames: LentFrames,
    /// The other machine has finished all packets up to this number.
    finished: u64,
}

/// Why a packet was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unsent {
    /// It is longer than a link permits.
    TooLong,
    /// The other machine takes nothing more.
    Over,
}

/// A packet.
pub(super) struct Packet<T> {
    pub what: T,
    pub json: Vec<u8>,
    pub pixels: Pixels,
}

/// The pixels of a packet, if it has any.
pub(super) struct Pixels(Option<DecodedFrame>);

#[derive(Serialize, Deserialize)]
struct PacketHead<T> {
    what: T,
    /// Bytes of the JSON.
    json: usize,
    /// The last key: see [`crate::wire::has_frame`].
    frame: Option<FrameHead>,
}

impl PacketSender {
    /// `sharing`: the memory that both ends share, if they are on one machine.
    pub(crate) fn new(link: &Arc<Link>, channel: u32, sharing: Option<Arc<Sharing>>) -> Self {
        Self {
            link: link.clone(),
            channel,
            frames: Mutex::new(FrameEncoder::new(sharing.is_none())),
            sharing: sharing.unwrap_or_default(),
            lent: Mutex::default(),
            traffic: Mutex::default(),
            is_over: AtomicBool::new(false),
        }
    }

    /// The other machine takes nothing more. A program that only counts as dead may go on, and read what was lent to it.
    pub(crate) fn close(&self) {
        self.is_over.store(true, Ordering::SeqCst);
    }

    /// The bridge is dropped: the frames that were lent go back to their pool.
    pub(crate) fn release_frames(&self) {
        let frames = std::mem::take(&mut lock(&self.lent).frames);
        drop(frames);
    }

    /// The other machine has finished all packets of a channel up to this number.
    pub(crate) fn note_done(&self, channel: u32, last: u64) {
        if channel == self.channel {
            let mut lent = lock(&self.lent);
            lent.finished = lent.finished.max(last);
            let frames = lent.frames.take(0, last);
            drop(lent);
            drop(frames);
        }
    }

    /// What was sent of frames.
    pub(crate) fn traffic(&self) -> FrameTraffic {
        *lock(&self.traffic)
    }

    /// The memory that both ends share.
    pub(super) fn sharing(&self) -> &Sharing {
        &self.sharing
    }

    /// The other machine has finished all packets up to this number.
    pub(super) fn finished(&self) -> u64 {
        lock(&self.lent).finished
    }

    /// Sends a packet once the other machine has room for it. Returns its number.
    pub(super) fn send(
        &self,
        what: impl Serialize,
        json: &[u8],
        frame: Option<&Frame>,
    ) -> Result<u64, Unsent> {
        if self.is_over() {
            return Err(Unsent::Over);
        }
        if frame.is_some_and(|frame| frame.size() > MOST_FRAME_BYTES) {
            return Err(Unsent::TooLong);
        }
        let mut frames = lock(&self.frames);
        let may_lend = lock(&self.lent).frames.have_room();
        let lent = frame.filter(|_| may_lend);
        let lent = lent.and_then(|frame| Some((frame, self.sharing.place_of(frame)?)));
        let block = lent.map(|(_, block)| block);
        let (head, list, pixels) = frames.encode_any(frame, block);
        let sent_bytes = list.len() + pixels.len();
        let head = PacketHead {
            what,
            json: json.len(),
            frame: head,
        };
        // It has no maps with other keys than text, so that it is always JSON.
        let head = serde_json::to_vec(&head).unwrap_or_default();
        let length = 4 + head.len() + json.len() + list.len() + pixels.len();
        let mut body = Vec::with_capacity(length);
        body.extend_from_slice(&(head.len() as u32).to_le_bytes());
        for part in [&head, json, &list, &pixels] {
            body.extend_from_slice(part);
        }
        let body = body.into();
        // The lock is held until it is sent: the next frame is coded as changes of this one.
        loop {
            match self.link.send(self.channel, &body, STEP) {
                Ok(id) => {
                    if let Some(frame) = frame {
                        let bytes = frame.size();
                        lock(&self.traffic).add(bytes, lent.is_some(), sent_bytes);
                    }
                    if let Some((frame, _)) = lent {
                        self.lend(id.number, frame);
                    }
                    return Ok(id.number);
                }
                Err(Refusal::NoCredit | Refusal::Full) if !self.is_over() => {}
                Err(Refusal::TooLong) => {
                    if frame.is_some() {
                        frames.forget();
                    }
                    return Err(Unsent::TooLong);
                }
                Err(Refusal::NoCredit | Refusal::Full | Refusal::Ended) => {
                    return Err(Unsent::Over);
                }
            }
        }
    }

    /// Keeps a frame until its packet is finished, which it may be already.
    fn lend(&self, number: u64, frame: &Frame) {
        let mut lent = lock(&self.lent);
        if number > lent.finished {
            lent.frames.keep(number, frame.clone());
        }
    }

    /// Sends nothing more.
    pub(super) fn end(&self) {
        self.link.end(self.channel);
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }
}

impl<T: DeserializeOwned> Packet<T> {
    /// Reads a packet. `None`: it is malformed. `frames`: those of the channel so far.
    /// `sharing`: the memory that both ends share.
    pub(super) fn decode(
        bytes: &[u8],
        frames: &mut FrameDecoder,
        sharing: &Sharing,
    ) -> Option<Self> {
        let (head, rest) = split_head(bytes, LONGEST_HEAD)?;
        let head: PacketHead<T> = serde_json::from_slice(head).ok()?;
        let (json, rest) = rest.split_at_checked(head.json)?;
        let pixels = frames.decode_any(head.frame.as_ref(), rest, sharing)?;
        Some(Self {
            what: head.what,
            json: json.to_vec(),
            pixels: Pixels(pixels),
        })
    }
}

impl Pixels {
    /// As a frame, in memory of this pool. `Err`: there is not enough.
    pub(super) fn frame(&self, pool: &Arc<Pool>, owner: u32) -> Result<Option<Frame>, String> {
        let Some((layout, bytes)) = &self.0 else {
            return Ok(None);
        };
        let frame = Frame::from_bytes(pool, *layout, owner, bytes);
        let frame = frame.ok_or("there is no memory for its frame");
        Ok(Some(frame?))
    }
}

#[cfg(test)]
mod tests {
    use flowpipe_abi as abi;
    use flowpipe_engine::run::worker_call::Polls;
    use flowpipe_host::frame::Shape;
    use proptest::prelude::*;

    use super::*;
    use crate::control::LATEST_TIME;
    use crate::wire::has_frame;
    use crate::workers::protocol::{Command, FromWorker, ToWorker, WorkerAnswer};

    /// A packet with a frame, as [`PacketSender::send`] writes it.
    fn packet() -> Vec<u8> {
        let shape = Shape::new(&abi::FrameInfo {
            struct_size: size_of::<abi::FrameInfo>() as u32,
            format: abi::FORMAT_GREY8,
            width: 3,
            height: 2,
            stride: 4,
            size: 0,
        });
        let (frame, list, pixels) = FrameEncoder::new(false).encode(shape.unwrap(), &[7; 8]);
        let head = PacketHead {
            what: ToWorker {
                instance: 3,
                what: Command::Status(abi::OK),
            },
            json: 2,
            frame: Some(frame),
        };
        let head = serde_json::to_vec(&head).unwrap();
        let length = (head.len() as u32).to_le_bytes();
        [&length[..], &head, b"{}", &list, &pixels].concat()
    }

    fn decode(bytes: &[u8]) -> Option<Packet<ToWorker>> {
        Packet::decode(bytes, &mut FrameDecoder::default(), &Sharing::default())
    }

    #[test]
    fn a_packet_arrives_as_it_was_sent() {
        let decoded = decode(&packet()).unwrap();
        assert_eq!((decoded.what.instance, &decoded.json[..]), (3, &b"{}"[..]));
        let frame = decoded.pixels.frame(&Pool::new(1), 0).unwrap().unwrap();
        assert_eq!(frame.bytes(), [7; 8]);
    }

    #[test]
    fn packets_without_a_frame_are_recognised_by_their_head() {
        let head = PacketHead {
            what: ToWorker {
                instance: 3,
                what: Command::Reset,
            },
            json: 2,
            frame: None,
        };
        let head = serde_json::to_vec(&head).unwrap();
        let length = (head.len() as u32).to_le_bytes();
        let without = [&length[..], &head, b"{}"].concat();
        assert!(decode(&without).is_some());
        assert!(has_frame(&packet()) && !has_frame(&without));
    }

    #[test]
    fn malformed_packets_are_refused() {
        let good = packet();
        let long = [&good[..], &[0]].concat();
        let announced = [u32::MAX.to_le_bytes().as_slice(), &good[4..]].concat();
        for bad in [
            &[][..],
            &good[..3],
            &good[..good.len() - 1],
            &long,
            &announced,
        ] {
            assert!(decode(bad).is_none());
        }
        // What workers send is nothing that they are to do.
        let mut frames = FrameDecoder::default();
        assert!(Packet::<FromWorker>::decode(&good, &mut frames, &Sharing::default()).is_none());
    }

    #[test]
    fn heads_are_as_long_as_what_is_allowed() {
        let decode = |head: &[u8]| {
            let length = (head.len() as u32).to_le_bytes();
            let bytes = [&length[..], head].concat();
            let mut frames = FrameDecoder::default();
            Packet::<FromWorker>::decode(&bytes, &mut frames, &Sharing::default())
        };
        // What is as long as it may be.
        let text = || "\u{1}".repeat(LONGEST_TEXT);
        let what = WorkerAnswer::Done {
            status: abi::ERROR,
            error: Some((i32::MIN, text())),
            clock: vec![-LATEST_TIME; MOST_TIMES],
            death: Some((true, text())),
        };
        let what = FromWorker::new(u64::MAX, Polls::default(), what);
        assert!(what.is_in_range());
        let head = PacketHead {
            what,
            json: 0,
            frame: None,
        };
        let mut head = serde_json::to_vec(&head).unwrap();
        assert!(decode(&head).unwrap().what.is_in_range());
        // It is JSON, too.
        head.resize(LONGEST_HEAD, b' ');
        assert!(decode(&head).is_some());
        head.push(b' ');
        assert!(decode(&head).is_none());
    }

    proptest! {
        #[test]
        fn fuzz_packets_of_workers(
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..9),
            cut in any::<prop::sample::Index>(),
        ) {
            let mut bytes = packet();
            for (index, byte) in changes {
                let index = index.index(bytes.len());
                bytes[index] = byte;
            }
            let _ = decode(&bytes);
            let cut = cut.index(bytes.len());
            let _ = decode(&bytes[..cut]);
        }
    }
}
