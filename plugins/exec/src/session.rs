//! A session with a command: starts it, restarts it, and matches one answer to each message.

use std::time::{Duration, Instant};

use flowpipe_plugin::{Cancel, Error, Host, Result, tracing};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::config::Config;
use crate::error::{CommandError, ending};
use crate::lines::shortened;
use crate::process::{Process, Received, left};
use crate::protocol::{Asked, Hello, Reply};

#[cfg(test)]
mod tests;

/// How often to check whether the answer is still wanted.
const POLL: Duration = Duration::from_millis(5);
/// The minimum wait for the first answer.
const SETTLE: Duration = Duration::from_millis(500);
/// How long a command may take to end by itself, when its input ends.
const FAREWELL: Duration = Duration::from_millis(500);

/// The caller that waits for an answer: whether it is still wanted, and what to do with marks.
pub trait Asker {
    /// Whether to give up.
    fn is_cancelled(&self) -> bool;

    /// The command reports that an event of that name happened now.
    fn mark(&mut self, _name: &str) {}
}

impl Asker for Cancel<'_> {
    fn is_cancelled(&self) -> bool {
        Cancel::is_cancelled(self)
    }
}

/// By when there must be an answer.
#[derive(Clone, Copy)]
enum Limit {
    /// To the first message.
    Start(Instant),
    /// To any other, where there is a limit.
    Answer(Option<Instant>),
}

