//! Messages as the lines of a sink's end.

use flowpipe_plugin::{Context, Host, Message, Result, tracing};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::address::Address;
use crate::config::IfExists;
use crate::writer::Writer;

/// Writes messages to an end that is opened with its stage.
pub struct MessageWriter {
    address: Address,
    if_exists: IfExists,
    listen: bool,
    envelope: bool,
    host: Host,
    /// `None`: not open, or a dry run.
    writer: Option<Writer>,
    line: Vec<u8>,
}

/// The state.
#[derive(Serialize, Deserialize)]
struct Begun {
    /// The end.
    to: String,
    /// It is a file that the run has begun to write.
    is_own_file: bool,
}

/// A line of `envelope`.
#[derive(Serialize)]
struct Envelope<'a> {
    schema: &'a str,
    sequence: u64,
    frame_sequence: u64,
    captured_ns: i64,
    body: &'a RawValue,
}

impl MessageWriter {
    /// For an end, which is not opened yet. `envelope`: each line has the message's schema and lineage too.
    pub fn new(
        address: Address,
        if_exists: IfExists,
        listen: bool,
        envelope: bool,
        host: Host,
    ) -> Self {
        Self {
            address,
            if_exists,
            listen,
            envelope,
            host,
            writer: None,
            line: Vec::new(),
        }
    }

    /// Opens the end, unless it is a dry run.
    ///
    /// # Errors
    /// When it can't be opened.
    pub fn open(&mut self) -> Result<()> {
        if self.host.is_dry() {
            tracing::info!("a dry run: nothing is written to {}", self.address);
            return Ok(());
        }
        self.writer = Some(Writer::open(
            self.address.clone(),
            self.if_exists,
            self.listen,
        )?);
        Ok(())
    }

    /// Writes a message as a line, at once.
    ///
    /// # Errors
    /// Those of [`Writer::write_line`].
    pub fn write(&mut self, message: &Message<'_>, context: &mut Context<'_>) -> Result<()> {
        let Some(writer) = &mut self.writer else {
            return Ok(());
        };
        self.line.clear();
        match self.envelope {
            true => enveloped(&mut self.line, message)?,
            false => self.line.extend_from_slice(message.json()),
        }
        one_line(&mut self.line);
        self.line.push(b'\n');
        writer.write_line(&mut self.line, context)
    }

    /// The stream has ended.
    ///
    /// # Errors
    /// Those of [`Writer::finish`].
    pub fn finish(&mut self) -> Result<()> {
        self.writer.as_mut().map_or(Ok(()), Writer::finish)
    }

    /// The state, for the stage that replaces this one.
    ///
    /// # Errors
    /// None.
    pub fn save(&self) -> Result<Value> {
        Ok(serde_json::to_value(Begun {
            to: self.address.to_string(),
            is_own_file: self.writer.as_ref().is_some_and(Writer::is_own_file),
        })?)
    }

    /// Loads the state of the stage that this one replaces.
    ///
    /// # Errors
    /// When it is none.
    pub fn load(&mut self, state: Value) -> Result<()> {
        let Begun { to, is_own_file } = serde_json::from_value(state)?;
        if let Some(writer) = &mut self.writer
            && is_own_file
            && to == self.address.to_string()
        {
            writer.take_over_file();
        }
        Ok(())
    }

    /// Closes the end.
    pub fn close(&mut self) {
        self.writer = None;
    }
}

fn enveloped(line: &mut Vec<u8>, message: &Message<'_>) -> Result<()> {
    let envelope = Envelope {
        schema: message.schema(),
        sequence: message.sequence(),
        frame_sequence: message.frame_sequence(),
        captured_ns: message.captured_ns(),
        body: serde_json::from_slice(message.json())?,
    };
    serde_json::to_writer(line, &envelope)?;
    Ok(())
}

/// Line feeds are white space between the values of a body: within a text, JSON escapes them.
fn one_line(json: &mut [u8]) {
    for byte in json {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_between_values_breaks_no_line() {
        let mut pretty = b"{\n \"a\": 1\r\n}".to_vec();
        one_line(&mut pretty);
        assert_eq!(pretty, b"{  \"a\": 1  }");
    }
}
