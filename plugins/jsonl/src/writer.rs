//! The lines to a sink's end.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use flowpipe_plugin::{Context, Error, Result};

use crate::address::Address;
use crate::config::IfExists;
use crate::readiness::wait_writable;
use crate::stream::{Listener, Stream, is_for_later, open_to_write, standard_output};
use crate::target_file::TargetFile;
use crate::target_kind::TargetKind;

/// What a pipe takes at once, if it takes anything.
const PIPE_BUFFER: usize = 4096;
/// Between two checks for a reader, in nanoseconds.
const CHECK_EVERY_NS: i64 = 10_000_000;

/// An open end.
pub struct Writer {
    address: Address,
    end: End,
}

enum End {
    File(TargetFile),
    Standard {
        stream: Stream,
        is_terminal: bool,
    },
    /// A named pipe. `None`: nobody reads it.
    Pipe(PathBuf, Option<Stream>),
    Connection(Option<Stream>),
    Listener(Listener, Option<Stream>),
}

impl Writer {
    /// Opens an end: creates the file, connects, or listens.
    ///
    /// # Errors
    /// When it can't be opened.
    pub fn open(address: Address, if_exists: IfExists, listen: bool) -> Result<Self> {
        let end = match (&address, listen) {
            (Address::File(path), _) => End::at(path, if_exists)?,
            (Address::Standard(_), _) => End::Standard {
                stream: standard_output()?,
                is_terminal: io::stdout().is_terminal(),
            },
            (_, true) => End::Listener(Listener::bind(&address)?, None),
            (_, false) => End::Connection(Some(Stream::connect(&address, &mut || false)?)),
        };
        Ok(Self { address, end })
    }

    /// The stream has ended: a file that was to be replaced is, even without a line.
    ///
    /// # Errors
    /// When it can't be changed.
    pub fn finish(&mut self) -> Result<()> {
        match &mut self.end {
            End::File(file) => file.begin().map_err(|error| self.failed(error.into())),
            _ => Ok(()),
        }
    }

    /// Whether it is a file that the run has begun to write.
    pub fn is_own_file(&self) -> bool {
        matches!(&self.end, End::File(file) if file.is_own())
    }

    /// The file, if it is one, is the run's own: the stage that this one replaces has begun it.
    pub fn take_over_file(&mut self) {
        if let End::File(file) = &mut self.end {
            file.take_over();
        }
    }

    /// Writes a line, with its line feed, at once.
    ///
    /// # Errors
    /// When it can't be written, and when the call is cancelled. A connection is given up then; the next line needs
    /// another one.
    pub fn write_line(&mut self, line: &mut Vec<u8>, context: &mut Context<'_>) -> Result<()> {
        let written = match &mut self.end {
            End::File(file) => file.write_line(line).map_err(Error::from),
            End::Standard {
                stream,
                is_terminal,
            } => {
                if *is_terminal {
                    escape_for_terminal(line);
                }
                write_all(stream, line, context)
            }
            End::Pipe(path, stream) => {
                while stream.is_none() {
                    *stream = open_to_write(path)?;
                    if stream.is_none() {
                        wait_for_reader(context)?;
                    }
                }
                write_or_give_up(stream, line, context)
            }
            End::Connection(stream) => {
                if stream.is_none() {
                    let connected = Stream::connect(&self.address, &mut || is_cancelled(context));
                    *stream = Some(connected?);
                }
                write_or_give_up(stream, line, context)
            }
            End::Listener(listener, stream) => {
                while stream.is_none() {
                    *stream = listener.accept();
                    if stream.is_none() {
                        wait_for_reader(context)?;
                    }
                }
                write_or_give_up(stream, line, context)
            }
        };
        written.map_err(|error| match error.status() {
            flowpipe_plugin::abi::CANCELLED => error,
            _ => self.failed(error),
        })
    }

    fn failed(&self, error: Error) -> Error {
        error.context(format!("can't write to {}", self.address))
    }
}

impl End {
    /// What a path leads to. A file is created if nothing is there.
    fn at(path: &Path, if_exists: IfExists) -> Result<Self> {
        Ok(match TargetKind::of(path)? {
            TargetKind::File => Self::File(TargetFile::open(path, if_exists)?),
            TargetKind::Pipe => Self::Pipe(path.to_owned(), None),
            TargetKind::Device => {
                let missing =
                    || Error::bad_config(format!("there is no device at {}", path.display()));
                Self::Standard {
                    stream: open_to_write(path)?.ok_or_else(missing)?,
                    // A confined stage can't find out whether it is one.
                    is_terminal: true,
                }
            }
        })
    }
}

/// Waits a moment for a reader.
///
/// # Errors
/// When the call is cancelled.
fn wait_for_reader(context: &mut Context<'_>) -> Result<()> {
    let now_ns = context.host().now_ns();
    context.wait_until(now_ns.saturating_add(CHECK_EVERY_NS))
}

/// Whether the call of a stage that waits for the other program is cancelled.
fn is_cancelled(context: &mut Context<'_>) -> bool {
    // The time is over, so that this waits for nothing: by it the host can cancel the stage, which waits, also when a run
    // that is to end has waited for long enough.
    context.wait_until(0).is_err()
}

fn write_or_give_up(
    stream: &mut Option<Stream>,
    line: &[u8],
    context: &mut Context<'_>,
) -> Result<()> {
    let written = match stream {
        Some(stream) => write_all(stream, line, context),
        None => Err(Error::new("there is no connection")),
    };
    if written.is_err() {
        // Half of the line may be under way.
        *stream = None;
    }
    written
}

fn write_all(stream: &mut Stream, line: &[u8], context: &mut Context<'_>) -> Result<()> {
    let mut rest = line;
    while !rest.is_empty() {
        if !wait_writable(stream)? {
            if is_cancelled(context) {
                return Err(Error::cancelled());
            }
            continue;
        }
        let part = &rest[..rest.len().min(PIPE_BUFFER)];
        match stream.write(part) {
            Ok(0) => return Err(io::Error::from(io::ErrorKind::WriteZero).into()),
            Ok(count) => rest = &rest[count..],
            Err(error) if is_for_later(&error) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Escapes, as JSON does, the characters of a JSON text that could act on a terminal.
fn escape_for_terminal(line: &mut Vec<u8>) {
    let Ok(text) = std::str::from_utf8(line) else {
        return;
    };
    let acts = |character: char| {
        (character.is_control() && character != '\n')
            || matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    if !text.contains(acts) {
        return;
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            // White space between values.
            '\t' | '\r' => escaped.push(' '),
            character if acts(character) => escaped += &format!("\\u{:04x}", u32::from(character)),
            character => escaped.push(character),
        }
    }
    *line = escaped.into_bytes();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_line_acts_on_a_terminal() {
        let mut line = "{\"a\": \"x\u{9b}31m\u{202e}\u{7f}ä\"}\n"
            .as_bytes()
            .to_vec();
        let before: serde_json::Value = serde_json::from_slice(&line).unwrap();
        escape_for_terminal(&mut line);
        assert_eq!(
            String::from_utf8(line.clone()).unwrap(),
            "{\"a\": \"x\\u009b31m\\u202e\\u007fä\"}\n"
        );
        assert_eq!(
            serde_json::from_slice::<serde_json::Value>(&line).unwrap(),
            before
        );
    }
}
