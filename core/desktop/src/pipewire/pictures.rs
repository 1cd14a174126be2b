//! The pictures of one monitor or window, in memory that both processes map. Each is copied: whole, or what the compositor
//! names as changed (`SPA_META_VideoDamage`) where that can be relied on (see [`super::tracking`]).

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::os::fd::{BorrowedFd, RawFd};
use std::sync::Arc;

use pipewire::spa::sys::{
    SPA_CHUNK_FLAG_CORRUPTED, SPA_DATA_DmaBuf, SPA_DATA_MemFd, SPA_DATA_MemPtr,
    SPA_META_HEADER_FLAG_CORRUPTED, SPA_META_Header, spa_buffer, spa_data, spa_meta_header,
};

use rustix::fs::{SealFlags, fcntl_get_seals, fstat};
use rustix::io::{pread, retry_on_intr};

use super::dma_buf::DmaBuf;
use super::format::{self, Agreed};
use super::metadata::{metadata, regions};
use super::newest::Newest;
use super::remote::Remote;
use super::rows::Chunk;
use super::stream::{Receiver, Stream};
use super::tracking::{Plan, Tracking};
use crate::grabber::LARGEST_PICTURE;

const TOO_SMALL: &str = "the compositor's memory is smaller than its pictures";

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
        Self::receive(node, remote, PictureReceiver::new(Arc::default(), false))
    }

    /// The same, where a [`Cursor`](super::Cursor) may receive from the node too.
    ///
    /// # Errors
    /// As above.
    #[cfg(feature = "portal")]
    pub(crate) fn open_with_cursor(node: u32, remote: Remote) -> Result<Self, String> {
        Self::receive(node, remote, PictureReceiver::new(Arc::default(), true))
    }

    pub(super) fn receive(
        node: u32,
        remote: Remote,
        receiver: PictureReceiver,
    ) -> Result<Self, String> {
        let newest = Arc::clone(&receiver.newest);
        Ok(Self {
            _stream: Stream::open(node, remote, Box::new(receiver))?,
            newest,
        })
    }

    pub(crate) fn newest(&self) -> &Arc<Newest> {
        &self.newest
    }
}

pub(super) struct PictureReceiver {
    pub(super) newest: Arc<Newest>,
    with_cursor: bool,
    agreed: Cell<Option<Agreed>>,
    /// For the next picture.
    spare: RefCell<Vec<u8>>,
    pub(super) tracking: RefCell<Tracking>,
    /// The last memory that was read from its file, for the next one.
    unsealed: RefCell<Vec<u8>>,
    /// The buffers of a device, by the address at which they are described.
    dma_bufs: RefCell<HashMap<usize, DmaBuf>>,
    /// Why such buffers can't be read.
    no_dma_buf: RefCell<Option<String>>,
}

/// Why a picture is not taken.
enum Refusal {
    /// Of it alone.
    Picture(String),
    /// Of all that come in memory of a device.
    DmaBuf(String),
}

impl PictureReceiver {
    pub(super) fn new(newest: Arc<Newest>, with_cursor: bool) -> Self {
        Self {
            newest,
            with_cursor,
            agreed: Cell::new(None),
            spare: RefCell::default(),
            tracking: RefCell::default(),
            unsealed: RefCell::default(),
            dma_bufs: RefCell::default(),
            no_dma_buf: RefCell::default(),
        }
    }

    /// Why memory of a device can't be read, if the compositor has sent no other since.
    fn only_dma_buf(&self) -> Option<String> {
        let has_other = self.agreed.get().is_some_and(|it| !it.is_dma_buf);
        let reason = self.no_dma_buf.borrow();
        reason.clone().filter(|_| !has_other)
    }

