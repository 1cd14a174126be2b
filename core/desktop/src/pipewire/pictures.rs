//! The pictures of one monitor or window, in memory that both processes map. Each is copied whole.
//!
//! Compositors can name the parts that have changed since the picture before (`SPA_META_VideoDamage`). These are not used,
//! for nothing shows that they are all. The portal of wlroots' compositors names a change to one session of a monitor only,
//! and numbers the pictures of the others without a gap. KWin forgets the changes of a picture for which it had no buffer,
//! and leaves no gap either. A part that is missing would stay as it was until it changes again.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use pipewire::spa::sys::{
    SPA_CHUNK_FLAG_CORRUPTED, SPA_DATA_MemFd, SPA_DATA_MemPtr, SPA_META_HEADER_FLAG_CORRUPTED,
    SPA_META_Header, spa_buffer, spa_meta_header,
};

use super::format;
use super::metadata::metadata;
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
        // SAFETY: as the caller promises, and a header consists of numbers.
        let header: Option<spa_meta_header> = unsafe { metadata(buffer, SPA_META_Header) };
        // What has failed is marked here or there.
        let is_corrupted = chunk.flags & SPA_CHUNK_FLAG_CORRUPTED as i32 != 0
            || header.is_some_and(|it| it.flags & SPA_META_HEADER_FLAG_CORRUPTED != 0);
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
            Ok(_) => {
                let wanted = [format::mapped_memory(), format::header()];
                wanted.into_iter().flatten().collect()
            }
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use pipewire::spa::sys::{spa_chunk, spa_data, spa_meta};

    use super::*;

    /// What a receiver has after a picture of four pixels of a value.
    fn take(receiver: &PictureReceiver, value: u8, chunk_flags: i32, header_flags: u32) -> u8 {
        let mut pixels = [value; 16];
        let mut chunk = spa_chunk {
            offset: 0,
            size: 16,
            stride: 8,
            flags: chunk_flags,
        };
        let mut data = spa_data {
            type_: SPA_DATA_MemPtr,
            flags: 0,
            fd: -1,
            mapoffset: 0,
            maxsize: 16,
            data: pixels.as_mut_ptr().cast(),
            chunk: &raw mut chunk,
        };
        let mut header = spa_meta_header {
            flags: header_flags,
            offset: 0,
            pts: 0,
            dts_offset: 0,
            seq: 0,
        };
        let mut meta = spa_meta {
            type_: SPA_META_Header,
            size: size_of::<spa_meta_header>() as u32,
            data: (&raw mut header).cast(),
        };
        let buffer = spa_buffer {
            n_metas: 1,
            n_datas: 1,
            metas: &raw mut meta,
            datas: &raw mut data,
        };
        // SAFETY: all that it names is there, and as long.
        unsafe { receiver.take(Some(&buffer)) };
        let newest = &receiver.newest;
        let seen = newest.with(Duration::ZERO, || false, |_| true, |it| it.pixels.clone());
        let seen = seen.unwrap();
        assert!(seen.len() == 16 && seen.iter().all(|it| *it == seen[0]));
        seen[0]
    }

    #[test]
    fn a_picture_that_is_marked_as_corrupted_is_passed_over() {
        let receiver = PictureReceiver {
            newest: Arc::default(),
            layout: Cell::new(None),
            spare: RefCell::default(),
        };
        receiver.agree(Layout::new(2, 2, false));
        assert_eq!(take(&receiver, 1, 0, 0), 1);
        assert_eq!(take(&receiver, 2, SPA_CHUNK_FLAG_CORRUPTED as i32, 0), 1);
        assert_eq!(take(&receiver, 3, 0, SPA_META_HEADER_FLAG_CORRUPTED), 1);
        // Another mark.
        assert_eq!(take(&receiver, 4, 0, 1), 4);
    }
}
