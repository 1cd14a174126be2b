//! The source: a message for each line.

use std::ffi::CString;

use flowpipe_plugin::{
    Context, Effect, EffectKind, Error, Host, Input, Next, Port, Result, Stage, tracing,
};

use crate::address::Address;
use crate::config::SourceConfig;
use crate::idle::Idle;
use crate::line::{self, LineError};
use crate::lines::{Line, Lines};
use crate::reader::{Arrival, Reader};

/// Lines in a row that are no messages are one error, as far as they are there already, and at most so many.
const WRONG_AT_ONCE: u64 = 1_000;

/// The refused connections that are logged as warnings: a page can open any number of them.
const MOST_WARNINGS: u64 = 100;

/// The stage.
pub struct SourceJsonl {
    address: Address,
    listen: bool,
    keeps_listening: bool,
    schema: Option<CString>,
    max_line: usize,
    lines: Lines,
    /// `None`: not active.
    reader: Option<Reader>,
    idle: Idle,
    is_at_end: bool,
    /// How many HTTP requests were refused while it goes on listening.
    refused: u64,
}

/// What a line came to.
enum Sent {
    Yes,
    /// It has only white space.
    Blank,
}

impl Stage for SourceJsonl {
    const NAME: &'static str = "source-jsonl";
    const DOC: &'static str = "Reads messages as JSON lines: from a file, standard input, a Unix socket or a TCP socket. \
         Each line is a message; empty lines are skipped. A line that is no JSON, no UTF-8 or too long is a failure that \
         names the line and the column: with `on_error = \"skip\"` the stage goes on with the next line. The end of the \
         file or connection ends the stream.";
    const EFFECTS: Option<&'static [Effect]> = Some(&[
        Effect::new(EffectKind::ReadsFiles, "reads messages from {path}").with_key("path"),
        Effect::new(
            EffectKind::UsesNetwork,
            "receives messages at the Unix socket {unix}",
        )
        .with_key("unix"),
        Effect::new(
            EffectKind::WritesFiles,
            "creates the file of the Unix socket {unix} if it listens",
        )
        .with_key("unix"),
        Effect::new(
            EffectKind::UsesNetwork,
            "receives messages at the TCP address {tcp}",
        )
        .with_key("tcp"),
    ]);
    type Config = SourceConfig;

    fn inputs() -> Vec<Port> {
        Vec::new()
    }

    fn outputs() -> Vec<Port> {
        vec![Port::new("out", "*")]
    }

    fn new(config: SourceConfig, _: &Host) -> Result<Self> {
        if config.keep_listening && !config.listen {
            return Err(Error::bad_config("keep_listening needs listen = true"));
        }
        Ok(Self {
            address: config.ends().address()?,
            listen: config.listen,
            keeps_listening: config.keep_listening,
            schema: config.schema.as_deref().map(line::schema).transpose()?,
            max_line: config.max_line,
            lines: Lines::new(config.max_line),
            reader: None,
            idle: Idle::new(),
            is_at_end: false,
            refused: 0,
        })
    }

    fn activate(&mut self) -> Result<()> {
        let reader = Reader::open(self.address.clone(), self.listen, self.keeps_listening)?;
        self.reader = Some(reader);
        Ok(())
    }

    fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
        let Input::Tick = input else {
            return Ok(Next::End);
        };
        self.idle.begin_call();
        while !self.is_at_end {
            // What comes of a line, whatever it is: the next call takes the next one.
            while let Some(line) = self.lines.next() {
                let number = line.number;
                if is_http(self.reader.as_ref(), &line) {
                    self.refuse(number)?;
                    break;
                }
                match send(self.schema.as_ref(), self.max_line, line.bytes, context) {
                    Ok(Sent::Yes) => {
                        if let Some(reader) = &mut self.reader {
                            reader.count_connection();
                        }
                        return Ok(Next::More);
                    }
                    Ok(Sent::Blank) => {}
                    Err(error) => return Err(self.failed(number, error)),
                }
            }
            let Some(reader) = &mut self.reader else {
                return Ok(Next::End);
            };
            match reader.read()? {
                Arrival::Bytes(bytes) => {
                    self.lines.push(bytes);
                    self.idle = Idle::new();
                }
                Arrival::Nothing => {
                    if !self.idle.wait(context)? {
                        return Ok(Next::More);
                    }
                }
                Arrival::ConnectionEnd => return self.last(context).map(|()| Next::More),
                Arrival::End => self.is_at_end = true,
            }
        }
        self.last(context).map(|()| Next::End)
    }

    fn deactivate(&mut self) {
        self.reader = None;
    }
}

