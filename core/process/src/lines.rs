//! Lines of a process's output, of bounded length.

use std::io::{self, BufRead as _, BufReader, Read};

/// A line without its end.
#[derive(Debug, PartialEq, Eq)]
pub struct Line {
    /// The bytes, which need not be UTF-8.
    pub bytes: Vec<u8>,
    /// The line is longer than allowed: the next one continues it.
    pub is_cut: bool,
}

/// Where a line ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineEnd {
    /// At a newline.
    Newline,
    /// At the greatest length: the next line continues it.
    Cut,
}

/// Splits bytes that arrive in pieces into lines.
#[derive(Debug)]
pub struct Splitter {
    line: Vec<u8>,
    longest: usize,
}

/// Reads lines. The last one may lack its newline.
#[derive(Debug)]
pub struct Lines<R> {
    from: BufReader<R>,
    splitter: Splitter,
}

/// The size of a read, in bytes.
const READ_SIZE: usize = 64 << 10;

impl Splitter {
    /// A splitter for lines of at most this many bytes.
    #[must_use]
    pub fn new(longest: usize) -> Self {
        Self {
            line: Vec::new(),
            // Each line has to consume something.
            longest: longest.max(1),
        }
    }

    /// Adds bytes to the line, up to its end. Returns how many were consumed, and the end if it was among them: take
    /// the line then.
    pub fn add(&mut self, bytes: &[u8]) -> (usize, Option<LineEnd>) {
        let room = self.longest.saturating_sub(self.line.len());
        let candidates = &bytes[..bytes.len().min(room.saturating_add(1))];
        if let Some(end) = candidates.iter().position(|&byte| byte == b'\n') {
            self.line.extend_from_slice(&bytes[..end]);
            return (end + 1, Some(LineEnd::Newline));
        }
        let consumed = bytes.len().min(room);
        self.line.extend_from_slice(&bytes[..consumed]);
        (consumed, (bytes.len() > room).then_some(LineEnd::Cut))
    }

    /// The line so far. Whoever takes it leaves an empty one.
    pub fn line_mut(&mut self) -> &mut Vec<u8> {
        &mut self.line
    }
}

impl<R: Read> Lines<R> {
    /// The lines of a pipe. One of more than `longest` bytes is split.
    pub fn new(from: R, longest: usize) -> Self {
        Self {
            from: BufReader::with_capacity(READ_SIZE, from),
            splitter: Splitter::new(longest),
        }
    }
}

impl<R: Read> Iterator for Lines<R> {
    type Item = io::Result<Line>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let bytes = match self.from.fill_buf() {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Some(Err(error)),
            };
            let is_over = bytes.is_empty();
            let (consumed, end) = self.splitter.add(bytes);
            self.from.consume(consumed);
            if is_over && self.splitter.line.is_empty() {
                return None;
            }
            if is_over || end.is_some() {
                return Some(Ok(Line {
                    bytes: std::mem::take(self.splitter.line_mut()),
                    is_cut: end == Some(LineEnd::Cut),
                }));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads three bytes at a time.
    struct Trickle<'a>(&'a [u8]);

    impl Read for Trickle<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let most = buffer.len().min(3);
            self.0.read(&mut buffer[..most])
        }
    }

    fn lines(bytes: &[u8], longest: usize) -> Vec<(String, bool)> {
        let lines = Lines::new(Trickle(bytes), longest).map(Result::unwrap);
        let text = |line: Line| {
            (
                String::from_utf8_lossy(&line.bytes).into_owned(),
                line.is_cut,
            )
        };
        lines.map(text).collect()
    }

    fn whole(text: &str) -> (String, bool) {
        (text.to_owned(), false)
    }

    fn cut(text: &str) -> (String, bool) {
        (text.to_owned(), true)
    }

    #[test]
    fn every_byte_is_read() {
        let all = [whole("one"), whole(""), whole("\u{fffd} two")];
        assert_eq!(lines(b"one\n\n\xff two", 9), all);
        assert_eq!(lines(b"one\n\n\xff two\n", 9), all);
        assert!(lines(b"", 9).is_empty());
    }

    #[test]
    fn a_longer_line_is_split() {
        let all = [cut("abc"), cut("def"), whole("g"), whole("hij")];
        assert_eq!(lines(b"abcdefg\nhij\n", 3), all);
        assert_eq!(lines(b"ab", 0), [cut("a"), whole("b")]);
    }
}
