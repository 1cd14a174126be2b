//! One record of a file or of a chunk, which may be damaged.

use mcap::records::{Record, op};

/// The record at a byte of the file or of a chunk: its kind, its body, where the next one begins. `None`: it is cut off.
pub(crate) fn record(bytes: &[u8], at: usize) -> Option<(u8, &[u8], usize)> {
    let rest = bytes.get(at..)?;
    let (&code, rest) = rest.split_first()?;
    let (length, rest) = rest.split_first_chunk::<8>()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let body = rest.get(..length)?;
    Some((code, body, at + 9 + length))
}

/// `None`: it is damaged. Records that nothing is read from are not looked into.
pub(crate) fn parse(code: u8, body: &[u8]) -> Option<Record<'_>> {
    match code {
        op::SCHEMA | op::CHANNEL | op::MESSAGE | op::CHUNK | op::ATTACHMENT | op::DATA_END => {
            fits(code, body)?;
            mcap::parse_record(code, body).ok()
        }
        opcode => Some(Record::Unknown {
            opcode,
            data: body.into(),
        }),
    }
}

/// Whether everything that a record says the length of lies in it. The library asks for memory before it looks
/// (4 GiB for a text that says so), and panics at an attachment that ends in its head.
fn fits(code: u8, body: &[u8]) -> Option<()> {
    let mut rest = Rest(body);
    match code {
        op::SCHEMA => {
            rest.skip(2)?;
            rest.text()?;
            rest.text()?;
        }
        op::CHANNEL => {
            rest.skip(2 + 2)?;
            rest.text()?;
            rest.text()?;
            let mut pairs = Rest(rest.text()?);
            while !pairs.0.is_empty() {
                pairs.text()?;
                pairs.text()?;
            }
        }
        op::CHUNK => {
            rest.skip(8 + 8 + 8 + 4)?;
            rest.text()?;
        }
        op::ATTACHMENT => {
            rest.skip(8 + 8)?;
            rest.text()?;
            rest.text()?;
            // How long the data is, and behind the data the checksum.
            rest.skip(8 + 4)?;
        }
        _ => {}
    }
    Some(())
}

/// What of a record was not looked at yet.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn skip(&mut self, length: usize) -> Option<&'a [u8]> {
        let (skipped, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(skipped)
    }

    /// What stands behind its length in four bytes.
    fn text(&mut self) -> Option<&'a [u8]> {
        let (length, rest) = self.0.split_first_chunk::<4>()?;
        self.0 = rest;
        self.skip(usize::try_from(u32::from_le_bytes(*length)).ok()?)
    }
}
