//! The memory limits of a recording: in proportion to its file, and at most a fixed size.
//!
//! A recording may come from a stranger. LZ4 unpacks one byte to up to 255, and a short entry takes ten times its
//! length in memory, so a file of one megabyte could exhaust the memory. A file can be made long by anything, such as
//! zeros at its end, so its length alone is no limit. The limits are far above what a run of flowpipe writes:
//!
//! | What | Most | What a real recording has |
//! |---|---|---|
//! | memory of all entries | 32 MiB + 64 bytes for each byte of the file, at most 160 MiB | 1 to 20 for each byte, 3 to 5 kB for each frame |
//! | one unpacked chunk | 64 MiB + 32 bytes for each byte of the file, at most 136 MiB | 4 MiB and one picture (8K: 127 MiB) |
//! | stages | 128 | 5 to 10 |
//! | plugins of all stages | 256 | one for each stage, nine in a race |
//! | plugins of isolated stages | 32 | none, or one for each stage |
//! | inputs and outputs | 2,048 | 2 for each stage |
//! | queues | 2,048 | one for each input |
//! | one name | 1 KiB | 5 to 20 bytes |
//! | the parsed body of a message | 64 MiB | 5 to 100 kB |
//! | times | 36 years from the start of the run | hours |
//!
//! The memory of an entry includes everything that is derived from it: a replay with all its data may need as much as
//! the limit here, and little more. 160 MiB are an hour of a run whose stages have 10 frames a second;
//! [`Limits::None`] is for longer ones.
//!
//! Pictures are not among the entries: they stay in the file and are unpacked one chunk at a time. So a screen that
//! hardly changes, which LZ4 packs 200 times smaller, may be recorded for any time. Bodies of messages are packed
//! (`bodies`).

use crate::entry::About;
use crate::json_memory::json_memory;

/// The memory that the entries of any file may take.
const FLOOR: u64 = 32 << 20;
/// Beyond it, bytes of memory for each byte of the file.
const SHARE: u64 = 64;
/// The most bytes, however large the file is.
const CEILING: u64 = 160 << 20;

/// The bytes of an unpacked chunk of any file: a picture of 5120 x 2880 pixels, and its surroundings.
const CHUNK_FLOOR: u64 = 64 << 20;
/// Beyond it, bytes for each byte of the file.
const CHUNK_SHARE: u64 = 32;
/// The most bytes: a picture of 7680 x 4320 pixels, and its surroundings.
const CHUNK_CEILING: u64 = 136 << 20;
/// The most bytes of a chunk without limits: a picture has at most 1 GiB.
const LARGEST_CHUNK: u64 = 3 << 30;

/// A longer record of a file is damaged: packing a chunk adds less than this share.
pub(crate) fn longest_record(limits: Limits) -> u64 {
    let chunk = match limits {
        Limits::Strict => CHUNK_CEILING,
        Limits::None => LARGEST_CHUNK,
    };
    chunk + chunk / 64
}

/// The most bytes of memory that the body of a message may take once it is parsed.
const BODY: usize = 64 << 20;
/// Shorter bodies take less in any case.
const SHORT_BODY: usize = 64 << 10;

/// Stages are threads of a replay.
const STAGES: usize = 128;
/// Plugins are instances.
const PLUGINS: usize = 256;
/// Those of isolated stages are processes of a replay.
const PROCESSES: usize = 32;
/// Inputs and outputs of all stages.
const PORTS: usize = 2048;
/// Queues.
const EDGES: usize = 2048;

/// A longer record of a channel is damaged: it has two names, each of them twice.
pub(crate) const LONGEST_CHANNEL: usize = 8 << 10;

/// Times, in nanoseconds, are within 36 years of the run's start, so that no sum or difference of a few overflows.
pub const LATEST_TIME: i64 = 1 << 60;

/// Sequence numbers are at most this, so that a replay can number further messages after the last.
pub const HIGHEST_SEQUENCE: u64 = 1 << 60;

/// The memory limits of a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Limits {
    /// Those of any recording, whoever made it.
    #[default]
    Strict,
    /// None, except for the size of a chunk: for a recording that the user trusts.
    None,
}

/// The rest of the memory that a file's entries may take.
#[derive(Debug)]
pub(crate) struct Budget {
    file: u64,
    limits: Limits,
    most: u64,
    left: u64,
}

impl Budget {
    /// The budget of a file of this many bytes.
    pub(crate) fn of(file: usize, limits: Limits) -> Self {
        let file = file as u64;
        let most = file.saturating_mul(SHARE).saturating_add(FLOOR);
        let most = match limits {
            Limits::Strict => most.min(CEILING),
            Limits::None => u64::MAX,
        };
        Self {
            file,
            limits,
            most,
            left: most,
        }
    }

