//! The pictures of one monitor or window, in memory that both processes map.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use pipewire::spa::sys::{SPA_CHUNK_FLAG_CORRUPTED, SPA_DATA_MemFd, SPA_DATA_MemPtr, spa_buffer};

use super::format;
use super::newest::Newest;
use super::remote::Remote;
use super::rows::{Chunk, Layout};
use super::stream::{Receiver, Stream};

/// A stream of pictures. It ends when this is dropped.
pub(crate) struct Pictures {
    _stream: Stream,
    newest: Arc<Newest>,
}

impl Pictures {
    /// Begins to receive from a node.
    ///
    /// # Errors
    /// Why PipeWire can't be used.
    pub(crate) fn open(node: u32, remote: Remote) -> Result<Self, String> {
        let newest: Arc<Newest> = Arc::default();
        let receiver = PictureReceiver {
            newest: Arc::clone(&newest),
            layout: Cell::new(None),
            spare: RefCell::default(),
        };
        Ok(Self {
            _stream: Stream::open(node, remote, Box::new(receiver))?,
            newest,
        })
    }

    pub(crate) fn newest(&self) -> &Arc<Newest> {
        &self.newest
    }
}

struct PictureReceiver {
    newest: Arc<Newest>,
    layout: Cell<Option<Layout>>,
    /// For the next picture.
    spare: RefCell<Vec<u8>>,
}

impl PictureReceiver {
    /// Copies a picture, if there is one.
    ///
    /// # Errors
    /// What is wrong with it.
    ///
    /// # Safety
    /// As [`Receiver::take`].
    unsafe fn copy(&self, buffer: Option<&spa_buffer>) -> Result<(), String> {
        const EMPTY: &str = "the compositor sends buffers without memory";
        let buffer = buffer.ok_or(EMPTY)?;
        if buffer.n_datas == 0 {
            return Err(EMPTY.to_owned());
        }
        // SAFETY: the library fills it in so, or leaves it null. There is one at least.
        let data = unsafe { buffer.datas.as_ref() }.ok_or(EMPTY)?;
        // SAFETY: as above.
        let chunk = unsafe { data.chunk.as_ref() }.ok_or(EMPTY)?;
        let is_corrupted = chunk.flags & SPA_CHUNK_FLAG_CORRUPTED as i32 != 0;
        // Without any pixels, it only says something else that has changed.
        if is_corrupted || chunk.size == 0 {
            return Ok(());
        }
        if ![SPA_DATA_MemFd, SPA_DATA_MemPtr].contains(&data.type_) || data.data.is_null() {
            return Err("the compositor sends pictures in memory that can't be mapped".to_owned());
        }
        let layout = self
            .layout
            .get()
            .ok_or("the compositor has named no format")?;
        // SAFETY: the library has mapped as much. The compositor writes to it only after it was given back.
        let memory =
            unsafe { std::slice::from_raw_parts(data.data.cast::<u8>(), data.maxsize as usize) };
        let chunk = Chunk {
            offset: chunk.offset,
            size: chunk.size,
            stride: chunk.stride,
        };
        let mut pixels = self.spare.take();
        let copied = layout.copy(memory, chunk, &mut pixels);
        let spare = match copied {
            Ok(()) => self.newest.put(layout, pixels),
            Err(_) => pixels,
        };
        self.spare.replace(spare);
        copied
    }
}

impl Receiver for PictureReceiver {
    fn formats(&self) -> Option<Vec<u8>> {
        format::offered(None)
    }

    fn maps_pictures(&self) -> bool {
        true
    }

    fn agree(&self, format: Result<Layout, String>) -> Vec<Vec<u8>> {
        self.layout.set(format.as_ref().ok().copied());
        match format {
            Ok(_) => format::mapped_memory().into_iter().collect(),
            Err(reason) => {
                self.newest.refuse(reason);
                Vec::new()
            }
        }
    }

    unsafe fn take(&self, buffer: Option<&spa_buffer>) {
        // SAFETY: as the caller promises.
        if let Err(reason) = unsafe { self.copy(buffer) } {
            self.newest.refuse(reason);
        }
    }

    fn runs(&self, is_running: bool) {
        if !is_running {
            self.newest.pause();
        }
    }

    fn end(&self, reason: &str) {
        self.newest.end(reason);
    }
}
