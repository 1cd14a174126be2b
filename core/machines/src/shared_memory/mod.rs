//! Frames in memory that both ends of a link on one machine can read.
//!
//! The sender's frames are in memory files without a name. The receiver opens them through `/proc`, and copies from them.
//! Both ends prove first that they may do that: the receiver offers a memory file with a random token, the sender answers
//! with the token and with a file of its own that contains it too, and the receiver reads that. The system permits both only
//! to a process with the rights of the other one, so that nobody can name the memory of a process that he can't read.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other;

use std::fs::File;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use flowpipe_host::frame::Frame;
use flowpipe_sync::lock;
use serde::{Deserialize, Serialize};

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(not(target_os = "linux"))]
use other as system;

/// A random number that proves access.
pub(crate) type Token = [u64; 2];

/// How many memory files of the other end stay open.
const MOST_OPEN: usize = 32;
/// How many are kept of messages that wait: a queue holds more messages without frames, but few with.
const MOST_KEPT: usize = 256;

/// Where a memory file is: the process that has it, and its descriptor there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Place {
    process: u32,
    descriptor: i32,
}

/// A frame of the other end, in the process that has proved its access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SharedBlock {
    descriptor: i32,
    /// The number of the block, which is never used again: a descriptor is.
    id: u64,
}

/// What the two ends send each other before they share, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Handshake {
    /// The receiver: this memory file contains a token.
    Offer(Place),
    /// The sender: the token, and a memory file that contains it.
    Answer(Token, Place),
    /// The receiver: it is there.
    Agreed,
}

/// How far the ends of a link share memory.
#[derive(Default)]
pub(crate) struct Sharing {
    /// What this end offers as a receiver.
    offered: Mutex<Option<(Token, File)>>,
    /// What it has answered as a sender.
    answered: Mutex<Option<File>>,
    /// As a sender, it may send where a frame is.
    sends: AtomicBool,
    /// The memory that it may read as a receiver.
    other: Mutex<Option<OtherMemory>>,
}

impl Sharing {
    /// Begins to receive frames of the other end, if the system has such memory.
    pub(crate) fn offer(&self) -> Option<Handshake> {
        let token = system::random_token().ok()?;
        let (file, place) = system::memory_with(token).ok()?;
        *lock(&self.offered) = Some((token, file));
        Some(Handshake::Offer(place))
    }

    /// Takes the next step. Returns what to send. Where one end may not read what the other one names, nothing is shared.
    pub(crate) fn receive(&self, handshake: Handshake) -> Option<Handshake> {
        match handshake {
            Handshake::Offer(place) => {
                // Each program offers once. Otherwise it could cause any number of answers, and take none.
                if self.sends() || lock(&self.answered).is_some() {
                    return None;
                }
                let token = system::token_at(place)?;
                let is_own = |(own, _): &(Token, File)| *own == token;
                if lock(&self.offered).as_ref().is_some_and(is_own) {
                    // Its own offer has come back: who sent it may have no rights.
                    return None;
                }
                let (file, place) = system::memory_with(token).ok()?;
                *lock(&self.answered) = Some(file);
                Some(Handshake::Answer(token, place))
            }
            Handshake::Answer(token, place) => {
                let (offered, _) = lock(&self.offered).take()?;
                if token != offered || system::token_at(place) != Some(offered) {
                    return None;
                }
                *lock(&self.other) = Some(OtherMemory {
                    process: place.process,
                    open: Vec::new(),
                    kept: Vec::new(),
                });
                Some(Handshake::Agreed)
            }
            Handshake::Agreed => {
                let has_answered = lock(&self.answered).take().is_some();
                self.sends.fetch_or(has_answered, Ordering::Relaxed);
                None
            }
        }
    }

    /// Where the other end may read a frame, if it may.
    pub(crate) fn place_of(&self, frame: &Frame) -> Option<SharedBlock> {
        if !self.sends() {
            return None;
        }
        #[cfg(unix)]
        frame.share_later();
        block_of(frame)
    }

    /// Whether this end may send where a frame is.
    pub(crate) fn sends(&self) -> bool {
        self.sends.load(Ordering::Relaxed)
    }

    /// Whether the other end may send where a frame is.
    pub(crate) fn receives(&self) -> bool {
        lock(&self.other).is_some()
    }

    /// The message of a frame has arrived: it stays readable until it is copied, also when the other end dies before.
    pub(crate) fn keep(&self, block: SharedBlock) {
        if let Some(other) = lock(&self.other).as_mut() {
            other.keep(block);
        }
    }

