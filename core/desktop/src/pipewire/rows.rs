//! The pixels of a picture in memory that another process has laid out. What it says is not trusted.

use super::changes::Part;
use crate::grabber::{BYTES_PER_PIXEL, LARGEST_PICTURE, swap_red_and_blue};

/// What both sides have agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    width: u32,
    height: u32,
    /// Whether red comes first of a pixel's bytes, not blue.
    is_red_first: bool,
}

/// Where a picture lies in memory, as it came with it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunk {
    /// Bytes before the first row.
    pub offset: u32,
    /// Bytes of all rows.
    pub size: u32,
    /// Bytes from one row to the next. 0: rows have no gaps.
    pub stride: i32,
}

impl Layout {
    /// # Errors
    /// When no picture has this size.
    pub(super) fn new(width: u32, height: u32, is_red_first: bool) -> Result<Self, String> {
        let bytes = u128::from(width) * u128::from(height) * BYTES_PER_PIXEL as u128;
        if !(1..=u128::from(LARGEST_PICTURE)).contains(&bytes) {
            return Err(format!(
                "the compositor sends pictures of {width} x {height} pixels"
            ));
        }
        Ok(Self {
            width,
            height,
            is_red_first,
        })
    }

    pub(super) fn size(self) -> [u32; 2] {
        [self.width, self.height]
    }

    /// How many pixels a picture has.
    pub(super) fn pixels(self) -> u64 {
        u64::from(self.width) * u64::from(self.height)
    }

    /// Copies a picture out of memory: its rows without gaps, blue first of a pixel's bytes.
    ///
    /// # Errors
    /// When it does not lie in this memory. Then the copy is of no use.
    pub(super) fn copy(self, memory: &[u8], chunk: Chunk, to: &mut Vec<u8>) -> Result<(), String> {
        to.clear();
        for bytes in self.rows(memory, chunk)? {
            to.extend_from_slice(bytes);
        }
        self.blue_first(to);
        Ok(())
    }

    /// Copies parts of a picture out of memory to a copy of a picture of this layout. All of them lie in it.
    ///
    /// # Errors
    /// As [`Self::copy`].
    pub(super) fn copy_parts(
        self,
        memory: &[u8],
        chunk: Chunk,
        parts: &[Part],
        to: &mut [u8],
    ) -> Result<(), String> {
        let rows = self.rows(memory, chunk)?;
        for &Part { begin, end } in parts {
            let bytes = begin[0] as usize * BYTES_PER_PIXEL..end[0] as usize * BYTES_PER_PIXEL;
            let copies = to.chunks_exact_mut(self.row());
            let pairs = rows.clone().zip(copies).take(end[1] as usize);
            for (from, to) in pairs.skip(begin[1] as usize) {
                let to = &mut to[bytes.clone()];
                to.copy_from_slice(&from[bytes.clone()]);
                self.blue_first(to);
            }
        }
        Ok(())
    }

    /// Whether a copy is the picture in memory.
    ///
    /// # Errors
    /// When it does not lie in this memory.
    pub(super) fn shows(self, memory: &[u8], chunk: Chunk, copy: &[u8]) -> Result<bool, String> {
        let is_row = |(from, copy): (&[u8], &[u8])| match self.is_red_first {
            false => from == copy,
            true => {
                let pixels = from
                    .chunks_exact(BYTES_PER_PIXEL)
                    .zip(copy.chunks_exact(BYTES_PER_PIXEL));
                let mut pixels =
                    pixels.map(|(from, copy)| [from[2], from[1], from[0], from[3]] == copy);
                pixels.all(|is_same| is_same)
            }
        };
        let is_as_long = copy.len() as u64 == self.pixels() * BYTES_PER_PIXEL as u64;
        let mut rows = self.rows(memory, chunk)?.zip(copy.chunks_exact(self.row()));
        Ok(is_as_long && rows.all(is_row))
    }

    /// Bytes of a row without its gap.
    fn row(self) -> usize {
        self.width as usize * BYTES_PER_PIXEL
    }

    /// Changes the order of what was copied.
    fn blue_first(self, copied: &mut [u8]) {
        if self.is_red_first {
            swap_red_and_blue(copied);
        }
    }

    /// # Errors
    /// When they do not lie in the memory.
    fn rows(
        self,
        memory: &[u8],
        chunk: Chunk,
    ) -> Result<impl Iterator<Item = &[u8]> + Clone, String> {
        let row = self.row();
        let (bytes, stride) = self.bytes(memory, chunk, row).ok_or_else(|| {
            format!(
                "the compositor sends {} x {} pixels in {} bytes, at {} and of {}, with {} bytes a row",
                self.width,
                self.height,
                memory.len(),
                chunk.offset,
                chunk.size,
                chunk.stride
            )
        })?;
        Ok(bytes.chunks(stride).map(move |bytes| &bytes[..row]))
    }

