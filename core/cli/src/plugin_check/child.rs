//! A child process: started, listened to, and killed when nothing is heard of it.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::args::PluginCheck;
use crate::exit::Failure;
use crate::plugin_check::telling::Line;

/// What a child told, and how it died, if it did.
pub struct Heard {
    pub lines: Vec<Line>,
    pub died: Option<String>,
}

/// What is cancelled gets so much longer before it counts as hung.
const GRACE: Duration = Duration::from_secs(20);
/// What it takes to get ready, mostly work of our own: boards are made.
const FIRST_WORD: Duration = Duration::from_secs(90);
/// So many of the last lines of a child's standard error are told when it dies.
const LAST_WORDS: usize = 8;

/// Runs one check within a child.
///
/// # Errors
/// When no process can be started.
pub fn run(args: &PluginCheck, check: &str, stage: Option<&str>) -> Result<Heard, Failure> {
    let broken = |error: std::io::Error| Failure::Run(format!("can't start a process: {error}"));
    let mut command = Command::new(std::env::current_exe().map_err(broken)?);
    command
        .args(["plugin", "check", "--within", check, "--time", &args.time])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if let Some(stage) = stage {
        command.args(["--stage", stage]);
    }
    if let Some(config) = &args.config {
        command.args(["--config", config]);
    }
    command.arg("--").arg(&args.file);
    let mut child = command.spawn().map_err(broken)?;
    let words = child
        .stderr
        .take()
        .map(|stderr| thread::spawn(|| last_words(stderr)));
    let (lines, ended) = listen(&mut child, args.patience()? + GRACE);
    let words = words
        .and_then(|words| words.join().ok())
        .unwrap_or_default();
    let died = match ended {
        Some(status) if status.success() => None,
        Some(status) => Some(how(status)),
        None => Some("it hung, and was killed".to_owned()),
    };
    let doing = lines.iter().rev().find_map(|line| match line {
        Line::Doing(what) => Some(format!(" while {what}")),
        _ => None,
    });
    let died = died.map(|died| {
        let text = format!("{died}{}\n{words}", doing.unwrap_or_default());
        text.trim_end().to_owned()
    });
    Ok(Heard { lines, died })
}

/// Listens until the child ends: what it told, and how it ended unless it was killed because nothing was heard
/// of it for too long.
fn listen(child: &mut Child, limit: Duration) -> (Vec<Line>, Option<ExitStatus>) {
    let (sender, told) = mpsc::channel();
    if let Some(stdout) = child.stdout.take() {
        thread::spawn(move || {
            let lines = BufReader::new(stdout).lines().map_while(Result::ok);
            // A plugin may print too: what is no line of ours is none.
            for line in lines.filter_map(|line| serde_json::from_str::<Line>(&line).ok()) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
    }
    let mut lines = Vec::new();
    let killed = loop {
        let limit = if lines.is_empty() {
            limit.max(FIRST_WORD)
        } else {
            limit
        };
        match told.recv_timeout(limit) {
            Ok(line) => lines.push(line),
            Err(RecvTimeoutError::Disconnected) => break false,
            Err(RecvTimeoutError::Timeout) => {
                // Dead already: its status tells.
                let _ = child.kill();
                break true;
            }
        }
    };
    let status = child.wait().ok();
    (lines, status.filter(|_| !killed))
}

fn last_words(stderr: impl Read) -> String {
    let mut last = VecDeque::new();
    for line in BufReader::new(stderr).lines().map_while(Result::ok) {
        if last.len() == LAST_WORDS {
            last.pop_front();
        }
        last.push_back(line);
    }
    Vec::from(last).join("\n")
}

/// How a process ended, in words.
fn how(status: ExitStatus) -> String {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt as _;
        if let Some(signal) = status.signal() {
            let name = match signal {
                4 => "SIGILL",
                6 => "SIGABRT",
                7 => "SIGBUS",
                8 => "SIGFPE",
                9 => "SIGKILL",
                11 => "SIGSEGV",
                _ => return format!("it crashed: signal {signal}"),
            };
            return format!("it crashed: {name}");
        }
    }
    match status.code() {
        Some(code) => format!("its process ended with exit code {code}"),
        None => "its process ended".to_owned(),
    }
}
