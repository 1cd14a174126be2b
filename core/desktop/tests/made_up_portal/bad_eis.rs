//! Compositor's sides of libei that send what they should not, byte for byte.

use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

const FIRST: u64 = 0xff00_0000_0000_0000;
const CONNECTION: u64 = FIRST;
const SEAT: u64 = FIRST + 1;
const DEVICE: u64 = FIRST + 2;
const ABSOLUTE: u64 = FIRST + 3;
const BUTTON: u64 = FIRST + 4;
/// The first number that is free.
const FREE: u64 = FIRST + 100;

pub struct BadEis {
    pub name: &'static str,
    /// Of the error.
    pub words: &'static str,
    play: Play,
}

#[derive(Clone)]
enum Play {
    /// Sends this, and stays.
    Bytes(Vec<u8>),
    /// Sends this, and closes.
    BytesAndEnd(Vec<u8>),
    /// Sends this byte for byte.
    Drips(Vec<u8>),
    /// Sends this again and again, without reading.
    Endless(Vec<u8>, Vec<u8>),
    /// Sends files without end.
    Files,
}

/// A part of a message.
#[derive(Clone, Copy)]
enum Part<'a> {
    Number(u32),
    Id(u64),
    Fraction(f32),
    Text(&'a str),
    Raw(&'a [u8]),
}

use Part::{Fraction, Id, Number, Raw, Text};

fn message(object: u64, opcode: u32, parts: &[Part<'_>]) -> Vec<u8> {
    let mut body = Vec::new();
    for part in parts {
        match part {
            Number(number) => body.extend(number.to_ne_bytes()),
            Id(id) => body.extend(id.to_ne_bytes()),
            Fraction(fraction) => body.extend(fraction.to_ne_bytes()),
            Raw(bytes) => body.extend(*bytes),
            Text(text) => {
                body.extend((text.len() as u32 + 1).to_ne_bytes());
                body.extend(text.as_bytes());
                let padded = (text.len() + 1).next_multiple_of(4);
                body.extend((text.len()..padded).map(|_| 0));
            }
        }
    }
    let length = body.len() as u32 + 16;
    let mut message = object.to_ne_bytes().to_vec();
    message.extend(length.to_ne_bytes());
    message.extend(opcode.to_ne_bytes());
    message.extend(body);
    message
}

fn version() -> Vec<u8> {
    message(0, 0, &[Number(1)])
}

fn connected() -> Vec<u8> {
    let connection = message(0, 2, &[Number(1), Id(CONNECTION), Number(1)]);
    [version(), connection].concat()
}

fn seat(capabilities: &[&str]) -> Vec<u8> {
    let mut bytes = connected();
    bytes.extend(message(CONNECTION, 1, &[Id(SEAT), Number(1)]));
    for (bit, name) in capabilities.iter().enumerate() {
        bytes.extend(message(SEAT, 2, &[Id(1 << bit), Text(name)]));
    }
    bytes.extend(message(SEAT, 3, &[]));
    bytes
}

/// A device that is not described yet.
fn device() -> Vec<u8> {
    let mut bytes = seat(&["ei_pointer_absolute", "ei_button"]);
    bytes.extend(message(SEAT, 4, &[Id(DEVICE), Number(2)]));
    bytes
}

fn region([x, y, width, height]: [u32; 4]) -> Vec<u8> {
    let name = message(DEVICE, 12, &[Text("the monitor")]);
    let place = [Number(x), Number(y), Number(width), Number(height)];
    let place = message(DEVICE, 4, &[&place[..], &[Fraction(1.0)]].concat());
    [name, place].concat()
}

fn parts() -> Vec<u8> {
    let part = |id, name| message(DEVICE, 5, &[Id(id), Text(name), Number(1)]);
    [
        part(ABSOLUTE, "ei_pointer_absolute"),
        part(BUTTON, "ei_button"),
    ]
    .concat()
}

fn done() -> Vec<u8> {
    message(DEVICE, 6, &[])
}

fn resumed() -> Vec<u8> {
    message(DEVICE, 7, &[Number(2)])
}

/// All that a program needs but answers.
fn whole() -> Vec<u8> {
    [
        device(),
        region([0, 0, 640, 480]),
        parts(),
        done(),
        resumed(),
    ]
    .concat()
}

fn after(before: Vec<u8>, more: Vec<u8>) -> Play {
    Play::Bytes([before, more].concat())
}

fn ping(id: u64) -> Vec<u8> {
    message(CONNECTION, 3, &[Id(id), Number(1)])
}

pub fn all() -> Vec<BadEis> {
    const LATE: &str = "it has not sent";
    const OUT_OF_TURN: &str = "a handshake out of turn";
    const NUMBER: &str = "a new object with the number of another";
    let bytes = |it: Vec<u8>| Play::Bytes(it);
    let mut seats = connected();
    for id in 0..2000 {
        seats.extend(message(CONNECTION, 1, &[Id(FREE + id), Number(1)]));
    }
    let regions: Vec<u8> = (0..70).flat_map(|_| region([0, 0, 640, 480])).collect();
    let too_long = {
        let mut header = message(0, 0, &[]);
        header[8..12].copy_from_slice(&(1_u32 << 20).to_ne_bytes());
        header
    };
    let named = |text: &[u8]| after(device(), message(DEVICE, 1, &[Raw(text)]));
    let explained = "\u{1b}[31m".repeat(3000);
    let all = [
        (
            "closed",
            "has closed the connection",
            Play::BytesAndEnd(vec![]),
        ),
        ("silent", LATE, bytes(vec![])),
        ("zeros", "a length that can't be", bytes(vec![0; 64])),
        ("ones", "a length that can't be", bytes(vec![0xff; 64])),
        ("long", "a length that can't be", bytes(too_long)),
        ("introduced twice", OUT_OF_TURN, after(version(), version())),
        (
            "connected at once",
            OUT_OF_TURN,
            bytes(connected().split_off(20)),
        ),
        (
            "connected twice",
            OUT_OF_TURN,
            after(connected(), connected().split_off(20)),
        ),
        (
            "an object that is not there",
            "is not there",
            after(connected(), message(FREE, 0, &[])),
        ),
        (
            "a number of this side",
            NUMBER,
            after(connected(), message(CONNECTION, 1, &[Id(7), Number(1)])),
        ),
        (
            "the last number",
            "an event of a seat",
            after(
                connected(),
                [
                    message(CONNECTION, 1, &[Id(u64::MAX), Number(1)]),
                    message(u64::MAX, 99, &[]),
                ]
                .concat(),
            ),
        ),
        (
            "a number twice",
            NUMBER,
            after(device(), message(SEAT, 4, &[Id(DEVICE), Number(2)])),
        ),
        ("objects without end", "so many objects", bytes(seats)),
        (
            "an empty region",
            "without a place",
            after(device(), region([0, 0, 0, 480])),
        ),
        (
            "a far region",
            "without a place",
            after(device(), region([u32::MAX, 0, 640, 480])),
        ),
        (
            "regions without end",
            "so many regions",
            after(device(), regions),
        ),
        (
            "a text without an end",
            "a text that is none",
            named(&[4, 0, 0, 0, 65, 65, 65, 65]),
        ),
        (
            "a text of no characters",
            "a text that is none",
            named(&[3, 0, 0, 0, 0xff, 0xfe, 0, 0]),
        ),
        (
            "a longer text than its message",
            "too early or too late",
            named(&[0xff, 0xff, 0xff, 0xff]),
        ),
        (
            "a message with a rest",
            "too early or too late",
            named(&[0, 0, 0, 0, 1, 2, 3, 4]),
        ),
        (
            "no regions",
            LATE,
            after(device(), [parts(), done(), resumed()].concat()),
        ),
        (
            "no buttons",
            LATE,
            after(
                device(),
                [region([0, 0, 640, 480]), done(), resumed()].concat(),
            ),
        ),
        (
            "never resumed",
            LATE,
            after(
                device(),
                [region([0, 0, 640, 480]), parts(), done()].concat(),
            ),
        ),
        (
            "no pointer",
            LATE,
            bytes(seat(&["ei_keyboard", "ei_unknown"])),
        ),
        (
            "changes later",
            "a device that changes",
            after(whole(), region([0, 0, 640, 480])),
        ),
        ("no answers", LATE, bytes(whole())),
        (
            "input to this program",
            "input to this program",
            after(device(), message(DEVICE, 9, &[Number(1), Number(1)])),
        ),
        ("slow", LATE, Play::Drips(whole())),
        (
            "pings without reading",
            "within 5s",
            Play::Endless(connected(), ping(FREE)),
        ),
        ("files", "more files than messages", Play::Files),
        (
            "long words",
            "has ended the connection",
            after(
                connected(),
                message(CONNECTION, 0, &[Number(1), Number(9), Text(&explained)]),
            ),
        ),
    ];
    let all = all
        .into_iter()
        .map(|(name, words, play)| BadEis { name, words, play });
    all.collect()
}

impl BadEis {
    /// Serves on a thread. Returns the other side's socket.
    pub fn serve(&self) -> OwnedFd {
        let (mut near, far) = UnixStream::pair().unwrap();
        let play = self.play.clone();
        std::thread::spawn(move || match play {
            Play::Bytes(bytes) => {
                // The other side may have closed it.
                let _ = near.write_all(&bytes);
                let mut read = Vec::new();
                let _ = near.read_to_end(&mut read);
            }
            Play::BytesAndEnd(bytes) => _ = near.write_all(&bytes),
            Play::Drips(bytes) => {
                for byte in bytes {
                    if near.write_all(&[byte]).is_err() {
                        return;
                    }
                    std::thread::sleep(Duration::from_millis(100));
                }
            }
            Play::Endless(first, bytes) => {
                let _ = near.write_all(&first);
                // Few enough to be taken, for longer than answers have room.
                while near.write_all(&bytes).is_ok() {
                    std::thread::sleep(Duration::from_micros(300));
                }
            }
            Play::Files => send_files(&near),
        });
        far.into()
    }
}

fn send_files(near: &UnixStream) {
    let file = std::fs::File::open("/proc/self/stat").unwrap();
    let files: [BorrowedFd<'_>; 4] = [file.as_fd(); 4];
    loop {
        let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
        let mut with = rustix::net::SendAncillaryBuffer::new(&mut space);
        with.push(rustix::net::SendAncillaryMessage::ScmRights(&files));
        let bytes = [std::io::IoSlice::new(&[0])];
        let flags = rustix::net::SendFlags::NOSIGNAL;
        if rustix::net::sendmsg(near, &bytes, &mut with, flags).is_err() {
            return;
        }
    }
}

type Flood = Box<dyn Fn(u64) -> Vec<u8> + Send>;

/// What is sent without end once a program plays.
pub fn floods() -> Vec<(&'static str, Flood)> {
    let serial = |_| message(DEVICE, 7, &[Number(3)]);
    vec![
        ("pings", Box::new(|count| ping(FREE + count))),
        ("resumed again and again", Box::new(serial)),
        (
            "devices that go",
            Box::new(|count| {
                let id = FREE + count;
                let device = message(SEAT, 4, &[Id(id), Number(2)]);
                [device, message(id, 0, &[Number(4)])].concat()
            }),
        ),
        (
            "seats",
            Box::new(|count| message(CONNECTION, 1, &[Id(FREE + count), Number(1)])),
        ),
    ]
}

/// Serves as it should until the program plays, and then sends something without end.
pub fn serve_then(flood: Flood) -> OwnedFd {
    let (mut near, far) = UnixStream::pair().unwrap();
    std::thread::spawn(move || {
        near.write_all(&whole()).unwrap();
        let mut read = Vec::new();
        // The first question for an answer is the last thing before it plays.
        loop {
            let mut bytes = [0; 1024];
            let count = near.read(&mut bytes).unwrap();
            read.extend_from_slice(&bytes[..count]);
            let sync = message(CONNECTION, 0, &[Id(1), Number(1)]);
            if read.windows(sync.len()).any(|it| it == sync) {
                break;
            }
            assert!(count > 0, "it has ended");
        }
        near.write_all(&message(1, 0, &[Id(0)])).unwrap();
        std::thread::sleep(Duration::from_millis(100));
        let mut reader = near.try_clone().unwrap();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while reader.read(&mut bytes).is_ok_and(|count| count > 0) {}
        });
        let mut count = 0;
        while near.write_all(&flood(count)).is_ok() {
            count += 1;
        }
    });
    far.into()
}
