//! Lines of a command's output, as long as they may be.

use std::io::{self, BufRead};

/// One line without its end, or why there is none.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// A line; the last one may lack its end.
    Whole(Vec<u8>),
    /// More bytes than were allowed.
    TooLong,
}

/// Reads the next line of at most so many bytes. `None`: there is no more.
///
/// # Errors
/// Errors of the system.
pub fn next(from: &mut impl BufRead, most: usize) -> io::Result<Option<Line>> {
    let mut line = Vec::new();
    loop {
        let buffer = match from.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            other => other?,
        };
        if buffer.is_empty() {
            return Ok((!line.is_empty()).then_some(Line::Whole(line)));
        }
        let end = buffer.iter().position(|&byte| byte == b'\n');
        let part = &buffer[..end.unwrap_or(buffer.len())];
        if line.len() + part.len() > most {
            // What is read next is its rest.
            let read = buffer.len();
            from.consume(read);
            return Ok(Some(Line::TooLong));
        }
        line.extend_from_slice(part);
        let taken = part.len() + usize::from(end.is_some());
        from.consume(taken);
        if end.is_some() {
            return Ok(Some(Line::Whole(line)));
        }
    }
}

/// The beginning of a line, for people.
pub fn shortened(line: &[u8]) -> String {
    const MOST: usize = 120;
    let text = String::from_utf8_lossy(line);
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_and_have_an_end() {
        // A reader that gives three bytes at a time.
        let mut from = io::BufReader::with_capacity(3, &b"one\n\nand two"[..]);
        let mut line = || next(&mut from, 7).unwrap();
        let whole = |text: &str| Some(Line::Whole(text.into()));
        assert_eq!(line(), whole("one"));
        assert_eq!(line(), whole(""));
        assert_eq!(line(), whole("and two"));
        assert_eq!(line(), None);
        let mut from = io::BufReader::with_capacity(3, &b"too long\n"[..]);
        assert_eq!(next(&mut from, 7).unwrap(), Some(Line::TooLong));
    }

    #[test]
    fn only_the_beginning_is_shown() {
        assert_eq!(shortened(b"short"), "short");
        let long = shortened("ä".repeat(500).as_bytes());
        assert_eq!(long.chars().count(), 122);
    }
}
