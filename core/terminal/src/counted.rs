//! Counts in sentences: one of a thing, or several.

use std::fmt::Display;

/// A count with its noun, which is regular: `1 board`, `2 boards`, `2 entries`.
pub fn counted<N: Display + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    match (count == N::from(1), noun.strip_suffix('y')) {
        (true, _) => format!("1 {noun}"),
        (false, Some(stem)) if !stem.ends_with(['a', 'e', 'o', 'u']) => {
            format!("{count} {stem}ies")
        }
        (false, _) => format!("{count} {noun}s"),
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
        assert_eq!(counted(1_usize, "entry"), "1 entry");
        assert_eq!(counted(2_usize, "entry"), "2 entries");
        assert_eq!(counted(2_usize, "key"), "2 keys");
        assert_eq!((was(1_u64), was(2_u64)), ("was", "were"));
    }
}
