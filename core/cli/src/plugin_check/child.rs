//! A child process: started, listened to, and killed when nothing is heard of it.

use std::process::{Command, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::args::PluginCheck;
use crate::exit::Failure;
use crate::plugin_check::hearing::{self, LastWords};
use crate::plugin_check::process::Process;
use crate::plugin_check::telling::{CUT_OFF, Line};

/// What a child told, and how it died, if it did.
pub struct Heard {
    pub lines: Vec<Line>,
    pub died: Option<String>,
}

/// What became of a child.
enum Fate {
    /// It ended.
    Ended,
    /// Nothing was heard of it for too long.
    Hung,
    /// It goes on, but can't tell anything any more.
    CutOff,
}

/// What is cancelled gets so much longer before it counts as hung.
const GRACE: Duration = Duration::from_secs(20);
/// What it takes to get ready, mostly work of our own: boards are made.
const FIRST_WORD: Duration = Duration::from_secs(90);
/// A child whose pipe is closed ends within this time, and what an ended one has said is read within it.
const LAST_BREATH: Duration = Duration::from_secs(10);
/// While nothing is heard, a child is looked at so often.
const LOOK: Duration = Duration::from_millis(50);

/// Runs one check within a child.
///
/// # Errors
/// When no process can be started.
pub fn run(args: &PluginCheck, check: &str, stage: Option<&str>) -> Result<Heard, Failure> {
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
    let patience = args.patience()?;
    let mut process = Process::start(&mut command).map_err(broken)?;
    let words = process.stderr().map(LastWords::of);
    let (Some(told), Some(words)) = (process.stdout().map(hearing::told), words) else {
        // Both are pipes, and nobody has taken them.
        return Err(broken(std::io::ErrorKind::BrokenPipe.into()));
    };
    let mut lines = Vec::new();
    let fate = listen(&mut process, &told, &mut lines, patience + GRACE);
    let status = process.bury();
    // Who was started by it and got away may still hold the pipes, and not say anything.
    while let Ok(line) = told.recv_timeout(LAST_BREATH) {
        lines.push(line);
    }
    let done = lines.iter().any(|line| matches!(line, Line::Done));
    let died = match (fate, status) {
        (Fate::Hung, _) | (Fate::Ended, None) => Some("it hung, and was killed".to_owned()),
        (Fate::CutOff, _) => Some(cut_off()),
        (Fate::Ended, Some(status)) if status.success() && done => None,
        (Fate::Ended, Some(status)) => Some(how(status, done)),
    };
    let doing = lines.iter().rev().find_map(|line| match line {
        Line::Doing(what) => Some(format!(" while {what}")),
        _ => None,
    });
    let died = died.map(|died| {
        let words = words.within(LAST_BREATH);
        let text = format!("{died}{}\n{words}", doing.unwrap_or_default());
        text.trim_end().to_owned()
    });
    Ok(Heard { lines, died })
}

/// Listens until the child ends or has to be ended.
fn listen(
    process: &mut Process,
    told: &Receiver<Line>,
    lines: &mut Vec<Line>,
    limit: Duration,
) -> Fate {
    let mut heard = Instant::now();
    loop {
        match told.recv_timeout(LOOK) {
            Ok(line) => {
                lines.push(line);
                heard = Instant::now();
            }
            Err(RecvTimeoutError::Disconnected) if process.ends_within(LAST_BREATH) => {
                return Fate::Ended;
            }
            Err(RecvTimeoutError::Disconnected) => return Fate::CutOff,
            Err(RecvTimeoutError::Timeout) if process.has_ended() => return Fate::Ended,
            Err(RecvTimeoutError::Timeout) => {
                let limit = if lines.is_empty() {
                    limit.max(FIRST_WORD)
                } else {
                    limit
                };
                if heard.elapsed() > limit {
                    return Fate::Hung;
                }
            }
        }
    }
}

fn cut_off() -> String {
    "the plugin closed a file that is not its own".to_owned()
}

/// How a process ended, in words.
fn how(status: ExitStatus, done: bool) -> String {
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
    /// That of Rust programs that panic.
    const PANICKED: i32 = 101;
    match status.code() {
        Some(CUT_OFF) => cut_off(),
        Some(PANICKED) => "its process panicked".to_owned(),
        Some(code) if done => format!("its process ended with exit code {code}"),
        Some(code) => format!("the plugin ended the process (exit code {code})"),
        None => "its process ended".to_owned(),
    }
}
