//! Waiting for the compositor: never longer than [`PATIENCE`], since the mouse may be pressed meanwhile.

use std::os::fd::OwnedFd;
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
const PATIENCE: Duration = Duration::from_secs(5);

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
        let rest = end.saturating_duration_since(Instant::now());
        if rest.is_zero() {
            let why = format!("the compositor has not answered for {PATIENCE:?}");
            return Err(DesktopError::Lost(why));
        }
        read(queue, rest).map_err(|error| lost(&DispatchError::Backend(error)))?;
    }
}

/// Reads events that have come, or that come within a time.
fn read<S>(queue: &EventQueue<S>, rest: Duration) -> std::result::Result<(), WaylandError> {
    queue.flush()?;
    // Without it, others have been read that are not handled.
    let Some(guard) = queue.prepare_read() else {
        return Ok(());
    };
    let socket = guard.connection_fd();
    let limit = Timespec::try_from(rest).unwrap_or_default();
    match poll(&mut [PollFd::new(&socket, PollFlags::IN)], Some(&limit)) {
        Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(()),
        Ok(_) => {}
        Err(error) => return Err(WaylandError::Io(error.into())),
    }
    match guard.read() {
        Err(WaylandError::Io(error)) if error.kind() == std::io::ErrorKind::WouldBlock => Ok(()),
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
