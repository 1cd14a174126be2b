//! A run on several machines that has ended.

use std::fmt::Write as _;
use std::time::Duration;

use flowpipe_engine::report::Report;
use flowpipe_link::clock_offset::Offset;
use flowpipe_link::link::Traffic;
use flowpipe_machines::FrameTraffic;
use flowpipe_terminal::{counted, escape};
use serde::Serialize;

use crate::show::report::duration;

/// A run on several machines that has ended.
pub struct EndedMachines {
    /// Whether all machines have ended, no message between them was lost, and a recording or a trace has all of them.
    pub has_all: bool,
    /// The report of the whole run.
    pub report: Report,
    /// The machines, in the order of the file.
    pub machines: Vec<EndedMachine>,
}

/// One machine.
#[derive(Serialize)]
pub struct EndedMachine {
    /// Its name.
    pub name: String,
    /// Whether its report is part of the whole one.
    pub reported: bool,
    /// The link to it. `None`: it is this machine, or there is none.
    pub link: Option<EndedLink>,
}

/// The link to another machine.
#[derive(Serialize)]
pub struct EndedLink {
    /// Its clock minus the one here, in nanoseconds. Each clock starts with its program. `None`: it is not known, the
    /// machine is dead, or all clocks were set to one time.
    pub clock_offset_ns: Option<i64>,
    /// How wrong that is at most.
    pub clock_error_ns: Option<i64>,
    /// Bytes to it.
    pub sent_bytes: u64,
    /// Bytes from it.
    pub received_bytes: u64,
    /// Bytes in both directions for each second of the run.
    pub bytes_per_second: u64,
    /// What was sent of frames to it.
    pub frames: EndedFrames,
    /// How many messages its workers have processed, if it has workers for this machine.
    pub processed: Option<u64>,
}

/// The frames that were sent to another machine.
#[derive(Default, Serialize)]
pub struct EndedFrames {
    /// How many there were.
    pub count: u64,
    /// How many of them it has read in the memory of this one.
    pub shared: u64,
    /// Bytes of all.
    pub bytes: u64,
    /// Bytes that were sent for them.
    pub sent_bytes: u64,
}

impl EndedLink {
    /// `took`: how long the link was used.
    pub fn new(
        clock: Option<Offset>,
        traffic: Traffic,
        frames: impl IntoIterator<Item = FrameTraffic>,
        took: Duration,
    ) -> Self {
        let both = traffic.sent.saturating_add(traffic.received);
        Self {
            clock_offset_ns: clock.map(|it| it.offset_ns),
            clock_error_ns: clock.map(|it| it.error_ns),
            sent_bytes: traffic.sent,
            received_bytes: traffic.received,
            bytes_per_second: (both as f64 / took.as_secs_f64().max(1e-3)) as u64,
            frames: frames
                .into_iter()
                .fold(EndedFrames::default(), |all, it| EndedFrames {
                    count: all.count + it.frames,
                    shared: all.shared + it.shared,
                    bytes: all.bytes + it.bytes,
                    sent_bytes: all.sent_bytes + it.sent_bytes,
                }),
            processed: None,
        }
    }
}

impl EndedFrames {
    /// What was saved. `None`: there were no frames.
    fn line(&self) -> Option<String> {
        let frames = counted(self.count, "frame");
        let (bytes, sent) = (size(self.bytes), size(self.sent_bytes));
        let shared = match self.shared {
            0 => String::new(),
            shared => format!("; {shared} of them were read in this machine's memory instead"),
        };
        (self.count > 0).then(|| format!("{frames} of {bytes} sent as {sent}{shared}"))
    }
}

impl EndedMachines {
    /// The machines as lines.
    pub fn lines(&self) -> String {
        let mut text = String::new();
        for machine in &self.machines {
            let name = escape(&machine.name);
            if let Some(link) = &machine.link {
                let (sent, received) = (size(link.sent_bytes), size(link.received_bytes));
                let rate = size(link.bytes_per_second);
                let clock = match (link.clock_offset_ns, link.clock_error_ns) {
                    (Some(offset), Some(error)) => {
                        let sign = if offset < 0 { "-" } else { "+" };
                        let offset = duration(offset.unsigned_abs());
                        let error = duration(error.unsigned_abs());
                        format!(", its clock {sign}{offset} ± {error}")
                    }
                    _ => String::new(),
                };
                // Writing to a text can't fail.
                let _ = writeln!(
                    text,
                    "machine {name}: {sent} sent, {received} received, {rate}/s{clock}"
                );
                if let Some(processed) = link.processed {
                    let messages = counted(processed, "message");
                    let _ = writeln!(text, "machine {name}: {messages} by its workers");
                }
                if let Some(frames) = link.frames.line() {
                    let _ = writeln!(text, "machine {name}: {frames}");
                }
            }
            if !machine.reported {
                let _ = writeln!(text, "machine {name}: no report, its counts are missing");
            }
        }
        text
    }
}

/// A number of bytes with three digits.
pub fn size(bytes: u64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < units.len() {
        value /= 1e3;
        unit += 1;
    }
    let unit_name = units[unit];
    match value {
        _ if unit == 0 => format!("{bytes} {unit_name}"),
        ..9.995 => format!("{value:.2} {unit_name}"),
        ..99.95 => format!("{value:.1} {unit_name}"),
        _ => format!("{value:.0} {unit_name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_that_were_read_in_memory_are_among_all() {
        let frames = |shared| EndedFrames {
            count: 53,
            shared,
            bytes: 215_000_000,
            sent_bytes: 62_200_000,
        };
        let all = "53 frames of 215 MB sent as 62.2 MB";
        assert_eq!(frames(0).line().unwrap(), all);
        let read = "43 of them were read in this machine's memory instead";
        assert_eq!(frames(43).line().unwrap(), format!("{all}; {read}"));
        assert_eq!(EndedFrames::default().line(), None);
    }

    #[test]
    fn sizes_have_three_digits() {
        let shown = [0, 999, 1_234, 56_789, 999_700, 123_456_789].map(size);
        assert_eq!(
            shown,
            ["0 B", "999 B", "1.23 kB", "56.8 kB", "1.00 MB", "123 MB"]
        );
    }
}