    /// Copies a picture, if there is one.
    ///
    /// # Errors
    /// What is wrong with it.
    ///
    /// # Safety
    /// As [`Receiver::take`].
    unsafe fn copy(&self, buffer: Option<&spa_buffer>) -> Result<(), Refusal> {
        const EMPTY: &str = "the compositor sends buffers without memory";
        let empty = || Refusal::Picture(EMPTY.to_owned());
        let buffer = buffer.ok_or_else(empty)?;
        if buffer.n_datas == 0 {
            return Err(empty());
        }
        // SAFETY: as the caller promises, and a header consists of numbers.
        let header: Option<spa_meta_header> = unsafe { metadata(buffer, SPA_META_Header) };
        // SAFETY: as above.
        let regions = unsafe { regions(buffer) };
        let sequence = header.map(|it| it.seq);
        let size = self.agreed.get().map(|it| it.layout.size());
        let mut tracking = self.tracking.borrow_mut();
        tracking.come(sequence, regions.as_deref(), size);
        // SAFETY: the library fills it in so, or leaves it null. There is one at least.
        let data = unsafe { buffer.datas.as_ref() }.ok_or_else(empty)?;
        // SAFETY: as above.
        let chunk = unsafe { data.chunk.as_ref() }.ok_or_else(empty)?;
        // What has failed is marked here or there.
        let is_corrupted = chunk.flags & SPA_CHUNK_FLAG_CORRUPTED as i32 != 0
            || header.is_some_and(|it| it.flags & SPA_META_HEADER_FLAG_CORRUPTED != 0);
        let is_dma_buf = data.type_ == SPA_DATA_DmaBuf;
        let mut chunk = Chunk {
            offset: chunk.offset,
            size: chunk.size,
            stride: chunk.stride,
        };
        // Without any pixels, it only says something else that has changed. Of a device's memory, the size may be left out.
        if is_corrupted || (chunk.size == 0 && !is_dma_buf) {
            // What pixels there would have been is not known. Without any, the next picture names what has changed.
            if chunk.size != 0 {
                tracking.forget();
            }
            return Ok(());
        }
        let agreed = self
            .agreed
            .get()
            .ok_or_else(|| Refusal::Picture("the compositor has named no format".to_owned()))?;
        let mut pixels = self.spare.take();
        let plan = tracking.plan(agreed.layout, self.newest.is_there(), pixels.len());
        if plan == Plan::Nothing {
            self.spare.replace(pixels);
            return Ok(());
        }
        let copied = if is_dma_buf {
            if chunk.size == 0 {
                chunk.size = u32::MAX;
            }
            self.copy_dma_buf(buffer, data, agreed, |memory| {
                plan.copy(agreed.layout, memory, chunk, &mut pixels)
            })
        } else if [SPA_DATA_MemFd, SPA_DATA_MemPtr].contains(&data.type_) && !data.data.is_null() {
            let read = |memory: &[u8]| plan.copy(agreed.layout, memory, chunk, &mut pixels);
            // SAFETY: the library has mapped what is described, and holds the file open.
            let copied = unsafe { with_memory(data, &mut self.unsealed.borrow_mut(), read) };
            copied.flatten().map_err(Refusal::Picture)
        } else {
            Err(Refusal::Picture(
                "the compositor sends pictures in memory that can't be mapped".to_owned(),
            ))
        };
        let spare = match copied {
            Ok(is_as_named) => {
                let changes = tracking.copied(&plan, is_as_named);
                let spare = self.newest.put(agreed.layout, pixels, changes.clone());
                tracking.swapped(changes);
                spare
            }
            Err(_) => pixels,
        };
        self.spare.replace(spare);
        copied.map(|_| ())
    }

    /// Copies a picture out of memory of a device.
    fn copy_dma_buf(
        &self,
        buffer: &spa_buffer,
        data: &spa_data,
        agreed: Agreed,
        copy: impl FnOnce(&[u8]) -> Result<bool, String>,
    ) -> Result<bool, Refusal> {
        // A format of one pixel after the other has them in one part.
        if !agreed.is_dma_buf || buffer.n_datas != 1 {
            let reason = "the compositor sends pictures as DMA-BUF that may not be rows";
            return Err(Refusal::Picture(reason.to_owned()));
        }
        let mut mapped = self.dma_bufs.borrow_mut();
        let dma_buf = match mapped.entry(std::ptr::from_ref(buffer).addr()) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let file = RawFd::try_from(data.fd).unwrap_or(-1);
                if file < 0 {
                    let reason = "the compositor sends pictures as DMA-BUF without a file";
                    return Err(Refusal::DmaBuf(reason.to_owned()));
                }
                // SAFETY: the library holds it open as long as there is the buffer.
                let file = unsafe { BorrowedFd::borrow_raw(file) };
                entry.insert(DmaBuf::map(file).map_err(Refusal::DmaBuf)?)
            }
        };
        let copied =
            dma_buf.read(|memory| copy(memory.get(data.mapoffset as usize..).unwrap_or_default()));
        copied.map_err(Refusal::DmaBuf)?.map_err(Refusal::Picture)
    }
}

