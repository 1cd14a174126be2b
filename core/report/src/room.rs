//! How much is read and kept: a few bytes of JSON can name a board of a hundred thousand cells, and a small file can
//! unpack to gigabytes.

use flowpipe_puzzle::message::Sighting;

/// What has been read.
#[derive(Debug, Default)]
pub struct Room {
    /// Bytes of messages.
    bytes: usize,
    /// Cells of their boards.
    pub cells: usize,
}

/// The cells that are read however short the messages are; two more for each byte: real ones have less than one.
const READ: usize = 8 << 20;
/// The number of cells that are kept, each board once, and one more for each 16 bytes: the messages of a board that is
/// played have more.
const KEPT: usize = 1 << 20;

impl Room {
    /// Returns whether a message of `bytes` bytes is to be read. `kept`: cells of all different boards.
    pub fn is_left(&mut self, bytes: usize, kept: usize) -> bool {
        self.bytes += bytes;
        self.cells <= READ + 2 * self.bytes && kept <= KEPT + self.bytes / 16
    }

    /// The board of a sighting was read.
    pub fn read(&mut self, sighting: &Sighting) {
        self.cells += sighting.board().map_or(0, |seen| seen.puzzle.board().len());
    }
}

/// A number of bytes, of which some are left.
#[derive(Debug)]
pub struct Allowance(usize);

impl Allowance {
    /// So many bytes.
    pub fn of(bytes: usize) -> Self {
        Self(bytes)
    }

    /// Takes so many of them. `false`: fewer are left, and all of them stay.
    pub fn take(&mut self, bytes: usize) -> bool {
        let left = self.0.checked_sub(bytes);
        if let Some(left) = left {
            self.0 = left;
        }
        left.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_more_than_there_is_takes_nothing() {
        let mut allowance = Allowance::of(10);
        let taken = [4, 7, 6, 1, 0].map(|bytes| allowance.take(bytes));
        assert_eq!(taken, [true, false, true, false, true]);
    }
}
