//! The memory of parsed JSON, estimated from its text.
//!
//! A short text can take a hundred times its length: each object is a B-tree, whose smallest node has place for eleven
//! entries, so that `[{"":0},{"":0}]` takes 700 bytes for each element.

/// An object: a B-tree node of `serde_json::Map`, and its place in a list.
const OBJECT: usize = 704;
/// A list: the least that it allocates.
const LIST: usize = 144;
/// Another element of a list that grows by doubling, or another entry of an object whose nodes are half full.
const ELEMENT: usize = 128;
/// One of the two quotes of a string: half of the least that it allocates.
const QUOTE: usize = 16;

/// The memory that a text takes as a `serde_json::Value`, in bytes, at most. The text need not be valid.
pub(crate) fn json_memory(text: &[u8]) -> usize {
    let mut bytes = text.len();
    let mut letters = text.iter();
    let mut is_string = false;
    while let Some(letter) = letters.next() {
        let more = match (is_string, letter) {
            (_, b'"') => {
                is_string = !is_string;
                QUOTE
            }
            (true, b'\\') => {
                letters.next();
                0
            }
            (true, _) => 0,
            (false, b'{') => OBJECT,
            (false, b'[') => LIST,
            (false, b',') => ELEMENT,
            _ => 0,
        };
        bytes = bytes.saturating_add(more);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_no_structure() {
        assert_eq!(json_memory(br#""{[,\"{[,""#), 10 + 2 * QUOTE);
        assert_eq!(json_memory(b"1"), 1);
        assert_eq!(
            json_memory(br#"[{"":0},[]]"#),
            11 + 2 * LIST + OBJECT + ELEMENT + 2 * QUOTE
        );
    }
}
