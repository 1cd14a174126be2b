//! The beginning of a long line, for messages.

/// The beginning of a line, as text.
pub fn shortened(line: &[u8]) -> String {
    const LONGEST: usize = 120;
    let text = String::from_utf8_lossy(line);
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_beginning_is_shown() {
        assert_eq!(shortened(b"short"), "short");
        let long = shortened("ä".repeat(500).as_bytes());
        assert_eq!(long.chars().count(), 122);
    }
}