/// A command and its current process.
pub struct Session {
    config: Config,
    role: &'static str,
    /// What it is called in errors and in the log.
    name: String,
    host: Host,
    process: Option<Process>,
    /// By when its first message must be answered, as long as it is not.
    start_by: Option<Instant>,
    /// The number of the last message.
    number: u64,
    /// How often it has died since its last answer, and when it may be restarted.
    deaths: u32,
    not_before: Option<Instant>,
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
            start_by: None,
            number: 0,
            deaths: 0,
            not_before: None,
        };
        let begun = session
            .run()
            .and_then(|()| session.begin(&mut Cancel::never()));
        match begun {
            Ok(()) => Ok(session),
            Err(error) => Err(Error::bad_config(format!("{}: {error}", session.name))),
        }
    }

    /// Sends a message and waits for its answer.
    ///
    /// # Errors
    /// See [`CommandError`], or that the answer is no longer wanted. A command that caused the error is killed, and
    /// restarted for the next message.
    pub fn ask<T: DeserializeOwned>(
        &mut self,
        message: &impl Serialize,
        asker: &mut dyn Asker,
    ) -> Result<T> {
        let answer = self.answer(message, asker);
        match &answer {
            Ok(_) => self.deaths = 0,
            Err(error) if error.is_its_own() => self.deaths = 0,
            Err(CommandError::Cancelled) => {}
            Err(_) => self.died(),
        }
        answer.map_err(|error| match error {
            CommandError::Cancelled => Error::cancelled(),
            error => Error::new(format!("{}: {error}", self.name)),
        })
    }

    fn answer<T: DeserializeOwned>(
        &mut self,
        message: &impl Serialize,
        asker: &mut dyn Asker,
    ) -> Result<T, CommandError> {
        // Twice: a process whose first answer is read only now may have ended since.
        for _ in 0..2 {
            self.wake(asker)?;
            self.begin(asker)?;
        }
        if asker.is_cancelled() {
            return Err(CommandError::Cancelled);
        }
        let number = self.number + 1;
        self.send_line(line(number, message)?)?;
        self.number = number;
        let limit = self.config.timeout_ms.map(Duration::from_millis);
        let until = limit.and_then(|limit| Instant::now().checked_add(limit));
        self.wait(number, Limit::Answer(until), asker)
    }

    /// Starts a process if there is none, once the backoff has passed.
    fn wake(&mut self, asker: &dyn Asker) -> Result<(), CommandError> {
        if let Some(status) = self.process.as_mut().and_then(Process::is_over) {
            let line = format!("{} ended by itself ({})", self.name, ending(status));
            self.host.log(tracing::Level::WARN, &line);
            self.died();
        }
        if self.process.is_some() {
            return Ok(());
        }
        while let Some(left) = self.not_before.and_then(left) {
            if asker.is_cancelled() {
                return Err(CommandError::Cancelled);
            }
            std::thread::sleep(left.min(POLL));
        }
        self.run()
    }

    /// Waits for the answer to a process's first message, if that is still missing.
    fn begin(&mut self, asker: &mut dyn Asker) -> Result<(), CommandError> {
        if let Some(start_by) = self.start_by {
            // It may have answered long ago, and nothing has been read since.
            let until = start_by.max(Instant::now() + SETTLE);
            let begun: Result<Reply, _> = self.wait(0, Limit::Start(until), asker);
            begun.map_err(|error| match error {
                CommandError::Own(text) => CommandError::Refused(text),
                CommandError::Cancelled if left(start_by).is_none() => {
                    // Without this it would hang for ever where each message is cancelled before the limit.
                    let line = format!("{}: {}", self.name, self.late_start());
                    self.host.log(tracing::Level::WARN, &line);
                    self.died();
                    CommandError::Cancelled
                }
                other => other,
            })?;
            self.start_by = None;
        }
        Ok(())
    }

    /// Starts a process and sends it its first message.
    fn run(&mut self) -> Result<(), CommandError> {
        self.start_by = None;
        self.process = Some(Process::start(&self.config, &self.name, self.host)?);
        let hello = Hello::new(self.role, &self.config.settings, self.host.is_dry());
        let line = line(0, &hello)?;
        self.send_line(line)?;
        self.number = 0;
        self.start_by =
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
    fn wait<T: DeserializeOwned>(
        &mut self,
        number: u64,
        limit: Limit,
        asker: &mut dyn Asker,
    ) -> Result<T, CommandError> {
        let grace = Duration::from_millis(self.config.grace_ms);
        // The deadline of a command whose answer is no longer wanted.
        let mut spared: Option<Instant> = None;
        // A line that has arrived counts, however late it is read: the clock is checked afterwards.
        let mut pause = Duration::ZERO;
        loop {
            let Some(process) = &mut self.process else {
                return Err(CommandError::Cancelled);
            };
            if let Received::Line(line) = process.read_line(pause)?
                && !line.iter().all(u8::is_ascii_whitespace)
            {
                let reply = reply(&line, number)?;
                match (reply.mark, reply.error) {
                    (Some(name), _) => asker.mark(&name),
                    _ if spared.is_some() => return Err(CommandError::Cancelled),
                    (None, Some(error)) => return Err(CommandError::Own(error)),
                    (None, None) => {
                        return serde_json::from_slice(&line).map_err(CommandError::Form);
                    }
                }
            }
            pause = POLL;
            match (limit, spared) {
                (Limit::Start(until), _) if left(until).is_none() => {
                    return Err(self.late_start());
                }
                (Limit::Answer(Some(until)), _) if left(until).is_none() => {
                    return Err(CommandError::Late(
                        self.config.timeout_ms.unwrap_or_default(),
                    ));
                }
                // It may go on starting for the next message.
                (Limit::Start(_), _) if asker.is_cancelled() => {
                    return Err(CommandError::Cancelled);
                }
                (_, None) if asker.is_cancelled() => spared = Instant::now().checked_add(grace),
                (_, Some(until)) if left(until).is_none() => {
                    self.replace();
                    return Err(CommandError::Cancelled);
                }
                _ => {}
            }
        }
    }

    fn late_start(&self) -> CommandError {
        let words = self.process.as_ref().map(Process::last_words);
        CommandError::LateStart {
            limit: self.config.start_ms,
            words: words.unwrap_or_default(),
        }
    }

    /// Kills the process, which made no error, and starts another so that it is ready for the next message.
    fn replace(&mut self) {
        self.process = None;
        self.start_by = None;
        if self.host.is_ending() {
            return;
        }
        if let Err(error) = self.run() {
            self.host
                .log(tracing::Level::WARN, &format!("{}: {error}", self.name));
            self.died();
        }
    }

    /// Kills the process and sets the time of the next start.
    fn died(&mut self) {
        self.process = None;
        self.start_by = None;
        let backoff = self.config.backoff;
        let factor = 1u64.checked_shl(self.deaths).unwrap_or(u64::MAX);
        let pause = backoff.first_ms.saturating_mul(factor).min(backoff.most_ms);
        self.deaths = self.deaths.saturating_add(1);
        self.not_before = Instant::now().checked_add(Duration::from_millis(pause));
    }
}

/// A message as it is sent.
fn line(id: u64, message: &impl Serialize) -> Result<Vec<u8>, CommandError> {
    let mut line = serde_json::to_vec(&Asked { id, message }).map_err(CommandError::Form)?;
    line.push(b'\n');
    Ok(line)
}

/// The fields that all answers share.
fn reply(line: &[u8], number: u64) -> Result<Reply, CommandError> {
    let is_object = |line| serde_json::from_slice::<serde_json::Map<String, Value>>(line).is_ok();
    let reply: Reply = match serde_json::from_slice(line) {
        // As a list its parts could be taken for those of an object.
        Ok(reply) if line.trim_ascii_start().starts_with(b"{") => reply,
        Err(error) if is_object(line) => return Err(CommandError::Form(error)),
        _ => return Err(CommandError::NoJson(shortened(line))),
    };
    if reply.id.as_u64() == Some(number) {
        Ok(reply)
    } else {
        Err(CommandError::OtherId {
            asked: number,
            answered: shortened(reply.id.to_string().as_bytes()),
        })
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(process) = self.process.take() {
            process.end_within(FAREWELL);
        }
    }
}
