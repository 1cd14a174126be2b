//! The host's side of a scanner process: its requests, and the outcome for a library at which the process ends.

use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use flowpipe_host::catalogue::Scanned;
use flowpipe_process::status::describe;
use flowpipe_process::supervised::SHUTDOWN_GRACE;
use serde::{Deserialize, Serialize};

use crate::Program;
use crate::process::{self, ChildProcess, DRAIN_TIMEOUT};
use crate::wire::Wire;

/// From the host, once. The body: the files' names, each followed by a zero byte.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Scan;

/// From the scanner, for each file in order.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Answer {
    /// The index of the file in the list.
    pub number: usize,
    pub scanned: Scanned,
}

/// How long a library may take to load and to return its manifests.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a library in a batch may take. After that it and those after it are scanned at once, each in its own
/// process, so that several that hang take no longer than one.
const ANSWER_TIMEOUT_AMONG_OTHERS: Duration = Duration::from_secs(1);
/// The number of processes at once.
const AT_ONCE: usize = 16;
/// How often a waiting thread checks whether the process has ended: its children may keep the connection open.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Why a process gave no more answers.
enum Failure {
    /// It did not answer within this time.
    Hangs(Duration),
    Ended(String),
}

/// Scans files with one process after another: each scans as many as it can.
pub(super) fn scan(program: &Program, paths: &[&Path]) -> Vec<Scanned> {
    let mut all = Vec::new();
    let mut is_suspect = false;
    while let Some(rest) = paths.get(all.len()..).filter(|rest| !rest.is_empty()) {
        let batch = match is_suspect {
            true => &rest[..1],
            false => rest,
        };
        let patience = match batch.len() {
            1 => ANSWER_TIMEOUT,
            _ => ANSWER_TIMEOUT_AMONG_OTHERS,
        };
        let (answers, failure) = match start(program, batch, patience) {
            Ok(asked) => asked,
            Err(reason) => {
                all.resize(paths.len(), Err(reason));
                return all;
            }
        };
        let is_blamed = answers.is_empty();
        all.extend(answers);
        match failure {
            None => is_suspect = false,
            Some(Failure::Hangs(_)) if batch.len() > 1 => {
                let rest = paths.get(all.len()..).unwrap_or_default();
                all.extend(rest.chunks(AT_ONCE).flat_map(|them| at_once(program, them)));
            }
            Some(failure) if is_blamed => {
                all.push(Err(failure.into_words()));
                is_suspect = false;
            }
            // An earlier library may have ended the process: this one is scanned alone.
            Some(_) => is_suspect = true,
        }
    }
    all
}

/// Scans each file with its own process.
fn at_once(program: &Program, paths: &[&Path]) -> Vec<Scanned> {
    let alone = |path: &Path| {
        let (mut answers, failure) = start(program, &[path], ANSWER_TIMEOUT)?;
        match (answers.pop(), failure) {
            (Some(scanned), _) => scanned,
            (None, Some(failure)) => Err(failure.into_words()),
            (None, None) => Err("it was not asked".to_owned()),
        }
    };
    let alone = &alone;
    std::thread::scope(|scope| {
        let asked = paths.iter().map(|&path| scope.spawn(move || alone(path)));
        let asked: Vec<_> = asked.collect();
        let answer = |thread: ScopedJoinHandle<'_, Scanned>| {
            let lost = || Err("the thread that asked it panicked".to_owned());
            thread.join().unwrap_or_else(|_| lost())
        };
        asked.into_iter().map(answer).collect()
    })
}

type Asked = (Vec<Scanned>, Option<Failure>);

fn start(program: &Program, paths: &[&Path], patience: Duration) -> Result<Asked, String> {
    let started = process::start_scanner(program);
    let (child, wire) = started
        .map_err(|error| format!("the process that reads manifests can't be started: {error}"))?;
    Ok(ask(&child, wire, paths, patience))
}

/// The answers of one process, and why there are not more.
fn ask(child: &ChildProcess, mut wire: Wire, paths: &[&Path], patience: Duration) -> Asked {
    let mut answers = Vec::new();
    let names: Vec<u8> = paths
        .iter()
        .flat_map(|path| path.as_os_str().as_bytes().iter().chain(&[0]))
        .copied()
        .collect();
    // An error means that the process has ended; then there are no answers.
    let _ = wire.send(&Scan, &names, &[]);
    while answers.len() < paths.len() {
        match answer(child, &mut wire, patience) {
            Ok(Some(answer)) if answer.number == answers.len() => answers.push(answer.scanned),
            Ok(Some(_)) => {
                child.wait_with_output(Duration::ZERO);
                return (
                    answers,
                    Some(Failure::Ended(
                        "it disturbs the process that reads manifests".into(),
                    )),
                );
            }
            Ok(None) => {
                let reason = match child.wait_with_output(SHUTDOWN_GRACE) {
                    Some(status) => {
                        format!("loading it, a process {}", describe(status))
                    }
                    None => "loading it, a process lost its connection".to_owned(),
                };
                return (answers, Some(Failure::Ended(reason)));
            }
            Err(error) => {
                child.wait_with_output(Duration::ZERO);
                let failure = match error.kind() {
                    io::ErrorKind::WouldBlock => Failure::Hangs(patience),
                    _ => Failure::Ended(format!(
                        "it disturbs the process that reads manifests: {error}"
                    )),
                };
                return (answers, Some(failure));
            }
        }
    }
    child.wait_with_output(SHUTDOWN_GRACE);
    (answers, None)
}

impl Failure {
    fn into_words(self) -> String {
        match self {
            Self::Hangs(patience) => format!("loading it takes longer than {patience:?}"),
            Self::Ended(reason) => reason,
        }
    }
}

/// The next answer. `None`: the process has ended or closed its connection.
fn answer(child: &ChildProcess, wire: &mut Wire, patience: Duration) -> io::Result<Option<Answer>> {
    let deadline = Instant::now() + patience;
    loop {
        let has_ended = child.has_ended();
        let wait = match has_ended {
            true => DRAIN_TIMEOUT,
            false => POLL_INTERVAL,
        };
        wire.wait_until(Some(Instant::now() + wait))?;
        match wire.receive::<Answer>() {
            Ok(packet) => return Ok(packet.map(|(answer, _)| answer)),
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
            Err(_) if has_ended => return Ok(None),
            Err(error) if Instant::now() >= deadline => return Err(error),
            Err(_) => {}
        }
    }
}
