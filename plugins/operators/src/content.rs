//! What a message carries, for comparisons.

use flowpipe_plugin::{Message, Result};
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

/// What a message carries, as a text that is equal for equal content: its layout, and a hash of its elements or pixels. By
/// chance, two different ones have the same text once in 2^64 messages. Empty: the message carries nothing.
///
/// # Errors
/// When a picture has a format that is not known.
pub fn content_key(message: &Message<'_>) -> Result<String> {
    if let Some(buffer) = message.buffer() {
        return Ok(format!(
            "\nbuffer {} {} {:?} {:032x}",
            buffer.media_type(),
            buffer.element(),
            buffer.shape(),
            xxh3_128(buffer.bytes())
        ));
    }
    let Some(frame) = message.frame() else {
        return Ok(String::new());
    };
    let info = frame.info()?;
    // What is between the rows is no part of the picture.
    let row_bytes = (info.width as usize).saturating_mul(info.format.bytes_per_pixel());
    let mut hash = Xxh3::new();
    for row in frame.pixels().chunks(info.stride.max(1)) {
        hash.update(row.get(..row_bytes).unwrap_or(row));
    }
    Ok(format!(
        "\npicture {:?} {} {} {:032x}",
        info.format,
        info.width,
        info.height,
        hash.digest128()
    ))
}
