//! The part of a monitor's pictures that is wanted.

use super::changes::Part;
use super::newest::Whole;
use crate::grabber::{BYTES_PER_PIXEL, Picture};
use crate::number::next_number;
use crate::rect::Rect;

/// What was cut out of a picture last. While nothing of it has changed, it stays.
#[derive(Default)]
pub(crate) struct Cut {
    pixels: Vec<u8>,
    origin: Option<Origin>,
    /// Another one whenever pixels are copied.
    number: u64,
}

/// Where pixels come from.
#[derive(Clone, Copy)]
struct Origin {
    /// The number of the picture.
    picture: u64,
    /// Its size.
    size: [u32; 2],
    /// Of its pixels.
    part: Part,
}

impl Cut {
    /// Copies the pixels of a part of the screen that lies on a monitor of a place, of which this is the picture, unless it
    /// has them already. Returns how many there are to the right and down.
    pub(crate) fn take(&mut self, whole: &Whole, monitor: Rect, part: Rect) -> [u32; 2] {
        let [columns, rows] = [
            (part.x, part.width, monitor.x, monitor.width, whole.size[0]),
            (
                part.y,
                part.height,
                monitor.y,
                monitor.height,
                whole.size[1],
            ),
        ]
        .map(|(at, length, from, of, pixels)| {
            let scale = f64::from(pixels) / f64::from(of);
            let begin = f64::from(at.abs_diff(from)) * scale;
            let end = begin + f64::from(length) * scale;
            // The part lies on the monitor, so that neither is beyond its pixels.
            [begin, end].map(|it| (it.round() as u32).min(pixels))
        });
        let origin = Origin {
            picture: whole.number(),
            size: whole.size,
            part: Part {
                begin: [columns[0], rows[0]],
                end: [columns[1], rows[1]],
            },
        };
        if !self
            .origin
            .is_some_and(|it| it.is_unchanged(&origin, whole))
        {
            self.copy(whole, origin.part);
        }
        self.origin = Some(origin);
        [columns, rows].map(|[begin, end]| end - begin)
    }

    fn copy(&mut self, whole: &Whole, Part { begin, end }: Part) {
        self.number = next_number();
        self.pixels.clear();
        let row = whole.size[0] as usize * BYTES_PER_PIXEL;
        let bytes = begin[0] as usize * BYTES_PER_PIXEL..end[0] as usize * BYTES_PER_PIXEL;
        let rows = whole.pixels.chunks_exact(row).take(end[1] as usize);
        for pixels in rows.skip(begin[1] as usize) {
            self.pixels.extend_from_slice(&pixels[bytes.clone()]);
        }
    }

    /// What was taken last, as a picture of a part of the screen.
    pub(crate) fn picture(&self, part: Rect, size: [u32; 2]) -> Picture<'_> {
        Picture {
            number: Some(self.number),
            ..Picture::of(part, size, &self.pixels)
        }
    }
}

impl Origin {
    /// Whether the same pixels are at another place, that of a newer picture.
    fn is_unchanged(&self, newer: &Self, whole: &Whole) -> bool {
        let is_same = (self.size, self.part) == (newer.size, newer.part);
        is_same && !whole.has_changed(self.picture, self.part)
    }
}
