//! Values from and to JSON.

use std::io::Write;

use jaq_json::{Num, Val};
use serde::de::IgnoredAny;

/// The most levels of a message: as many as most parsers of JSON accept.
const DEEPEST: usize = 128;
/// The most digits of a number. Reading a long one takes time by the square of its length.
const MOST_DIGITS: usize = 1_000;
/// The most values of a message, of which keys are some. A value takes some fifty bytes, its text often only three.
const MOST_VALUES: usize = 1_000_000;
/// Shorter texts have neither so many levels nor so many digits or values.
const HARMLESS: usize = 2 * DEEPEST;
/// The most bytes of all outputs for a message.
const MOST_BYTES: usize = 64 << 20;

/// Why a text can't be read: a sentence that follows "the message" and the like.
pub fn refusal(json: &[u8]) -> Option<&'static str> {
    if json.len() <= HARMLESS {
        return None;
    }
    let (mut depth, mut digits, mut is_text, mut is_escaped) = (0_usize, 0, false, false);
    let (mut values, mut is_comment) = (1, false);
    for &byte in json {
        if is_text {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' => is_escaped = true,
                b'"' => is_text = false,
                _ => {}
            }
            continue;
        }
        // The parser accepts comments, in which quotes start no text.
        if is_comment {
            is_comment = byte != b'\n';
            continue;
        }
        digits = if byte.is_ascii_digit() { digits + 1 } else { 0 };
        // There is a value before or after each of them.
        values += usize::from(matches!(byte, b',' | b':' | b'[' | b'{'));
        match byte {
            b'"' => is_text = true,
            b'#' => is_comment = true,
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEEPEST {
            return Some("is nested more than 128 levels deep");
        }
        if digits > MOST_DIGITS {
            return Some("has a number of more than 1,000 digits");
        }
        if values > MOST_VALUES {
            return Some("has more than 1,000,000 values");
        }
    }
    None
}

/// Reads a value.
///
/// # Errors
/// When it is no JSON, or too deep.
pub fn read(json: &[u8]) -> Result<Val, String> {
    if let Some(why) = refusal(json) {
        return Err(format!("it {why}"));
    }
    jaq_json::read::parse_single(json).map_err(|error| error.to_string())
}

/// Appends a value as JSON: as jq does, NaN as null, and infinite numbers as the largest.
///
/// # Errors
/// When it is no JSON, too deep or too much: a sentence that follows "an output".
pub fn write(value: &Val, into: &mut Vec<u8>) -> Result<(), &'static str> {
    write_at(value, 0, false, into)
}

/// The same for comparisons: keys in their order, and equal numbers in the same way.
///
/// # Errors
/// As [`write`].
pub fn write_key(value: &Val, into: &mut Vec<u8>) -> Result<(), &'static str> {
    write_at(value, 0, true, into)
}

fn write_at(
    value: &Val,
    depth: usize,
    is_key: bool,
    into: &mut Vec<u8>,
) -> Result<(), &'static str> {
    if into.len() > MOST_BYTES {
        return Err("has more than 64 MiB");
    }
    if depth > DEEPEST {
        return Err("is nested more than 128 levels deep");
    }
    match value {
        Val::Null => into.extend_from_slice(b"null"),
        Val::Bool(true) => into.extend_from_slice(b"true"),
        Val::Bool(false) => into.extend_from_slice(b"false"),
        Val::Num(number) => write_number(number, is_key, into),
        Val::TStr(text) => write_text(text, into),
        Val::BStr(_) => return Err("has bytes that are no text"),
        Val::Arr(array) => {
            into.push(b'[');
            for (index, element) in array.iter().enumerate() {
                if index > 0 {
                    into.push(b',');
                }
                write_at(element, depth + 1, is_key, into)?;
            }
            into.push(b']');
        }
        Val::Obj(object) => {
            let mut members: Vec<_> = object.iter().collect();
            if is_key {
                members.sort_by_key(|(key, _)| *key);
            }
            into.push(b'{');
            for (index, (key, member)) in members.into_iter().enumerate() {
                if index > 0 {
                    into.push(b',');
                }
                match key {
                    Val::TStr(text) => write_text(text, into),
                    _ => return Err("has a key that is no text"),
                }
                into.push(b':');
                write_at(member, depth + 1, is_key, into)?;
            }
            into.push(b'}');
        }
    }
    Ok(())
}

fn write_text(text: &[u8], into: &mut Vec<u8>) {
    let text = String::from_utf8_lossy(text);
    // Writing to memory does not fail.
    let _ = serde_json::to_writer(into, &text);
}

fn write_number(number: &Num, is_key: bool, into: &mut Vec<u8>) {
    let mut write_float = |float: f64| {
        let finite = float.clamp(f64::MIN, f64::MAX);
        match is_key && finite.fract() == 0.0 {
            // As an integer of this value. Zero has no sign.
            true => {
                let _ = write!(into, "{:.0}", finite + 0.0);
            }
            false => {
                let _ = serde_json::to_writer(&mut *into, &finite);
            }
        }
    };
    match number {
        Num::Float(float) => write_float(*float),
        // As it was written.
        Num::Dec(text) if !is_key && serde_json::from_str::<IgnoredAny>(text).is_ok() => {
            into.extend_from_slice(text.as_bytes());
        }
        Num::Dec(text) => write_float(text.parse().unwrap_or(f64::NAN)),
        Num::Int(integer) => {
            let _ = serde_json::to_writer(into, integer);
        }
        Num::BigInt(integer) => {
            let _ = write!(into, "{integer}");
        }
    }
}
