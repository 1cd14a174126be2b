//! Good inputs made bad: bytes changed, parts cut, doubled, moved, numbers made huge.
#![allow(dead_code, reason = "each test uses a part of it")]

use proptest::prelude::*;
use proptest::sample::Index;

/// Numbers at which something may break.
const NUMBERS: [&str; 12] = [
    "0",
    "-1",
    "127",
    "65535",
    "65536",
    "131072",
    "4294967295",
    "4294967296",
    "18446744073709551615",
    "18446744073709551616",
    "1e308",
    "1e999",
];

/// Text at which something may break.
const ODD: [&str; 10] = [
    "\u{feff}",
    "\0",
    "\r",
    "\u{2028}",
    "\u{1f600}\u{200d}",
    "e\u{301}",
    "\u{202e}",
    "\u{10ffff}",
    "\u{1b}[31m",
    "ﬀ",
];

/// One change.
#[derive(Clone, Debug)]
enum Edit {
    /// Another byte.
    Byte(Index, u8),
    /// One bit of a byte.
    Bit(Index, u8),
    /// Bytes left out.
    Cut(Index, usize),
    /// Everything from there left out.
    End(Index),
    /// Bytes so many times.
    Repeat(Index, usize, usize),
    /// Bytes put elsewhere too.
    Copy(Index, usize, Index),
    /// A text so many times.
    Insert(Index, String, usize),
    /// The next number made another one.
    Number(Index, &'static str),
}

fn edit(words: &'static [&'static str]) -> impl Strategy<Value = Edit> {
    let word = prop::sample::select([words, &ODD].concat());
    // Seldom so many that nesting gets deep.
    let times = prop_oneof![6 => 1_usize..3, 1 => 100_usize..3_000];
    prop_oneof![
        2 => any::<(Index, u8)>().prop_map(|(at, byte)| Edit::Byte(at, byte)),
        2 => (any::<Index>(), 0..8_u8).prop_map(|(at, bit)| Edit::Bit(at, bit)),
        2 => (any::<Index>(), 1..60_usize).prop_map(|(at, length)| Edit::Cut(at, length)),
        1 => any::<Index>().prop_map(Edit::End),
        2 => (any::<Index>(), 1..60_usize, 1..5_usize).prop_map(|(at, length, times)| Edit::Repeat(at, length, times)),
        2 => (any::<Index>(), 1..60_usize, any::<Index>()).prop_map(|(at, length, to)| Edit::Copy(at, length, to)),
        3 => (any::<Index>(), word, times).prop_map(|(at, word, times)| Edit::Insert(at, word.to_owned(), times)),
        3 => (any::<Index>(), prop::sample::select(NUMBERS.to_vec())).prop_map(|(at, number)| Edit::Number(at, number)),
    ]
}

fn make(bytes: &mut Vec<u8>, edit: Edit) {
    let place = |at: Index| at.index(bytes.len().max(1)).min(bytes.len());
    let part = |at: Index, length: usize| place(at)..(place(at) + length).min(bytes.len());
    match edit {
        Edit::Byte(at, byte) => {
            let at = place(at);
            if let Some(old) = bytes.get_mut(at) {
                *old = byte;
            }
        }
        Edit::Bit(at, bit) => {
            let at = place(at);
            if let Some(old) = bytes.get_mut(at) {
                *old ^= 1 << bit;
            }
        }
        Edit::Cut(at, length) => drop(bytes.drain(part(at, length))),
        Edit::End(at) => bytes.truncate(place(at)),
        Edit::Repeat(at, length, times) => {
            let part = part(at, length);
            let repeated = bytes[part.clone()].repeat(times + 1);
            bytes.splice(part, repeated);
        }
        Edit::Copy(at, length, to) => {
            let (copied, to) = (bytes[part(at, length)].to_vec(), place(to));
            bytes.splice(to..to, copied);
        }
        Edit::Insert(at, word, times) => {
            let at = place(at);
            bytes.splice(at..at, word.repeat(times).into_bytes());
        }
        Edit::Number(at, number) => {
            let from = place(at);
            let is_digit = |byte: &u8| byte.is_ascii_digit();
            let Some(first) = bytes[from..].iter().position(is_digit) else {
                return;
            };
            let first = from + first;
            let length = bytes[first..]
                .iter()
                .take_while(|byte| is_digit(byte))
                .count();
            bytes.splice(first..first + length, number.bytes());
        }
    }
}

/// One of the good inputs with one to eight changes; among them are the words of its format.
pub fn spoiled(
    good: Vec<Vec<u8>>,
    words: &'static [&'static str],
) -> impl Strategy<Value = Vec<u8>> {
    let edits = prop::collection::vec(edit(words), 1..8);
    (prop::sample::select(good), edits).prop_map(|(mut bytes, edits)| {
        for edit in edits {
            make(&mut bytes, edit);
        }
        bytes
    })
}

/// The same as text: what is no UTF-8 is replaced.
pub fn spoiled_text(
    good: &[&str],
    words: &'static [&'static str],
) -> impl Strategy<Value = String> + use<> {
    let good = good.iter().map(|text| text.as_bytes().to_vec()).collect();
    spoiled(good, words).prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}
