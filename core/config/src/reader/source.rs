//! The text of a pipeline file and its line starts.

use std::ops::Range;

use flowpipe_terminal::escape;
use flowpipe_terminal::escape::mask;
use miette::{MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents};
use serde::Serialize;

/// Bytes from the start of the file.
pub type Span = Range<usize>;

const BYTE_ORDER_MARK: char = '\u{feff}';

/// A file's name and text.
///
/// Control and invisible characters are replaced by visible ones of the same length, so that a malformed file can't
/// send escape sequences to the terminal that shows its errors.
#[derive(Debug)]
pub struct SourceFile {
    name: String,
    /// Ends with a line feed, which is added if the file has none.
    text: String,
    /// Bytes of the file.
    length: usize,
    /// The same without white space at the end.
    written: usize,
    line_starts: Vec<usize>,
}

/// A place in a file, as editors count it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Position {
    /// From 1. A line ends with a line feed.
    pub line: usize,
    /// From 1, in characters (Unicode scalar values): a tab counts one, a byte order mark nothing.
    pub column: usize,
}

impl SourceFile {
    /// A file from its name for messages and its text.
    #[must_use]
    pub fn new(name: &str, text: &str) -> Self {
        let (length, written) = (text.len(), text.trim_end().len());
        // Only at the start of a file it is a byte order mark.
        let (mark, rest) = text.split_at(match text.starts_with(BYTE_ORDER_MARK) {
            true => BYTE_ORDER_MARK.len_utf8(),
            false => 0,
        });
        let mut text: String = mark.chars().chain(rest.chars().map(mask)).collect();
        // Without it miette shows no caret at the end of the file.
        if !text.ends_with('\n') {
            text.push('\n');
        }
        let line_starts = std::iter::once(0)
            .chain(text.match_indices('\n').map(|(at, _)| at + 1))
            .collect();
        Self {
            name: name.to_owned(),
            text,
            length,
            written,
            line_starts,
        }
    }

    /// The name for messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text between two places; empty when the span is not inside the text.
    #[must_use]
    pub fn slice(&self, span: &Span) -> &str {
        self.text.get(span.clone()).unwrap_or_default()
    }

    /// Line and column of a byte. One past the end gives the end.
    #[must_use]
    pub fn position(&self, offset: usize) -> Position {
        let line = self.line_of(offset);
        let start = self.line_starts[line];
        let before = self.text.get(start..offset).unwrap_or(&self.text[start..]);
        let column = before.chars().filter(|&c| c != BYTE_ORDER_MARK).count();
        Position {
            line: line + 1,
            column: column + 1,
        }
    }

    /// The lines, from their first byte to their last, that a span touches.
    #[must_use]
    pub fn whole_lines(&self, span: &Span) -> Span {
        self.line_starts[self.line_of(span.start)]..self.line_end(self.line_of(span.end))
    }

    /// A span that can be shown: inside the text, between characters, and on a line with text where
    /// it points to the end of the file.
    #[must_use]
    pub fn fit(&self, span: &Span) -> Span {
        let boundary = |at: usize| {
            let at = at.min(self.length);
            let mut boundaries = (0..=at).rev().filter(|&at| self.text.is_char_boundary(at));
            boundaries.next().unwrap_or(0)
        };
        match boundary(span.start) {
            start if start >= self.length => self.written..self.written,
            start => start..boundary(span.end).max(start),
        }
    }

    /// The start of the next line with a table's header, or the end of the file.
    pub(super) fn next_header(&self, from: usize) -> usize {
        let lines = self.text[from..].split_inclusive('\n');
        let before = lines.take_while(|line| !line.trim_start().starts_with('['));
        from + before.map(str::len).sum::<usize>()
    }

    /// Whether the lines around a span can be shown with a caret: miette's columns end at 65,535, and far shorter lines
    /// are too long for a terminal.
    pub(super) fn is_showable(&self, span: &Span) -> bool {
        let first = self.line_of(span.start).saturating_sub(1);
        let last = self.line_of(span.end).saturating_add(1);
        (first..=last.min(self.line_starts.len() - 1))
            .all(|line| self.line_end(line) - self.line_starts[line] <= LONGEST_LINE)
    }

    fn line_of(&self, offset: usize) -> usize {
        // The first line starts at 0, so at least one start is no larger than the offset.
        self.line_starts
            .partition_point(|&start| start <= offset)
            .saturating_sub(1)
    }

    fn line_end(&self, line: usize) -> usize {
        self.line_starts
            .get(line + 1)
            .copied()
            .unwrap_or(self.text.len())
    }
}

/// The longest line that is shown, in bytes.
const LONGEST_LINE: usize = 4_000;

/// The longest message or help, in characters.
const LONGEST_MESSAGE: usize = 1_000;

/// Text for a message: control and invisible characters escaped, the end left out if it is very long.
pub(super) fn visible(text: &str) -> String {
    let end = text.char_indices().nth(LONGEST_MESSAGE);
    let (text, rest) = text.split_at(end.map_or(text.len(), |(at, _)| at));
    let lines: Vec<_> = text.split('\n').map(escape).collect();
    let mut shown = lines.join("\n");
    if !rest.is_empty() {
        shown.push('…');
    }
    shown
}

// miette's own implementation for text counts columns in bytes.
impl SourceCode for SourceFile {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        lines_before: usize,
        lines_after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let (start, end) = (span.offset(), span.offset() + span.len());
        if end > self.text.len() {
            return Err(MietteError::OutOfBounds);
        }
        let first = self.line_of(start).saturating_sub(lines_before);
        let last = self.line_of(end.saturating_sub(1).max(start)) + lines_after;
        let last = last.min(self.line_starts.len() - 1);
        // Without lines before, the caller needs the start of the span itself.
        let (from, column) = match lines_before {
            0 => (start, self.position(start).column - 1),
            _ => (self.line_starts[first], 0),
        };
        let to = if lines_after == 0 {
            end
        } else {
            self.line_end(last).max(end)
        };
        let bytes = &self.text.as_bytes()[from..to];
        let shown = (from, to - from).into();
        Ok(Box::new(MietteSpanContents::new(
            bytes,
            shown,
            first,
            column,
            last - first,
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, needle: &str, line: usize, column: usize) {
        let offset = text.find(needle).unwrap();
        let file = SourceFile::new("x.toml", text);
        assert_eq!(file.position(offset), Position { line, column });
    }

    #[test]
    fn positions_are_counted_in_characters() {
        check("a = 1\nb = 2", "b", 2, 1);
        check("a = \"ÄÖ🎲\" # x", "#", 1, 11);
        check("\ta = 1", "a", 1, 2);
        check("a = 1\r\nb = 2\r\nc = 3", "c", 3, 1);
        check("\u{feff}a = 1", "a", 1, 1);
        check("\u{feff}a = 1\nb = 2", "2", 2, 5);
    }

    #[test]
    fn spans_are_made_to_fit() {
        let file = SourceFile::new("x.toml", "ä = 1\n\n");
        assert_eq!(file.fit(&(8..8)), 6..6);
        assert_eq!(file.fit(&(1..2)), 0..2);
        assert_eq!(file.fit(&(70..90)), 6..6);
        assert_eq!(SourceFile::new("x.toml", "").fit(&(3..9)), 0..0);
    }

    #[test]
    fn control_characters_lose_their_power_but_not_their_length() {
        let file = SourceFile::new("x.toml", "a\u{1b}[31m\u{9b}b");
        assert_eq!(file.slice(&(0..9)), "a?[31m¿b");
        assert_eq!(visible("\u{1b}[31m"), r"\u001b[31m");
    }
}
