//! Releases through X11's extension XTEST. x11rb sets the connection up before the fork; after it, this module writes
//! and reads raw bytes, since x11rb allocates.

use std::cell::Cell;
use std::os::fd::{AsFd as _, BorrowedFd};

use rustix::io::Errno;
use x11rb::connection::RequestConnection as _;
use x11rb::protocol::xproto::{BUTTON_RELEASE_EVENT, KEY_RELEASE_EVENT};
use x11rb::protocol::xtest::{self, ConnectionExt as _};
use x11rb::rust_connection::RustConnection;
use x11rb::wrapper::ConnectionExt as _;

use crate::error::GuardianError;
use crate::input::Input;
use crate::record::Pressed;
use crate::release::Release;
use crate::unsent::{NotSent, Unsent, wait_for_answers};

/// A connection to the display where enigo presses too.
pub(crate) struct Connection {
    connection: RustConnection,
    /// XTEST's number on this server.
    opcode: u8,
    answers: Answers,
    unsent: Unsent,
}

/// The server's packets. A packet may arrive in parts.
#[derive(Default)]
struct Answers {
    /// The number of missing replies.
    awaited: Cell<u32>,
    /// The current packet: the bytes received, and its first byte, which is its kind.
    count: Cell<usize>,
    kind: Cell<u8>,
}

/// Bytes of a request, by XTEST.
const FAKE_INPUT: usize = 36;
/// XTEST's number of that request.
const FAKE_INPUT_OPCODE: u8 = 2;
/// Packets of the server are a multiple of this, and this long unless a longer one was requested.
const PACKET: usize = 32;
const REPLY: u8 = 1;
/// A request of the core protocol that only has a reply.
const GET_INPUT_FOCUS: u8 = 43;

impl Connection {
    /// # Errors
    /// When the server can't be reached, or does not support XTEST.
    pub(crate) fn open(display: &str) -> Result<Self, GuardianError> {
        let failed = |error: &dyn std::fmt::Display| GuardianError::Display(error.to_string());
        let (connection, _) = x11rb::connect(Some(display)).map_err(|error| failed(&error))?;
        let extension = connection
            .extension_information(xtest::X11_EXTENSION_NAME)
            .map_err(|error| failed(&error))?
            .ok_or_else(|| GuardianError::Display("the X server has no XTEST".to_owned()))?;
        // Another program may grab the server when the button has to be released.
        connection
            .xtest_grab_control(true)
            .map_err(|error| failed(&error))?
            .check()
            .map_err(|error| failed(&error))?;
        // No request is pending when this returns.
        connection.sync().map_err(|error| failed(&error))?;
        Ok(Self {
            connection,
            opcode: extension.major_opcode,
            answers: Answers::default(),
            unsent: Unsent::nothing(),
        })
    }
}

fn send(unsent: &Unsent, to: BorrowedFd<'_>, request: &[u8]) -> Result<(), NotSent> {
    unsent.send(to, request, |bytes| rustix::io::write(to, bytes))
}

/// The request to release something now, wherever the pointer is.
fn fake_release(opcode: u8, input: Input) -> [u8; FAKE_INPUT] {
    let (kind, detail) = match input {
        Input::Button(button) => (BUTTON_RELEASE_EVENT, button),
        Input::Key(key) => (KEY_RELEASE_EVENT, key),
    };
    let [low, high] = ((FAKE_INPUT / 4) as u16).to_ne_bytes();
    let mut request = [0; FAKE_INPUT];
    request[..6].copy_from_slice(&[opcode, FAKE_INPUT_OPCODE, low, high, kind, detail]);
    request
}

fn get_input_focus() -> [u8; 4] {
    let [low, high] = 1_u16.to_ne_bytes();
    [GET_INPUT_FOCUS, 0, low, high]
}

impl Release for Connection {
    fn connection(&self) -> BorrowedFd<'_> {
        self.connection.stream().as_fd()
    }

    /// Waits until the server has done everything that it was asked before.
    fn check(&self, connection: BorrowedFd<'_>) -> Result<(), Errno> {
        let sent = send(&self.unsent, connection, &get_input_focus());
        if sent.map_or_else(|it| it.is_begun, |()| true) {
            self.answers.awaited.set(self.answers.awaited.get() + 1);
        }
        sent.map_err(|it| it.error)?;
        self.answers.wait(connection)
    }

    fn drain(&self, connection: BorrowedFd<'_>) -> Result<(), Errno> {
        self.answers.read_all(connection)
    }

    /// The server ignores the release of what is not pressed.
    fn release(
        &self,
        connection: BorrowedFd<'_>,
        _: Option<BorrowedFd<'_>>,
        pressed: Pressed,
        _: bool,
    ) -> Result<(), Errno> {
        // A server that has not answered yet gets no more requests, so that they do not pile up.
        self.answers.wait(connection)?;
        for input in pressed.inputs() {
            let sent = send(&self.unsent, connection, &fake_release(self.opcode, input));
            sent.map_err(|it| it.error)?;
        }
        self.check(connection)
    }
}

impl Answers {
    /// Waits until no reply is missing.
    fn wait(&self, connection: BorrowedFd<'_>) -> Result<(), Errno> {
        wait_for_answers(connection, &self.awaited, || self.read_all(connection))
    }

    /// Reads what is there, and counts replies.
    fn read_all(&self, connection: BorrowedFd<'_>) -> Result<(), Errno> {
        loop {
            let mut bytes = [0; PACKET];
            let before = self.count.get();
            let rest = bytes.get_mut(before..).unwrap_or_default();
            let count = match rustix::io::read(connection, rest) {
                Ok(0) => return Err(Errno::PIPE),
                Ok(count) => before + count,
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => return Ok(()),
                Err(error) => return Err(error),
            };
            if before == 0 {
                self.kind.set(bytes[0]);
            }
            if count == PACKET && self.kind.get() == REPLY {
                self.awaited.set(self.awaited.get().saturating_sub(1));
            }
            self.count.set(count % PACKET);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::net::UnixStream;

    use x11rb::protocol::xproto::GetInputFocusRequest;
    use x11rb::protocol::xtest::FakeInputRequest;

    use super::*;

    #[test]
    fn packets_may_come_in_parts() {
        let (mut server, client) = UnixStream::pair().unwrap();
        client.set_nonblocking(true).unwrap();
        let answers = Answers::default();
        answers.awaited.set(1);
        // An event, and a reply in two parts. The last byte of the first looks like the start of a reply.
        let mut packets = [0; 2 * PACKET];
        packets[0] = 34;
        packets[PACKET - 1] = REPLY;
        packets[PACKET] = REPLY;
        for (from, to, awaited) in [(0, 31, 1), (31, 40, 1), (40, 64, 0)] {
            server.write_all(&packets[from..to]).unwrap();
            assert_eq!(answers.read_all(client.as_fd()), Ok(()));
            assert_eq!(answers.awaited.get(), awaited);
        }
        drop(server);
        assert_eq!(answers.read_all(client.as_fd()), Err(Errno::PIPE));
    }

    #[test]
    fn requests_are_those_of_x11rb() {
        for (input, type_, detail) in [(Input::Button(1), 5, 1), (Input::Key(96), 3, 96)] {
            let theirs = FakeInputRequest {
                type_,
                detail,
                time: 0,
                root: 0,
                root_x: 0,
                root_y: 0,
                deviceid: 0,
            };
            let ([bytes], _) = theirs.serialize(133);
            assert_eq!(bytes[..], fake_release(133, input));
        }
        let ([bytes], _) = GetInputFocusRequest.serialize();
        assert_eq!(bytes[..], get_input_focus());
    }
}
