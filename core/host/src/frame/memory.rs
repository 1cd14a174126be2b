//! Memory that two processes share.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};

use memmap2::{MmapOptions, MmapRaw};

/// What another process may do with a block of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read. Every attempt to write fails.
    Read,
    /// Write it too.
    Write,
}

/// A block of memory that can be shared with another process. Its bytes are zero at first.
#[derive(Debug)]
pub struct Block {
    /// Its number in this process; never used again.
    pub id: u64,
    access: Access,
    /// The descriptor for the other process.
    file: OwnedFd,
    map: MmapRaw,
}

impl Block {
    /// Allocates a block, aligned to a page.
    ///
    /// # Errors
    /// When the system has no memory or no file descriptor left.
    pub fn new(size: usize, access: Access) -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let (file, map) = create(size, access)?;
        Ok(Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            access,
            file,
            map,
        })
    }

    /// Its first byte.
    pub fn pointer(&self) -> NonNull<u8> {
        // A mapping never starts at 0.
        NonNull::new(self.map.as_mut_ptr()).unwrap_or(NonNull::dangling())
    }

    /// The descriptor that the other process maps.
    pub fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// What the other process may do with it.
    pub fn access(&self) -> Access {
        self.access
    }
}

/// A block of another process.
#[derive(Debug)]
pub struct Mapping(MmapRaw);

impl Mapping {
    /// # Errors
    /// When the system can't map it, or does not allow that access.
    pub fn new(file: &OwnedFd, size: usize, access: Access) -> io::Result<Self> {
        let mut options = MmapOptions::new();
        options.len(size);
        Ok(Self(match access {
            // A write through it ends this process.
            Access::Read => options.map_raw_read_only(file)?,
            Access::Write => options.map_raw(file)?,
        }))
    }

    /// Its first byte.
    pub fn pointer(&self) -> NonNull<u8> {
        NonNull::new(self.0.as_mut_ptr()).unwrap_or(NonNull::dangling())
    }
}

/// Raises this process's soft limit of file descriptors to the hard limit, once. Each block takes a descriptor, and a
/// soft limit of 1024 is too low for a run with many frames.
pub(crate) fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    // Linux allows about this many mappings.
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

/// Memory in a file without a name, and the descriptor for another process. The file can't be shortened: a process that
/// reads a page past the end of the file is killed.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn create(size: usize, access: Access) -> io::Result<(OwnedFd, MmapRaw)> {
    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
    use rustix::io::Errno;
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = memfd_create("flowpipe", flags)?;
    ftruncate(&file, size as u64)?;
    let map = MmapOptions::new().len(size).map_raw(&file)?;
    let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
    if access == Access::Write {
        fcntl_add_seals(&file, seals)?;
        return Ok((file, map));
    }
    // The existing mapping stays writable. No new writable mapping can be created, with any descriptor or rights.
    match fcntl_add_seals(&file, seals | SealFlags::FUTURE_WRITE) {
        Ok(()) => Ok((file, map)),
        // Linux before 5.1.
        Err(Errno::INVAL) => {
            fcntl_add_seals(&file, seals)?;
            Ok((read_only(&file)?, map))
        }
        Err(error) => Err(error.into()),
    }
}

/// The fallback: a read-only descriptor. A process that has it can reopen the file for writing.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn read_only(file: &OwnedFd) -> io::Result<OwnedFd> {
    use std::os::fd::AsRawFd as _;

    use rustix::fs::{Mode, OFlags, open};
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        tracing::warn!(
            "this system can't seal memory (Linux 5.1 can): isolated stages that are hostile can write into frames"
        );
    });
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?)
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn create(size: usize, access: Access) -> io::Result<(OwnedFd, MmapRaw)> {
    use rustix::fs::{Mode, ftruncate};
    use rustix::shm::{OFlags, open, unlink};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("/flowpipe-{}-{next}", std::process::id());
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR;
    let file = open(&*name, flags, Mode::RUSR | Mode::WUSR)?;
    // A read-only descriptor of memory without a name: nobody can reopen it.
    let read_only = match access {
        Access::Read => open(&*name, OFlags::RDONLY, Mode::empty()).map(Some),
        Access::Write => Ok(None),
    };
    unlink(&*name)?;
    let read_only = read_only?;
    ftruncate(&file, size as u64)?;
    let map = MmapOptions::new().len(size).map_raw(&file)?;
    Ok((read_only.unwrap_or(file), map))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_mappings_are_one_memory() {
        for access in [Access::Read, Access::Write] {
            let block = Block::new(5000, access).unwrap();
            let file = block.file().try_clone_to_owned().unwrap();
            let other = Mapping::new(&file, 5000, access).unwrap();
            assert_ne!(block.pointer(), other.pointer());
            assert_eq!(block.pointer().align_offset(64), 0);
            // SAFETY: both are mapped for 5000 bytes, and nothing else uses them.
            unsafe {
                assert_eq!(other.pointer().add(4999).read(), 0);
                block.pointer().add(4999).write(7);
                assert_eq!(other.pointer().add(4999).read(), 7);
                if access == Access::Write {
                    other.pointer().add(4998).write(8);
                    assert_eq!(block.pointer().add(4998).read(), 8);
                }
            }
        }
    }

    #[test]
    fn what_may_be_read_can_not_be_written() {
        use rustix::mm::{MprotectFlags, mprotect};
        let block = Block::new(5000, Access::Read).unwrap();
        let file = block.file().try_clone_to_owned().unwrap();
        let other = Mapping::new(&file, 5000, Access::Read).unwrap();
        assert!(Mapping::new(&file, 5000, Access::Write).is_err());
        assert!(rustix::io::pwrite(&file, &[1], 0).is_err());
        assert!(rustix::fs::ftruncate(&file, 0).is_err());
        let flags = MprotectFlags::READ | MprotectFlags::WRITE;
        // SAFETY: the pages belong to this mapping alone, and nothing is written there.
        let allowed = unsafe { mprotect(other.pointer().as_ptr().cast(), 5000, flags) };
        assert!(allowed.is_err());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_may_be_read_can_not_be_opened_for_writing_and_written() {
        use std::os::fd::AsRawFd as _;
        let block = Block::new(5000, Access::Read).unwrap();
        let path = format!("/proc/self/fd/{}", block.file().as_raw_fd());
        let again = std::fs::File::options().read(true).write(true).open(path);
        let again = OwnedFd::from(again.unwrap());
        assert!(Mapping::new(&again, 5000, Access::Write).is_err());
        assert!(rustix::io::pwrite(&again, &[1], 0).is_err());
        let flags = rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::KEEP_SIZE;
        assert!(rustix::fs::fallocate(&again, flags, 0, 4096).is_err());
    }
}
