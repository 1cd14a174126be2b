//! A session with a command: starts it, restarts it, and matches one answer to each message.

use std::time::{Duration, Instant};

use flowpipe_plugin::{Cancel, Error, Host, Result, tracing};
use flowpipe_process::backoff::Backoff;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::config::Config;
use crate::error::{CommandError, ending};
use crate::process::{Process, Received};
use crate::protocol::{Hello, ReplyHeader, Request};
use crate::shorten::shortened;

#[cfg(test)]
mod tests;

/// How often to check whether the call is cancelled.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// The minimum wait for the first answer.
const SHORTEST_START_WAIT: Duration = Duration::from_millis(500);
/// How long a command may take to end by itself after its input is closed.
const SHUTDOWN_GRACE: Duration = Duration::from_millis(500);

/// The caller that waits for an answer.
pub trait Caller {
    /// Whether the call is cancelled.
    fn is_cancelled(&self) -> bool;

    /// The command reports that an event of this name happened now.
    fn mark(&mut self, _name: &str) {}
}

impl Caller for Cancel<'_> {
    fn is_cancelled(&self) -> bool {
        Cancel::is_cancelled(self)
    }
}

/// The deadline of an answer.
#[derive(Clone, Copy)]
enum Deadline {
    /// Of the answer to the first message.
    Start(Instant),
    /// Of any other answer, where there is a limit.
    Answer(Option<Instant>),
}

/// A command and its current process.
pub struct Session {
    config: Config,
    role: &'static str,
    /// Its name in errors and in the log.
    name: String,
    host: Host,
    process: Option<Process>,
    /// The deadline of the answer to its first message, until that is received.
    start_deadline: Option<Instant>,
    /// The number of the last message.
    number: u64,
    /// How often it has failed since its last answer.
    consecutive_failures: u32,
    /// When it may be restarted.
    next_start: Option<Instant>,
}

impl Session {
    /// Starts the command and waits for its first answer, so that its errors are reported before a run.
    ///
    /// # Errors
    /// When it can't be started, or does not answer its first message.
    pub fn start(config: Config, role: &'static str, host: Host) -> Result<Self> {
        let mut session = Self {
            name: format!("`{}`", shortened(config.command.join(" ").as_bytes())),
            config,
            role,
            host,
            process: None,
            start_deadline: None,
            number: 0,
            consecutive_failures: 0,
            next_start: None,
        };
        let started = session
            .spawn()
            .and_then(|()| session.finish_start(&mut Cancel::never()));
        match started {
            Ok(()) => Ok(session),
            Err(error) => {
                let text = format!("{}: {error}", session.name);
                Err(match error.is_of_config() {
                    true => Error::bad_config(text),
                    false => Error::new(text),
                })
            }
        }
    }

    /// The command's name in errors.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Sends a message and waits for its answer.
    ///
    /// # Errors
    /// See [`CommandError`], or that the call is cancelled. A command that caused the error is killed, and restarted for
    /// the next message.
    pub fn call<T: DeserializeOwned>(
        &mut self,
        message: &impl Serialize,
        caller: &mut dyn Caller,
    ) -> Result<T> {
        let answer = self.answer(message, caller);
        match &answer {
            Ok(_) => self.consecutive_failures = 0,
            Err(error) if error.leaves_it_running() => self.consecutive_failures = 0,
            Err(CommandError::Cancelled) => {}
            Err(_) => self.note_failure(),
        }
        answer.map_err(|error| match error {
            CommandError::Cancelled => Error::cancelled(),
            error => Error::new(format!("{}: {error}", self.name)),
        })
    }

    fn answer<T: DeserializeOwned>(
        &mut self,
        message: &impl Serialize,
        caller: &mut dyn Caller,
    ) -> Result<T, CommandError> {
        // Twice: a process whose first answer is read only now may have ended after it.
        for _ in 0..2 {
            self.start_if_due(caller)?;
            self.finish_start(caller)?;
        }
        if caller.is_cancelled() {
            return Err(CommandError::Cancelled);
        }
        let number = self.number + 1;
        self.send_line(line(number, message)?)?;
        self.number = number;
        let limit = self.config.timeout_ms.map(Duration::from_millis);
        let deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
        self.receive(number, Deadline::Answer(deadline), caller)
    }

    /// Starts a process if there is none, after the backoff.
    fn start_if_due(&mut self, caller: &dyn Caller) -> Result<(), CommandError> {
        if let Some(status) = self.process.as_mut().and_then(Process::ended) {
            let line = format!("{} ended by itself ({})", self.name, ending(status));
            self.host.log(tracing::Level::WARN, &line);
            self.note_failure();
        }
        if self.process.is_some() {
            return Ok(());
        }
        while let Some(left) = self.next_start.and_then(time_until) {
            if caller.is_cancelled() {
                return Err(CommandError::Cancelled);
            }
            std::thread::sleep(left.min(POLL_INTERVAL));
        }
        self.spawn()
    }

    /// Waits for the answer to a process's first message, unless that was received.
    fn finish_start(&mut self, caller: &mut dyn Caller) -> Result<(), CommandError> {
        if let Some(start_deadline) = self.start_deadline {
            // Its answer may have arrived before, and was not read yet.
            let deadline = start_deadline.max(Instant::now() + SHORTEST_START_WAIT);
            let reply: Result<ReplyHeader, _> = self.receive(0, Deadline::Start(deadline), caller);
            reply.map_err(|error| match error {
                CommandError::Reported(text) => CommandError::StartRefused(text),
                CommandError::Cancelled if time_until(start_deadline).is_none() => {
                    // Otherwise it would hang for ever where each call is cancelled before the limit.
                    let line = format!("{}: {}", self.name, self.start_timeout());
                    self.host.log(tracing::Level::WARN, &line);
                    self.note_failure();
                    CommandError::Cancelled
                }
                other => other,
            })?;
            self.start_deadline = None;
        }
        Ok(())
    }

