//! A way to stop varisat in the middle of a solve.
//!
//! varisat 0.2 has no call for it. But it writes a proof as it goes, if asked to, and it stops with
//! an error when that can't be written. So the proof goes to a writer that throws it away and fails
//! once the work is not wanted any more. varisat buffers 8 KiB of proof at a time, and in its own
//! format every conflict writes the hashes of all clauses that took part: that is a question every
//! few to few dozen conflicts, which is every few milliseconds in long searches on 15x15 boards.
//! It costs about an eighth of the time of a solve. (The other formats are no way out: in them
//! varisat panics when a clause is added after the first solve.)

use std::io;

/// Takes a proof and throws it away, until `cancelled`.
pub struct Interrupt<'a> {
    /// Whether the work is no longer wanted.
    pub cancelled: &'a dyn Fn() -> bool,
}

impl io::Write for Interrupt<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if (self.cancelled)() {
            Err(io::Error::other("cancelled"))
        } else {
            Ok(bytes.len())
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
