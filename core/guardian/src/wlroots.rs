//! Releases through wlroots' virtual pointer. wayland-client sets the connection up before the fork; after it, this module
//! writes and reads raw bytes, since wayland-client allocates.
//!
//! A button stays pressed when the virtual pointer that pressed it is gone (sway 1.7), and any other pointer of the seat
//! releases it.
//!
//! A key is released when the virtual keyboard that pressed it is gone, at the latest with the connection that created it,
//! and no other keyboard of the seat releases it. A process that is stopped, or whose core is dumped, keeps its
//! connection. So the guardian has that connection, too: it sends prepared requests on it, and ends it in the end.

use std::cell::Cell;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::Path;
use std::sync::Arc;

use flowpipe_wayland::{Globals, Lost, answer, socket};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};
use wayland_client::backend::Backend;
use wayland_client::protocol::wl_callback::{self, WlCallback};
use wayland_client::{Connection as Client, Dispatch, Proxy as _, QueueHandle, delegate_noop};
use wayland_protocols_wlr::virtual_pointer::v1::client::zwlr_virtual_pointer_manager_v1::ZwlrVirtualPointerManagerV1;
use wayland_protocols_wlr::virtual_pointer::v1::client::zwlr_virtual_pointer_v1::ZwlrVirtualPointerV1;

use crate::error::GuardianError;
use crate::input::{CleanUp, Input, PreparedReleases, button_code};
use crate::record::Pressed;
use crate::release::Release;
use crate::unsent::{NotSent, Unsent, wait_for_answers};

/// A connection to the compositor, with a pointer of its own.
pub(crate) struct Compositor {
    backend: Backend,
    /// The pointer's number.
    pointer: u32,
    /// A number that no object has.
    callback: u32,
    events: Events,
    unsent: Unsent,
    /// By which keys are pressed.
    keyboard: Option<Arc<PreparedReleases>>,
    clean_up: Option<Arc<CleanUp>>,
    /// How often something was pressed before the last release.
    released: Cell<Option<u32>>,
}

/// The compositor's events. An event may arrive in parts.
struct Events {
    callback: u32,
    /// How many callbacks are missing.
    awaited: Cell<u32>,
    header: Cell<[u8; HEADER]>,
    /// How many bytes of the header are there, and how many after it are missing.
    count: Cell<usize>,
    rest: Cell<usize>,
}

/// Bytes: an object's number, then a length and the kind of event or request.
const HEADER: usize = 8;
/// The number of the object `wl_display`, and of its request `sync` and its event `error`.
const DISPLAY: u32 = 1;
const SYNC: u16 = 0;
const ERROR: u16 = 0;
/// The event of a `wl_callback`.
const DONE: u16 = 0;
/// Requests of a virtual pointer.
const BUTTON: u16 = 2;
const FRAME: u16 = 4;
const RELEASED: u32 = 0;

/// Whether the number of a callback is free.
#[derive(Default)]
struct Setup {
    is_done: bool,
}

impl Compositor {
    /// Connects to the compositor of a socket.
    ///
    /// # Errors
    /// When the compositor can't be reached, does not answer, or lets no program press.
    pub(crate) fn open(
        socket: &Path,
        keyboard: Option<Arc<PreparedReleases>>,
    ) -> Result<Self, GuardianError> {
        fn failed(error: impl std::fmt::Display) -> GuardianError {
            GuardianError::Display(error.to_string())
        }
        let stream = socket::open(socket).map_err(failed)?;
        let client = Client::from_socket(stream).map_err(failed)?;
        let globals = Globals::of(&client).map_err(failed)?;
        let mut queue = client.new_event_queue::<Setup>();
        let handle = queue.handle();
        let manager: ZwlrVirtualPointerManagerV1 = globals
            .bind(&handle, 1)
            .ok_or_else(|| failed("the compositor has no virtual pointers"))?;
        let pointer = manager.create_virtual_pointer(None, &handle, ());
        let callback = client.display().sync(&handle, ());
        // Once its event has come, both sides may use its number again.
        let mut setup = Setup::default();
        answer::wait(&mut queue, &mut setup, |it| Ok::<_, Lost>(it.is_done)).map_err(failed)?;
        let callback = callback.id().protocol_id();
        Ok(Self {
            backend: client.backend(),
            pointer: pointer.id().protocol_id(),
            callback,
            events: Events::new(callback),
            unsent: Unsent::nothing(),
            keyboard,
            clean_up: None,
            released: Cell::new(None),
        })
    }

