//! The memory limits of a recording, in proportion to its file.
//!
//! A recording may come from a stranger. LZ4 unpacks one byte to up to 255, and a short entry takes ten times its
//! length in memory, so a file of one megabyte could exhaust the memory. The limits are far above what a run of
//! flowpipe writes:
//!
//! | What | Most | What a real recording has |
//! |---|---|---|
//! | memory of all entries | 32 MiB + 64 bytes for each byte of the file | 1 to 20 for each byte |
//! | one unpacked chunk | 64 MiB + 32 bytes for each byte of the file | 4 MiB and one picture |
//! | stages | 128 | 5 to 10 |
//! | plugins of all stages | 256 | one for each stage, nine in a race |
//! | plugins of isolated stages | 32 | none, or one for each stage |
//! | inputs and outputs | 2,048 | 2 for each stage |
//! | queues | 2,048 | one for each input |
//! | times | 36 years from the start of the run | hours |
//!
//! Pictures are not among the entries: they stay in the file and are unpacked one chunk at a time. So a screen that
//! hardly changes, which LZ4 packs 200 times smaller, may be recorded for any time.

use crate::entry::About;

/// The memory that the entries of any file may take.
const FLOOR: u64 = 32 << 20;
/// Beyond it, bytes of memory for each byte of the file.
const SHARE: u64 = 64;

/// The bytes of an unpacked chunk of any file: a picture of 5120 x 2880 pixels, and its surroundings.
const CHUNK_FLOOR: u64 = 64 << 20;
/// Beyond it, bytes for each byte of the file.
const CHUNK_SHARE: u64 = 32;
/// No chunk is larger: a picture has at most 1 GiB.
const LARGEST_CHUNK: u64 = 3 << 30;

/// A longer record of a file is damaged: packing a chunk adds less than this share.
pub(crate) const LONGEST_RECORD: u64 = LARGEST_CHUNK + LARGEST_CHUNK / 64;

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

/// A longer record of a channel is damaged: it has two or three names.
pub(crate) const LONGEST_CHANNEL: usize = 64 << 10;

/// Times are within 36 years of the run's start, so that no sum or difference of a few overflows.
const LATEST: i64 = 1 << 60;

/// The rest of the memory that a file's entries may take.
#[derive(Debug)]
pub(crate) struct Budget {
    file: u64,
    most: u64,
    left: u64,
}

impl Budget {
    /// The budget of a file of this many bytes.
    pub(crate) fn of(file: usize) -> Self {
        let file = file as u64;
        let most = file.saturating_mul(SHARE).saturating_add(FLOOR);
        Self {
            file,
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
        format!(
            "what is recorded takes more than {} MB of memory, which no recording of {} does",
            self.most / 1_000_000,
            size(self.file)
        )
    }

    /// Whether an unpacked chunk may have this many bytes.
    ///
    /// # Errors
    /// When it may not. The error is a sentence for users.
    pub(crate) fn chunk(&self, bytes: u64) -> Result<(), String> {
        let most = self.file.saturating_mul(CHUNK_SHARE);
        let most = most.saturating_add(CHUNK_FLOOR).min(LARGEST_CHUNK);
        if bytes <= most {
            return Ok(());
        }
        Err(format!(
            "a chunk of {bytes} bytes when it is unpacked, which no recording of {} has",
            size(self.file)
        ))
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
    (-LATEST..=LATEST).contains(&nanoseconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_grows_with_the_file() {
        let mut small = Budget::of(1_000);
        small.take(32 << 20).unwrap();
        assert!(small.take(65_000).is_err());
        let mut large = Budget::of(100 << 20);
        large.take(6_400 << 20).unwrap();
        assert!(large.take(100 << 20).is_err());
        assert!(large.chunk(3 << 30).is_ok());
        assert!(small.chunk(65 << 20).is_err());
        assert!(Budget::of(usize::MAX).take(usize::MAX).is_ok());
    }

    #[test]
    fn a_chunk_takes_the_largest_screens() {
        // 5K in a file with hardly any content, 8K in one with its first picture (2 MB at the best compression).
        Budget::of(60_000)
            .chunk((5120 * 2880 * 4) + (4 << 20))
            .unwrap();
        Budget::of(2_200_000)
            .chunk((7680 * 4320 * 4) + (4 << 20))
            .unwrap();
    }
}
