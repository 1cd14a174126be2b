//! Memory that two processes see.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};

use memmap2::{MmapOptions, MmapRaw};

/// A block of memory that can be handed to another process. Its bytes are zero at first.
#[derive(Debug)]
pub(crate) struct Block {
    /// Its number in this process; never used again.
    pub id: u64,
    file: OwnedFd,
    map: MmapRaw,
}

impl Block {
    /// A new one, on a page's border.
    ///
    /// # Errors
    /// When the system has no memory or no file descriptor left.
    pub(crate) fn new(size: usize) -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let file = anonymous(size as u64)?;
        Ok(Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            map: MmapOptions::new().len(size).map_raw(&file)?,
            file,
        })
    }

    /// Where it begins.
    pub(crate) fn pointer(&self) -> NonNull<u8> {
        // A mapping never begins at 0.
        NonNull::new(self.map.as_mut_ptr()).unwrap_or(NonNull::dangling())
    }

    /// What the other process maps.
    pub(crate) fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// A block of another process.
#[derive(Debug)]
pub(crate) struct Mapping(MmapRaw);

impl Mapping {
    /// One that can be read; to write there ends this process.
    ///
    /// # Errors
    /// When the system can't map it.
    pub(crate) fn new(file: &OwnedFd, size: usize) -> io::Result<Self> {
        let map = MmapOptions::new().len(size).map_raw_read_only(file)?;
        Ok(Self(map))
    }

    /// One that can be written from now on, or not any more.
    ///
    /// # Errors
    /// When the system refuses.
    pub(crate) fn allow_writing(&self, is_allowed: bool) -> io::Result<()> {
        use rustix::mm::{MprotectFlags, mprotect};
        let flags = match is_allowed {
            true => MprotectFlags::READ | MprotectFlags::WRITE,
            false => MprotectFlags::READ,
        };
        // SAFETY: these are the pages of this mapping alone. Whoever had a pointer to write there may use it no more.
        unsafe { mprotect(self.0.as_mut_ptr().cast(), self.0.len(), flags) }?;
        Ok(())
    }

    pub(crate) fn pointer(&self) -> NonNull<u8> {
        NonNull::new(self.0.as_mut_ptr()).unwrap_or(NonNull::dangling())
    }
}

/// Lets this process have as many file descriptors as it may, once: each block takes one, and where a process is given
/// 1024 if it asks for no more, so many pictures are soon alive.
pub(crate) fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    /// Linux maps about so many blocks at most.
    const ENOUGH: u64 = 1 << 16;
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        let limit = maximum.unwrap_or(ENOUGH).min(ENOUGH);
        if current.is_none_or(|current| current >= limit) {
            return;
        }
        let raised = setrlimit(
            Resource::Nofile,
            Rlimit {
                current: Some(limit),
                maximum,
            },
        );
        if let Err(error) = raised {
            tracing::warn!("the limit of open files can't be raised to {limit}: {error}");
        }
    });
}

/// A file without a name, which can't be made shorter: whoever reads a page that is gone is killed.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn anonymous(size: u64) -> io::Result<OwnedFd> {
    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = memfd_create("flowpipe", flags)?;
    ftruncate(&file, size)?;
    fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
    Ok(file)
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn anonymous(size: u64) -> io::Result<OwnedFd> {
    use rustix::fs::{Mode, ftruncate};
    use rustix::shm::{OFlags, open, unlink};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("/flowpipe-{}-{next}", std::process::id());
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR;
    let file = open(&*name, flags, Mode::RUSR | Mode::WUSR)?;
    unlink(&*name)?;
    ftruncate(&file, size)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_mappings_are_one_memory() {
        let block = Block::new(5000).unwrap();
        let file = block.file().try_clone_to_owned().unwrap();
        let other = Mapping::new(&file, 5000).unwrap();
        other.allow_writing(true).unwrap();
        assert_ne!(block.pointer(), other.pointer());
        assert_eq!(block.pointer().align_offset(64), 0);
        // SAFETY: both are mapped for 5000 bytes, and nobody else knows them.
        unsafe {
            assert_eq!(other.pointer().add(4999).read(), 0);
            block.pointer().add(4999).write(7);
            assert_eq!(other.pointer().add(4999).read(), 7);
            other.pointer().add(4998).write(8);
            assert_eq!(block.pointer().add(4998).read(), 8);
        }
    }
}
