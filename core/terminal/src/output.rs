//! Standard output and standard error, through which no text can act.

use std::io::{self, IsTerminal as _, StderrLock, StdoutLock, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::escape::Escaper;
use crate::styling::{Start, start};

static STDOUT_COLOURS: AtomicBool = AtomicBool::new(false);
static STDERR_COLOURS: AtomicBool = AtomicBool::new(false);
static LINES: OnceLock<fn(&str)> = OnceLock::new();

/// Sets whether standard output and standard error take colours; without it they take none.
pub fn set_colours(stdout: bool, stderr: bool) {
    STDOUT_COLOURS.store(stdout, Ordering::Relaxed);
    STDERR_COLOURS.store(stderr, Ordering::Relaxed);
}

/// The program's standard output.
pub fn stdout() -> Output<StdoutLock<'static>> {
    let colours = STDOUT_COLOURS.load(Ordering::Relaxed);
    Output::new(io::stdout().lock(), colours)
}

/// Standard output for what other programs read: it has no colours of ours, so that all that look like some are foreign.
pub fn plain_stdout() -> Output<StdoutLock<'static>> {
    Output::new(io::stdout().lock(), false)
}

/// The program's standard error.
pub fn stderr() -> Output<StderrLock<'static>> {
    let colours = STDERR_COLOURS.load(Ordering::Relaxed);
    Output::new(io::stderr().lock(), colours)
}

/// Whether standard output is a terminal.
pub fn stdout_is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Whether standard error is a terminal.
pub fn stderr_is_terminal() -> bool {
    io::stderr().is_terminal()
}

/// Has a function take the lines that would be printed to standard error, such as one that writes them to the log. The
/// first function stays.
pub fn redirect_lines(to: fn(&str)) {
    let _ = LINES.set(to);
}

/// Whether a function takes the lines.
pub fn are_lines_redirected() -> bool {
    LINES.get().is_some()
}

/// Prints whole lines to standard error, or where they are redirected to.
///
/// # Errors
/// When standard error is closed.
pub fn print_lines(lines: &str) -> io::Result<()> {
    match LINES.get() {
        Some(to) => {
            to(lines.trim_end_matches('\n'));
            Ok(())
        }
        None => stderr().write_all(lines.as_bytes()),
    }
}

/// Prints whole lines as [`print_lines`] does. What no reader takes is lost.
pub fn write_stderr(lines: &str) {
    // There is nowhere left to report it.
    let _ = print_lines(lines);
}

/// Passes text on. Characters that act or hide are escaped, bytes that are no UTF-8 replaced; line feeds, tabs and,
/// where there are `colours`, sequences that set colours and weights stay as they are.
#[derive(Debug)]
pub struct Output<W: Write> {
    to: W,
    colours: bool,
    escaper: Escaper,
    /// The beginning of a character or of a sequence, whose end is to come.
    begun: Vec<u8>,
}

impl<W: Write> Output<W> {
    /// Writes to another writer.
    pub fn new(to: W, colours: bool) -> Self {
        Self {
            to,
            colours,
            escaper: Escaper::default(),
            begun: Vec::new(),
        }
    }

    /// Writes what was begun, where it does not go on, and gives the writer.
    fn finish(&mut self) -> io::Result<()> {
        let begun = std::mem::take(&mut self.begun);
        let mut shown = String::new();
        // Its end does not come: it is foreign.
        for character in String::from_utf8_lossy(&begun).chars() {
            self.escaper.push(character, &mut shown);
        }
        self.to.write_all(shown.as_bytes())
    }

    /// What bytes become; their rest is kept.
    fn show(&mut self, bytes: &[u8], shown: &mut String) {
        let mut left = bytes;
        while !left.is_empty() {
            let (text, invalid) = match std::str::from_utf8(left) {
                Ok(text) => (text, Some(0)),
                Err(error) => {
                    let valid = &left[..error.valid_up_to()];
                    (str::from_utf8(valid).unwrap_or_default(), error.error_len())
                }
            };
            let goes_on = !matches!(invalid, Some(1..));
            if let Some(begun) = self.show_text(text, goes_on, shown) {
                // With what follows, should it be the end of it.
                self.begun = left[begun..].to_vec();
                return;
            }
            left = &left[text.len()..];
            match invalid {
                Some(length) if !left.is_empty() => {
                    self.escaper.pass(char::REPLACEMENT_CHARACTER, shown);
                    left = &left[length..];
                }
                Some(_) => {}
                None => {
                    self.begun = left.to_vec();
                    return;
                }
            }
        }
    }

