//! The memory of pictures that a test sends.

use std::ffi::c_void;
use std::fs::File;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

use memmap2::{MmapMut, MmapOptions};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::ioctl::{Ioctl, IoctlOutput, Opcode, ioctl, opcode};

/// Where the kernel makes DMA-BUF of memory.
const DEVICE: &str = "/dev/udmabuf";
/// What has files of whole pages.
const PAGE: usize = 4096;

/// Whether this machine makes real DMA-BUF.
pub(super) fn can_make_dma_buf() -> Result<(), String> {
    let opened = File::options().read(true).write(true).open(DEVICE);
    opened
        .map(drop)
        .map_err(|error| format!("{DEVICE}: {error}"))
}

/// Memory that is written here and sent.
pub(super) struct Memory {
    pub bytes: MmapMut,
    /// What is sent.
    pub file: OwnedFd,
}

impl Memory {
    pub(super) fn new(length: usize, is_dma_buf: bool) -> Self {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = memfd_create("pictures", flags).unwrap();
        let length = length.next_multiple_of(PAGE);
        ftruncate(&file, length as u64).unwrap();
        fcntl_add_seals(&file, SealFlags::SHRINK).unwrap();
        // SAFETY: it can't shrink, and only this writes to it.
        let bytes = unsafe { MmapOptions::new().len(length).map_mut(&file) }.unwrap();
        let file = if is_dma_buf {
            let device = File::options().read(true).write(true).open(DEVICE).unwrap();
            let create = Create {
                memory: file.as_raw_fd() as u32,
                flags: CLOEXEC,
                offset: 0,
                size: length as u64,
            };
            // SAFETY: it is what the device takes.
            unsafe { ioctl(&device, create) }.unwrap()
        } else {
            file
        };
        Self { bytes, file }
    }
}

/// `UDMABUF_FLAGS_CLOEXEC`.
const CLOEXEC: u32 = 1;

/// `struct udmabuf_create`.
#[repr(C)]
struct Create {
    memory: u32,
    flags: u32,
    offset: u64,
    size: u64,
}

// SAFETY: `UDMABUF_CREATE` reads such a struct and returns a new file.
unsafe impl Ioctl for Create {
    type Output = OwnedFd;

    const IS_MUTATING: bool = false;

    fn opcode(&self) -> Opcode {
        opcode::write::<Self>(b'u', 0x42)
    }

    fn as_ptr(&mut self) -> *mut c_void {
        std::ptr::from_mut(self).cast()
    }

    unsafe fn output_from_ptr(
        made: IoctlOutput,
        _: *mut c_void,
    ) -> rustix::io::Result<Self::Output> {
        // SAFETY: nobody else has it.
        Ok(unsafe { OwnedFd::from_raw_fd(made) })
    }
}