    /// The same with what is to be sent once the player has died.
    pub(crate) fn cleaning_up(self, clean_up: Option<Arc<CleanUp>>) -> Self {
        Self { clean_up, ..self }
    }

    /// Releases keys on the connection that pressed them.
    fn release_keys(
        &self,
        shared: Option<BorrowedFd<'_>>,
        pressed: &Pressed,
        is_last: bool,
    ) -> Result<(), Errno> {
        let (Some(keyboard), Some(shared)) = (&self.keyboard, shared) else {
            return Ok(());
        };
        let released = match is_last {
            true => shutdown(shared, Shutdown::Both),
            false => pressed
                .keys()
                .try_for_each(|key| keyboard.send(shared, Input::Key(key))),
        };
        match released {
            // The compositor has ended it, and its keyboard with it.
            Err(Errno::PIPE | Errno::CONNRESET | Errno::NOTCONN) => Ok(()),
            other => other,
        }
    }

    fn send(&self, to: BorrowedFd<'_>, request: &[u8]) -> Result<(), NotSent> {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        self.unsent
            .send(to, request, |bytes| send(to, bytes, flags))
    }
}

/// The first bytes of a request that is so long.
fn header(object: u32, request: u16, length: usize) -> [[u8; 4]; 2] {
    let kind = ((length as u32) << 16) | u32::from(request);
    [object.to_ne_bytes(), kind.to_ne_bytes()]
}

/// The requests to release a button, by its code, now. Compositors compare no times.
fn release_button(pointer: u32, code: u32) -> [u8; 28] {
    let mut bytes = [0; 28];
    let [object, kind] = header(pointer, BUTTON, 20);
    let [_, frame] = header(pointer, FRAME, HEADER);
    let (time, code, state) = (
        0_u32.to_ne_bytes(),
        code.to_ne_bytes(),
        RELEASED.to_ne_bytes(),
    );
    let words = [object, kind, time, code, state, object, frame];
    for (to, from) in bytes.chunks_exact_mut(4).zip(words) {
        to.copy_from_slice(&from);
    }
    bytes
}

fn sync(callback: u32) -> [u8; 12] {
    let [object, kind] = header(DISPLAY, SYNC, 12);
    let mut bytes = [0; 12];
    for (to, from) in bytes
        .chunks_exact_mut(4)
        .zip([object, kind, callback.to_ne_bytes()])
    {
        to.copy_from_slice(&from);
    }
    bytes
}

impl Release for Compositor {
    fn connection(&self) -> BorrowedFd<'_> {
        self.backend.poll_fd()
    }

    fn shared(&self) -> Option<BorrowedFd<'_>> {
        self.keyboard.as_ref().map(|it| it.socket.as_fd())
    }

    fn clean_up(&self) -> Option<&CleanUp> {
        self.clean_up.as_deref()
    }

    /// Waits until the compositor has done everything that it was asked before.
    fn check(&self, connection: BorrowedFd<'_>) -> Result<(), Errno> {
        self.events.wait(connection)?;
        let sent = self.send(connection, &sync(self.callback));
        if sent.map_or_else(|it| it.is_begun, |()| true) {
            self.events.awaited.set(1);
        }
        sent.map_err(|it| it.error)?;
        self.events.wait(connection)
    }

    fn drain(&self, connection: BorrowedFd<'_>) -> Result<(), Errno> {
        self.events.read_all(connection)
    }

    /// The compositor sends each release to the window, also of what is not pressed. So each press is released once, and
    /// once more at the end: a press of the dead process may have been executed after the first release.
    fn release(
        &self,
        connection: BorrowedFd<'_>,
        shared: Option<BorrowedFd<'_>>,
        pressed: Pressed,
        is_last: bool,
    ) -> Result<(), Errno> {
        if self.released.get() == Some(pressed.presses) && !is_last {
            return self.check(connection);
        }
        // A compositor that has not answered yet gets no more requests, so that they do not pile up.
        self.events.wait(connection)?;
        // No other button was pressed there: it has no code.
        for code in pressed.buttons().filter_map(button_code) {
            let sent = self.send(connection, &release_button(self.pointer, code));
            sent.map_err(|it| it.error)?;
        }
        self.release_keys(shared, &pressed, is_last)?;
        self.released.set(Some(pressed.presses));
        self.check(connection)
    }
}