    /// Takes this many bytes of memory.
    ///
    /// # Errors
    /// When fewer are left. The error is a sentence for users.
    pub(crate) fn take(&mut self, bytes: usize) -> Result<(), String> {
        match self.left.checked_sub(bytes as u64) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(self.over()),
        }
    }

    /// Whether this many bytes of memory are left: reading an entry may need more than the entry takes in the end.
    ///
    /// # Errors
    /// When fewer are left. The error is a sentence for users.
    pub(crate) fn has(&self, bytes: usize) -> Result<(), String> {
        match bytes as u64 <= self.left {
            true => Ok(()),
            false => Err(self.over()),
        }
    }

    fn over(&self) -> String {
        let megabytes = self.most / 1_000_000;
        match self.most {
            CEILING => format!(
                "what is recorded takes more than {megabytes} MB of memory, the most that is given to a recording"
            ),
            _ => format!(
                "what is recorded takes more than {megabytes} MB of memory, which no recording of {} does",
                size(self.file)
            ),
        }
    }

    /// Whether an unpacked chunk may have this many bytes.
    ///
    /// # Errors
    /// When it may not. The error is a sentence for users.
    pub(crate) fn chunk(&self, bytes: u64) -> Result<(), String> {
        let share = self.file.saturating_mul(CHUNK_SHARE);
        let most = match self.limits {
            Limits::Strict => share.saturating_add(CHUNK_FLOOR).min(CHUNK_CEILING),
            Limits::None => LARGEST_CHUNK,
        };
        if bytes <= most {
            return Ok(());
        }
        let chunk = format!("a chunk of {bytes} bytes when it is unpacked");
        Err(match most {
            CHUNK_CEILING => format!("{chunk}, where {most} can be read"),
            _ => format!("{chunk}, which no recording of {} has", size(self.file)),
        })
    }

    /// Whether the body of a message takes little enough memory once it is parsed.
    ///
    /// # Errors
    /// When it does not. The error is a sentence for users.
    pub(crate) fn body(&self, body: &[u8]) -> Result<(), String> {
        if body.len() <= SHORT_BODY || self.limits == Limits::None {
            return Ok(());
        }
        match json_memory(body) {
            ..=BODY => Ok(()),
            bytes => Err(format!(
                "a message that takes {} MB of memory, where {} MB can be read",
                bytes / 1_000_000,
                BODY / 1_000_000
            )),
        }
    }
}

/// A file's size, for people.
fn size(bytes: u64) -> String {
    match bytes {
        ..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{} kB", bytes / 1_000),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

/// Whether a run may have this many parts.
///
/// # Errors
/// When it may not. The error is a sentence for users.
pub(crate) fn parts(about: &About) -> Result<(), String> {
    let stages = &about.stages;
    let plugins = stages.iter().map(|stage| stage.plugins.len()).sum();
    let isolated = stages.iter().filter(|stage| stage.isolated);
    let isolated = isolated.map(|stage| stage.plugins.len()).sum();
    let ports = stages.iter();
    let ports = ports.map(|stage| stage.inputs.len() + stage.outputs.len());
    let counts = [
        (stages.len(), STAGES, "stages"),
        (plugins, PLUGINS, "plugins"),
        (isolated, PROCESSES, "plugins of isolated stages"),
        (ports.sum(), PORTS, "inputs and outputs"),
        (about.edges.len(), EDGES, "queues"),
    ];
    match counts.into_iter().find(|(count, most, _)| count > most) {
        Some((count, most, what)) => Err(format!("{count} {what}, where {most} can be read")),
        None => Ok(()),
    }
}

/// Whether a time of the run's clock is within the limits.
pub(crate) fn is_time(nanoseconds: i64) -> bool {
    (-LATEST_TIME..=LATEST_TIME).contains(&nanoseconds)
}

/// Whether a sequence number is within the limits.
pub(crate) fn is_sequence(number: u64) -> bool {
    number <= HIGHEST_SEQUENCE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_grows_with_the_file() {
        let mut small = Budget::of(1_000, Limits::Strict);
        small.take(32 << 20).unwrap();
        let over = small.take(65_000).unwrap_err();
        assert!(over.contains("no recording of 1 kB"), "{over}");
        assert!(small.chunk(65 << 20).is_err());
        let mut middle = Budget::of(1 << 20, Limits::Strict);
        middle.take(96 << 20).unwrap();
        assert!(middle.take(1).is_err());
    }

    #[test]
    fn a_budget_ends_however_large_the_file_is() {
        for file in [20 << 20, 1 << 40, usize::MAX] {
            let mut large = Budget::of(file, Limits::Strict);
            large.take(160 << 20).unwrap();
            assert!(large.has(1).is_err());
            let over = large.take(1).unwrap_err();
            assert!(over.contains("167 MB"), "{over}");
            assert!(large.chunk((136 << 20) + 1).is_err());
        }
        let mut trusted = Budget::of(1, Limits::None);
        trusted.take(64 << 30).unwrap();
        assert!(trusted.chunk(3 << 30).is_ok());
        assert!(trusted.chunk((3 << 30) + 1).is_err());
    }

    #[test]
    fn a_chunk_takes_the_largest_screens() {
        // 5K in a file with hardly any content, 8K in one with its first picture (2 MB at the best compression).
        Budget::of(60_000, Limits::Strict)
            .chunk((5120 * 2880 * 4) + (4 << 20))
            .unwrap();
        Budget::of(2_300_000, Limits::Strict)
            .chunk((7680 * 4320 * 4) + (4 << 20))
            .unwrap();
    }
}
