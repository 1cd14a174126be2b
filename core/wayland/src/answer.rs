//! Waiting for the compositor: never longer than [`LIMIT`], and for a compositor that sends without a pause never
//! longer than twice that, since the mouse may be pressed meanwhile.

use std::io::ErrorKind;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use flowpipe_process::patience::Patience;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use wayland_client::backend::protocol::Message;
use wayland_client::backend::{Backend, ObjectData, ObjectId, WaylandError};
use wayland_client::protocol::wl_display;
use wayland_client::{Connection, EventQueue};

use crate::lost::Lost;
use crate::watch::LIMIT;
use crate::{counted, watch};

/// Waits until the compositor has done all that was sent, and handles the events that come until then.
///
/// # Errors
/// [`Lost`] when it does not answer.
pub fn roundtrip<S>(
    connection: &Connection,
    queue: &mut EventQueue<S>,
    state: &mut S,
) -> Result<(), Lost> {
    let answer = Arc::new(Answer::default());
    let question = wl_display::Request::Sync {};
    connection
        .send_request(&connection.display(), question, Some(answer.clone()))
        .map_err(|error| Lost(error.to_string()))?;
    wait(queue, state, |_| Ok::<_, Lost>(answer.has_come()))
}

/// Handles events until `is_over` is true, which is asked before each wait.
///
/// # Errors
/// [`Lost`] when that takes too long; those of `is_over`.
pub fn wait<S, E: From<Lost>>(
    queue: &mut EventQueue<S>,
    state: &mut S,
    mut is_over: impl FnMut(&S) -> Result<bool, E>,
) -> Result<(), E> {
    let mut patience = Patience::new(LIMIT);
    loop {
        queue.dispatch_pending(state).map_err(Lost::from)?;
        if is_over(state)? {
            return Ok(());
        }
        read(queue, Some(&mut patience))?;
    }
}

/// Handles events that have come, without waiting for any.
///
/// # Errors
/// [`Lost`] when there is no connection any more.
pub fn read_what_has_come<S>(queue: &mut EventQueue<S>, state: &mut S) -> Result<(), Lost> {
    read(queue, None)?;
    queue.dispatch_pending(state)?;
    Ok(())
}

/// Sends what is queued, waiting while the socket has no room for it.
///
/// # Errors
/// [`Lost`] when the compositor reads nothing.
pub fn flush<S>(queue: &EventQueue<S>) -> Result<(), Lost> {
    let mut patience = Patience::new(LIMIT);
    while !sent(queue.flush())? {
        poll_patiently(queue.as_fd(), PollFlags::OUT, &mut patience)?;
    }
    Ok(())
}

/// Waits until a socket is ready, or for a step. Whether it is.
///
/// # Errors
/// [`Lost`] when the limit is reached.
fn poll_patiently(
    socket: BorrowedFd<'_>,
    ready: PollFlags,
    patience: &mut Patience,
) -> Result<bool, Lost> {
    let waited = patience.wait(|step| poll_within(socket, ready, step));
    let waited =
        waited.ok_or_else(|| Lost(format!("the compositor has not answered for {LIMIT:?}")))?;
    Ok(waited?)
}

/// Waits until a socket is ready, at most for a time. Whether it is.
fn poll_within(
    socket: BorrowedFd<'_>,
    ready: PollFlags,
    most: Duration,
) -> Result<bool, WaylandError> {
    let limit = Timespec::try_from(most).unwrap_or_default();
    match poll(&mut [PollFd::new(&socket, ready)], Some(&limit)) {
        Ok(0) | Err(rustix::io::Errno::INTR) => Ok(false),
        Ok(_) => Ok(true),
        Err(error) => Err(WaylandError::Io(error.into())),
    }
}

/// Whether everything was sent.
fn sent(flushed: Result<(), WaylandError>) -> Result<bool, WaylandError> {
    match flushed {
        Err(WaylandError::Io(error)) if error.kind() == ErrorKind::WouldBlock => Ok(false),
        flushed => flushed.map(|()| true),
    }
}

