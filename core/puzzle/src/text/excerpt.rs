//! The start of a text that is no puzzle, for its error.

/// The most characters of an excerpt.
const LONGEST: usize = 60;

/// A text, or its start.
pub(super) fn excerpt(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