/// Gives the memory of a picture: as the library has mapped it, or read from its file to `copy` where the sender may make the
/// file shorter. Beyond the end of a file, mapped memory would end this process. Mutter, KWin and PipeWire seal theirs; the
/// portal of wlroots' compositors does not.
///
/// # Errors
/// When there is less of it than described.
///
/// # Safety
/// The memory has to be mapped, and its file open, for the time of the call.
unsafe fn with_memory<T>(
    data: &spa_data,
    copy: &mut Vec<u8>,
    with: impl FnOnce(&[u8]) -> T,
) -> Result<T, String> {
    let length = data.maxsize as usize;
    if data.type_ == SPA_DATA_MemFd {
        let file = RawFd::try_from(data.fd).unwrap_or(-1);
        if file < 0 {
            return Err("the compositor sends pictures in memory without a file".to_owned());
        }
        // SAFETY: as the caller promises.
        let file = unsafe { BorrowedFd::borrow_raw(file) };
        if !check_file(file, data)? {
            read_whole(file, data, copy)?;
            return Ok(with(copy));
        }
    }
    // SAFETY: the library has mapped as much, and it stays so. The compositor writes to it only after it was given back.
    Ok(with(unsafe {
        std::slice::from_raw_parts(data.data.cast::<u8>(), length)
    }))
}

/// Checks that a file has all that is to be read of it. Returns whether that stays so.
fn check_file(file: BorrowedFd<'_>, data: &spa_data) -> Result<bool, String> {
    // Only a memfd can be sealed. Before it is measured: then it stays as long.
    let is_sealed = fcntl_get_seals(file).is_ok_and(|seals| seals.contains(SealFlags::SHRINK));
    let status = fstat(file)
        .map_err(|error| format!("the compositor's memory can't be measured: {error}"))?;
    let end = u64::from(data.mapoffset) + u64::from(data.maxsize);
    match u64::try_from(status.st_size).is_ok_and(|size| size >= end) {
        true => Ok(is_sealed),
        false => Err(TOO_SMALL.to_owned()),
    }
}

/// Reads all that is described of a file.
fn read_whole(file: BorrowedFd<'_>, data: &spa_data, to: &mut Vec<u8>) -> Result<(), String> {
    let length = data.maxsize as usize;
    if length as u64 > LARGEST_PICTURE {
        return Err("the compositor's memory is larger than any picture".to_owned());
    }
    to.resize(length, 0);
    let mut done = 0;
    while done < length {
        let at = u64::from(data.mapoffset) + done as u64;
        match retry_on_intr(|| pread(file, &mut to[done..], at)) {
            // It was made shorter.
            Ok(0) => return Err(TOO_SMALL.to_owned()),
            Ok(count) => done += count,
            Err(error) => return Err(format!("the compositor's memory can't be read: {error}")),
        }
    }
    Ok(())
}

impl Receiver for PictureReceiver {
    fn formats(&self) -> Option<Vec<Vec<u8>>> {
        format::offered(None, self.no_dma_buf.borrow().is_none())
    }

    fn maps_pictures(&self) -> bool {
        true
    }

    fn name_sender(&self, name: &[u8]) {
        self.tracking.borrow_mut().name(name);
    }

    fn agree(&self, format: Result<Agreed, String>) -> Vec<Vec<u8>> {
        self.agreed.set(format.as_ref().ok().copied());
        let mut tracking = self.tracking.borrow_mut();
        tracking.forget();
        match format {
            Ok(agreed) => {
                let wanted = format::pictures(&agreed, self.with_cursor);
                let regions = tracking.uses_regions().then(format::regions);
                wanted.into_iter().chain(regions).flatten().collect()
            }
            Err(reason) => {
                self.newest.refuse(reason);
                Vec::new()
            }
        }
    }

