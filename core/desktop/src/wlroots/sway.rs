//! Windows by sway's own interface: a socket on which it answers with JSON.
//!
//! The crate swayipc can't be given a limit of time, and starts other programs where no variable names the socket. The
//! mouse may be pressed while sway is asked, so every answer has its limits here.

mod tree;

use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::net::sockopt::socket_peercred;

use crate::error::{DesktopError, Result};
use crate::window::WindowId;
pub(super) use tree::Tree;

/// A connection to sway.
pub(super) struct Sway {
    stream: Mutex<UnixStream>,
}

/// How messages begin, by `sway-ipc(7)`.
const MAGIC: &[u8; 6] = b"i3-ipc";
const HEADER: usize = 14;
const RUN_COMMAND: u32 = 0;
const GET_TREE: u32 = 4;

/// How long sway may take.
const PATIENCE: Duration = Duration::from_secs(2);
/// The longest answer, in bytes. That of a window has about 2,000.
const LONGEST: usize = 16 << 20;

impl Sway {
    /// The connection to the sway of a socket, which is that of SWAYSOCK. `None`: it does not answer, or is another program
    /// than the compositor at the other end of `compositor`: then its windows are on another screen.
    pub(super) fn connect(path: &Path, compositor: BorrowedFd<'_>) -> Option<Self> {
        let stream = UnixStream::connect(path).ok()?;
        let process = |socket: BorrowedFd<'_>| socket_peercred(socket).ok().map(|peer| peer.pid);
        if process(stream.as_fd()) != process(compositor) {
            tracing::warn!(
                "SWAYSOCK is another sway's than WAYLAND_DISPLAY: windows are not known; set both to the same one"
            );
            return None;
        }
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        stream.set_write_timeout(Some(PATIENCE)).ok()?;
        let sway = Self {
            stream: Mutex::new(stream),
        };
        sway.tree().ok()?;
        Some(sway)
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

    fn ask(&self, kind: u32, text: &str) -> Result<Vec<u8>> {
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        exchange(&mut stream, kind, text).map_err(|error| {
            // Nothing that comes later is taken for the answer to another question.
            let _ = stream.shutdown(std::net::Shutdown::Both);
            DesktopError::Lost(format!("sway: {error}"))
        })
    }
}

fn exchange(stream: &mut UnixStream, kind: u32, text: &str) -> io::Result<Vec<u8>> {
    let length = u32::try_from(text.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let mut question = Vec::with_capacity(HEADER + text.len());
    question.extend_from_slice(MAGIC);
    question.extend_from_slice(&length.to_ne_bytes());
    question.extend_from_slice(&kind.to_ne_bytes());
    question.extend_from_slice(text.as_bytes());
    stream.write_all(&question)?;
    let mut header = [0; HEADER];
    stream.read_exact(&mut header)?;
    let [.., a, b, c, d, _, _, _, _] = header;
    let length = u32::from_ne_bytes([a, b, c, d]) as usize;
    if !header.starts_with(MAGIC) || !header.ends_with(&kind.to_ne_bytes()) || length > LONGEST {
        let why = "what answers at SWAYSOCK does not speak as sway does";
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    let mut answer = vec![0; length];
    stream.read_exact(&mut answer)?;
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is read of an answer.
    fn answered(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let (mut ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(bytes).unwrap();
        drop(theirs.shutdown(std::net::Shutdown::Write));
        exchange(&mut ours, GET_TREE, "")
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
