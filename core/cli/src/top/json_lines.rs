//! `flowpipe top --json`: a run as lines of JSON.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError};
use flowpipe_engine::report::{Distribution, StageProgress};
use serde::Serialize;
use thiserror::Error;

use super::client::{self, ConnectError, Connection};
use super::history::{LinkState, RunHistory, StageState};
use super::protocol::{Hello, Line};
use super::viewer::{Selection, TopError};
use crate::machines::progress::MachineView;
use crate::metrics::{MetricRow, Note};
use crate::tally::Tally;

/// From one line to the next. The first one comes after this time, so that it has rates.
const INTERVAL: Duration = Duration::from_secs(1);
/// How often a run is searched while there is none.
const SEARCH_INTERVAL: Duration = Duration::from_millis(500);

/// Why no lines are printed.
#[derive(Debug, Error)]
pub enum JsonLinesError {
    /// There is no run, or it can't be watched.
    #[error(transparent)]
    Run(#[from] TopError),
    /// Standard output.
    #[error("can't write: {0}")]
    Output(#[from] io::Error),
}

/// A run, as of one moment. `docs/record-and-replay.md` describes the fields.
#[derive(Debug, Serialize)]
struct RunLine<'a> {
    pid: u32,
    pipeline: &'a str,
    replay: bool,
    dry: bool,
    seconds: f64,
    /// How the run ended. `None`: it goes on.
    over: Option<&'a str>,
    stages: Vec<StageLine>,
    #[serde(skip_serializing_if = "Option::is_none")]
    boards: Option<&'a Tally>,
    metrics: &'a [MetricRow],
    notes: &'a [Note],
    machines: &'a [MachineView],
    links: Vec<LinkLine>,
    /// How the pipeline changed last.
    changed: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct StageLine {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    machine: Option<String>,
    stale: bool,
    rate: f64,
    busy: f64,
    workers: u64,
    #[serde(rename = "in")]
    received: u64,
    #[serde(rename = "out")]
    emitted: u64,
    dropped: u64,
    failed: u64,
    restarted: u64,
    queued: u64,
    capacity: u64,
    time: Distribution,
}

#[derive(Debug, Serialize)]
struct LinkLine {
    machines: [String; 2],
    connected: bool,
    bytes_per_second: f64,
    clock_error_ns: Option<i64>,
}

/// Prints a line a second until the run is over, and a last one then. With `once`, prints one line.
///
/// # Errors
/// See [`JsonLinesError`].
pub fn print(
    selection: &Selection,
    once: bool,
    mut output: impl Write,
) -> Result<(), JsonLinesError> {
    let mut ended = None;
    loop {
        let Connection { hello, lines } = connect(selection, ended)?;
        ended = Some((hello.pid, hello.started_unix_ns));
        print_run(hello, &lines, once, &mut output)?;
        if once || !selection.waits {
            return Ok(());
        }
    }
}

/// Prints one run until it is over.
fn print_run(
    hello: Hello,
    lines: &Receiver<Line>,
    once: bool,
    output: &mut impl Write,
) -> io::Result<()> {
    let mut history = RunHistory::new(hello);
    let mut next = Instant::now() + INTERVAL;
    loop {
        match lines.recv_deadline(next) {
            Ok(line) => {
                history.add(line);
                continue;
            }
            Err(RecvTimeoutError::Timeout) => next = Instant::now() + INTERVAL,
            Err(RecvTimeoutError::Disconnected) => history.end_without_notice(),
        }
        serde_json::to_writer(&mut *output, &RunLine::of(&history))?;
        writeln!(output)?;
        output.flush()?;
        if once || history.over.is_some() {
            return Ok(());
        }
    }
}

/// Connects to the run of a process, or to the newest one, except to one that is over.
fn connect(selection: &Selection, ended: Option<(u32, u64)>) -> Result<Connection, TopError> {
    loop {
        let runs = client::all()?;
        let is_new = |run: &&Hello| Some((run.pid, run.started_unix_ns)) != ended;
        let newest = runs.iter().rfind(is_new).map(|run| run.pid);
        // The next run after one of this process is any.
        let chosen = selection.pid.filter(|_| ended.is_none());
        if let Some(pid) = chosen.or(newest) {
            match client::connect(pid) {
                // It has ended meanwhile, and another may start.
                Err(ConnectError::NoSuchRun(_)) if chosen.is_none() && selection.waits => {}
                connected => return Ok(connected?),
            }
        } else if !selection.waits {
            return Err(TopError::Nothing);
        }
        std::thread::sleep(SEARCH_INTERVAL);
    }
}

impl<'a> RunLine<'a> {
    fn of(history: &'a RunHistory) -> Self {
        let hello = &history.hello;
        let counts = history.counts();
        let progress = counts.map_or(&[][..], |it| &it.progress.stages);
        let stages = history.stages().into_iter().zip(progress);
        Self {
            pid: hello.pid,
            pipeline: &hello.pipeline,
            replay: hello.replay,
            dry: hello.dry,
            seconds: history.seconds(),
            over: history.over.as_ref().map(|over| over.how.as_str()),
            stages: stages.map(|(state, of)| StageLine::of(state, of)).collect(),
            boards: counts
                .map(|it| &it.boards)
                .filter(|boards| boards.has_boards()),
            metrics: counts.map_or(&[], |it| &it.metrics),
            notes: counts.map_or(&[], |it| &it.notes),
            machines: history.machines(),
            links: history.links().into_iter().map(LinkLine::of).collect(),
            changed: history.changed.as_deref(),
        }
    }
}

impl StageLine {
    fn of(state: StageState, progress: &StageProgress) -> Self {
        Self {
            name: state.name,
            machine: state.machine,
            stale: state.is_stale,
            rate: state.rate,
            busy: state.busy,
            workers: state.workers,
            received: progress.received,
            emitted: progress.emitted,
            dropped: state.dropped,
            failed: state.failed,
            restarted: state.restarted,
            queued: state.queued,
            capacity: state.capacity,
            time: state.time,
        }
    }
}

impl LinkLine {
    fn of(link: LinkState) -> Self {
        Self {
            machines: link.machines,
            connected: link.is_connected,
            bytes_per_second: link.rate,
            clock_error_ns: link.clock_error_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::tests::{counts, hello};
    use super::super::protocol::RunEnd;
    use super::*;

    #[test]
    fn a_line_has_counts_and_rates_and_the_last_one_the_end() {
        let (to, lines) = crossbeam_channel::unbounded();
        for tick in 0..=30 {
            let counts = counts(f64::from(tick) / 10.0);
            to.send(Line::Counts(Box::new(counts))).unwrap();
        }
        let over = RunEnd {
            how: "done".to_owned(),
        };
        to.send(Line::Over(over)).unwrap();
        drop(to);
        let mut printed = Vec::new();
        print_run(hello(&["screen", "vision"]), &lines, false, &mut printed).unwrap();
        let text = String::from_utf8(printed).unwrap();
        assert_eq!(text.lines().count(), 1, "{text}");
        let line: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (&line["over"], &line["pid"]),
            (&"done".into(), &4321.into())
        );
        let vision = &line["stages"][1];
        assert_eq!(
            (&vision["in"], &vision["dropped"]),
            (&15.into(), &15.into())
        );
        assert_eq!(vision["time"]["count"], 15);
        let rate = vision["rate"].as_f64().unwrap();
        assert!((rate - 5.0).abs() < 0.1, "{text}");
        assert_eq!(line["boards"]["solved"], 0, "{text}");
    }

    #[test]
    fn a_run_that_is_killed_is_over() {
        let (to, lines) = crossbeam_channel::unbounded();
        drop(to);
        let mut printed = Vec::new();
        print_run(hello(&["screen"]), &lines, false, &mut printed).unwrap();
        let line: serde_json::Value = serde_json::from_slice(&printed).unwrap();
        assert!(line["over"].as_str().unwrap().contains("killed"), "{line}");
        assert_eq!(line["stages"], serde_json::json!([]));
    }
}
