//! The pixels of a frame, red first and without gaps. Alpha is left out: captures do not set it.

use flowpipe_plugin::{Error, Format, Frame, Result};
use image::ExtendedColorType;

/// The pixels of a picture.
pub struct PlainPixels {
    /// In pixels.
    pub width: u32,
    /// In pixels.
    pub height: u32,
    /// Grey, or red, green and blue.
    pub colour: ExtendedColorType,
    /// Row after row, from the top.
    pub bytes: Vec<u8>,
}

impl PlainPixels {
    /// Those of a frame.
    ///
    /// # Errors
    /// When it is of an unknown format.
    pub fn of(frame: &Frame) -> Result<Self> {
        let info = frame.info()?;
        let step = info.format.bytes_per_pixel();
        let (colour, places): (_, &[usize]) = match info.format {
            Format::Grey8 => (ExtendedColorType::L8, &[0]),
            Format::Rgb8 | Format::Rgba8 => (ExtendedColorType::Rgb8, &[0, 1, 2]),
            Format::Bgr8 | Format::Bgra8 => (ExtendedColorType::Rgb8, &[2, 1, 0]),
        };
        let row = info.width as usize * step;
        let pixels = info.width as usize * info.height as usize;
        let mut bytes = Vec::with_capacity(pixels * places.len());
        for line in frame.pixels().chunks(info.stride.max(1)) {
            let line = line
                .get(..row)
                .ok_or_else(|| Error::bad_message("the frame has fewer pixels than its size"))?;
            match info.format {
                Format::Grey8 | Format::Rgb8 => bytes.extend_from_slice(line),
                _ => bytes.extend(
                    line.chunks_exact(step)
                        .flat_map(|pixel| places.iter().map(|&place| pixel[place])),
                ),
            }
        }
        Ok(Self {
            width: info.width,
            height: info.height,
            colour,
            bytes,
        })
    }

    /// The same as red, green, blue and alpha.
    pub fn to_rgba(&self) -> Vec<u8> {
        match self.colour {
            ExtendedColorType::L8 => {
                let pixels = self.bytes.iter();
                pixels
                    .flat_map(|&grey| [grey, grey, grey, u8::MAX])
                    .collect()
            }
            _ => {
                let pixels = self.bytes.chunks_exact(3);
                pixels
                    .flat_map(|pixel| [pixel[0], pixel[1], pixel[2], u8::MAX])
                    .collect()
            }
        }
    }
}