impl SourceJsonl {
    /// Sends the last line of a stream, which has no line feed.
    fn last(&mut self, context: &mut Context<'_>) -> Result<()> {
        let max_line = self.max_line;
        let place = self.place();
        let mut lines = std::mem::replace(&mut self.lines, Lines::new(max_line));
        let Some(line) = lines.last() else {
            return Ok(());
        };
        let sent = send(self.schema.as_ref(), max_line, line.bytes, context);
        let failed = |failure| failed(&place, line.number, failure, None);
        sent.map(|_| ()).map_err(failed)
    }

    /// Closes a connection from which no line is a message. A source that goes on listening logs it.
    ///
    /// # Errors
    /// When this was to be the only connection.
    fn refuse(&mut self, number: u64) -> Result<()> {
        let place = self.place();
        if let Some(reader) = &mut self.reader {
            reader.close_connection();
        }
        self.lines = Lines::new(self.max_line);
        let what = format!(
            "{place}, line {number}: this is an HTTP request, which a page in a browser can send: the connection is closed"
        );
        if !self.keeps_listening {
            return Err(Error::bad_message(what));
        }
        self.refused = self.refused.saturating_add(1);
        match self.refused {
            ..=MOST_WARNINGS => tracing::warn!("{what}"),
            _ => tracing::debug!("{what} ({} so far)", self.refused),
        }
        Ok(())
    }

    fn place(&self) -> String {
        self.reader.as_ref().map_or_else(String::new, Reader::place)
    }

    /// The error of a line, with those behind it that are wrong as well: the host waits after each failure of a source.
    fn failed(&mut self, number: u64, failure: Failure) -> Error {
        let mut until = None;
        if let Failure::Line(_) = failure {
            while until.unwrap_or(number) - number < WRONG_AT_ONCE {
                let (schema, max_line) = (self.schema.is_some(), self.max_line);
                let reader = self.reader.as_ref();
                let is_wrong = |line: &Line<'_>| {
                    !is_http(reader, line) && read(schema, max_line, line.bytes).is_err()
                };
                match self.lines.next_if(is_wrong) {
                    Some(number) => until = Some(number),
                    None => break,
                }
            }
        }
        failed(&self.place(), number, failure, until)
    }
}

/// Why a line was not sent.
enum Failure {
    /// It is no message.
    Line(LineError),
    /// The host did not take it.
    Host(Error),
}

fn failed(place: &str, number: u64, failure: Failure, until: Option<u64>) -> Error {
    match failure {
        Failure::Line(error) => {
            let more = until.map_or_else(String::new, |until| {
                format!(" (the lines up to {until} are wrong too)")
            });
            Error::bad_message(format!("{place}, line {number}: {error}{more}"))
        }
        Failure::Host(error) => error.context(format!("{place}, line {number}")),
    }
}

/// Whether a line comes from a browser or the like.
fn is_http(reader: Option<&Reader>, line: &Line<'_>) -> bool {
    reader.is_some_and(Reader::is_connection) && line.bytes.is_some_and(line::is_of_http_request)
}

/// A line as the schema, if it names it, and the body of a message. `None`: it has only white space.
fn read(
    has_schema: bool,
    max_line: usize,
    bytes: Option<&[u8]>,
) -> Result<Option<Body<'_>>, LineError> {
    let bytes = bytes.ok_or(LineError::TooLong(max_line))?;
    if bytes.trim_ascii().is_empty() {
        return Ok(None);
    }
    Ok(Some(match has_schema {
        true => (None, line::body(bytes)?),
        false => {
            let (schema, body) = line::enveloped(bytes)?;
            (Some(schema), body)
        }
    }))
}

type Body<'a> = (Option<CString>, &'a [u8]);

fn send(
    schema: Option<&CString>,
    max_line: usize,
    bytes: Option<&[u8]>,
    context: &mut Context<'_>,
) -> Result<Sent, Failure> {
    let Some((named, body)) = read(schema.is_some(), max_line, bytes).map_err(Failure::Line)?
    else {
        return Ok(Sent::Blank);
    };
    let schema = schema.cloned().or(named).unwrap_or_default();
    context
        .emit_document(0, &schema, body, None, 0)
        .map_err(Failure::Host)?;
    Ok(Sent::Yes)
}
