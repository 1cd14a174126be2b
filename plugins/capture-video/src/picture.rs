//! A picture that ffmpeg has written: its size within limits, its pixels straight into a frame.

use std::io::Read;

use flowpipe_plugin::{Format, Frame, Host};

use crate::error::DecodeError;

/// What receives pictures.
#[derive(Clone, Copy)]
pub struct Limits {
    /// The most pixels.
    pub max_pixels: u32,
}

/// A picture, and when it is due.
pub struct Picture {
    /// Its pixels.
    pub frame: Frame,
    /// Since the start of the video, in nanoseconds. `None`: it is live.
    pub time_ns: Option<i64>,
}

/// The width and height of frames, in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    width: u32,
    height: u32,
}

/// The layout that ffmpeg is asked for.
const FORMAT: Format = Format::Rgb8;

impl Size {
    /// A size that is permitted.
    ///
    /// # Errors
    /// When it is too large, or nothing.
    pub fn within(limits: Limits, width: u64, height: u64) -> Result<Self, DecodeError> {
        let most = limits.max_pixels;
        if width == 0 || height == 0 {
            return Err(DecodeError::Malformed("its frames have no pixels"));
        }
        let is_small = width
            .checked_mul(height)
            .is_some_and(|pixels| pixels <= u64::from(most));
        match (u32::try_from(width), u32::try_from(height)) {
            (Ok(width), Ok(height)) if is_small => Ok(Self { width, height }),
            _ => Err(DecodeError::TooLarge {
                width,
                height,
                most,
            }),
        }
    }

    /// Bytes of all pixels.
    pub fn bytes(self) -> u64 {
        u64::from(self.width) * u64::from(self.height) * FORMAT.bytes_per_pixel() as u64
    }

    /// Reads the pixels into a frame of the host.
    ///
    /// # Errors
    /// When there are fewer, or the host has no memory.
    pub fn read(self, host: Host, from: &mut impl Read) -> Result<Frame, DecodeError> {
        let failed = |error: flowpipe_plugin::Error| DecodeError::Host(error.to_string());
        let mut frame = host
            .new_frame(FORMAT, self.width, self.height)
            .map_err(failed)?;
        from.read_exact(frame.pixels_mut().map_err(failed)?)?;
        Ok(frame)
    }
}
