//! One process of a command: its pipes, each with a thread that ends with it, and its end.

use std::io::{self, BufReader, Read, Write};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded, select};
use flowpipe_plugin::{Host, tracing};
use flowpipe_process::group::{ProcessGroup, kill_with_thread};
use flowpipe_process::pipes::{self, InputPipe, OutputPipe};

use crate::config::Config;
use crate::error::CommandError;
use crate::lines::{self, Line};

#[cfg(test)]
mod tests;

/// The longest line that is read, in bytes.
pub const LONGEST: usize = 64 << 20;
/// The longest line of standard error, which is for people.
const LONGEST_WORDS: usize = 16 << 10;
/// The longest wait for what is in transit when a process has ended: its last lines, or its status after its output.
const SETTLE: Duration = Duration::from_millis(500);

/// A process that runs or has just ended.
pub struct Process {
    group: Arc<ProcessGroup>,
    /// `None` once its input is closed.
    input: Option<Sender<Vec<u8>>>,
    output: Receiver<Line>,
    ended: Receiver<ExitStatus>,
    /// How it ended, once that is known.
    status: Option<ExitStatus>,
    words: Arc<Words>,
    /// Disconnected when there is no standard error any more.
    quiet: Receiver<()>,
}

/// What it writes to standard error: goes to the log, and the last line is kept.
struct Words {
    last: Mutex<String>,
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
        let (program, arguments) = config.command.split_first().ok_or(CommandError::Nothing)?;
        let mut command = std::process::Command::new(program);
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
        let words = Arc::new(Words {
            last: Mutex::default(),
            host: Mutex::new(Some(host)),
        });
        let (input, to_write) = bounded::<Vec<u8>>(4);
        let (lines, output) = bounded(1);
        let (at_end, ended) = bounded(1);
        let (started, is_started) = bounded(1);
        let (is_quiet, quiet) = bounded::<()>(0);
        let (alive, end) = pipes::alive().map_err(CommandError::Start)?;
        let heard = Arc::clone(&words);
        let name = name.to_owned();
        // This thread runs as long as the process: the system kills the process when the thread ends.
        let keep = move || {
            let group = match ProcessGroup::spawn(&mut command) {
                Ok(group) => Arc::new(group),
                Err(error) => return drop(started.send(Err(error))),
            };
            let input = group.take_stdin();
            if let Some(Ok(pipe)) = input.map(|pipe| InputPipe::new(pipe, end.clone())) {
                thread::spawn(move || write(pipe, &to_write));
            }
            let output = group.take_stdout();
            if let Some(Ok(pipe)) = output.map(|pipe| OutputPipe::new(pipe, end.clone())) {
                thread::spawn(move || read(pipe, &lines));
            }
            let output = group.take_stderr();
            if let Some(Ok(pipe)) = output.map(|pipe| OutputPipe::new(pipe, end)) {
                thread::spawn(move || {
                    listen(pipe, &name, &heard);
                    drop(is_quiet);
                });
            }
            // The caller waits for this, and may have gone since.
            let _ = started.send(Ok(Arc::clone(&group)));
            group.wait();
            let status = group.reap_group();
            drop(alive);
            if let Ok(status) = status {
                let _ = at_end.send(status);
            }
        };
        let keeper = thread::Builder::new().name(format!("exec {program}"));
        keeper.spawn(keep).map_err(CommandError::Start)?;
        let group = match is_started.recv() {
            Ok(Ok(group)) => group,
            Ok(Err(error)) => return Err(start_error(error, config)),
            Err(_) => return Err(CommandError::Start(io::ErrorKind::BrokenPipe.into())),
        };
        Ok(Self {
            group,
            input: Some(input),
            output,
            ended,
            status: None,
            words,
            quiet,
        })
    }

    /// Sends a line, its end included.
    ///
    /// # Errors
    /// When it has not read what it was sent before.
    pub fn send(&self, line: Vec<u8>) -> Result<(), CommandError> {
        let sent = self.input.as_ref().map(|input| input.try_send(line));
        match sent {
            // One that has closed its input is about to end, which is reported where its answer is awaited.
            Some(Err(error)) if error.is_full() => Err(CommandError::Deaf),
            _ => Ok(()),
        }
    }

    /// Waits at most so long for a line.
    ///
    /// # Errors
    /// That it ended, closed its output, or writes without an end.
    pub fn read_line(&mut self, at_most: Duration) -> Result<Received, CommandError> {
        if self.status.is_none() {
            select! {
                recv(self.output) -> line => return self.line(line.ok()),
                recv(self.ended) -> status => self.status = status.ok(),
                default(at_most) => return Ok(Received::Nothing),
            }
        }
        // Its last lines may be on their way still.
        let line = self.output.recv_timeout(SETTLE).ok();
        self.line(line)
    }

    fn line(&mut self, line: Option<Line>) -> Result<Received, CommandError> {
        match line {
            Some(Line::Whole(line)) => return Ok(Received::Line(line)),
            Some(Line::TooLong) => return Err(CommandError::TooLong(LONGEST)),
            None => {}
        }
        let status = self.status.or_else(|| self.ended.recv_timeout(SETTLE).ok());
        let _ = self.quiet.recv_timeout(SETTLE);
        let words = self.last_words();
        Err(match status {
            Some(status) => CommandError::Ended { status, words },
            None => CommandError::Closed(words),
        })
    }

    /// How it ended, if it did and all its output has been read.
    pub fn is_over(&mut self) -> Option<ExitStatus> {
        self.status = self.status.or_else(|| self.ended.try_recv().ok());
        self.status.filter(|_| self.output.is_empty())
    }

    /// Whether there is output to read.
    #[cfg(test)]
    pub fn has_spoken(&self) -> bool {
        !self.output.is_empty()
    }

    /// The last that it wrote to standard error.
    pub fn last_words(&self) -> String {
        self.words.last().clone()
    }

    /// Closes its input, waits so long for its end, and kills it if need be.
    pub fn end_within(mut self, grace: Duration) {
        self.input = None;
        if self.status.is_none() {
            let _ = self.ended.recv_timeout(grace);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.group.kill_group();
        // It has ended or is about to: once the stage is gone there is no process.
        let _ = self.ended.recv_timeout(Duration::from_secs(2));
        *self.words.host() = None;
    }
}

