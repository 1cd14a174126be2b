//! One record of a file or of a chunk, which may be damaged.

use mcap::records::{Record, op};

/// Bytes before a record's body: its kind, and the length of the body.
pub(crate) const HEAD: usize = 9;

/// The kind of a record, and the length of its body.
pub(crate) fn head([code, length @ ..]: [u8; HEAD]) -> (u8, u64) {
    (code, u64::from_le_bytes(length))
}

/// Whether records of a kind are read.
pub(crate) fn is_read(code: u8) -> bool {
    matches!(
        code,
        op::SCHEMA | op::CHANNEL | op::MESSAGE | op::CHUNK | op::ATTACHMENT | op::DATA_END
    )
}

/// The record at a byte of a chunk: its kind, its body, the position of the next one. `None`: it is cut off.
pub(crate) fn record(bytes: &[u8], at: usize) -> Option<(u8, &[u8], usize)> {
    let rest = bytes.get(at..)?;
    let (first, rest) = rest.split_first_chunk::<HEAD>()?;
    let (code, length) = head(*first);
    let length = usize::try_from(length).ok()?;
    let body = rest.get(..length)?;
    Some((code, body, at + HEAD + length))
}

/// `None`: it is damaged. Records of kinds that are not read are not parsed.
pub(crate) fn parse(code: u8, body: &[u8]) -> Option<Record<'_>> {
    if !is_read(code) {
        return Some(Record::Unknown {
            opcode: code,
            data: body.into(),
        });
    }
    fits(code, body)?;
    mcap::parse_record(code, body).ok()
}

/// Whether all parts fit into the record by their declared lengths. The library allocates before it checks (4 GiB for a
/// text of that declared length), and panics at an attachment that ends in its head.
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
            // The length of the data, and after the data the checksum.
            rest.skip(8 + 4)?;
        }
        _ => {}
    }
    Some(())
}

/// The rest of a record.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn skip(&mut self, length: usize) -> Option<&'a [u8]> {
        let (skipped, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(skipped)
    }

    /// A text after its length in four bytes.
    fn text(&mut self) -> Option<&'a [u8]> {
        let (length, rest) = self.0.split_first_chunk::<4>()?;
        self.0 = rest;
        self.skip(usize::try_from(u32::from_le_bytes(*length)).ok()?)
    }
}
