//! One process of a command: the threads that write to it and read from it, and its end.

use std::io::{self, Read, Write};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded, select};
use flowpipe_plugin::{Host, tracing};
use flowpipe_process::lines::{Line, Lines};
use flowpipe_process::stderr_tail::StderrTail;
use flowpipe_process::supervised::{Supervised, kill_with_thread};

use crate::config::Config;
use crate::error::CommandError;

#[cfg(test)]
mod tests;

/// The longest line that is read, in bytes.
pub const LONGEST_LINE: usize = 64 << 20;
/// The longest line of standard error in the log; a longer one is split.
const LONGEST_STDERR_LINE: usize = 16 << 10;
/// How many messages wait for the command to read them.
const QUEUED_MESSAGES: usize = 4;
/// How long the last lines of a process that has ended may take to arrive, and its end after that of its output.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);

/// A process that runs or has just ended.
pub struct Process {
    child: Supervised,
    /// `None` once its input is closed.
    input: Option<Sender<Vec<u8>>>,
    output: Receiver<Line>,
    /// Disconnected when it has ended.
    end: Receiver<()>,
    /// Its exit status, once that is known.
    status: Option<ExitStatus>,
    stderr: StderrTail,
    log: Arc<StderrLog>,
}

/// The log of standard error.
struct StderrLog {
    /// What the command is called.
    name: String,
    /// `None` once the stage is gone, which the thread that reads may outlive.
    host: Mutex<Option<Host>>,
}

/// What was read from a process.
pub enum Received {
    /// A line of its output.
    Line(Vec<u8>),
    /// Nothing yet.
    Nothing,
}

impl Process {
    /// Starts a command. `name`: what it is called in the log.
    ///
    /// # Errors
    /// Why it can't be started.
    pub fn start(config: &Config, name: &str, host: Host) -> Result<Self, CommandError> {
        let (program, arguments) = config
            .command
            .split_first()
            .ok_or(CommandError::NoCommand)?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .envs(&config.env)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if let Some(folder) = &config.directory {
            if !folder.is_dir() {
                return Err(CommandError::NoFolder(folder.display().to_string()));
            }
            command.current_dir(folder);
        }
        kill_with_thread(&mut command);
        let (at_end, end) = bounded::<()>(0);
        let child = Supervised::spawn(&format!("exec {program}"), command, move || drop(at_end))
            .map_err(|error| start_error(error, config))?;
        let log = Arc::new(StderrLog {
            name: name.to_owned(),
            host: Mutex::new(Some(host)),
        });
        let (input, output, stderr) = start_threads(&child, &log).map_err(CommandError::Start)?;
        Ok(Self {
            child,
            input: Some(input),
            output,
            end,
            status: None,
            stderr,
            log,
        })
    }

    /// Sends a line, its end included.
    ///
    /// # Errors
    /// When it has not read the lines before.
    pub fn send(&self, line: Vec<u8>) -> Result<(), CommandError> {
        let sent = self.input.as_ref().map(|input| input.try_send(line));
        match sent {
            // One that has closed its input is about to end, which is reported where its answer is awaited.
            Some(Err(error)) if error.is_full() => Err(CommandError::InputBlocked),
            _ => Ok(()),
        }
    }

    /// Waits for a line, at most for this time.
    ///
    /// # Errors
    /// That it ended, closed its output, or wrote a line that is too long.
    pub fn read_line(&mut self, limit: Duration) -> Result<Received, CommandError> {
        if self.status.is_none() {
            select! {
                recv(self.output) -> line => return self.received(line.ok()),
                recv(self.end) -> _ => self.status = self.child.wait(Duration::ZERO),
                default(limit) => return Ok(Received::Nothing),
            }
        }
        // Its last lines may not have arrived yet.
        let line = self.output.recv_timeout(DRAIN_TIMEOUT).ok();
        self.received(line)
    }

    fn received(&mut self, line: Option<Line>) -> Result<Received, CommandError> {
        match line {
            Some(line) if line.is_cut => return Err(CommandError::TooLong(LONGEST_LINE)),
            Some(line) => return Ok(Received::Line(line.bytes)),
            None => {}
        }
        let status = self.status.or_else(|| self.child.wait(DRAIN_TIMEOUT));
        self.stderr.wait(DRAIN_TIMEOUT);
        let stderr = self.stderr.last_line();
        Err(match status {
            Some(status) => CommandError::Ended { status, stderr },
            None => CommandError::OutputClosed(stderr),
        })
    }

    /// Its exit status, if it has ended and all its output was read.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.status = self.status.or_else(|| self.child.wait(Duration::ZERO));
        self.status.filter(|_| self.output.is_empty())
    }

    /// Whether there is output to read.
    #[cfg(test)]
    pub fn has_output(&self) -> bool {
        !self.output.is_empty()
    }

    /// The last line that it wrote to standard error.
    pub fn last_stderr_line(&self) -> String {
        self.stderr.last_line()
    }

    /// Closes its input, and kills it unless it ends within this time.
    pub fn end_within(mut self, grace: Duration) {
        self.input = None;
        self.child.end_within(grace);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Once the stage is gone there is no process.
        self.child.end_within(Duration::ZERO);
        *self.log.host() = None;
    }
}

impl StderrLog {
    fn write(&self, line: &str) {
        if let Some(host) = &*self.host() {
            host.log(tracing::Level::INFO, &format!("{}: {line}", self.name));
        }
    }

    fn host(&self) -> MutexGuard<'_, Option<Host>> {
        self.host.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts the threads that write to a process and read from it. Each ends with the process.
fn start_threads(
    child: &Supervised,
    log: &Arc<StderrLog>,
) -> io::Result<(Sender<Vec<u8>>, Receiver<Line>, StderrTail)> {
    let log = Arc::clone(log);
    let each = move |line: &str| log.write(line);
    let stderr = StderrTail::start(child.take_stderr()?, LONGEST_STDERR_LINE, each)?;
    let (input, messages) = bounded(QUEUED_MESSAGES);
    let stdin = child.take_stdin()?;
    let writer = thread::Builder::new().name("stdin".to_owned());
    writer.spawn(move || write(stdin, &messages))?;
    let (lines, output) = bounded(1);
    let stdout = child.take_stdout()?;
    let reader = thread::Builder::new().name("stdout".to_owned());
    reader.spawn(move || read(stdout, &lines))?;
    Ok((input, output, stderr))
}

fn write(mut pipe: impl Write, messages: &Receiver<Vec<u8>>) {
    for message in messages {
        let written = pipe.write_all(&message).and_then(|()| pipe.flush());
        if written.is_err() {
            return;
        }
    }
}

fn read(pipe: impl Read, lines: &Sender<Line>) {
    for line in Lines::new(pipe, LONGEST_LINE).map_while(Result::ok) {
        let is_last = line.is_cut;
        if lines.send(line).is_err() || is_last {
            return;
        }
    }
}

fn start_error(error: io::Error, config: &Config) -> CommandError {
    match error.kind() {
        io::ErrorKind::NotFound => {
            let folder = config.directory.clone();
            let folder = folder.map_or_else(std::env::current_dir, Ok);
            let folder = folder.map(|it| it.display().to_string());
            CommandError::NotFound(folder.unwrap_or_else(|_| "the working directory".to_owned()))
        }
        io::ErrorKind::PermissionDenied => CommandError::NotExecutable,
        _ => CommandError::Start(error),
    }
}