/// Reads events that have come, and sends what is queued. `patience`: with it, events are waited for, at most for a step.
///
/// # Errors
/// [`Lost`] when there is no connection any more, when the events are too many or do not end, and when the limit is reached.
fn read<S>(queue: &EventQueue<S>, patience: Option<&mut Patience>) -> Result<(), Lost> {
    let awaited = match sent(queue.flush())? {
        true => PollFlags::IN,
        false => PollFlags::IN | PollFlags::OUT,
    };
    // Without it, others have been read that are not handled.
    let Some(guard) = queue.prepare_read() else {
        return Ok(());
    };
    let socket = guard.connection_fd();
    let is_ready = match patience {
        Some(patience) => poll_patiently(socket, awaited, patience)?,
        None => poll_within(socket, awaited, Duration::ZERO)?,
    };
    if !is_ready {
        return Ok(());
    }
    counted::begin();
    let watched = watch::begin(guard.connection_fd()).map_err(WaylandError::Io)?;
    let read = guard.read();
    if !watched.has_ended_in_time() {
        return Err(Lost(format!(
            "the compositor has sent without a pause for {LIMIT:?}"
        )));
    }
    if counted::are_too_many() {
        let most = counted::MOST;
        return Err(Lost(format!(
            "the compositor sends more than {most} events at a time"
        )));
    }
    match read {
        Err(WaylandError::Io(error)) if error.kind() == ErrorKind::WouldBlock => Ok(()),
        read => Ok(read.map(|_| ())?),
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

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::net::UnixStream;

    use wayland_client::protocol::wl_registry::{self, WlRegistry};
    use wayland_client::{Dispatch, Proxy as _, QueueHandle};

    use super::*;

    /// How many events were handled.
    struct Handled(usize);

    impl Dispatch<WlRegistry, ()> for Handled {
        fn event(
            handled: &mut Self,
            _: &WlRegistry,
            _: wl_registry::Event,
            (): &(),
            _: &Connection,
            _: &QueueHandle<Self>,
        ) {
            handled.0 += 1;
        }
    }

    /// Reads so many events of an object that are there before. Returns how many each read has handled, and why it was the
    /// last one.
    fn read_events(count: usize) -> (Vec<usize>, Option<String>) {
        let (near, mut far) = UnixStream::pair().unwrap();
        let connection = Connection::from_socket(near).unwrap();
        let mut queue = connection.new_event_queue();
        let question = wl_display::Request::GetRegistry {};
        let registry = counted::create(&connection.display(), question, &queue.handle(), ());
        let registry: WlRegistry = registry;
        // That a global is gone.
        let words = [registry.id().protocol_id(), 12 << 16 | 1, 7];
        let event = words.map(u32::to_ne_bytes).concat();
        far.set_nonblocking(true).unwrap();
        far.write_all(&event.repeat(count)).unwrap();
        let mut handled = Handled(0);
        let mut reads = Vec::new();
        while handled.0 < count {
            let before = handled.0;
            if let Err(lost) = read_what_has_come(&mut queue, &mut handled) {
                return (reads, Some(lost.to_string()));
            }
            reads.push(handled.0 - before);
        }
        (reads, None)
    }

    /// The library in Rust reads all of them at once, libwayland a few.
    #[test]
    fn a_read_handles_no_more_events_than_are_counted() {
        let (reads, lost) = read_events(counted::MOST);
        assert_eq!((reads.iter().sum(), lost), (counted::MOST, None));
        let (reads, lost) = read_events(counted::MOST + 1);
        assert!(
            reads.iter().all(|it| *it <= counted::MOST),
            "{reads:?} {lost:?}"
        );
        let lost = lost.unwrap_or_default();
        assert!(reads.len() > 1 || lost.contains("sends more than 8192 events"));
    }
}
