//! A compositor with wlroots' protocols that is made up, and does what a real one seldom does. It speaks Wayland byte by
//! byte.

#![allow(dead_code, reason = "each test file uses some of it")]

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// What it does wrong.
#[derive(Clone, Copy, Default)]
pub struct Flaws {
    /// So many attempts to copy its picture fail.
    pub failed_copies: u32,
    /// It has no protocol for pictures.
    pub has_no_pictures: bool,
    /// What it sends as long as somebody listens.
    pub endless: Option<Endless>,
}

/// What comes to no end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endless {
    /// Globals.
    Globals,
    /// Globals, each of which it takes back at once.
    RemovedGlobals,
    /// Events of its monitor, from the first picture of it on.
    Events,
    /// That objects are gone, from the first picture on.
    Deletions,
}

/// It runs until the test ends, and has one monitor.
pub struct MadeUpCompositor {
    folder: tempfile::TempDir,
}

/// Its globals, which its number of each follows.
const GLOBALS: [(&str, u32); 4] = [
    ("wl_output", 3),
    ("zxdg_output_manager_v1", 3),
    ("wl_shm", 1),
    (PICTURES, 1),
];
const PICTURES: &str = "zwlr_screencopy_manager_v1";
const SIZE: u32 = 200;
/// The number of no object.
const NO_OBJECT: u32 = 0xfeed;
/// How long a flood lasts, so that a test that fails ends.
const ENDLESS: Duration = Duration::from_secs(15);

impl MadeUpCompositor {
    /// Starts one.
    pub fn start(flaws: Flaws) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join("wayland")).unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let client = Client::new(stream.unwrap(), flaws);
                std::thread::spawn(move || client.serve());
            }
        });
        Self { folder }
    }

    /// The path of its socket.
    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("wayland")
    }
}

/// One that has connected.
struct Client {
    stream: UnixStream,
    flaws: Flaws,
    /// The interfaces of its objects.
    objects: HashMap<u32, String>,
    /// The number of its monitor. 0: it has none yet.
    monitor: u32,
}

impl Client {
    fn new(stream: UnixStream, flaws: Flaws) -> Self {
        Self {
            stream,
            flaws,
            objects: HashMap::from([(1, "wl_display".to_owned())]),
            monitor: 0,
        }
    }

    /// Answers until the client has gone.
    fn serve(mut self) {
        while let Some((object, opcode, arguments)) = self.request() {
            if self.answer(object, opcode, &arguments).is_none() {
                return;
            }
        }
    }

    fn request(&mut self) -> Option<(u32, u32, Vec<u32>)> {
        let [object, word] = [self.word()?, self.word()?];
        let count = (word >> 16) / 4 - 2;
        let arguments = (0..count).map(|_| self.word()).collect::<Option<_>>()?;
        Some((object, word & 0xffff, arguments))
    }

    /// Files that come beside the bytes are closed.
    fn word(&mut self) -> Option<u32> {
        let mut bytes = [0; 4];
        self.stream.read_exact(&mut bytes).ok()?;
        Some(u32::from_ne_bytes(bytes))
    }

    /// `None`: the client has gone.
    fn answer(&mut self, object: u32, opcode: u32, arguments: &[u32]) -> Option<()> {
        let interface = self.objects.get(&object).cloned().unwrap_or_default();
        match (interface.as_str(), opcode) {
            ("wl_display", 0) => {
                self.send(arguments[0], 0, &[0])?;
                // The object is gone.
                self.send(1, 1, &[arguments[0]])
            }
            ("wl_display", 1) => self.announce(arguments[0]),
            ("wl_registry", 0) => {
                let (number, id) = (arguments[0], *arguments.last()?);
                let (interface, _) = GLOBALS[number as usize];
                self.objects.insert(id, interface.to_owned());
                match interface {
                    "wl_output" => {
                        self.monitor = id;
                        // The current mode.
                        self.send(id, 1, &[1, SIZE, SIZE, 60_000])
                    }
                    _ => Some(()),
                }
            }
            ("zxdg_output_manager_v1", 1) => {
                let id = arguments[0];
                self.send(id, 0, &[0, 0])?;
                self.send(id, 1, &[SIZE, SIZE])?;
                self.send(id, 3, &text("MADE-UP"))
            }
            (PICTURES, 1) => {
                let (id, width, height) = (arguments[0], arguments[5], arguments[6]);
                match self.flaws.endless {
                    // That all of it is described.
                    Some(Endless::Events) => self.flood(self.monitor, 2, &[])?,
                    Some(Endless::Deletions) => self.flood(1, 1, &[NO_OBJECT])?,
                    _ => {}
                }
                if self.flaws.failed_copies > 0 {
                    self.flaws.failed_copies -= 1;
                    return self.send(id, 3, &[]);
                }
                self.objects.insert(id, "frame".to_owned());
                // Pixels of 32 bits, blue first.
                self.send(id, 0, &[1, width, height, 4 * width])
            }
            ("frame", 0) => self.send(object, 2, &[0, 0, 0]),
            _ => Some(()),
        }
    }

    /// Announces the globals.
    fn announce(&mut self, registry: u32) -> Option<()> {
        self.objects.insert(registry, "wl_registry".to_owned());
        for (number, (interface, version)) in GLOBALS.into_iter().enumerate() {
            let is_missing = self.flaws.has_no_pictures && interface == PICTURES;
            if !is_missing {
                self.global(registry, number as u32, interface, version)?;
            }
        }
        let are_removed = match self.flaws.endless {
            Some(Endless::Globals) => false,
            Some(Endless::RemovedGlobals) => true,
            _ => return Some(()),
        };
        for number in 1000.. {
            self.global(registry, number, "wl_output", 3)?;
            if are_removed {
                self.send(registry, 1, &[number])?;
            }
        }
        Some(())
    }

    fn global(&mut self, registry: u32, number: u32, interface: &str, version: u32) -> Option<()> {
        let arguments = [&[number][..], &text(interface), &[version]].concat();
        self.send(registry, 0, &arguments)
    }

    fn send(&mut self, object: u32, opcode: u32, arguments: &[u32]) -> Option<()> {
        self.stream
            .write_all(&event(object, opcode, arguments))
            .ok()
    }

    /// Sends the same without an end, faster than it is read: many at a time. A client that takes all of it is spared the rest.
    fn flood(&mut self, object: u32, opcode: u32, arguments: &[u32]) -> Option<()> {
        let events = event(object, opcode, arguments).repeat(1 << 13);
        let began = Instant::now();
        while began.elapsed() < ENDLESS {
            self.stream.write_all(&events).ok()?;
        }
        Some(())
    }
}

/// An event, as it is sent.
fn event(object: u32, opcode: u32, arguments: &[u32]) -> Vec<u8> {
    let length = 8 + 4 * arguments.len() as u32;
    let words = [&[object, length << 16 | opcode][..], arguments].concat();
    words.into_iter().flat_map(u32::to_ne_bytes).collect()
}

/// A text as words: its length with the zero at its end, and its bytes, filled up.
fn text(text: &str) -> Vec<u32> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.push(0);
    let length = bytes.len() as u32;
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    let words = bytes.chunks_exact(4);
    let words = words.map(|it| u32::from_ne_bytes([it[0], it[1], it[2], it[3]]));
    std::iter::once(length).chain(words).collect()
}