    /// Copies a frame of the other end with so many bytes. `None`: it is not there, or this end may not read it.
    pub(crate) fn copy(&self, block: SharedBlock, size: usize) -> Option<Vec<u8>> {
        lock(&self.other).as_mut()?.copy(block, size).ok()
    }
}

/// Where a frame is. `None`: in memory of this process alone.
pub(crate) fn block_of(frame: &Frame) -> Option<SharedBlock> {
    system::block_of(frame)
}

/// The memory of the other end.
struct OtherMemory {
    process: u32,
    /// Those that were used last are at the end.
    open: Vec<(SharedBlock, File)>,
    /// Of messages that have arrived, in their order.
    kept: Vec<(SharedBlock, File)>,
}

impl OtherMemory {
    fn keep(&mut self, block: SharedBlock) {
        if self.kept.len() < MOST_KEPT {
            // One that can't be opened is reported when it is copied.
            let file = self.file(block);
            self.kept.extend(file.map(|file| (block, file)));
        }
    }

    fn file(&mut self, block: SharedBlock) -> io::Result<File> {
        let take = |files: &mut Vec<(SharedBlock, File)>| {
            let place = files.iter().position(|(known, _)| *known == block)?;
            Some(files.remove(place).1)
        };
        match take(&mut self.kept).or_else(|| take(&mut self.open)) {
            Some(file) => Ok(file),
            None => system::open(Place {
                process: self.process,
                descriptor: block.descriptor,
            }),
        }
    }

