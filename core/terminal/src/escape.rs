//! Which characters are escaped, and how.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

/// A text as one line without characters that act or hide: line breaks and tabs are escaped too.
#[must_use]
pub fn escape(text: &str) -> Cow<'_, str> {
    escape_but(text, &[])
}

/// A text of several lines: line feeds and tabs stay.
#[must_use]
pub fn escape_block(text: &str) -> Cow<'_, str> {
    escape_but(text, &['\n', '\t'])
}

/// A text of several lines, to be printed behind our own text: its later lines are indented, so that none of them looks
/// like the beginning of one of our messages.
#[must_use]
pub fn escape_indented(text: &str) -> String {
    escape_block(text).replace('\n', "\n  ")
}

/// A character, or a visible one of as many bytes in its place where it acts or hides: for texts in which places are
/// counted. Line breaks, tabs and joiners stay.
#[must_use]
pub fn mask(character: char) -> char {
    match (character, character.len_utf8()) {
        ('\n' | '\r' | '\t' | JOINER | NON_JOINER, _) => character,
        _ if !is_hidden(character) => character,
        (_, 1) => '?',
        (_, 2) => '¿',
        (_, 3) => char::REPLACEMENT_CHARACTER,
        _ => '🯄',
    }
}

/// A value of which [`escape()`] is shown, with the width that the format asks for.
#[derive(Clone, Copy, Debug)]
pub struct Escaped<T>(T);

/// Something to be put into one of our lines.
pub fn escaped<T: fmt::Display>(value: T) -> Escaped<T> {
    Escaped(value)
}

impl<T: fmt::Display> fmt::Display for Escaped<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&escape(&self.0.to_string()))
    }
}

fn escape_but<'a>(text: &'a str, kept: &[char]) -> Cow<'a, str> {
    // Most texts are plain.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut escaper = Escaper::default();
    for character in text.chars() {
        if kept.contains(&character) {
            escaper.pass(character, &mut shown);
        } else {
            escaper.push(character, &mut shown);
        }
    }
    match shown == text {
        true => Cow::Borrowed(text),
        false => Cow::Owned(shown),
    }
}

/// Escapes a text that comes in pieces.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Escaper {
    /// A letter or sign before that may be joined to the next one: no part of ASCII is.
    can_join: bool,
}

impl Escaper {
    /// A character as it is.
    pub(crate) fn pass(&mut self, character: char, shown: &mut String) {
        self.can_join = !character.is_ascii();
        shown.push(character);
    }

    /// A character, escaped where it has to be.
    pub(crate) fn push(&mut self, character: char, shown: &mut String) {
        let is_hidden = match character {
            JOINER | NON_JOINER => !self.can_join,
            _ => is_hidden(character),
        };
        if is_hidden {
            self.can_join = false;
            write_escape(character, shown);
        } else {
            self.pass(character, shown);
        }
    }
}

/// Words of Persian and of India's languages hold these, and so do emoji. In other words they are hidden.
const NON_JOINER: char = '\u{200c}';
const JOINER: char = '\u{200d}';

/// Whether a character does something to a terminal or to other text, or is not to be seen at all. Letters of every
/// script, their combining marks and variation selectors are not.
fn is_hidden(character: char) -> bool {
    matches!(character,
        // C0, DEL and C1.
        '\0'..='\x1f' | '\x7f'..='\u{9f}'
        // Soft hyphen, grapheme joiner.
        | '\u{ad}' | '\u{34f}'
        // The marks, overrides and isolates of bidirectional text, line and paragraph separators.
        | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
        // Letters without a shape: Hangul's fillers, Khmer's inherent vowels, Mongolian's separator.
        | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}'
        // Zero-width space and joiners, invisible operators, further marks and isolates of bidirectional text.
        | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        // Annotations, and the format characters of shorthand and music.
        | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        // Tags: a whole alphabet that is not seen.
        | '\u{e0000}'..='\u{e00ff}' | '\u{e01f0}'..='\u{e0fff}')
}

/// As in a JSON string, so that JSON stays the same JSON.
fn write_escape(character: char, shown: &mut String) {
    match character {
        '\n' => shown.push_str("\\n"),
        '\r' => shown.push_str("\\r"),
        '\t' => shown.push_str("\\t"),
        _ => {
            for unit in character.encode_utf16(&mut [0; 2]) {
                // Writing to a String can't fail.
                let _ = write!(shown, "\\u{unit:04x}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_or_hides_is_escaped() {
        for (text, shown) in [
            ("\x1b]0;title\x07", r"\u001b]0;title\u0007"),
            ("\x1b[2Ja", r"\u001b[2Ja"),
            ("\u{9b}31m", r"\u009b31m"),
            ("a\rb\nc\td", r"a\rb\nc\td"),
            ("a\x7fb\0", r"a\u007fb\u0000"),
            ("invoice\u{202e}fdp.exe", r"invoice\u202efdp.exe"),
            ("a\u{2066}b\u{2069}", r"a\u2066b\u2069"),
            ("sol\u{200b}ver", r"sol\u200bver"),
            ("sol\u{200d}ver", r"sol\u200dver"),
            ("a\u{2028}b\u{2029}", r"a\u2028b\u2029"),
            ("\u{feff}a", r"\ufeffa"),
            ("\u{e0041}", r"\udb40\udc41"),
        ] {
            assert_eq!(escape(text), shown);
        }
    }

    #[test]
    fn words_of_all_languages_stay() {
        for text in [
            "Flow Free – 5 × 5",
            "ångström e\u{301} \u{1e9}",
            "क्\u{200d}ष می\u{200c}خواهم",
            "עברית العربية ไทย 한국어 日本語",
            "👩\u{200d}👩\u{200d}👧 ✔\u{fe0f}",
            "│ ▁▂▃ █",
        ] {
            assert!(matches!(escape(text), Cow::Borrowed(same) if same == text));
        }
    }

    #[test]
    fn lines_of_a_block_stay() {
        assert_eq!(escape_block("a\n\tb\r\x1b"), "a\n\tb\\r\\u001b");
        assert_eq!(escape_indented("a\nflowpipe: b"), "a\n  flowpipe: b");
    }

    #[test]
    fn a_mask_is_as_long_as_what_it_hides() {
        let text = "a\x1b\u{9b}\u{202e}\u{e0041}é\n";
        let masked: String = text.chars().map(mask).collect();
        assert_eq!(masked, "a?¿\u{fffd}🯄é\n");
        assert_eq!(masked.len(), text.len());
    }

    #[test]
    fn a_value_keeps_its_width() {
        assert_eq!(format!("{:>8}|", escaped("a\x1b")), " a\\u001b|");
        assert_eq!(format!("{:<4}|", escaped(7)), "7   |");
    }
}
