//! The trace event format, as far as it is written here.
//!
//! Source: <https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU> ("JSON Array Format").

use std::io::{self, Write};

use serde::Serialize;

/// One event. What is not told is left out.
#[derive(Serialize)]
pub(super) struct Entry<'a, A: Serialize> {
    /// What kind of event it is.
    #[serde(rename = "ph")]
    phase: Phase,
    name: &'a str,
    #[serde(rename = "cat", skip_serializing_if = "Option::is_none")]
    category: Option<&'a str>,
    pid: u32,
    /// The track, from 1; 0: the process.
    tid: usize,
    /// Microseconds.
    ts: f64,
    /// Microseconds.
    #[serde(rename = "dur", skip_serializing_if = "Option::is_none")]
    duration: Option<f64>,
    /// Joins a flow's beginning and its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    /// A flow's end belongs to the slice around it.
    #[serde(rename = "bp", skip_serializing_if = "Option::is_none")]
    binding: Option<&'static str>,
    /// How far an instant is drawn.
    #[serde(rename = "s", skip_serializing_if = "Option::is_none")]
    scope: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<A>,
}

/// The kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) enum Phase {
    /// What a process or a track is called.
    #[serde(rename = "M")]
    Name,
    /// Something that took time.
    #[serde(rename = "X")]
    Slice,
    /// An arrow begins.
    #[serde(rename = "s")]
    Leaves,
    /// An arrow ends.
    #[serde(rename = "f")]
    Arrives,
    /// Something at one moment.
    #[serde(rename = "i")]
    Instant,
    /// A number that changes.
    #[serde(rename = "C")]
    Counter,
}

impl<'a, A: Serialize> Entry<'a, A> {
    pub(super) fn new(phase: Phase, name: &'a str, track: Option<usize>, at_ns: i64) -> Self {
        Self {
            phase,
            name,
            category: None,
            pid: std::process::id(),
            tid: track.map_or(0, |track| track + 1),
            ts: microseconds(at_ns),
            duration: None,
            id: None,
            binding: (phase == Phase::Arrives).then_some("e"),
            scope: (phase == Phase::Instant).then_some("t"),
            args: None,
        }
    }

    /// As long as this.
    pub(super) fn lasting(self, duration_ns: i64) -> Self {
        Self {
            duration: Some(microseconds(duration_ns)),
            ..self
        }
    }

    /// In a category.
    pub(super) fn of_kind(self, category: Option<&'a str>) -> Self {
        Self { category, ..self }
    }

    /// One end of the arrow of this number.
    pub(super) fn of_flow(self, id: u64) -> Self {
        Self {
            id: Some(id),
            ..self
        }
    }

    /// With these details.
    pub(super) fn with(self, args: A) -> Self {
        Self {
            args: Some(args),
            ..self
        }
    }
}

/// Microseconds with nanoseconds behind the point.
pub(super) fn microseconds(nanoseconds: i64) -> f64 {
    nanoseconds as f64 / 1e3
}

/// A trace that is being written, an event a line.
pub(super) struct File<W: Write> {
    out: W,
    is_empty: bool,
}

impl<W: Write> File<W> {
    pub(super) fn begin(mut out: W) -> io::Result<Self> {
        out.write_all(b"[")?;
        out.flush()?;
        Ok(Self {
            out,
            is_empty: true,
        })
    }

    pub(super) fn put(&mut self, entry: &Entry<'_, impl Serialize>) -> io::Result<()> {
        let before: &[u8] = if self.is_empty { b"\n" } else { b",\n" };
        self.is_empty = false;
        self.out.write_all(before)?;
        serde_json::to_writer(&mut self.out, entry)?;
        Ok(())
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    pub(super) fn end(&mut self) -> io::Result<()> {
        self.out.write_all(b"\n]\n")?;
        self.out.flush()
    }
}
