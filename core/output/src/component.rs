//! Text of others as part of a file's name.

/// The most bytes of such a part: with a number, a time and an extension it fits into a name, which has at most 255.
const MOST_BYTES: usize = 128;

/// A text as one component of a path, or part of one. It has no separators and no control characters, is neither `.` nor
/// `..`, hides no file by a leading dot, looks like no option of a command by a leading hyphen, and is at most 128 bytes
/// long. It is never empty.
#[must_use]
pub fn component(text: &str) -> String {
    let mut name = String::new();
    for letter in text.chars() {
        let is_leading = name.chars().all(|it| it == '_');
        let letter = match letter {
            '/' | '\\' | ':' => '-',
            letter if letter.is_control() => '-',
            letter => letter,
        };
        let letter = match letter {
            '.' | '-' if is_leading => '_',
            letter => letter,
        };
        if name.len() + letter.len_utf8() > MOST_BYTES {
            break;
        }
        name.push(letter);
    }
    if name.is_empty() {
        name.push('_');
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_is_harmless() {
        for (text, name) in [
            ("plain name.1", "plain name.1"),
            ("a/b\\c:d", "a-b-c-d"),
            ("..", "__"),
            (".", "_"),
            ("", "_"),
            (".hidden", "_hidden"),
            ("-rf", "_rf"),
            ("../../x", "______x"),
            ("a\n\u{1b}\u{7f}\u{9b}", "a----"),
        ] {
            assert_eq!(component(text), name, "{text:?}");
        }
        for long in ["n".repeat(1000), "\u{1f600}".repeat(100)] {
            assert_eq!(component(&long).len(), MOST_BYTES);
        }
    }
}