    fn copy(&mut self, block: SharedBlock, size: usize) -> io::Result<Vec<u8>> {
        let file = self.file(block)?;
        let length = usize::try_from(file.metadata()?.len()).unwrap_or(0);
        if length < size {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut bytes = vec![0; size];
        system::read(&file, &mut bytes)?;
        if self.open.len() >= MOST_OPEN {
            self.open.remove(0);
        }
        self.open.push((block, file));
        Ok(bytes)
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::fs::File;
    use std::io::Write as _;
    use std::os::fd::AsRawFd as _;
    use std::os::unix::net::UnixStream;
    use std::sync::Arc;

    use flowpipe_abi as abi;
    use flowpipe_host::frame::Shape;
    use flowpipe_host::frame::pool::Pool;
    use rustix::fs::MemfdFlags;

    use super::*;

    fn frame(pool: &Arc<Pool>, pixels: &[u8]) -> Frame {
        let shape = Shape {
            format: abi::FORMAT_GREY8,
            width: pixels.len() as u32,
            height: 1,
            stride: pixels.len() as u64,
        };
        Frame::from_bytes(pool, shape, 0, pixels).unwrap()
    }

    /// A sender and a receiver that share memory.
    fn ends() -> [Sharing; 2] {
        let [sender, receiver] = [Sharing::default(), Sharing::default()];
        let offer = receiver.offer().unwrap();
        let answer = sender.receive(offer).unwrap();
        let agreed = receiver.receive(answer).unwrap();
        assert!(!sender.sends());
        assert_eq!(sender.receive(agreed), None);
        assert!(sender.sends());
        [sender, receiver]
    }

    #[test]
    fn a_frame_is_read_where_it_is() {
        let [sender, receiver] = ends();
        let pool = Pool::shared(1);
        for pixels in [&[1, 2, 3], &[4, 5, 6]] {
            let frame = frame(&pool, pixels);
            let block = block_of(&frame).unwrap();
            assert_eq!(receiver.copy(block, 3).as_deref(), Some(&pixels[..]));
            // It is the receiver's right alone.
            assert_eq!(sender.copy(block, 3), None);
        }
        assert_eq!(
            block_of(&frame(&Pool::new(1), &[1])),
            None,
            "nobody else can read it"
        );
    }

    #[test]
    fn files_stay_open_within_a_limit() {
        let [_, receiver] = ends();
        let pool = Pool::shared(1);
        let frames: Vec<Frame> = (0..40).map(|it| frame(&pool, &[it])).collect();
        for (number, frame) in frames.iter().enumerate() {
            let copied = receiver.copy(block_of(frame).unwrap(), 1);
            assert_eq!(copied, Some(vec![number as u8]));
        }
        assert_eq!(
            lock(&receiver.other).as_ref().unwrap().open.len(),
            MOST_OPEN
        );
    }

    #[test]
    fn without_a_proof_nothing_is_shared() {
        let [sender, receiver] = [Sharing::default(), Sharing::default()];
        assert_eq!(sender.receive(Handshake::Agreed), None);
        assert!(!sender.sends(), "it has not answered");
        let Some(Handshake::Offer(place)) = receiver.offer() else {
            panic!("there is an offer");
        };
        // The token has to be read, and to be where the answer says.
        let answer = Handshake::Answer([1, 2], place);
        assert_eq!(receiver.receive(answer), None);
        let answer = sender.receive(receiver.offer().unwrap());
        let Some(Handshake::Answer(token, _)) = answer else {
            panic!("there is an answer");
        };
        let (_file, elsewhere) = system::memory_with([3, 4]).unwrap();
        assert_eq!(receiver.receive(Handshake::Answer(token, elsewhere)), None);
        let pool = Pool::shared(1);
        assert_eq!(
            receiver.copy(block_of(&frame(&pool, &[1])).unwrap(), 1),
            None
        );
        assert_eq!(
            receiver.receive(answer.unwrap()),
            None,
            "each offer has one answer"
        );
    }

    /// The other end may die before the message is taken.
    #[test]
    fn the_frame_of_a_message_that_has_arrived_stays() {
        let [sender, receiver] = ends();
        assert!(receiver.receives() && !sender.receives());
        let pool = Pool::shared(1);
        let [kept, lost] = [[1, 2, 3], [4, 5, 6]].map(|pixels| frame(&pool, &pixels));
        let blocks = [&kept, &lost].map(|it| block_of(it).unwrap());
        receiver.keep(blocks[0]);
        drop((kept, lost, pool));
        assert_eq!(receiver.copy(blocks[0], 3), Some(vec![1, 2, 3]));
        assert_eq!(receiver.copy(blocks[1], 3), None);
    }

    #[test]
    fn an_offer_that_comes_back_is_refused() {
        let receiver = Sharing::default();
        let offer = receiver.offer().unwrap();
        // Otherwise the answer would be one to itself, and its own memory could be named.
        assert_eq!(receiver.receive(offer), None);
        // Neither does a frame contain a token.
        let pool = Pool::shared(1);
        let frame = frame(&pool, &[1; 32]);
        let descriptor = block_of(&frame).unwrap().descriptor;
        let process = std::process::id();
        let place = Place {
            process,
            descriptor,
        };
        assert_eq!(receiver.receive(Handshake::Offer(place)), None);
    }

    #[test]
    fn one_offer_is_answered() {
        let [sender, one, other] = std::array::from_fn(|_| Sharing::default());
        let [first, second] = [&one, &other].map(|it| it.offer().unwrap());
        assert!(matches!(sender.receive(first), Some(Handshake::Answer(..))));
        assert_eq!(sender.receive(second), None);
        let [sender, receiver] = ends();
        assert_eq!(sender.receive(receiver.offer().unwrap()), None);
    }

    #[test]
    fn nothing_else_than_memory_is_opened() {
        let [_, receiver] = ends();
        let file = File::open("/proc/self/exe").unwrap();
        // To open the end of a pipe that nobody writes to would wait, and to read from it would take what is there.
        let (pipe, mut writer) = std::io::pipe().unwrap();
        writer.write_all(b"content").unwrap();
        let (socket, _other) = UnixStream::pair().unwrap();
        let folder = File::open("/").unwrap();
        let device = File::open("/dev/zero").unwrap();
        // A memory file with another name is not of this program.
        let named = rustix::fs::memfd_create("other", MemfdFlags::CLOEXEC).unwrap();
        let others = [
            file.as_raw_fd(),
            pipe.as_raw_fd(),
            socket.as_raw_fd(),
            folder.as_raw_fd(),
            device.as_raw_fd(),
            named.as_raw_fd(),
        ];
        for descriptor in others.into_iter().chain([-1, i32::MAX]) {
            let block = SharedBlock { descriptor, id: 1 };
            assert_eq!(receiver.copy(block, 1), None, "{descriptor}");
            let process = std::process::id();
            let offer = Handshake::Offer(Place {
                process,
                descriptor,
            });
            assert_eq!(receiver.receive(offer), None, "{descriptor}");
        }
        let pool = Pool::shared(1);
        let block = block_of(&frame(&pool, &[1])).unwrap();
        assert_eq!(receiver.copy(block, 1 << 20), None, "it is shorter");
        drop(writer);
        assert_eq!(std::io::read_to_string(pipe).unwrap(), "content");
    }
}