    /// Starts a process and sends it its first message.
    fn spawn(&mut self) -> Result<(), CommandError> {
        self.start_deadline = None;
        self.process = Some(Process::start(&self.config, &self.name, self.host)?);
        let hello = Hello::new(self.role, &self.config.settings, self.host.is_dry());
        let line = line(0, &hello)?;
        self.send_line(line)?;
        self.number = 0;
        self.start_deadline =
            Some(Instant::now() + Duration::from_millis(self.config.start_ms.min(1 << 40)));
        Ok(())
    }

    /// Sends a line.
    fn send_line(&mut self, line: Vec<u8>) -> Result<(), CommandError> {
        match &self.process {
            Some(process) => process.send(line),
            None => Ok(()),
        }
    }

    /// Waits for the answer to a message.
    fn receive<T: DeserializeOwned>(
        &mut self,
        number: u64,
        deadline: Deadline,
        caller: &mut dyn Caller,
    ) -> Result<T, CommandError> {
        let grace = Duration::from_millis(self.config.grace_ms);
        // When a command whose call is cancelled is killed.
        let mut cancel_deadline: Option<Instant> = None;
        // A line that has arrived counts, even if it is read after the deadline, which is checked afterwards.
        let mut wait = Duration::ZERO;
        loop {
            let Some(process) = &mut self.process else {
                return Err(CommandError::Cancelled);
            };
            if let Received::Line(line) = process.read_line(wait)?
                && !line.iter().all(u8::is_ascii_whitespace)
            {
                let reply = header(&line, number)?;
                match (reply.mark, reply.error) {
                    (Some(name), _) => caller.mark(&name),
                    _ if cancel_deadline.is_some() => return Err(CommandError::Cancelled),
                    (None, Some(error)) => return Err(CommandError::Reported(error)),
                    (None, None) => {
                        return serde_json::from_slice(&line).map_err(CommandError::Malformed);
                    }
                }
            }
            wait = POLL_INTERVAL;
            match (deadline, cancel_deadline) {
                (Deadline::Start(deadline), _) if time_until(deadline).is_none() => {
                    return Err(self.start_timeout());
                }
                (Deadline::Answer(Some(deadline)), _) if time_until(deadline).is_none() => {
                    return Err(CommandError::Timeout(
                        self.config.timeout_ms.unwrap_or_default(),
                    ));
                }
                // It may continue to start for the next message.
                (Deadline::Start(_), _) if caller.is_cancelled() => {
                    return Err(CommandError::Cancelled);
                }
                (_, None) if caller.is_cancelled() => {
                    cancel_deadline = Instant::now().checked_add(grace);
                }
                (_, Some(deadline)) if time_until(deadline).is_none() => {
                    self.replace();
                    return Err(CommandError::Cancelled);
                }
                _ => {}
            }
        }
    }

    fn start_timeout(&self) -> CommandError {
        let stderr = self.process.as_ref().map(Process::last_stderr_line);
        CommandError::StartTimeout {
            limit: self.config.start_ms,
            stderr: stderr.unwrap_or_default(),
        }
    }

    /// Kills the process, whose call was cancelled, and starts another so that it is ready for the next message.
    fn replace(&mut self) {
        self.process = None;
        self.start_deadline = None;
        if self.host.is_ending() {
            return;
        }
        if let Err(error) = self.spawn() {
            self.host
                .log(tracing::Level::WARN, &format!("{}: {error}", self.name));
            self.note_failure();
        }
    }

    /// Kills the process and sets the time of the next start.
    fn note_failure(&mut self) {
        self.process = None;
        self.start_deadline = None;
        self.consecutive_failures = self.consecutive_failures.saturating_add(1);
        let backoff = Backoff::from(self.config.backoff);
        let delay = backoff.delay(self.consecutive_failures);
        self.next_start = Instant::now().checked_add(delay);
    }
}

/// How much time is left until then. `None`: it is over.
fn time_until(deadline: Instant) -> Option<Duration> {
    let left = deadline.checked_duration_since(Instant::now());
    left.filter(|left| !left.is_zero())
}

/// A message as it is sent.
fn line(id: u64, message: &impl Serialize) -> Result<Vec<u8>, CommandError> {
    let mut line = serde_json::to_vec(&Request { id, message }).map_err(CommandError::Malformed)?;
    line.push(b'\n');
    Ok(line)
}

/// The fields that all answers share.
fn header(line: &[u8], number: u64) -> Result<ReplyHeader, CommandError> {
    let is_object = |line| serde_json::from_slice::<serde_json::Map<String, Value>>(line).is_ok();
    let reply: ReplyHeader = match serde_json::from_slice(line) {
        // As a list its parts could be taken for those of an object.
        Ok(reply) if line.trim_ascii_start().starts_with(b"{") => reply,
        Err(error) if is_object(line) => return Err(CommandError::Malformed(error)),
        _ => return Err(CommandError::NotJson(shortened(line))),
    };
    if reply.id.as_u64() == Some(number) {
        Ok(reply)
    } else {
        Err(CommandError::WrongId {
            asked: number,
            answered: shortened(reply.id.to_string().as_bytes()),
        })
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(process) = self.process.take() {
            process.end_within(SHUTDOWN_GRACE);
        }
    }
}
