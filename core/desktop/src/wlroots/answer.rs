//! Waiting for the compositor: never longer than [`PATIENCE`], since the mouse may be pressed meanwhile.

use std::io::ErrorKind;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use wayland_client::backend::protocol::Message;
use wayland_client::backend::{Backend, ObjectData, ObjectId, WaylandError};
use wayland_client::protocol::wl_display;
use wayland_client::{Connection, DispatchError, EventQueue};

use super::lost;
use crate::error::{DesktopError, Result};

/// How long the compositor may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// Waits until the compositor has done all that was sent, and handles the events that come until then.
///
/// # Errors
/// [`DesktopError::Lost`] when it does not answer.
pub(super) fn roundtrip<S>(
    connection: &Connection,
    queue: &mut EventQueue<S>,
    state: &mut S,
) -> Result<()> {
    let answer = Arc::new(Answer::default());
    let question = wl_display::Request::Sync {};
    connection
        .send_request(&connection.display(), question, Some(answer.clone()))
        .map_err(|error| DesktopError::Lost(error.to_string()))?;
    wait(queue, state, |_| Ok(answer.has_come()))
}

/// Handles events until `is_over` is true, which is asked before each wait.
///
/// # Errors
/// [`DesktopError::Lost`] when that takes too long; those of `is_over`.
pub(super) fn wait<S>(
    queue: &mut EventQueue<S>,
    state: &mut S,
    mut is_over: impl FnMut(&S) -> Result<bool>,
) -> Result<()> {
    let end = Instant::now() + PATIENCE;
    loop {
        queue
            .dispatch_pending(state)
            .map_err(|error| lost(&error))?;
        if is_over(state)? {
            return Ok(());
        }
        let rest = rest(end)?;
        read(queue, rest).map_err(|error| lost(&DispatchError::Backend(error)))?;
    }
}

/// Handles events that have come, without waiting for any.
///
/// # Errors
/// [`DesktopError::Lost`] when there is no connection any more.
#[cfg(feature = "input")]
pub(super) fn read_what_has_come<S>(queue: &mut EventQueue<S>, state: &mut S) -> Result<()> {
    read(queue, Duration::ZERO).map_err(|error| lost(&DispatchError::Backend(error)))?;
    queue
        .dispatch_pending(state)
        .map_err(|error| lost(&error))?;
    Ok(())
}

/// Sends what is queued, waiting while the socket has no room for it.
///
/// # Errors
/// [`DesktopError::Lost`] when the compositor reads nothing.
#[cfg(feature = "input")]
pub(super) fn flush<S>(queue: &EventQueue<S>) -> Result<()> {
    let failed = |error| lost(&DispatchError::Backend(error));
    let end = Instant::now() + PATIENCE;
    while !sent(queue.flush()).map_err(failed)? {
        let rest = rest(end)?;
        poll_within(std::os::fd::AsFd::as_fd(queue), PollFlags::OUT, rest).map_err(failed)?;
    }
    Ok(())
}

/// The time that is left.
///
/// # Errors
/// [`DesktopError::Lost`] when there is none.
fn rest(end: Instant) -> Result<Duration> {
    let rest = end.saturating_duration_since(Instant::now());
    match rest.is_zero() {
        false => Ok(rest),
        true => Err(DesktopError::Lost(format!(
            "the compositor has not answered for {PATIENCE:?}"
        ))),
    }
}

/// Waits until a socket is ready, at most for a time. Whether it is.
fn poll_within(
    socket: BorrowedFd<'_>,
    ready: PollFlags,
    rest: Duration,
) -> std::result::Result<bool, WaylandError> {
    let limit = Timespec::try_from(rest).unwrap_or_default();
    match poll(&mut [PollFd::new(&socket, ready)], Some(&limit)) {
        Ok(0) | Err(rustix::io::Errno::INTR) => Ok(false),
        Ok(_) => Ok(true),
        Err(error) => Err(WaylandError::Io(error.into())),
    }
}

/// Whether everything was sent.
fn sent(flushed: std::result::Result<(), WaylandError>) -> std::result::Result<bool, WaylandError> {
    match flushed {
        Err(WaylandError::Io(error)) if error.kind() == ErrorKind::WouldBlock => Ok(false),
        flushed => flushed.map(|()| true),
    }
}

/// Reads events that have come, or that come within a time, and sends what is queued.
fn read<S>(queue: &EventQueue<S>, rest: Duration) -> std::result::Result<(), WaylandError> {
    let awaited = match sent(queue.flush())? {
        true => PollFlags::IN,
        false => PollFlags::IN | PollFlags::OUT,
    };
    // Without it, others have been read that are not handled.
    let Some(guard) = queue.prepare_read() else {
        return Ok(());
    };
    if !poll_within(guard.connection_fd(), awaited, rest)? {
        return Ok(());
    }
    match guard.read() {
        Err(WaylandError::Io(error)) if error.kind() == ErrorKind::WouldBlock => Ok(()),
        read => read.map(|_| ()),
    }
}

/// The answer to one question.
#[derive(Default)]
struct Answer(AtomicBool);

impl Answer {
    fn has_come(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

impl ObjectData for Answer {
    fn event(
        self: Arc<Self>,
        _: &Backend,
        _: Message<ObjectId, OwnedFd>,
    ) -> Option<Arc<dyn ObjectData>> {
        self.0.store(true, Ordering::Release);
        None
    }

    fn destroyed(&self, _: ObjectId) {}
}
