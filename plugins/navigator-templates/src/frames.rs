//! Frames that vision may be reading.

use std::collections::VecDeque;

/// Frames at most, and the bytes of their pixels.
const MOST_FRAMES: usize = 8;
const MOST_BYTES: usize = 128 << 20;
/// When vision has read a frame, it begins with one of so many newest, or with one of the next.
const BEGUN: usize = 2;

/// Frames by number, kept until vision has read them.
///
/// Vision reads one frame at a time, and then the newest one. Which one that is, nobody says before it is read. So the
/// first frames since vision read one stay however long it takes, and the newest for the time after. Older ones make way
/// first, then those in the middle.
pub struct Frames<F> {
    /// Number, bytes of pixels and frame, the newest last.
    kept: VecDeque<(u64, usize, F)>,
    /// How many of the oldest vision has passed over.
    passed: usize,
}

impl<F> Frames<F> {
    /// No frames.
    pub fn new() -> Self {
        Self {
            kept: VecDeque::new(),
            passed: 0,
        }
    }

    /// Keeps a frame of so many bytes.
    pub fn keep(&mut self, number: u64, bytes: usize, frame: F) {
        self.kept.push_back((number, bytes, frame));
        while self.kept.len() > MOST_FRAMES || self.kept.len() > 1 && self.bytes() > MOST_BYTES {
            let at = if self.passed > 0 {
                0
            } else {
                self.kept.len() / 2
            };
            self.kept.remove(at);
            self.passed = self.passed.saturating_sub(1);
        }
    }

    /// Vision has read the frame of that number: returns it, if it was kept, and forgets older ones.
    pub fn read(&mut self, number: u64) -> Option<F> {
        let at = self.kept.iter().position(|(it, ..)| *it == number);
        let read = at.and_then(|at| self.kept.drain(..=at).next_back());
        self.passed = self.kept.len().saturating_sub(BEGUN);
        read.map(|(.., frame)| frame)
    }

    /// Forgets all frames.
    pub fn clear(&mut self) {
        *self = Self::new();
    }

    fn bytes(&self) -> usize {
        self.kept.iter().map(|(_, bytes, _)| bytes).sum()
    }
}

#[cfg(test)]
mod tests;
