//! Pictures in the host's memory, and the references to them.

use std::mem::ManuallyDrop;

use flowpipe_abi as abi;

use crate::error::{Error, Result};
use crate::handle::{Handle, Lasting, revoked};

/// The layout of a pixel. There is no further one without a new major version of the SDK: a vision has to know each.
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

/// The layout of a frame's pixels: rows from top to bottom, pixels from left to right.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PixelInfo {
    /// The layout of a pixel.
    pub format: Format,
    /// Pixels.
    pub width: u32,
    /// Pixels.
    pub height: u32,
    /// Bytes from one row to the next.
    pub stride: usize,
}

/// One reference to a frame. Cloning adds a reference and copies no pixels. In messages of a port that carries
/// [buffers](crate::Buffer) it may be one of those: then it has no [`Self::info`].
///
/// It may be kept anywhere, also after its stage was destroyed. With a host that is older than `flowpipe.frames/1`, a
/// frame has no pixels then, and its memory leaks; slices from before stay valid.
pub struct Frame {
    functions: Functions,
    /// Null if a frame was cloned too late; it has no pixels.
    raw: *mut abi::Frame,
}

/// The source of a frame's functions.
#[derive(Clone, Copy)]
enum Functions {
    /// Static tables of the process.
    Lasting(Lasting),
    /// In the host's table, until it is revoked.
    OfHost(Handle),
}

// SAFETY: every frame function of the host is tagged [any-thread].
unsafe impl Send for Frame {}
// SAFETY: as above; writing asks for `&mut`, and for a copy when the frame is shared.
unsafe impl Sync for Frame {}

impl Functions {
    fn of(host: Handle) -> Self {
        host.lasting().map_or(Self::OfHost(host), Self::Lasting)
    }
}

