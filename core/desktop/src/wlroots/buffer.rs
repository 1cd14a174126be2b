//! Memory that is shared with the compositor, into which it copies pictures.

use std::fs::File;
use std::os::fd::AsFd as _;

use flowpipe_wayland::counted;
use memmap2::Mmap;
use rustix::fs::{MemfdFlags, SealFlags};
use wayland_client::protocol::wl_buffer::WlBuffer;
use wayland_client::protocol::wl_shm::{Format, WlShm};
use wayland_client::protocol::wl_shm_pool::{self, WlShmPool};
use wayland_client::{Dispatch, QueueHandle, WEnum};

use crate::error::{DesktopError, Result};
use crate::grabber::{BYTES_PER_PIXEL, LARGEST_PICTURE};

/// The layout of a picture in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BufferLayout {
    pub format: Format,
    pub width: u32,
    pub height: u32,
    /// Bytes from one row to the next.
    pub stride: u32,
}

impl BufferLayout {
    /// How many bytes it takes.
    ///
    /// # Errors
    /// [`DesktopError::Grab`] when the pixels are laid out as none are that can be read.
    pub(super) fn bytes(self) -> Result<usize> {
        let refused = |reason: String| DesktopError::Grab { reason };
        match self.format {
            Format::Xrgb8888 | Format::Argb8888 | Format::Xbgr8888 | Format::Abgr8888 => {}
            format => {
                return Err(refused(format!(
                    "the compositor gives pixels as {format:?}, which is not read here: set the monitor to 8 bits a colour"
                )));
            }
        }
        let row = u64::from(self.width) * BYTES_PER_PIXEL as u64;
        let bytes = u64::from(self.stride) * u64::from(self.height);
        if self.width == 0
            || u64::from(self.stride) < row
            || !(1..=LARGEST_PICTURE).contains(&bytes)
        {
            return Err(refused(format!(
                "the compositor gives a picture of {} x {} pixels with {} bytes a row",
                self.width, self.height, self.stride
            )));
        }
        // At most `LARGEST_PICTURE`.
        Ok(bytes as usize)
    }

    /// Whether red comes first of a pixel's bytes, not blue.
    pub(super) fn is_red_first(self) -> bool {
        matches!(self.format, Format::Xbgr8888 | Format::Abgr8888)
    }
}

/// Memory for one picture.
pub(super) struct Buffer {
    pub layout: BufferLayout,
    pub proxy: WlBuffer,
    memory: Mmap,
}

impl Buffer {
    /// # Errors
    /// [`DesktopError::Grab`] when the system gives no memory, or the layout can't be read.
    pub(super) fn new<S>(layout: BufferLayout, shm: &WlShm, handle: &QueueHandle<S>) -> Result<Self>
    where
        S: Dispatch<WlShmPool, ()> + Dispatch<WlBuffer, ()> + 'static,
    {
        let length = layout.bytes()?;
        let no_memory = |error: std::io::Error| DesktopError::Grab {
            reason: format!("there is no memory for the picture: {error}"),
        };
        let file = sealed_file(length as u64).map_err(no_memory)?;
        // SAFETY: the file is this process's and the compositor's alone and can't become shorter. The compositor writes
        // only between the request for a picture and its answer, and nothing is read here meanwhile.
        let memory = unsafe { Mmap::map(&file) }.map_err(no_memory)?;
        // At most `LARGEST`, and so are its parts.
        let [length, width, height, stride] =
            [length as u32, layout.width, layout.height, layout.stride].map(|it| it as i32);
        let pool = shm.create_pool(file.as_fd(), length, handle, ());
        let request = wl_shm_pool::Request::CreateBuffer {
            offset: 0,
            width,
            height,
            stride,
            format: WEnum::Value(layout.format),
        };
        let proxy = counted::create(&pool, request, handle, ());
        pool.destroy();
        Ok(Self {
            layout,
            proxy,
            memory,
        })
    }

    /// The bytes that the compositor wrote.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.memory
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.proxy.destroy();
    }
}

/// A file in memory that has this length for ever.
fn sealed_file(length: u64) -> std::io::Result<File> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = File::from(rustix::fs::memfd_create("flowpipe-picture", flags)?);
    file.set_len(length)?;
    rustix::fs::fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(format: Format, width: u32, height: u32, stride: u32) -> BufferLayout {
        BufferLayout {
            format,
            width,
            height,
            stride,
        }
    }

    #[test]
    fn only_layouts_that_are_read_are_accepted() {
        assert_eq!(layout(Format::Xrgb8888, 3, 2, 16).bytes().unwrap(), 32);
        for (bad, words) in [
            (layout(Format::Xrgb8888, 3, 2, 8), "8 bytes a row"),
            (layout(Format::Xrgb8888, 0, 2, 8), "0 x 2 pixels"),
            (layout(Format::Argb8888, 3, 0, 12), "3 x 0 pixels"),
            (
                layout(Format::Abgr8888, u32::MAX, u32::MAX, u32::MAX),
                "pixels with",
            ),
            (layout(Format::Rgb565, 3, 2, 6), "Rgb565"),
        ] {
            let error = bad.bytes().unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
        assert!(layout(Format::Abgr8888, 1, 1, 4).is_red_first());
        assert!(!layout(Format::Argb8888, 1, 1, 4).is_red_first());
    }
}