    /// Gives where a sequence begins that has no end yet, where the text `goes_on`.
    fn show_text(&mut self, text: &str, goes_on: bool, shown: &mut String) -> Option<usize> {
        let mut at = 0;
        while let Some(character) = text[at..].chars().next() {
            let length = match character {
                '\x1b' if self.colours => match start(&text.as_bytes()[at..]) {
                    Start::Styling(length) => {
                        shown.push_str(&text[at..at + length]);
                        length
                    }
                    Start::Unknown if goes_on => return Some(at),
                    Start::Unknown | Start::Foreign => {
                        self.escaper.push(character, shown);
                        1
                    }
                },
                '\n' | '\t' => {
                    self.escaper.pass(character, shown);
                    1
                }
                _ => {
                    self.escaper.push(character, shown);
                    character.len_utf8()
                }
            };
            at += length;
        }
        None
    }
}

impl<W: Write> Write for Output<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let is_plain = |&byte: &u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t');
        if self.begun.is_empty() && bytes.iter().all(is_plain) {
            if let Some(last) = bytes.last() {
                self.escaper.pass(char::from(*last), &mut String::new());
            }
            self.to.write_all(bytes)?;
            return Ok(bytes.len());
        }
        let mut shown = String::with_capacity(bytes.len());
        if self.begun.is_empty() {
            self.show(bytes, &mut shown);
        } else {
            let mut all = std::mem::take(&mut self.begun);
            all.extend_from_slice(bytes);
            self.show(&all, &mut shown);
        }
        self.to.write_all(shown.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

impl<W: Write> Drop for Output<W> {
    fn drop(&mut self) {
        if !self.begun.is_empty() {
            // There is nowhere left to report it.
            let _ = self.finish();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(pieces: &[&[u8]], colours: bool) -> String {
        let mut written = Vec::new();
        let mut output = Output::new(&mut written, colours);
        for piece in pieces {
            output.write_all(piece).unwrap();
        }
        drop(output);
        String::from_utf8(written).unwrap()
    }

    #[test]
    fn our_colours_pass_where_they_are_wanted() {
        let text = "\x1b[1;38;2;0;190;60mgood\x1b[0m\n\tb\n";
        assert_eq!(shown(&[text.as_bytes()], true), text);
        assert_eq!(
            shown(&[text.as_bytes()], false),
            "\\u001b[1;38;2;0;190;60mgood\\u001b[0m\n\tb\n"
        );
    }

    #[test]
    fn nothing_else_passes() {
        let text = "\x1b]52;c;aGk=\x07\x1b[2J\ra\u{202e}b\u{9b}2J";
        let escaped = r"\u001b]52;c;aGk=\u0007\u001b[2J\ra\u202eb\u009b2J";
        assert_eq!(shown(&[text.as_bytes()], true), escaped);
        // 8-bit controls as a terminal that is not in UTF-8 takes them.
        assert_eq!(shown(&[b"a\x9b2Jb"], true), "a\u{fffd}2Jb");
    }

    #[test]
    fn what_is_begun_and_not_ended_is_foreign() {
        assert_eq!(shown(&[b"a\x1b[3"], true), r"a\u001b[3");
        assert_eq!(shown(&[b"a\x1b[3", b"J"], true), r"a\u001b[3J");
        assert_eq!(shown(&[b"\xe2\x82"], true), "\u{fffd}");
        assert_eq!(shown(&[b"\x1b[\xff", b"1m"], true), "\\u001b[\u{fffd}1m");
    }

    #[test]
    fn json_means_what_it_meant() {
        // Control characters below DEL are escaped by the JSON writer.
        let json = "{\"a\":\"\u{7f}\u{9b}\u{202e}\u{e0041}\"}";
        assert_eq!(
            shown(&[json.as_bytes()], true),
            r#"{"a":"\u007f\u009b\u202e\udb40\udc41"}"#
        );
    }

    fn pieces() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            Just(b"\x1b[1;31m".to_vec()),
            Just(b"\x1b]0;a\x07".to_vec()),
            Just("\u{202e}é🎲\u{200d}".as_bytes().to_vec()),
            prop::collection::vec(any::<u8>(), 0..6),
        ];
        prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        /// It does not matter where the text is cut into writes.
        #[test]
        fn pieces_are_as_the_whole(bytes in pieces(), cuts in prop::collection::vec(0_usize..80, 0..6)) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let parts: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            prop_assert_eq!(shown(&parts, true), shown(&[&bytes], true));
        }

        /// Whatever is written: no control but line feeds, tabs and our own sequences.
        #[test]
        fn no_control_passes(bytes in pieces()) {
            let plain = shown(&[&bytes], false);
            prop_assert!(plain.chars().all(|it| !it.is_control() || it == '\n' || it == '\t'));
        }
    }
}
