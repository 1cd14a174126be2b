//! Uncompressed frames as portable pixmaps, one behind the other: without times, and each as soon as it is there.

use std::io::{self, Read};

use flowpipe_plugin::Host;

use crate::error::DecodeError;
use crate::picture::{Limits, Picture, Size};

/// The longest header, in bytes: `P6`, width, height and the largest value, each on a line.
const LONGEST_HEADER: usize = 64;

/// The next frame. `None`: the end.
///
/// # Errors
/// When it can't be read.
pub fn next(
    from: &mut impl Read,
    limits: Limits,
    host: Host,
) -> Result<Option<Picture>, DecodeError> {
    let Some(header) = header(from)? else {
        return Ok(None);
    };
    let mut words = header.split_ascii_whitespace();
    let mut number = || words.next().and_then(|word| word.parse::<u64>().ok());
    let malformed = DecodeError::Malformed("it is no pixmap");
    let (Some(width), Some(height), Some(255)) = (number(), number(), number()) else {
        return Err(malformed);
    };
    let size = Size::within(limits, width, height)?;
    Ok(Some(Picture {
        frame: size.read(host, from)?,
        time_ns: None,
    }))
}

/// What is between `P6` and the pixels.
fn header(from: &mut impl Read) -> Result<Option<String>, DecodeError> {
    let mut header = Vec::new();
    let mut words = 0;
    let mut byte = [0];
    while words < 4 {
        match from.read(&mut byte) {
            Ok(0) if header.is_empty() => return Ok(None),
            Ok(0) => return Err(DecodeError::Pipe(io::ErrorKind::UnexpectedEof.into())),
            Ok(_) if header.len() >= LONGEST_HEADER => {
                return Err(DecodeError::Malformed("the header of a pixmap has no end"));
            }
            Ok(_) => {
                // One space ends each word.
                words += usize::from(byte[0].is_ascii_whitespace());
                header.push(byte[0]);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    let text = String::from_utf8_lossy(&header);
    match text.strip_prefix("P6") {
        Some(rest) => Ok(Some(rest.to_owned())),
        None => Err(DecodeError::Malformed("it is no pixmap")),
    }
}