    unsafe fn take(&self, buffer: Option<&spa_buffer>) -> bool {
        // SAFETY: as the caller promises.
        let copied = unsafe { self.copy(buffer) };
        if copied.is_err() {
            self.tracking.borrow_mut().forget();
        }
        match copied {
            Ok(()) => false,
            Err(Refusal::Picture(reason)) => {
                self.newest.refuse(reason);
                false
            }
            Err(Refusal::DmaBuf(reason)) => {
                self.newest.refuse(reason.clone());
                self.no_dma_buf.replace(Some(reason)).is_none()
            }
        }
    }

    fn forget(&self, buffer: *const spa_buffer) {
        self.dma_bufs.borrow_mut().remove(&buffer.addr());
    }

    fn runs(&self, is_running: bool) {
        self.tracking.borrow_mut().forget();
        if is_running {
            return;
        }
        match self.only_dma_buf() {
            Some(reason) => self.newest.refuse(reason),
            None => self.newest.pause(),
        }
    }

    fn end(&self, reason: &str) {
        match self.only_dma_buf() {
            Some(why) => self.newest.end(&format!("{why} ({reason})")),
            None => self.newest.end(reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::c_void;
    use std::io::Write as _;
    use std::os::fd::{AsFd as _, AsRawFd as _};
    use std::time::Duration;

    use memmap2::MmapOptions;
    use pipewire::spa::sys::{spa_chunk, spa_data, spa_meta};
    use rustix::fs::{MemfdFlags, fcntl_add_seals, memfd_create};

    use super::super::rows::Layout;
    use super::*;

    /// Takes a picture of four pixels of a value. Returns whether the formats that are accepted have changed.
    fn take(
        receiver: &PictureReceiver,
        value: u8,
        chunk_flags: i32,
        header_flags: u32,
        memory: (u32, i64),
    ) -> bool {
        let mut pixels = [value; 16];
        let mut chunk = spa_chunk {
            offset: 0,
            size: 16,
            stride: 8,
            flags: chunk_flags,
        };
        let mut data = spa_data {
            type_: memory.0,
            flags: 0,
            fd: memory.1,
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
        let have_changed = unsafe { receiver.take(Some(&buffer)) };
        receiver.forget(&raw const buffer);
        have_changed
    }

    /// The newest picture's value.
    fn seen(receiver: &PictureReceiver) -> Result<u8, String> {
        let newest = &receiver.newest;
        let seen = newest.with(Duration::ZERO, || false, |_| true, |it| it.pixels.clone());
        seen.map(|pixels| {
            assert!(pixels.len() == 16 && pixels.iter().all(|it| *it == pixels[0]));
            pixels[0]
        })
    }

    fn receiver(is_dma_buf: bool) -> PictureReceiver {
        let receiver = PictureReceiver::new(Arc::default(), false);
        agree(&receiver, is_dma_buf);
        receiver
    }

    fn agree(receiver: &PictureReceiver, is_dma_buf: bool) {
        let layout = Layout::new(2, 2, false).unwrap();
        receiver.agree(Ok(Agreed { layout, is_dma_buf }));
    }

    const MEMORY: (u32, i64) = (SPA_DATA_MemPtr, -1);

    #[test]
    fn a_picture_that_is_marked_as_corrupted_is_passed_over() {
        let receiver = receiver(false);
        for (value, chunk_flags, header_flags, wanted) in [
            (1, 0, 0, 1),
            (2, SPA_CHUNK_FLAG_CORRUPTED as i32, 0, 1),
            (3, 0, SPA_META_HEADER_FLAG_CORRUPTED, 1),
            // Another mark.
            (4, 0, 1, 4),
        ] {
            assert!(!take(&receiver, value, chunk_flags, header_flags, MEMORY));
            assert_eq!(seen(&receiver), Ok(wanted));
        }
    }

    /// A memfd with the pixels of a picture.
    fn memfd(value: u8, seals: SealFlags) -> std::fs::File {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let mut file = std::fs::File::from(memfd_create("picture", flags).unwrap());
        file.write_all(&[value; 16]).unwrap();
        fcntl_add_seals(&file, seals).unwrap();
        file
    }

    /// Beyond the new end of a file, mapped memory can't be read: that would end this process.
    #[test]
    fn memory_that_is_made_shorter_while_it_is_read_is_an_error() {
        let file = memfd(7, SealFlags::empty());
        let mapped = MmapOptions::new().map_raw_read_only(&file).unwrap();
        let begin = mapped.as_mut_ptr().cast();
        let mut data = described(SPA_DATA_MemFd, i64::from(file.as_raw_fd()), begin);
        let mut copy = Vec::new();
        let mut shorten_and_read = |data: &spa_data| {
            let read = |memory: &[u8]| {
                file.set_len(0).unwrap();
                memory.iter().map(|it| u32::from(*it)).sum::<u32>()
            };
            // SAFETY: it is mapped, and the file is open.
            unsafe { with_memory(data, &mut copy, read) }
        };
        assert_eq!(shorten_and_read(&data), Ok(7 * 16));
        // Now before it is read.
        assert_eq!(shorten_and_read(&data), Err(TOO_SMALL.to_owned()));
        file.set_len(16).unwrap();
        data.maxsize = 17;
        assert_eq!(shorten_and_read(&data), Err(TOO_SMALL.to_owned()));
        let end = || read_whole(file.as_fd(), &data, &mut Vec::new());
        assert_eq!(end(), Err(TOO_SMALL.to_owned()));
        data.maxsize = u32::MAX;
        let error = read_whole(file.as_fd(), &data, &mut Vec::new()).unwrap_err();
        assert!(error.contains("larger than any picture"), "{error}");
    }

    #[test]
    fn sealed_memory_is_read_where_it_is_mapped() {
        let file = memfd(7, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL);
        let mut mapped = [9; 16];
        let begin = mapped.as_mut_ptr().cast();
        let data = described(SPA_DATA_MemFd, i64::from(file.as_raw_fd()), begin);
        // SAFETY: it is there.
        let read = unsafe { with_memory(&data, &mut Vec::new(), |memory| memory[0]) };
        assert_eq!(read, Ok(9));
    }

    /// Memory of a picture.
    fn described(kind: u32, file: i64, begin: *mut c_void) -> spa_data {
        spa_data {
            type_: kind,
            flags: 0,
            fd: file,
            mapoffset: 0,
            maxsize: 16,
            data: begin,
            chunk: std::ptr::null_mut(),
        }
    }

    #[test]
    fn when_memory_of_a_device_can_t_be_read_other_memory_is_wanted() {
        let file = tempfile::tempfile().unwrap();
        for (descriptor, words) in [
            (i64::from(file.as_raw_fd()), "other memory as DMA-BUF"),
            (-1, "without a file"),
            (i64::MAX, "without a file"),
            (i64::from(i32::MAX), "can't be identified"),
        ] {
            let receiver = receiver(true);
            assert_eq!(receiver.formats().unwrap().len(), 2);
            assert!(!take(&receiver, 1, 0, 0, MEMORY));
            let device = (SPA_DATA_DmaBuf, descriptor);
            assert!(take(&receiver, 2, 0, 0, device));
            // The picture before is outdated.
            let error = seen(&receiver).unwrap_err();
            assert!(error.contains(words), "{error}");
            assert_eq!(receiver.formats().unwrap().len(), 1);
            assert!(!take(&receiver, 3, 0, 0, device), "only once");
            // However PipeWire says that there is no such format.
            receiver.runs(false);
            assert_eq!(seen(&receiver).unwrap_err(), error);
            agree(&receiver, false);
            assert!(!take(&receiver, 4, 0, 0, MEMORY));
            assert_eq!(seen(&receiver), Ok(4));
            receiver.end("over");
            assert_eq!(seen(&receiver).unwrap_err(), "over");
        }
        let only = receiver(true);
        take(&only, 1, 0, 0, (SPA_DATA_DmaBuf, -1));
        only.end("over");
        let error = seen(&only).unwrap_err();
        assert!(error.contains("without a file (over)"), "{error}");
        // Nothing was said of its layout.
        let receiver = receiver(false);
        let device = (SPA_DATA_DmaBuf, i64::from(file.as_raw_fd()));
        assert!(!take(&receiver, 1, 0, 0, device));
        let error = seen(&receiver).unwrap_err();
        assert!(error.contains("may not be rows"), "{error}");
    }
}
