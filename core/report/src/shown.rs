//! JSON of what is shown: foreign text in it neither acts nor hides.

use std::io;

use flowpipe_terminal::escape;
use serde::Serialize;
use serde_json::ser::{CharEscape, CompactFormatter, Formatter, Serializer};

/// A value as JSON. A string in it that has characters which act or hide means their escapes; line breaks and tabs stay.
pub(crate) fn json(value: &impl Serialize) -> String {
    let mut bytes = Vec::new();
    // Numbers, strings and lists always have a JSON, and memory takes it.
    let _ = value.serialize(&mut Serializer::with_formatter(&mut bytes, Shown));
    String::from_utf8(bytes).unwrap_or_default()
}

struct Shown;

impl Formatter for Shown {
    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        // What is a backslash in the string itself comes as an escape of its own.
        let text = escape(fragment).replace('\\', r"\\");
        writer.write_all(text.as_bytes())
    }

    fn write_char_escape<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        character: CharEscape,
    ) -> io::Result<()> {
        let control = match character {
            CharEscape::AsciiControl(byte) => byte,
            CharEscape::Backspace => 0x08,
            CharEscape::FormFeed => 0x0c,
            other => return CompactFormatter.write_char_escape(writer, other),
        };
        write!(writer, "\\\\u{control:04x}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_mean_the_escapes() {
        let text = "a\x1b[2J\u{8}\n\t\\\"\u{202e}é\u{9b}<";
        let json = json(&[text]);
        let back: Vec<String> = serde_json::from_str(&json).unwrap();
        assert_eq!(back, ["a\\u001b[2J\\u0008\n\t\\\"\\u202eé\\u009b<"]);
        assert!(
            json.is_ascii() || !json.contains(['\u{9b}', '\u{202e}']),
            "{json}"
        );
    }
}