impl Events {
    fn new(callback: u32) -> Self {
        Self {
            callback,
            awaited: Cell::new(0),
            header: Cell::new([0; HEADER]),
            count: Cell::new(0),
            rest: Cell::new(0),
        }
    }

    /// Waits until no callback is missing.
    fn wait(&self, connection: BorrowedFd<'_>) -> Result<(), Errno> {
        wait_for_answers(connection, &self.awaited, || self.read_all(connection))
    }

    /// Reads what is there, and counts callbacks.
    fn read_all(&self, connection: BorrowedFd<'_>) -> Result<(), Errno> {
        loop {
            let mut bytes = [0; 256];
            let count = match recv(connection, &mut bytes[..], RecvFlags::DONTWAIT) {
                Ok((0, _)) => return Err(Errno::PIPE),
                Ok((count, _)) => count,
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => return Ok(()),
                Err(error) => return Err(error),
            };
            self.read(bytes.get(..count).unwrap_or_default())?;
        }
    }

    fn read(&self, bytes: &[u8]) -> Result<(), Errno> {
        for &byte in bytes {
            if self.rest.get() > 0 {
                self.rest.set(self.rest.get() - 1);
                continue;
            }
            let (mut header, count) = (self.header.get(), self.count.get());
            if let Some(place) = header.get_mut(count) {
                *place = byte;
            }
            self.header.set(header);
            self.count.set((count + 1) % HEADER);
            if count + 1 == HEADER {
                self.begin(header)?;
            }
        }
        Ok(())
    }

    /// An event begins.
    fn begin(&self, header: [u8; HEADER]) -> Result<(), Errno> {
        let [a, b, c, d, e, f, g, h] = header;
        let object = u32::from_ne_bytes([a, b, c, d]);
        let kind = u32::from_ne_bytes([e, f, g, h]);
        let (length, event) = ((kind >> 16) as usize, kind as u16);
        // Nothing is understood any more after an error, or after a length that can't be.
        if (object, event) == (DISPLAY, ERROR) || length < HEADER {
            return Err(Errno::PROTO);
        }
        self.rest.set(length - HEADER);
        if (object, event) == (self.callback, DONE) {
            self.awaited.set(self.awaited.get().saturating_sub(1));
        }
        Ok(())
    }
}

impl Dispatch<WlCallback, ()> for Setup {
    fn event(
        setup: &mut Self,
        _: &WlCallback,
        _: wl_callback::Event,
        (): &(),
        _: &Client,
        _: &QueueHandle<Self>,
    ) {
        setup.is_done = true;
    }
}

delegate_noop!(Setup: ignore ZwlrVirtualPointerManagerV1);
delegate_noop!(Setup: ignore ZwlrVirtualPointerV1);

#[cfg(test)]
mod tests {
    use super::*;

    fn event(object: u32, kind: u16, rest: &[u8]) -> Vec<u8> {
        let [object, kind] = header(object, kind, HEADER + rest.len());
        [&object[..], &kind, rest].concat()
    }

    #[test]
    fn events_may_come_in_parts() {
        let events = Events::new(7);
        events.awaited.set(1);
        let bytes = [
            event(3, 0, b"what looks\x07\0\0\0"),
            event(DISPLAY, 1, &9_u32.to_ne_bytes()),
            event(7, DONE, &[0; 4]),
        ]
        .concat();
        for (index, byte) in bytes.iter().enumerate() {
            assert_eq!(events.read(&[*byte]), Ok(()));
            let is_awaited = index + 1 < bytes.len() - 4;
            assert_eq!(events.awaited.get(), u32::from(is_awaited), "{index}");
        }
        assert_eq!(events.read(&event(DISPLAY, ERROR, b"")), Err(Errno::PROTO));
        let [object, _] = header(3, 0, 0);
        let too_short = [object, [0; 4]].concat();
        assert_eq!(Events::new(7).read(&too_short), Err(Errno::PROTO));
    }

    #[test]
    fn requests_have_their_lengths() {
        let bytes = release_button(5, 0x111);
        let words: Vec<u32> = bytes
            .chunks_exact(4)
            .map(|it| u32::from_ne_bytes([it[0], it[1], it[2], it[3]]))
            .collect();
        assert_eq!(words, [5, 20 << 16 | 2, 0, 0x111, 0, 5, 8 << 16 | 4]);
        assert_eq!(sync(9)[8..], 9_u32.to_ne_bytes());
    }
}
