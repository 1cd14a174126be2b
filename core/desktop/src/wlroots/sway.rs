//! Windows by sway's own interface: a socket on which it answers with JSON.
//!
//! The crate swayipc can't be given a limit of time, and starts other programs where no variable names the socket. The
//! mouse may be pressed while sway is asked, so every answer has its limits here.

mod events;
mod hotkey;
mod settling;
mod tree;

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use flowpipe_process::patience::Patience;
use flowpipe_wayland::{LIMIT, socket};
use rustix::process::Pid;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::error::{DesktopError, Result};
use crate::window::WindowId;
use events::Events;
pub(super) use hotkey::SwayHotkey;
pub(super) use settling::Settling;
pub(super) use tree::Tree;

/// Sway, at its socket.
pub(super) struct Sway {
    path: PathBuf,
    /// The process of the compositor. `None`: it is not known.
    process: Option<Pid>,
    /// `None`: the last question failed, or there was none.
    stream: Mutex<Option<UnixStream>>,
}

/// How messages begin, by `sway-ipc(7)`.
const MAGIC: &[u8; 6] = b"i3-ipc";
const HEADER: usize = 14;
const RUN_COMMAND: u32 = 0;
const SUBSCRIBE: u32 = 2;
const GET_TREE: u32 = 4;
const SEND_TICK: u32 = 10;
const GET_BINDING_STATE: u32 = 12;

/// The longest message, in bytes. A window takes about 2,000 of the tree.
const LONGEST: usize = 16 << 20;

/// How a message begins.
#[derive(Clone, Copy)]
struct Header {
    kind: u32,
    /// Of what follows, in bytes.
    length: usize,
}

/// How a command has ended.
#[derive(Deserialize)]
struct CommandEnd {
    success: bool,
    #[serde(default)]
    error: String,
}

/// The binding mode that is active.
#[derive(Deserialize)]
struct BindingState {
    name: String,
}

impl Sway {
    /// The sway of a socket, which is that of SWAYSOCK.
    ///
    /// # Errors
    /// When it does not answer, or is another program than the compositor at the other end of `compositor`: then its windows
    /// are on another screen.
    pub(super) fn connect(path: &Path, compositor: BorrowedFd<'_>) -> Result<Self> {
        let sway = Self {
            path: path.to_owned(),
            process: socket::peer(compositor),
            stream: Mutex::default(),
        };
        sway.tree().map(|_| sway)
    }

    /// The windows as they are now.
    pub(super) fn tree(&self) -> Result<Tree> {
        let answer = self.ask(GET_TREE, "")?;
        Tree::read(&answer).map_err(|error| DesktopError::Lost(format!("sway: {error}")))
    }

    /// Gives a window the keyboard, and brings it to the front. That it is gone is no error.
    pub(super) fn focus(&self, window: WindowId) -> Result<()> {
        self.ask(RUN_COMMAND, &format!("[con_id={}] focus", window.0))?;
        Ok(())
    }

    /// Runs commands, one after the other. Returns why the first of those that failed did, in sway's words.
    fn run(&self, commands: &str) -> Result<std::result::Result<(), String>> {
        let ends: Vec<CommandEnd> = read(&self.ask(RUN_COMMAND, commands)?)?;
        let failed = ends.into_iter().find(|end| !end.success);
        Ok(failed.map_or(Ok(()), |end| Err(end.error)))
    }

    /// Messages to be sent once this program has died.
    #[cfg(feature = "input")]
    fn prepare(&self, messages: [(u32, &str); 2]) -> Result<flowpipe_guardian::CleanUp> {
        let prepared = || {
            let messages = messages.map(|(kind, text)| message(kind, text));
            Ok(flowpipe_guardian::CleanUp {
                socket: self.open()?,
                messages: messages.into_iter().collect::<io::Result<_>>()?,
            })
        };
        prepared().map_err(|error: io::Error| DesktopError::Lost(format!("sway: {error}")))
    }

