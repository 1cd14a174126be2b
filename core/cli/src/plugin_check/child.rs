//! A child process: started, read, and killed when it hangs.

use std::io::{self, Read};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use flowpipe_process::lines::Lines;
use flowpipe_process::stderr_tail::StderrTail;
use flowpipe_process::supervised::Supervised;

use crate::args::{Global, PluginCheck};
use crate::exit::Failure;
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
/// How often a child is polled while it sends nothing.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// The maximum length of a line of the protocol: no manifest is longer.
const LONGEST_LINE: usize = 16 << 20;
/// The maximum length of a line on standard error; a longer one is split.
const LONGEST_STDERR_LINE: usize = 1 << 10;

/// Runs one check in a child.
///
/// # Errors
/// When no process can be started.
pub fn run(
    global: &Global,
    args: &PluginCheck,
    check: &str,
    stage: Option<&str>,
) -> Result<ChildOutput, Failure> {
    let broken = |error: io::Error| Failure::Run(format!("can't start a process: {error}"));
    let mut command = Command::new(std::env::current_exe().map_err(broken)?);
    command.args(["plugin", "check", "--within", check, "--time", &args.time]);
    if let Some(stage) = stage {
        command.args(["--stage", stage]);
    }
    // The checks of its messages may be there.
    for path in &global.plugin_dir {
        command.arg("--plugin-dir").arg(path);
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
    let process = Supervised::spawn("check", command, || ()).map_err(broken)?;
    // The child ends itself when this pipe is closed.
    let _stdin = process.take_stdin().map_err(broken)?;
    let stderr = process.take_stderr().map_err(broken)?;
    let stderr = StderrTail::start(stderr, LONGEST_STDERR_LINE, |_| ()).map_err(broken)?;
    let received = receiver(process.take_stdout().map_err(broken)?).map_err(broken)?;
    let mut lines = Vec::new();
    let end = receive(&process, &received, &mut lines, timeout + GRACE);
    let status = process.end_within(Duration::ZERO);
    // The pipe ends with the process.
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
        stderr.wait(DRAIN_TIMEOUT);
        let stderr = stderr.text();
        let text = format!("{failure}{}\n{stderr}", doing.unwrap_or_default());
        text.trim_end().to_owned()
    });
    Ok(ChildOutput { lines, failure })
}

/// Starts to read the lines of the protocol; all others are ignored. The channel disconnects when the pipe ends.
fn receiver(stdout: impl Read + Send + 'static) -> io::Result<Receiver<CheckLine>> {
    let (sender, lines) = mpsc::channel();
    let read = move || {
        for line in Lines::new(stdout, LONGEST_LINE).map_while(Result::ok) {
            if let Ok(line) = serde_json::from_slice::<CheckLine>(&line.bytes)
                && sender.send(line).is_err()
            {
                return;
            }
        }
    };
    std::thread::Builder::new().spawn(read)?;
    Ok(lines)
}

/// Receives lines until the child ends or hangs.
fn receive(
    process: &Supervised,
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
            Err(RecvTimeoutError::Disconnected) if process.wait(DRAIN_TIMEOUT).is_some() => {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_lines_are_ignored() {
        let bytes = b"{\"doing\":\n\xff\n\"done\"\n".to_vec();
        let lines = receiver(io::Cursor::new(bytes)).unwrap();
        let all: Vec<CheckLine> = lines.iter().collect();
        assert!(matches!(all[..], [CheckLine::Done]), "{all:?}");
    }
}