    /// All rows, and the bytes from one to the next. `None`: they do not lie in the memory.
    fn bytes(self, memory: &[u8], chunk: Chunk, row: usize) -> Option<(&[u8], usize)> {
        let stride = match usize::try_from(chunk.stride).ok()? {
            0 => row,
            stride => stride,
        };
        let height = self.height as usize;
        // The last row may end without its gap.
        let length = stride.checked_mul(height - 1)?.checked_add(row)?;
        let is_whole = stride >= row && chunk.size as usize >= length;
        let begin = chunk.offset as usize;
        let bytes = memory.get(begin..begin.checked_add(length)?)?;
        is_whole.then_some((bytes, stride))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copied(
        layout: Layout,
        memory: &[u8],
        [offset, size]: [u32; 2],
        stride: i32,
    ) -> Option<Vec<u8>> {
        let mut to = vec![77];
        let chunk = Chunk {
            offset,
            size,
            stride,
        };
        layout.copy(memory, chunk, &mut to).ok().map(|()| to)
    }

    #[test]
    fn rows_are_copied_without_their_gaps() {
        let memory: Vec<u8> = (0..32).collect();
        let plain = Layout::new(2, 2, false).unwrap();
        let second = [[4, 5, 6, 7, 8, 9, 10, 11], [16, 17, 18, 19, 20, 21, 22, 23]].concat();
        assert_eq!(copied(plain, &memory, [4, 20], 12), Some(second));
        assert_eq!(copied(plain, &memory, [0, 16], 0), Some((0..16).collect()));
        let red = Layout::new(1, 2, true).unwrap();
        let swapped = vec![2, 1, 0, 3, 10, 9, 8, 11];
        assert_eq!(copied(red, &memory, [0, 12], 8), Some(swapped));
    }

    #[test]
    fn parts_are_copied_and_nothing_else() {
        let (old, new) = ([1; 64], [[9, 8, 7, 6]; 16].concat());
        let chunk = Chunk {
            offset: 0,
            size: 64,
            stride: 16,
        };
        let part = |begin, end| Part { begin, end };
        for (is_red_first, pixel) in [(false, [9, 8, 7, 6]), (true, [7, 8, 9, 6])] {
            let layout = Layout::new(4, 4, is_red_first).unwrap();
            let mut copy = Vec::new();
            layout.copy(&old, chunk, &mut copy).unwrap();
            assert!(layout.shows(&old, chunk, &copy).unwrap());
            assert!(!layout.shows(&new, chunk, &copy).unwrap());
            // The second overlaps the first.
            let parts = [part([1, 1], [3, 2]), part([2, 1], [4, 4])];
            layout.copy_parts(&new, chunk, &parts, &mut copy).unwrap();
            let are_new: Vec<bool> = copy.chunks_exact(4).map(|it| it == pixel).collect();
            let wanted = ["....", ".xxx", "..xx", "..xx"].concat();
            let wanted: Vec<bool> = wanted.chars().map(|it| it == 'x').collect();
            assert_eq!(are_new, wanted);
            assert!(!layout.shows(&new, chunk, &copy).unwrap());
            let all = [part([0, 0], [4, 4])];
            layout.copy_parts(&new, chunk, &all, &mut copy).unwrap();
            assert!(layout.shows(&new, chunk, &copy).unwrap());
            assert!(!layout.shows(&new, chunk, &copy[..60]).unwrap());
            let beyond = Chunk { offset: 1, ..chunk };
            assert!(layout.copy_parts(&new, beyond, &all, &mut copy).is_err());
            assert!(layout.shows(&new, beyond, &copy).is_err());
        }
    }

    #[test]
    fn what_lies_beyond_the_memory_is_refused() {
        let memory = [0; 32];
        let layout = Layout::new(2, 2, false).unwrap();
        let is_refused = |at, stride| copied(layout, &memory, at, stride).is_none();
        assert!(!is_refused([16, 16], 8));
        for (at, stride) in [
            // Longer than its part of the memory, or than all of it.
            ([0, 15], 8),
            ([17, 16], 8),
            ([u32::MAX, 16], 8),
            ([0, u32::MAX], i32::MAX),
            // Rows that overlap, or go backwards.
            ([0, 32], 7),
            ([16, 16], -8),
            ([0, 32], i32::MIN),
        ] {
            assert!(is_refused(at, stride), "{at:?} {stride}");
        }
        for [width, height] in [[0, 5], [5, 0], [1 << 15, 1 << 14], [u32::MAX, u32::MAX]] {
            let error = Layout::new(width, height, false).unwrap_err();
            assert!(error.contains(&format!("{width} x {height}")), "{error}");
        }
    }
}