impl Words {
    fn last(&self) -> std::sync::MutexGuard<'_, String> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn host(&self) -> std::sync::MutexGuard<'_, Option<Host>> {
        self.host.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn write(mut pipe: impl Write, lines: &Receiver<Vec<u8>>) {
    for line in lines {
        if pipe.write_all(&line).and_then(|()| pipe.flush()).is_err() {
            return;
        }
    }
}

fn read(pipe: impl Read, lines: &Sender<Line>) {
    let mut pipe = BufReader::with_capacity(1 << 16, pipe);
    while let Ok(Some(line)) = lines::next(&mut pipe, LONGEST) {
        let is_last = line == Line::TooLong;
        if lines.send(line).is_err() || is_last {
            return;
        }
    }
}

fn listen(pipe: impl Read, name: &str, words: &Words) {
    let mut pipe = BufReader::new(pipe);
    while let Ok(Some(line)) = lines::next(&mut pipe, LONGEST_WORDS) {
        let line = match line {
            Line::Whole(line) => line,
            // Its rest comes as further lines.
            Line::TooLong => b"(a line too long to be shown)".to_vec(),
        };
        let text = String::from_utf8_lossy(&line).trim_end().to_owned();
        if text.is_empty() {
            continue;
        }
        if let Some(host) = &*words.host() {
            host.log(tracing::Level::INFO, &format!("{name}: {text}"));
        }
        *words.last() = text;
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

/// How long something has yet to wait, or nothing when it is over.
pub fn left(until: Instant) -> Option<Duration> {
    until
        .checked_duration_since(Instant::now())
        .filter(|left| !left.is_zero())
}