impl Format {
    /// Bytes of one pixel.
    #[must_use]
    pub const fn bytes_per_pixel(self) -> usize {
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

impl PixelInfo {
    /// Width and height in pixels, rows without gaps.
    #[must_use]
    pub const fn new(format: Format, width: u32, height: u32) -> Self {
        Self {
            format,
            width,
            height,
            stride: (width as usize).saturating_mul(format.bytes_per_pixel()),
        }
    }

    /// The same, with so many bytes from one row to the next.
    #[must_use]
    pub const fn with_stride(mut self, bytes: usize) -> Self {
        self.stride = bytes;
        self
    }
}

impl Frame {
    /// Takes ownership of a reference. `None` for null.
    ///
    /// # Safety
    /// `raw` is null or a frame of this host, and the caller transfers its reference.
    pub(crate) unsafe fn from_owned(host: Handle, raw: *mut abi::Frame) -> Option<Self> {
        let functions = Functions::of(host);
        (!raw.is_null()).then_some(Self { functions, raw })
    }

    /// Adds a reference. `None` for null.
    ///
    /// # Safety
    /// `raw` is null or a live frame of this host.
    pub(crate) unsafe fn from_borrowed(host: Handle, raw: *mut abi::Frame) -> Option<Self> {
        // SAFETY: by the contract above.
        unsafe { Self::borrowed(Functions::of(host), raw) }
    }

    /// As [`Self::from_borrowed`], with static tables of functions.
    ///
    /// # Safety
    /// `raw` is null or a live frame of those tables.
    pub(crate) unsafe fn from_borrowed_lasting(
        functions: Lasting,
        raw: *mut abi::Frame,
    ) -> Option<Self> {
        // SAFETY: by the contract above.
        unsafe { Self::borrowed(Functions::Lasting(functions), raw) }
    }

    /// # Safety
    /// As above.
    unsafe fn borrowed(functions: Functions, raw: *mut abi::Frame) -> Option<Self> {
        // The caller keeps its reference.
        let borrowed = ManuallyDrop::new(Self { functions, raw });
        (!raw.is_null()).then(|| (*borrowed).clone())
    }

    pub(crate) fn as_raw(&self) -> *mut abi::Frame {
        self.raw
    }

    /// Calls one of the frame's functions. `None`: the host was revoked, or there is no frame.
    fn call<T>(
        &self,
        lasting: impl FnOnce(&'static abi::Frames) -> T,
        of_host: impl FnOnce(&abi::Host) -> T,
    ) -> Option<T> {
        if self.raw.is_null() {
            return None;
        }
        match self.functions {
            Functions::Lasting(tables) => Some(lasting(tables.frames)),
            Functions::OfHost(host) => host.call(of_host),
        }
    }

    fn raw_info(&self) -> Option<abi::FrameInfo> {
        let mut info = abi::FrameInfo {
            struct_size: size_of::<abi::FrameInfo>() as u32,
            format: 0,
            width: 0,
            height: 0,
            stride: 0,
            size: 0,
        };
        let place = &raw mut info;
        // SAFETY: the frame is live while `self` holds its reference; `info` states its size.
        unsafe {
            self.call(
                |table| (table.info)(self.raw, place),
                |table| (table.frame_info)(table, self.raw, place),
            )
        }?;
        Some(info)
    }

    /// The layout of a buffer. `None`: it is a picture.
    pub(crate) fn buffer_info(&self) -> Option<abi::BufferInfo> {
        let Functions::Lasting(Lasting { buffers, .. }) = self.functions else {
            return None;
        };
        let table = buffers.filter(|_| !self.raw.is_null())?;
        let mut info = abi::BufferInfo {
            struct_size: size_of::<abi::BufferInfo>() as u32,
            element: 0,
            rank: 0,
            reserved: 0,
            shape: [0; abi::BUFFER_MAX_RANK],
            size: 0,
            media_type: [0; abi::MEDIA_TYPE_CAPACITY],
        };
        // SAFETY: the frame is live while `self` holds its reference; `info` states its size.
        let status = unsafe { (table.info)(self.raw, &raw mut info) };
        (status == abi::OK).then_some(info)
    }

    /// The layout of the pixels.
    ///
    /// # Errors
    /// When it is a buffer, or the host uses a format that this SDK does not know.
    pub fn info(&self) -> Result<PixelInfo> {
        let info = self.raw_info().ok_or_else(revoked)?;
        if info.format == 0 {
            return Err(Error::bad_message("a buffer where a picture is expected"));
        }
        let format = Format::from_abi(info.format).ok_or_else(|| {
            Error::bad_message(format!("a frame of an unknown format ({})", info.format))
        })?;
        Ok(PixelInfo::new(format, info.width, info.height).with_stride(info.stride as usize))
    }

    /// The pixels, `stride * height` bytes.
    #[must_use]
    pub fn pixels(&self) -> &[u8] {
        // SAFETY: the frame is live while `self` holds its reference.
        let data = unsafe {
            self.call(
                |table| (table.read)(self.raw),
                |table| (table.frame_read)(table, self.raw),
            )
        };
        match (data, self.raw_info()) {
            // SAFETY: the host's buffer has `size` bytes, which are valid as long as a reference is held, and which
            // nothing writes while there is more than one reference.
            (Some(data), Some(info)) if !data.is_null() => unsafe {
                std::slice::from_raw_parts(data, info.size as usize)
            },
            _ => &[],
        }
    }

    /// The pixels, to write. If there are other references, this frame becomes a copy first.
    ///
    /// # Errors
    /// When memory is short.
    pub fn pixels_mut(&mut self) -> Result<&mut [u8]> {
        let size = self.raw_info().ok_or_else(revoked)?.size as usize;
        let mut raw = self.raw;
        let place = &raw mut raw;
        // SAFETY: the frame is live; the host replaces it by an unshared frame if necessary, so that nothing else reads
        // or writes the bytes during the borrow.
        let data = unsafe {
            self.call(
                |table| (table.write)(place),
                |table| (table.frame_write)(table, place),
            )
        };
        self.raw = raw;
        match data.ok_or_else(revoked)? {
            data if data.is_null() => Err(Error::new("the host has no memory to copy a frame")),
            // SAFETY: as above.
            data => Ok(unsafe { std::slice::from_raw_parts_mut(data, size) }),
        }
    }
}

impl Clone for Frame {
    fn clone(&self) -> Self {
        // SAFETY: live while `self` holds its reference.
        let raw = unsafe {
            self.call(
                |table| (table.add_reference)(self.raw),
                |table| (table.frame_ref)(table, self.raw),
            )
        };
        Self {
            functions: self.functions,
            raw: raw.unwrap_or(std::ptr::null_mut()),
        }
    }
}

impl Drop for Frame {
    fn drop(&mut self) {
        // SAFETY: releases the reference of `self`. If the host was revoked, it leaks.
        unsafe {
            self.call(
                |table| (table.release)(self.raw),
                |table| (table.frame_unref)(table, self.raw),
            )
        };
    }
}
