//! Pictures in memory of a device, such as a graphics card (DMA-BUF), which the processor reads as rows.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use memmap2::{Mmap, MmapOptions};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FsWord, SeekFrom, fstatfs, seek};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::ioctl::{Setter, ioctl, opcode};

/// What file systems call themselves that such buffers are files of (`DMA_BUF_MAGIC`).
const MAGIC: FsWord = 0x444d_4142;
/// `DMA_BUF_IOCTL_SYNC`.
const SYNC: rustix::ioctl::Opcode = opcode::write::<u64>(b'b', 0);
/// The processor begins to read (`DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ`).
const START: u64 = 1;
/// It has read (`DMA_BUF_SYNC_END | DMA_BUF_SYNC_READ`).
const END: u64 = 1 | 1 << 2;
/// How long a device may still draw into a buffer that was sent.
const PATIENCE: Timespec = Timespec {
    tv_sec: 2,
    tv_nsec: 0,
};
/// How often a call is repeated that was interrupted.
const REPEATED: u32 = 100;

/// A buffer, mapped as a whole.
pub(super) struct DmaBuf {
    file: OwnedFd,
    memory: Mmap,
}

impl DmaBuf {
    /// Maps a buffer, all of it: its size is the kernel's, and nobody can change it.
    ///
    /// # Errors
    /// Why the processor can't read it.
    pub(super) fn map(file: BorrowedFd<'_>) -> Result<Self, String> {
        let failed = |what: &str, error: &dyn std::fmt::Display| {
            format!("the compositor sends pictures as DMA-BUF, which can't be {what}: {error}")
        };
        let system = fstatfs(file).map_err(|error| failed("identified", &error))?;
        // Memory of other kinds can shrink while it is read, which would end this process.
        if system.f_type != MAGIC {
            return Err("the compositor sends other memory as DMA-BUF".to_owned());
        }
        let size = seek(file, SeekFrom::End(0)).map_err(|error| failed("measured", &error))?;
        let size = usize::try_from(size).map_err(|error| failed("measured", &error))?;
        // The compositor may close or reuse its own.
        let file = fcntl_dupfd_cloexec(file, 0).map_err(|error| failed("kept", &error))?;
        // SAFETY: it is a buffer's memory, whose size does not change. It is read only between START and END, while the
        // compositor does not write to it, as after any other buffer that it has sent.
        let memory = unsafe { MmapOptions::new().len(size).map(&file) };
        let memory = memory.map_err(|error| failed("mapped", &error))?;
        Ok(Self { file, memory })
    }

    /// Reads it, once the device has drawn into it.
    ///
    /// # Errors
    /// Why that is not possible. What was read then is of no use.
    pub(super) fn read<T>(&self, read: impl FnOnce(&[u8]) -> T) -> Result<T, String> {
        let failed = |error| format!("the compositor's DMA-BUF can't be read: {error}");
        self.wait()?;
        self.sync(START).map_err(failed)?;
        let done = read(&self.memory);
        self.sync(END).map_err(failed)?;
        Ok(done)
    }

    /// Waits until the device has drawn. START does so too, without a limit.
    fn wait(&self) -> Result<(), String> {
        let mut drawn = [PollFd::new(&self.file, PollFlags::IN)];
        match repeated(|| poll(&mut drawn, Some(&PATIENCE))) {
            Ok(0) => Err("the compositor's DMA-BUF is not drawn in time".to_owned()),
            Ok(_) => Ok(()),
            Err(error) => Err(format!(
                "the compositor's DMA-BUF can't be waited for: {error}"
            )),
        }
    }

    /// Without this, the processor may read what it has in its caches instead of what the device wrote.
    fn sync(&self, what: u64) -> Result<(), Errno> {
        // SAFETY: the call takes one number of 64 bits.
        repeated(|| unsafe { ioctl(self.file.as_fd(), Setter::<SYNC, u64>::new(what)) })
    }
}

/// Repeats a call that is interrupted, as the kernel says of these.
fn repeated<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    for _ in 0..REPEATED {
        match call() {
            Err(Errno::INTR | Errno::AGAIN) => {}
            done => return done,
        }
    }
    Err(Errno::INTR)
}
