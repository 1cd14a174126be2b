//! Memory shared with the X server.

use std::fs::File;
use std::sync::Arc;

use memmap2::{Mmap, MmapOptions};
use x11rb::connection::{Connection as _, RequestConnection as _};
use x11rb::protocol::shm::{self, ConnectionExt as _, Seg};

use super::X11;

/// Memory that the server writes pictures into.
pub(super) struct Segment {
    x11: Arc<X11>,
    id: Seg,
    memory: Mmap,
}

impl Segment {
    /// Asks the server for so many bytes. `None`: it has no shared memory to give, or is on another
    /// machine.
    pub(super) fn new(x11: &Arc<X11>, size: usize) -> Option<Self> {
        if !x11.is_local {
            return None;
        }
        let connection = &x11.connection;
        let extension = connection.extension_information(shm::X11_EXTENSION_NAME);
        extension.ok()??;
        let version = connection.shm_query_version().ok()?.reply().ok()?;
        if (version.major_version, version.minor_version) < (1, 2) {
            return None;
        }
        let id = connection.generate_id().ok()?;
        let bytes = u32::try_from(size).ok()?;
        let reply = connection.shm_create_segment(id, bytes, false).ok()?;
        let file = File::from(reply.reply().ok()?.shm_fd);
        // SAFETY: the file has no name, so that only this process and the server can reach it. It never
        // shortens it, and writes to it only to answer a request of ours; `bytes` documents who waits for that.
        let memory = unsafe { MmapOptions::new().len(size).map(&file) }.ok()?;
        Some(Self {
            x11: Arc::clone(x11),
            id,
            memory,
        })
    }

    pub(super) fn id(&self) -> Seg {
        self.id
    }

    /// The memory. To be read only while no request that writes to it is under way.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.memory
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // With the connection gone, the server has given it up by itself.
        if let Ok(request) = self.x11.connection.shm_detach(self.id) {
            request.ignore_error();
            let _ = self.x11.connection.flush();
        }
    }
}
