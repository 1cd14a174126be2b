//! Objects whose events are counted. wayland-client keeps each event until it is handled, and reads as long as something
//! comes. It does so with its own code; where another crate of the program has it use libwayland, it reads 4 KiB at a time.

use std::cell::Cell;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;

use rustix::net::{Shutdown, shutdown};
use wayland_client::backend::protocol::Message;
use wayland_client::backend::{Backend, ObjectData, ObjectId};
use wayland_client::{Dispatch, Proxy, QueueHandle};

/// How many events come at a time. A compositor sends some ten about a monitor that has changed.
pub(crate) const MOST: usize = 1 << 13;

thread_local! {
    /// How many have come in this read. The library calls back on the thread that reads.
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

/// Has the object that a request creates, as the request's own method does, and counts its events. Objects without events
/// need it not.
pub fn create<P, I, S, U>(
    parent: &P,
    request: P::Request<'_>,
    handle: &QueueHandle<S>,
    data: U,
) -> I
where
    P: Proxy,
    I: Proxy + 'static,
    S: Dispatch<I, U> + 'static,
    U: Send + Sync + 'static,
{
    let data = Arc::new(Counted(handle.make_data::<I, U>(data)));
    let created = parent.send_constructor(request, data);
    created.unwrap_or_else(|_| I::inert(parent.backend().clone()))
}

/// Starts the count of a read.
pub(crate) fn begin() {
    COUNT.set(0);
}

/// Whether too many have come.
pub(crate) fn are_too_many() -> bool {
    COUNT.get() > MOST
}

/// Ends the connection: else the library reads as long as something comes.
pub(crate) fn end(backend: &Backend) {
    // That it is shut down already is as good.
    let _ = shutdown(backend.poll_fd().as_fd(), Shutdown::Both);
}

/// What the library does with events, as long as they are not too many.
struct Counted(Arc<dyn ObjectData>);

impl ObjectData for Counted {
    fn event(
        self: Arc<Self>,
        backend: &Backend,
        message: Message<ObjectId, OwnedFd>,
    ) -> Option<Arc<dyn ObjectData>> {
        COUNT.set(COUNT.get().saturating_add(1));
        if are_too_many() {
            end(backend);
            return None;
        }
        Arc::clone(&self.0).event(backend, message)
    }

    fn destroyed(&self, object: ObjectId) {
        self.0.destroyed(object);
    }

    fn data_as_any(&self) -> &dyn std::any::Any {
        self.0.data_as_any()
    }
}
