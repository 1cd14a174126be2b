//! A child process: started, read, and killed when it hangs.

use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use flowpipe_process::group::ProcessGroup;

use crate::args::PluginCheck;
use crate::exit::Failure;
use crate::plugin_check::pipes::{self, StderrTail};
use crate::plugin_check::protocol::{CheckLine, PIPE_CLOSED};
use crate::plugin_check::subject::answer_timeout;

/// The lines of a child, and how it failed, if it did.
pub struct ChildOutput {
    pub lines: Vec<CheckLine>,
    pub failure: Option<String>,
}

/// How a child ended.
enum ChildEnd {
    /// It ended.
    Ended,
    /// It sent nothing for too long.
    Hung,
    /// It still runs, but its pipe is closed.
    PipeClosed,
}

/// How long a cancelled call may take before the child counts as hung.
const GRACE: Duration = Duration::from_secs(20);
/// The timeout of the first line. Before it, boards are generated.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(90);
/// How long a child with a closed pipe may run, and how long the pipes of an ended one are read.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a killed child may take to end.
const REAP_TIMEOUT: Duration = Duration::from_secs(10);
/// How often a child is polled while it sends nothing.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Runs one check in a child.
///
/// # Errors
/// When no process can be started.
pub fn run(args: &PluginCheck, check: &str, stage: Option<&str>) -> Result<ChildOutput, Failure> {
    let broken = |error: std::io::Error| Failure::Run(format!("can't start a process: {error}"));
    let mut command = Command::new(std::env::current_exe().map_err(broken)?);
    command.args(["plugin", "check", "--within", check, "--time", &args.time]);
    if let Some(stage) = stage {
        command.args(["--stage", stage]);
    }
    if let Some(config) = &args.config {
        command.args(["--config", config]);
    }
    command.arg("--").arg(&args.file);
    let timeout = answer_timeout(args)?;
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let process = ProcessGroup::spawn(&mut command).map_err(broken)?;
    // The child ends itself when this pipe is closed.
    let _stdin = process.take_stdin();
    let stderr = process.take_stderr().map(StderrTail::of);
    let (Some(received), Some(stderr)) = (process.take_stdout().map(pipes::lines), stderr) else {
        // Both are pipes, and are taken once.
        return Err(broken(std::io::ErrorKind::BrokenPipe.into()));
    };
    let mut lines = Vec::new();
    let end = receive(&process, &received, &mut lines, timeout + GRACE);
    process.kill_group();
    let has_ended = process.wait_at_most(REAP_TIMEOUT);
    let status = has_ended.then(|| process.reap().ok()).flatten();
    // An escaped child of it may hold the pipes open without writing.
    while let Ok(line) = received.recv_timeout(DRAIN_TIMEOUT) {
        lines.push(line);
    }
    let done = lines.iter().any(|line| matches!(line, CheckLine::Done));
    let failure = match (end, status) {
        (ChildEnd::Hung, _) | (ChildEnd::Ended, None) => Some("it hung, and was killed".to_owned()),
        (ChildEnd::PipeClosed, _) => Some(pipe_closed()),
        (ChildEnd::Ended, Some(status)) if status.success() && done => None,
        (ChildEnd::Ended, Some(status)) => Some(how(status, done)),
    };
    let doing = lines.iter().rev().find_map(|line| match line {
        CheckLine::Doing(what) => Some(format!(" while {what}")),
        _ => None,
    });
    let failure = failure.map(|failure| {
        let stderr = stderr.within(DRAIN_TIMEOUT);
        let text = format!("{failure}{}\n{stderr}", doing.unwrap_or_default());
        text.trim_end().to_owned()
    });
    Ok(ChildOutput { lines, failure })
}

/// Receives lines until the child ends or hangs.
fn receive(
    process: &ProcessGroup,
    received: &Receiver<CheckLine>,
    lines: &mut Vec<CheckLine>,
    limit: Duration,
) -> ChildEnd {
    let mut last = Instant::now();
    loop {
        match received.recv_timeout(POLL_INTERVAL) {
            Ok(line) => {
                lines.push(line);
                last = Instant::now();
            }
            Err(RecvTimeoutError::Disconnected) if process.wait_at_most(DRAIN_TIMEOUT) => {
                return ChildEnd::Ended;
            }
            Err(RecvTimeoutError::Disconnected) => return ChildEnd::PipeClosed,
            Err(RecvTimeoutError::Timeout) if process.has_ended() => return ChildEnd::Ended,
            Err(RecvTimeoutError::Timeout) => {
                let limit = if lines.is_empty() {
                    limit.max(STARTUP_TIMEOUT)
                } else {
                    limit
                };
                if last.elapsed() > limit {
                    return ChildEnd::Hung;
                }
            }
        }
    }
}

fn pipe_closed() -> String {
    "the plugin closed a file that is not its own".to_owned()
}

/// How a process ended, as text.
fn how(status: ExitStatus, done: bool) -> String {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt as _;

        use flowpipe_process::status::signal_name;

        if let Some(signal) = status.signal() {
            return match signal_name(signal) {
                Some(name) => format!("it crashed: {name}"),
                None => format!("it crashed: signal {signal}"),
            };
        }
    }
    /// The exit code of a Rust program that panics.
    const PANICKED: i32 = 101;
    match status.code() {
        Some(PIPE_CLOSED) => pipe_closed(),
        Some(PANICKED) => "its process panicked".to_owned(),
        Some(code) if done => format!("its process ended with exit code {code}"),
        Some(code) => format!("the plugin ended the process (exit code {code})"),
        None => "its process ended".to_owned(),
    }
}
