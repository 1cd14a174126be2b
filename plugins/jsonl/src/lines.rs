//! The lines of a stream. A line that is too long is not kept.

use serde::{Deserialize, Serialize};

/// Some programs write it before the first line of a text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// What was read of a stream and is not taken yet.
pub struct Lines {
    bytes: Vec<u8>,
    /// Where the next line starts.
    start: usize,
    /// How far there is no line feed.
    searched: usize,
    limit: usize,
    /// The number of the last line that was taken.
    number: u64,
    /// The beginning of the next line was dropped: it is too long.
    is_cut: bool,
}

/// What was read of a stream and is not taken yet, in a state.
#[derive(Debug, Serialize, Deserialize)]
pub struct UnreadLines {
    /// A character for each byte: the bytes need not be text.
    bytes: String,
    /// The number of the last line that was taken.
    number: u64,
    /// The beginning of the next line was dropped.
    is_cut: bool,
}

/// A line.
#[derive(Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Its number, from 1.
    pub number: u64,
    /// Its bytes without the line feed. `None`: there were too many.
    pub bytes: Option<&'a [u8]>,
}

impl Lines {
    /// No bytes yet. Lines have at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            bytes: Vec::new(),
            start: 0,
            searched: 0,
            limit,
            number: 0,
            is_cut: false,
        }
    }

    /// What is not taken yet, to continue with other lines.
    pub fn save(&self) -> UnreadLines {
        let rest = &self.bytes[self.start..];
        UnreadLines {
            bytes: rest.iter().map(|byte| char::from(*byte)).collect(),
            number: self.number,
            is_cut: self.is_cut,
        }
    }

    /// Lines that continue where others stopped. `None`: this is none of [`Self::save`].
    pub fn resumed(limit: usize, unread: &UnreadLines) -> Option<Self> {
        let bytes = unread.bytes.chars().map(u8::try_from);
        Some(Self {
            bytes: bytes.collect::<Result<_, _>>().ok()?,
            number: unread.number,
            is_cut: unread.is_cut,
            ..Self::new(limit)
        })
    }

    /// Whether a line has begun that has not ended.
    pub fn has_begun(&self) -> bool {
        self.start < self.bytes.len() || self.is_cut
    }

    /// Adds what comes next in the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.start > 0 {
            self.bytes.drain(..self.start);
            self.searched -= self.start;
            self.start = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// The next line that is there to its end.
    pub fn next(&mut self) -> Option<Line<'_>> {
        let rest = &self.bytes[self.searched..];
        match rest.iter().position(|byte| *byte == b'\n') {
            Some(place) => {
                let end = self.searched + place;
                Some(self.take(end, end + 1))
            }
            None => {
                self.searched = self.bytes.len();
                if self.searched - self.start > self.limit {
                    self.is_cut = true;
                    self.bytes.clear();
                    (self.start, self.searched) = (0, 0);
                }
                None
            }
        }
    }

    /// Takes the next line that is there to its end, if it is such a one. Its number.
    pub fn next_if(&mut self, is_such: impl FnOnce(&Line<'_>) -> bool) -> Option<u64> {
        let before = (self.start, self.searched, self.number, self.is_cut);
        let line = self.next()?;
        let number = line.number;
        if is_such(&line) {
            return Some(number);
        }
        (self.start, self.searched, self.number, self.is_cut) = before;
        None
    }

    /// At the end of the stream: the last line, if it has no line feed.
    pub fn last(&mut self) -> Option<Line<'_>> {
        let end = self.bytes.len();
        self.has_begun().then(|| self.take(end, end))
    }

    fn take(&mut self, end: usize, next: usize) -> Line<'_> {
        let start = std::mem::replace(&mut self.start, next);
        self.searched = next;
        self.number += 1;
        let is_whole = !std::mem::take(&mut self.is_cut) && end - start <= self.limit;
        let line = is_whole.then(|| &self.bytes[start..end]);
        let bytes = match (self.number, line) {
            (1, Some(line)) => Some(line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line)),
            (_, line) => line,
        };
        Line {
            number: self.number,
            bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// All lines of a stream that comes in these parts.
    fn all(limit: usize, parts: &[&[u8]]) -> Vec<(u64, Option<Vec<u8>>)> {
        let mut lines = Lines::new(limit);
        let mut found = Vec::new();
        let own = |line: Line<'_>| (line.number, line.bytes.map(<[u8]>::to_vec));
        for part in parts {
            lines.push(part);
            while let Some(line) = lines.next() {
                found.push(own(line));
            }
        }
        found.extend(lines.last().map(own));
        assert_eq!(lines.last(), None);
        found
    }

    #[test]
    fn a_line_ends_with_a_line_feed_or_the_stream() {
        let some = |text: &str| Some(text.as_bytes().to_vec());
        assert_eq!(
            all(9, &[b"a", b"b\n", b"\nc"]),
            [(1, some("ab")), (2, some("")), (3, some("c"))]
        );
        assert_eq!(all(9, &[b"a\n"]), [(1, some("a"))]);
        assert_eq!(all(9, &[]), []);
    }

    #[test]
    fn a_mark_before_the_first_line_is_no_part_of_it() {
        let some = |text: &[u8]| Some(text.to_vec());
        assert_eq!(
            all(9, &[b"\xef", b"\xbb\xbfa\n\xef\xbb\xbfb"]),
            [(1, some(b"a")), (2, some(b"\xef\xbb\xbfb"))]
        );
        assert_eq!(all(9, &[b"\xef\xbb\xbf"]), [(1, some(b""))]);
    }

    #[test]
    fn a_line_that_is_too_long_takes_no_memory() {
        let some = |text: &str| Some(text.as_bytes().to_vec());
        assert_eq!(
            all(3, &[b"abcd\nab", b"cd", b"efgh", b"i\nabc\nabcde"]),
            [(1, None), (2, None), (3, some("abc")), (4, None)]
        );
        let mut lines = Lines::new(1_000);
        for _ in 0..10_000 {
            lines.push(&[b'x'; 1_000]);
            assert!(lines.next().is_none());
            assert!(lines.bytes.len() <= 2_000);
        }
        assert_eq!(
            lines.last(),
            Some(Line {
                number: 1,
                bytes: None
            })
        );
    }

    proptest! {
        /// However a stream is cut into parts, its lines are the same.
        #[test]
        fn parts_make_no_difference(
            parts in proptest::collection::vec(proptest::collection::vec(proptest::sample::select(&b"ab\n"[..]), 0..6), 0..8),
            limit in 1_usize..5,
        ) {
            let parts: Vec<_> = parts.iter().map(Vec::as_slice).collect();
            let whole = parts.concat();
            prop_assert_eq!(all(limit, &parts), all(limit, &[&whole]));
        }
    }
}
