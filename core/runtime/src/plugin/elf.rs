//! Looks at a library file before the system's loader does: a truncated ELF file makes `dlopen`
//! touch pages that are not there, which kills the process instead of failing.

/// Says what is wrong with a dynamic library's bytes, as far as the loader would trip over it.
///
/// `Ok` for what is not ELF on systems whose loaders check for themselves.
pub(crate) fn examine(bytes: &[u8]) -> Result<(), String> {
    if bytes.is_empty() {
        return Err("the file is empty".into());
    }
    if !bytes.starts_with(b"\x7fELF") {
        return if cfg!(target_os = "linux") {
            Err("not a dynamic library (no ELF header)".into())
        } else {
            Ok(())
        };
    }
    let header = Header::read(bytes).ok_or("truncated: the ELF header is cut off")?;
    if header.kind != 3 {
        return Err("an ELF file, but not a dynamic library".into());
    }
    for table in [&header.segments, &header.sections] {
        if table.end().is_none_or(|end| end > bytes.len() as u64) {
            return Err(truncated(bytes, table.end()));
        }
    }
    for index in 0..header.segments.count {
        let end = header.segment_end(bytes, index);
        if end.is_none_or(|end| end > bytes.len() as u64) {
            return Err(truncated(bytes, end));
        }
    }
    Ok(())
}

fn truncated(bytes: &[u8], end: Option<u64>) -> String {
    match end {
        Some(end) => format!(
            "truncated: {} bytes, but its parts reach to byte {end}",
            bytes.len()
        ),
        None => "damaged: its parts lie outside any file".into(),
    }
}

struct Header {
    wide: bool,
    big_endian: bool,
    kind: u64,
    segments: Table,
    sections: Table,
}

/// Where a table of headers lies in the file.
struct Table {
    offset: u64,
    entry: u64,
    count: u64,
}

impl Table {
    fn end(&self) -> Option<u64> {
        self.offset.checked_add(self.entry.checked_mul(self.count)?)
    }
}

impl Header {
    fn read(bytes: &[u8]) -> Option<Self> {
        let wide = *bytes.get(4)? == 2;
        let big_endian = *bytes.get(5)? == 2;
        let number = |offset, size| number(bytes, big_endian, offset, size);
        // Offsets from the ELF specification, for 64-bit and 32-bit files.
        let table = |offset, entry, count| {
            let (offset, size) = offset;
            Some(Table {
                offset: number(offset, size)?,
                entry: number(entry, 2)?,
                count: number(count, 2)?,
            })
        };
        let (segments, sections) = if wide {
            (table((32, 8), 54, 56)?, table((40, 8), 58, 60)?)
        } else {
            (table((28, 4), 42, 44)?, table((32, 4), 46, 48)?)
        };
        Some(Self {
            wide,
            big_endian,
            kind: number(16, 2)?,
            segments,
            sections,
        })
    }

    /// Where in the file a segment ends.
    fn segment_end(&self, bytes: &[u8], index: u64) -> Option<u64> {
        let start = self
            .segments
            .offset
            .checked_add(self.segments.entry.checked_mul(index)?)?;
        let number =
            |offset, size| number(bytes, self.big_endian, start.checked_add(offset)?, size);
        let (offset, size) = if self.wide {
            (number(8, 8)?, number(32, 8)?)
        } else {
            (number(4, 4)?, number(16, 4)?)
        };
        offset.checked_add(size)
    }
}

fn number(bytes: &[u8], big_endian: bool, offset: u64, size: usize) -> Option<u64> {
    let start = usize::try_from(offset).ok()?;
    let bytes = bytes.get(start..start.checked_add(size)?)?;
    let join = |value, byte: &u8| value << 8 | u64::from(*byte);
    Some(if big_endian {
        bytes.iter().fold(0, join)
    } else {
        bytes.iter().rev().fold(0, join)
    })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn every_shorter_file_is_refused() {
        // Tests are position-independent programs, which ELF cannot tell from libraries.
        let bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(examine(&bytes), Ok(()));
        for keep in [0, 3, 10, 63, 64, 500, bytes.len() / 2, bytes.len() - 1] {
            assert!(
                examine(&bytes[..keep]).is_err(),
                "{keep} of {} bytes",
                bytes.len()
            );
        }
    }

    #[test]
    fn text_is_refused() {
        assert_eq!(
            examine(b"hello").unwrap_err(),
            "not a dynamic library (no ELF header)"
        );
    }
}
