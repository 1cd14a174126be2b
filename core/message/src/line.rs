//! Texts of one line, for people.

/// Characters that are no white space and show nothing, some of them two columns wide: the fillers of Hangul, and the
/// Braille pattern without dots.
const BLANK_LETTERS: [char; 5] = ['\u{115f}', '\u{1160}', '\u{2800}', '\u{3164}', '\u{ffa0}'];

/// Checks that a text is a line of at most so many characters. `what`: what it is, such as `name`.
///
/// # Errors
/// Why it is none.
pub(crate) fn check(what: &str, text: &str, longest: usize) -> Result<(), String> {
    // Most texts are plain, and a message can have a million of them.
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    let length = match is_plain {
        true => text.len(),
        false => text.chars().count(),
    };
    if text.trim().is_empty() {
        return Err(format!("an empty {what}"));
    }
    if length > longest {
        return Err(format!(
            "a {what} of {length} characters, the most are {longest}"
        ));
    }
    if is_plain {
        return Ok(());
    }
    if text.chars().any(char::is_control) {
        return Err(format!("a {what} with control characters"));
    }
    if let Some(blank) = text.chars().find(|it| BLANK_LETTERS.contains(it)) {
        return Err(format!(
            "a {what} with U+{:04X}, which shows nothing",
            u32::from(blank)
        ));
    }
    Ok(())
}
