//! How many cells of boards are read and kept: a few bytes of JSON can name a board of a hundred thousand.

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
