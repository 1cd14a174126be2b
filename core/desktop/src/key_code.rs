//! The codes of keys where the desktop has none: those of a PC's keyboard of the United States, as X11 counts there.
//!
//! A virtual keyboard may have any codes. With these, programs that look at the place of a key find what they expect, too.

use crate::key::Key;

/// X11 counts from here on what Linux's `input-event-codes.h` counts.
const X11: u8 = 8;

/// Rows of keys: Linux's code of the first one, and what is on them.
const ROWS: [(u8, &str); 4] = [
    (2, "1234567890"),
    (16, "qwertyuiop"),
    (30, "asdfghjkl"),
    (44, "zxcvbnm"),
];
/// Function keys that follow each other: Linux's code of the first one, its symbol, and how many there are.
const FUNCTION_KEYS: [(u8, u32, u8); 3] = [(59, 0xffbe, 10), (87, 0xffc8, 2), (183, 0xffca, 12)];
/// Linux's codes of the other keys, and their symbols.
const OTHERS: [(u8, u32); 25] = [
    (1, 0xff1b),
    (14, 0xff08),
    (15, 0xff09),
    (28, 0xff0d),
    (29, 0xffe3),
    (42, 0xffe1),
    (54, 0xffe2),
    (56, 0xffe9),
    (57, 0x20),
    (70, 0xff14),
    (97, 0xffe4),
    (99, 0xff61),
    (100, 0xffea),
    (102, 0xff50),
    (103, 0xff52),
    (104, 0xff55),
    (105, 0xff51),
    (106, 0xff53),
    (107, 0xff57),
    (108, 0xff54),
    (109, 0xff56),
    (110, 0xff63),
    (111, 0xffff),
    (119, 0xff13),
    (127, 0xff67),
];

/// All keys that have a name, with their codes.
pub(crate) fn all() -> impl Iterator<Item = (u8, Key)> {
    let rows = ROWS.into_iter().flat_map(|(first, keys)| {
        let symbols = keys.bytes().map(u32::from);
        (first..).zip(symbols)
    });
    let function_keys = FUNCTION_KEYS
        .into_iter()
        .flat_map(|(first, symbol, count)| (first..first + count).zip(symbol..));
    let linux = rows.chain(function_keys).chain(OTHERS);
    linux.map(|(code, symbol)| (code + X11, Key { symbol }))
}

/// The code of a key.
pub(crate) fn of(key: Key) -> Option<u8> {
    all().find(|(_, other)| *other == key).map(|(code, _)| code)
}

/// Linux's number of the key of a code.
#[cfg(feature = "wlroots")]
pub(crate) fn linux(code: u8) -> u32 {
    u32::from(code.saturating_sub(X11))
}

/// The key of a code.
#[cfg(feature = "mutter")]
pub(crate) fn key(code: u8) -> Option<Key> {
    all().find(|(other, _)| *other == code).map(|(_, key)| key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_with_a_name_has_a_code_of_its_own() {
        let named = crate::key::names().map(|name| Key::named(&name).unwrap());
        for key in named {
            assert!(of(key).is_some(), "{key:?}");
        }
        let mut codes: Vec<u8> = all().map(|(code, _)| code).collect();
        let count = codes.len();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), count);
        // As X11 has them on a PC.
        for (name, code) in [("F2", 68), ("a", 38), ("Return", 36), ("Escape", 9)] {
            assert_eq!(of(Key::named(name).unwrap()), Some(code), "{name}");
        }
    }
}