    /// The name of the binding mode that is active.
    fn binding_mode(&self) -> Result<String> {
        let state: BindingState = read(&self.ask(GET_BINDING_STATE, "")?)?;
        Ok(state.name)
    }

    /// Sends an event to all programs that have subscribed to `tick`.
    fn send_tick(&self, text: &str) -> Result<()> {
        self.ask(SEND_TICK, text)?;
        Ok(())
    }

    /// Events of these kinds from now on, on a connection of their own.
    fn subscribe(&self, kinds: &str) -> Result<Events> {
        let subscribed = || {
            let mut stream = self.open()?;
            let answer = exchange(&mut stream, SUBSCRIBE, kinds)?;
            match parse::<CommandEnd>(&answer)?.success {
                true => Events::new(stream),
                false => Err(io::Error::other("it sends no events")),
            }
        };
        subscribed().map_err(|error| DesktopError::Lost(format!("sway: {error}")))
    }

    fn ask(&self, kind: u32, text: &str) -> Result<Vec<u8>> {
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = match stream.take() {
            Some(open) => Ok(open),
            None => self.open(),
        }
        .and_then(|mut open| {
            let answer = exchange(&mut open, kind, text)?;
            // After a failure, what comes later is not taken for the answer to another question.
            *stream = Some(open);
            Ok(answer)
        });
        answer.map_err(|error| DesktopError::Lost(format!("sway: {error}")))
    }

    /// Whether nothing listens at its socket any more.
    fn has_ended(&self) -> bool {
        let opened = socket::open(&self.path).map_err(|error| error.kind());
        matches!(
            opened,
            Err(ErrorKind::NotFound | ErrorKind::ConnectionRefused)
        )
    }

    fn open(&self) -> io::Result<UnixStream> {
        let stream = socket::open(&self.path)?;
        is_compositor(socket::peer(stream.as_fd()), self.process).map_err(io::Error::other)?;
        stream.set_write_timeout(Some(LIMIT))?;
        Ok(stream)
    }
}

/// Checks that what answers is the compositor. Where neither is known, it may be another one: presses would go by the windows
/// of another screen.
fn is_compositor(
    answers: Option<Pid>,
    compositor: Option<Pid>,
) -> std::result::Result<(), &'static str> {
    match (answers, compositor) {
        (Some(answers), Some(compositor)) if answers == compositor => Ok(()),
        (None, None) => Err(
            "it may be another sway's than WAYLAND_DISPLAY: the compositor is in another PID namespace, as outside of a container, \
             where its process is not known: run flowpipe where sway runs",
        ),
        _ => Err("it is another sway's than WAYLAND_DISPLAY: set both to the same one"),
    }
}

fn message(kind: u32, text: &str) -> io::Result<Vec<u8>> {
    let length = u32::try_from(text.len()).map_err(|_| ErrorKind::InvalidInput)?;
    let parts = [
        MAGIC,
        &length.to_ne_bytes()[..],
        &kind.to_ne_bytes(),
        text.as_bytes(),
    ];
    Ok(parts.concat())
}

fn exchange(stream: &mut UnixStream, kind: u32, text: &str) -> io::Result<Vec<u8>> {
    let question = message(kind, text)?;
    stream.write_all(&question)?;
    let mut patience = Patience::new(LIMIT);
    let mut header = [0; HEADER];
    read_within(stream, &mut header, &mut patience)?;
    let header = Header::read(&header)?;
    if header.kind != kind {
        return Err(no_sway());
    }
    let mut answer = vec![0; header.length];
    read_within(stream, &mut answer, &mut patience)?;
    Ok(answer)
}

