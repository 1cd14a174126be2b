//! The tiles of a picture, of which those that have changed are sent.

use std::ops::Range;

use flowpipe_host::frame::Shape;

/// Bytes from left to right: 64 pixels of four bytes.
pub(crate) const TILE_BYTES: usize = 256;
/// Rows from top to bottom.
pub(crate) const TILE_ROWS: usize = 64;

/// The tiles of a frame, from left to right and then down.
#[derive(Clone, Copy)]
pub(crate) struct Grid {
    stride: usize,
    height: usize,
}

impl Grid {
    /// Those of a picture.
    pub(crate) fn of(shape: Shape) -> Self {
        Self {
            // A frame is smaller than the memory of a process.
            stride: usize::try_from(shape.stride).unwrap_or(usize::MAX),
            height: shape.height as usize,
        }
    }

    fn columns(self) -> usize {
        self.stride.div_ceil(TILE_BYTES)
    }

    /// How many there are.
    pub(crate) fn count(self) -> usize {
        self.columns() * self.height.div_ceil(TILE_ROWS)
    }

    /// Bytes of the list, with a bit for each tile.
    pub(crate) fn list_length(self) -> usize {
        self.count().div_ceil(8)
    }

    /// The tiles of a list. `None`: it has bits without tiles.
    pub(crate) fn listed(self, list: &[u8]) -> Option<Vec<usize>> {
        let is_set = |tile: &usize| list[tile / 8] & (1 << (tile % 8)) != 0;
        let beyond = (self.count()..list.len() * 8).any(|tile| is_set(&tile));
        (!beyond).then(|| (0..self.count()).filter(is_set).collect())
    }

    /// The bytes of a tile in the frame, row by row.
    pub(crate) fn rows(self, tile: usize) -> impl Iterator<Item = Range<usize>> {
        let [down, across] = [tile / self.columns(), tile % self.columns()];
        let left = across * TILE_BYTES;
        let right = (left + TILE_BYTES).min(self.stride);
        let rows = down * TILE_ROWS..((down + 1) * TILE_ROWS).min(self.height);
        rows.map(move |row| row * self.stride + left..row * self.stride + right)
    }

    /// Bytes of a tile.
    pub(crate) fn length(self, tile: usize) -> usize {
        self.rows(tile).map(|row| row.len()).sum()
    }
}
