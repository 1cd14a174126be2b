//! Pictures in the host's memory.

use flowpipe_abi as abi;

use crate::error::{Error, Result};
use crate::host::Host;

/// How a pixel is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Blue, green, red, alpha or unused.
    Bgra8,
    /// Red, green, blue, alpha or unused.
    Rgba8,
    /// Blue, green, red.
    Bgr8,
    /// Red, green, blue.
    Rgb8,
    /// One byte of grey.
    Grey8,
}

/// How the pixels of a frame lie in memory: rows from top to bottom, pixels from left to right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PixelInfo {
    /// How a pixel is laid out.
    pub format: Format,
    /// Pixels.
    pub width: u32,
    /// Pixels.
    pub height: u32,
    /// Bytes from one row to the next.
    pub stride: usize,
}

/// One reference to a frame. Cloning takes another reference, not a copy.
pub struct Frame {
    host: Host,
    raw: *mut abi::Frame,
}

// SAFETY: every frame function of the host is tagged [any-thread].
unsafe impl Send for Frame {}
// SAFETY: as above; writing asks for `&mut`, and for a copy when the frame is shared.
unsafe impl Sync for Frame {}

impl Format {
    /// Bytes of one pixel.
    #[must_use]
    pub fn bytes_per_pixel(self) -> usize {
        match self {
            Self::Bgra8 | Self::Rgba8 => 4,
            Self::Bgr8 | Self::Rgb8 => 3,
            Self::Grey8 => 1,
        }
    }

    pub(crate) fn to_abi(self) -> abi::Format {
        match self {
            Self::Bgra8 => abi::FORMAT_BGRA8,
            Self::Rgba8 => abi::FORMAT_RGBA8,
            Self::Bgr8 => abi::FORMAT_BGR8,
            Self::Rgb8 => abi::FORMAT_RGB8,
            Self::Grey8 => abi::FORMAT_GREY8,
        }
    }

    fn from_abi(format: abi::Format) -> Option<Self> {
        Some(match format {
            abi::FORMAT_BGRA8 => Self::Bgra8,
            abi::FORMAT_RGBA8 => Self::Rgba8,
            abi::FORMAT_BGR8 => Self::Bgr8,
            abi::FORMAT_RGB8 => Self::Rgb8,
            abi::FORMAT_GREY8 => Self::Grey8,
            _ => return None,
        })
    }
}

impl Frame {
    /// Takes over a reference. `None` for null.
    ///
    /// # Safety
    /// `raw` is null or a frame of this host whose reference the caller gives up.
    pub(crate) unsafe fn from_owned(host: Host, raw: *mut abi::Frame) -> Option<Self> {
        (!raw.is_null()).then_some(Self { host, raw })
    }

    /// Takes a reference of its own. `None` for null.
    ///
    /// # Safety
    /// `raw` is null or a live frame of this host.
    pub(crate) unsafe fn from_borrowed(host: Host, raw: *mut abi::Frame) -> Option<Self> {
        if raw.is_null() {
            return None;
        }
        // SAFETY: live, by the caller's word.
        let raw = unsafe { (host.table().frame_ref)(host.as_raw(), raw) };
        Some(Self { host, raw })
    }

    pub(crate) fn as_raw(&self) -> *mut abi::Frame {
        self.raw
    }

    fn raw_info(&self) -> abi::FrameInfo {
        let mut info = abi::FrameInfo {
            struct_size: size_of::<abi::FrameInfo>() as u32,
            format: 0,
            width: 0,
            height: 0,
            stride: 0,
            size: 0,
        };
        // SAFETY: the frame is live while `self` holds its reference; `info` says its size.
        unsafe { (self.host.table().frame_info)(self.host.as_raw(), self.raw, &raw mut info) };
        info
    }

    /// How the pixels lie.
    ///
    /// # Errors
    /// When the host uses a format that this SDK does not know.
    pub fn info(&self) -> Result<PixelInfo> {
        let info = self.raw_info();
        let format = Format::from_abi(info.format).ok_or_else(|| {
            Error::bad_message(format!("a frame of an unknown format ({})", info.format))
        })?;
        Ok(PixelInfo {
            format,
            width: info.width,
            height: info.height,
            stride: info.stride as usize,
        })
    }

    /// The pixels, `stride * height` bytes.
    #[must_use]
    pub fn pixels(&self) -> &[u8] {
        let size = self.raw_info().size as usize;
        // SAFETY: the frame is live, and the host's buffer has `size` bytes, which nobody writes
        // while there is more than one reference.
        unsafe {
            let data = (self.host.table().frame_read)(self.host.as_raw(), self.raw);
            if data.is_null() {
                &[]
            } else {
                std::slice::from_raw_parts(data, size)
            }
        }
    }

    /// The pixels to write. When others hold references too, this frame becomes a copy first.
    ///
    /// # Errors
    /// When memory is short.
    pub fn pixels_mut(&mut self) -> Result<&mut [u8]> {
        let size = self.raw_info().size as usize;
        // SAFETY: the frame is live; the host replaces `self.raw` by an unshared frame if need be,
        // so that for the life of the borrow nobody else reads or writes the bytes.
        unsafe {
            let data = (self.host.table().frame_write)(self.host.as_raw(), &raw mut self.raw);
            if data.is_null() {
                return Err(Error::new("the host has no memory to copy a frame"));
            }
            Ok(std::slice::from_raw_parts_mut(data, size))
        }
    }
}

impl Clone for Frame {
    fn clone(&self) -> Self {
        // SAFETY: live while `self` holds its reference.
        let raw = unsafe { (self.host.table().frame_ref)(self.host.as_raw(), self.raw) };
        Self {
            host: self.host,
            raw,
        }
    }
}

impl Drop for Frame {
    fn drop(&mut self) {
        // SAFETY: gives up the reference that `self` held.
        unsafe { (self.host.table().frame_unref)(self.host.as_raw(), self.raw) }
    }
}