/// Reads until all is there, or until the limit is reached: an answer may come byte by byte.
fn read_within(
    stream: &mut UnixStream,
    mut to: &mut [u8],
    patience: &mut Patience,
) -> io::Result<()> {
    while !to.is_empty() {
        let read = patience.wait(|step| {
            stream.set_read_timeout(Some(step))?;
            stream.read(to)
        });
        let read = read.ok_or_else(|| {
            let why = format!("it has not answered for {LIMIT:?}");
            io::Error::new(ErrorKind::TimedOut, why)
        })?;
        match read {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => to = &mut to[count..],
            // The step is over, or a signal came.
            Err(error)
                if [ErrorKind::Interrupted, ErrorKind::WouldBlock].contains(&error.kind()) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

impl Header {
    fn read(bytes: &[u8; HEADER]) -> io::Result<Self> {
        let [.., a, b, c, d, e, f, g, h] = *bytes;
        let length = u32::from_ne_bytes([a, b, c, d]) as usize;
        let kind = u32::from_ne_bytes([e, f, g, h]);
        match bytes.starts_with(MAGIC) && length <= LONGEST {
            true => Ok(Self { kind, length }),
            false => Err(no_sway()),
        }
    }
}

fn no_sway() -> io::Error {
    let why = "what answers at SWAYSOCK does not answer as sway does, by its IPC protocol";
    io::Error::new(ErrorKind::InvalidData, why)
}

/// Reads an answer, which is JSON.
fn read<T: DeserializeOwned>(answer: &[u8]) -> Result<T> {
    parse(answer).map_err(|error| DesktopError::Lost(format!("sway: {error}")))
}

/// Reads JSON. Sway passes titles on as programs have set them, and they need not be UTF-8.
fn parse<T: DeserializeOwned>(json: &[u8]) -> serde_json::Result<T> {
    serde_json::from_str(&String::from_utf8_lossy(json))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// What is read of an answer.
    fn answered(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let (mut ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(bytes).unwrap();
        drop(theirs.shutdown(std::net::Shutdown::Write));
        exchange(&mut ours, GET_TREE, "")
    }

    #[test]
    fn an_answer_has_a_limit_of_time() {
        let (mut ours, mut theirs) = UnixStream::pair().unwrap();
        std::thread::spawn(move || {
            while theirs.write_all(b"i").is_ok() {
                std::thread::sleep(Duration::from_millis(500));
            }
        });
        let error = exchange(&mut ours, GET_TREE, "").unwrap_err();
        assert_eq!(error.to_string(), "it has not answered for 2s");
    }

    #[test]
    fn a_sway_that_may_be_another_one_is_refused() {
        let [one, other] = [Pid::from_raw(7), Pid::from_raw(8)];
        assert_eq!(is_compositor(one, one), Ok(()));
        for (answers, compositor) in [(one, other), (None, one), (one, None), (None, None)] {
            assert!(is_compositor(answers, compositor).is_err());
        }
    }

    #[test]
    fn a_sway_without_its_socket_has_ended() {
        let folder = tempfile::tempdir().unwrap();
        let sway = Sway {
            path: folder.path().join("sway-ipc"),
            process: None,
            stream: Mutex::default(),
        };
        assert!(sway.has_ended());
        let listener = std::os::unix::net::UnixListener::bind(&sway.path).unwrap();
        assert!(!sway.has_ended());
        // A crash leaves the file.
        drop(listener);
        assert!(sway.has_ended());
    }

    fn message(length: u32, kind: u32, text: &[u8]) -> Vec<u8> {
        [MAGIC, &length.to_ne_bytes()[..], &kind.to_ne_bytes(), text].concat()
    }

    #[test]
    fn answers_are_checked() {
        assert_eq!(answered(&message(2, GET_TREE, b"{}")).unwrap(), b"{}");
        for bad in [
            message(3, GET_TREE, b"{}"),
            message(2, RUN_COMMAND, b"{}"),
            message(u32::MAX, GET_TREE, b"{}"),
            b"HTTP/1.1 200 OK\r\n\r\n".to_vec(),
            Vec::new(),
        ] {
            assert!(answered(&bad).is_err(), "{bad:?}");
        }
    }
}
