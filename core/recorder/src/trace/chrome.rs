//! The trace event format, as far as it is written here.
//!
//! Source: <https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU> ("JSON Array Format").

use std::io::{self, Write};

use serde::Serialize;

/// One event. Absent fields are not written.
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
    /// Connects the start and the end of a flow.
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
    /// The name of a process or a track.
    #[serde(rename = "M")]
    Name,
    /// A duration.
    #[serde(rename = "X")]
    Slice,
    /// The start of a flow arrow.
    #[serde(rename = "s")]
    Leaves,
    /// The end of a flow arrow.
    #[serde(rename = "f")]
    Arrives,
    /// An instant.
    #[serde(rename = "i")]
    Instant,
    /// A counter.
    #[serde(rename = "C")]
    Counter,
}

impl<'a, A: Serialize> Entry<'a, A> {
    pub(super) fn new(
        phase: Phase,
        name: &'a str,
        (process, track): (u32, Option<usize>),
        at_ns: i64,
    ) -> Self {
        Self {
            phase,
            name,
            category: None,
            pid: process,
            tid: track.map_or(0, |track| track + 1),
            ts: microseconds(at_ns),
            duration: None,
            id: None,
            binding: (phase == Phase::Arrives).then_some("e"),
            scope: (phase == Phase::Instant).then_some(if track.is_some() { "t" } else { "p" }),
            args: None,
        }
    }

    /// Sets the duration.
    pub(super) fn lasting(self, duration_ns: i64) -> Self {
        Self {
            duration: Some(microseconds(duration_ns)),
            ..self
        }
    }

    /// Sets the category.
    pub(super) fn of_kind(self, category: Option<&'a str>) -> Self {
        Self { category, ..self }
    }

    /// Sets the id of the flow.
    pub(super) fn of_flow(self, id: u64) -> Self {
        Self {
            id: Some(id),
            ..self
        }
    }

    /// Sets the arguments.
    pub(super) fn with(self, args: A) -> Self {
        Self {
            args: Some(args),
            ..self
        }
    }
}

/// Converts nanoseconds to fractional microseconds.
pub(super) fn microseconds(nanoseconds: i64) -> f64 {
    nanoseconds as f64 / 1e3
}

/// A trace file, one event per line.
pub(super) struct TraceFile<W: Write> {
    out: W,
    is_empty: bool,
}

impl<W: Write> TraceFile<W> {
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
