//! Counts in sentences: one of a thing, or several.

use std::fmt::Display;

/// A count with its noun: `1 board`, `2 boards`. The plural ends with an s.
pub fn counted<N: Display + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    match count == N::from(1) {
        true => format!("1 {noun}"),
        false => format!("{count} {noun}s"),
    }
}

/// The verb of a [`counted`] subject.
pub fn was<N: PartialEq + From<u8>>(count: N) -> &'static str {
    match count == N::from(1) {
        true => "was",
        false => "were",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular() {
        assert_eq!(counted(1_u64, "board"), "1 board");
        assert_eq!(counted(0_usize, "board"), "0 boards");
        assert_eq!(counted(2_usize, "board"), "2 boards");
        assert_eq!((was(1_u64), was(2_u64)), ("was", "were"));
    }
}
