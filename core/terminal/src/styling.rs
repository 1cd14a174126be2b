//! The escape sequences that the program itself writes: colours and weights.

/// Longer than any that we write: two colours of three numbers each, and some weights.
const LONGEST: usize = 64;

/// What text that begins with ESC begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// A sequence of so many bytes that sets colours and weights, and nothing else.
    Styling(usize),
    /// Perhaps one: its end is not there yet.
    Unknown,
    /// Anything else.
    Foreign,
}

/// Looks at bytes that begin with ESC.
pub(crate) fn start(bytes: &[u8]) -> Start {
    let Some(rest) = bytes.get(1..).filter(|rest| !rest.is_empty()) else {
        return Start::Unknown;
    };
    let Some(rest) = rest.strip_prefix(b"[") else {
        return Start::Foreign;
    };
    let is_parameter = |byte: &u8| byte.is_ascii_digit() || *byte == b';';
    let length = rest.iter().take_while(|byte| is_parameter(byte)).count();
    if length > LONGEST {
        return Start::Foreign;
    }
    let (parameters, rest) = rest.split_at(length);
    match rest.first() {
        None => Start::Unknown,
        Some(b'm') if is_styling(parameters) => Start::Styling(b"\x1b[".len() + length + 1),
        Some(_) => Start::Foreign,
    }
}

/// Whether parameters set nothing but colours, weight, slant, underlining and reversal. Blinking and concealed text
/// is not ours.
fn is_styling(parameters: &[u8]) -> bool {
    let mut numbers = parameters.split(|&byte| byte == b';').map(number);
    while let Some(number) = numbers.next() {
        let is_ours = match number {
            Some(38 | 48) => match numbers.next() {
                Some(Some(5)) => numbers.next().is_some(),
                Some(Some(2)) => numbers.by_ref().take(3).count() == 3,
                _ => false,
            },
            Some(0..=4 | 7 | 9 | 22..=24 | 27 | 29..=37 | 39..=47 | 49 | 90..=97 | 100..=107) => {
                true
            }
            _ => false,
        };
        if !is_ours {
            return false;
        }
    }
    true
}

/// A parameter's number; none is 0.
fn number(digits: &[u8]) -> Option<u8> {
    if digits.is_empty() {
        return Some(0);
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_and_weights_are_ours() {
        for ours in ["\x1b[m", "\x1b[0m", "\x1b[1;31m", "\x1b[38;2;1;5;8;48;5;8m"] {
            assert_eq!(
                start(ours.as_bytes()),
                Start::Styling(ours.len()),
                "{ours:?}"
            );
        }
    }

    #[test]
    fn all_else_is_foreign() {
        for foreign in [
            "\x1b]0;a\x07",
            "\x1b[2J",
            "\x1b[8m",
            "\x1b[1;5m",
            "\x1b[38;8m",
            "\x1b[38;2;1m",
            "\x1b[?1049h",
            "\x1b[>4;1m",
            "\x1b[999m",
            "\x1bc",
        ] {
            assert_eq!(start(foreign.as_bytes()), Start::Foreign, "{foreign:?}");
        }
        let endless = format!("\x1b[{}", "1;".repeat(LONGEST));
        assert_eq!(start(endless.as_bytes()), Start::Foreign);
    }

    #[test]
    fn a_beginning_is_unknown() {
        for begun in ["\x1b", "\x1b[", "\x1b[38;2;"] {
            assert_eq!(start(begun.as_bytes()), Start::Unknown, "{begun:?}");
        }
    }
}
