//! The source: a message for each line.

use std::ffi::CString;
use std::io;

use flowpipe_plugin::{
    Carried, Context, Effect, EffectKind, Error, Host, Input, Next, Port, Result, Stage, tracing,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::address::Address;
use crate::config::SourceConfig;
use crate::idle::Idle;
use crate::line::{self, LineError};
use crate::lines::{Line, Lines, UnreadLines};
use crate::reader::{Arrival, FilePosition, Reader};

/// Lines in a row that are no messages are one error, as far as they are there already, and at most so many.
const WRONG_AT_ONCE: u64 = 1_000;

/// So many times one call reads without finding a message: the host stops, pauses or replaces a stage between two calls,
/// and a line that is too long, or empty ones, may go on without end.
const MOST_READS: u32 = 16;

/// The refused and broken connections that are logged as warnings: a page can open any number of them.
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
    /// How many connections were logged, since they were refused or broke while it goes on listening.
    logged: u64,
}

/// The state: how far the stream was read.
#[derive(Serialize, Deserialize)]
struct Progress {
    /// The stream.
    from: String,
    /// Where a regular file is read next.
    position: Option<FilePosition>,
    unread: UnreadLines,
    /// Something was read.
    has_sent: bool,
    is_at_end: bool,
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
    const STATE: &'static str = "source-jsonl/1";
    type Config = SourceConfig;

    fn inputs() -> Vec<Port> {
        Vec::new()
    }

    fn outputs() -> Vec<Port> {
        vec![
            Port::new("out", "*")
                .carrying([Carried::Nothing])
                .with_schema_key("schema"),
        ]
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
            logged: 0,
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
        let mut reads = 0;
        while !self.is_at_end {
            // What comes of a line, whatever it is: the next call takes the next one.
            while let Some(line) = self.lines.next() {
                let number = line.number;
                if is_http(self.reader.as_ref(), &line) {
                    self.refuse(number, "an HTTP request")?;
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
            if reads == MOST_READS {
                return Ok(Next::More);
            }
            if reads > 0 && context.cancel().is_cancelled() {
                return Err(Error::cancelled());
            }
            let Some(reader) = &mut self.reader else {
                return Ok(Next::End);
            };
            let is_first = reader.is_connection() && !reader.has_sent();
            let arrival = match reader.read() {
                Ok(arrival) => arrival,
                Err(error) => {
                    // What has come of the last line is not one.
                    self.lines = Lines::new(self.max_line);
                    return Err(error);
                }
            };
            match arrival {
                Arrival::Bytes(bytes) => {
                    reads += 1;
                    self.idle = Idle::new();
                    match is_first && line::begins_tls(bytes) {
                        true => self.refuse(1, "a TLS handshake")?,
                        false => self.lines.push(bytes),
                    }
                }
                Arrival::Nothing => {
                    if !self.idle.wait(context)? {
                        return Ok(Next::More);
                    }
                }
                Arrival::ConnectionEnd => return self.last(context).map(|()| Next::More),
                Arrival::ConnectionBroken { error, has_sent } => self.broken(&error, has_sent),
                Arrival::End => self.is_at_end = true,
            }
        }
        self.last(context).map(|()| Next::End)
    }

    fn deactivate(&mut self) {
        self.reader = None;
    }

    fn save(&mut self) -> Result<Value> {
        let reader = self.reader.as_ref();
        Ok(serde_json::to_value(Progress {
            from: self.address.to_string(),
            position: reader.map(Reader::file_position).transpose()?.flatten(),
            unread: self.lines.save(),
            has_sent: reader.is_some_and(Reader::has_sent),
            is_at_end: self.is_at_end,
        })?)
    }

    fn load(&mut self, format: &str, state: Value) -> Result<bool> {
        if format != Self::STATE {
            return Ok(false);
        }
        let progress: Progress = serde_json::from_value(state)?;
        let Some(reader) = &mut self.reader else {
            return Ok(true);
        };
        if progress.from != self.address.to_string() {
            // It reads something else, from the start.
            return Ok(true);
        }
        if reader.is_connection() {
            return Err(Error::bad_config(format!(
                "the connection to {} can't be transferred, and lines that are on their way would be lost: restart the run, \
                 or choose another address",
                self.address
            )));
        }
        self.is_at_end = progress.is_at_end;
        if progress.is_at_end || reader.resume(progress.position, progress.has_sent)? {
            self.lines = Lines::resumed(self.max_line, &progress.unread)
                .ok_or_else(|| Error::bad_message("the unread lines are no bytes"))?;
        }
        Ok(true)
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
    fn refuse(&mut self, number: u64, it: &str) -> Result<()> {
        let place = self.place();
        if let Some(reader) = &mut self.reader {
            reader.close_connection();
        }
        self.lines = Lines::new(self.max_line);
        let what = format!(
            "{place}, line {number}: this is {it}, which a page in a browser can send: the connection is closed"
        );
        if !self.keeps_listening {
            return Err(Error::bad_message(what));
        }
        self.log(&what);
        Ok(())
    }

    /// Goes on after a connection that broke. What has come of its last line is not one.
    fn broken(&mut self, error: &io::Error, has_sent: bool) {
        let lines = std::mem::replace(&mut self.lines, Lines::new(self.max_line));
        let place = self.place();
        match (has_sent, lines.has_begun()) {
            (true, true) => self.log(&format!(
                "{place}: the connection broke ({error}) within a line, which is dropped"
            )),
            (true, false) => self.log(&format!("{place}: the connection broke ({error})")),
            // It does not count.
            (false, _) => tracing::debug!("a connection that sent nothing broke ({error})"),
        }
    }

    /// Logs what anybody can do who can connect.
    fn log(&mut self, what: &str) {
        self.logged = self.logged.saturating_add(1);
        match self.logged {
            ..=MOST_WARNINGS => tracing::warn!("{what}"),
            _ => tracing::debug!("{what} ({} so far)", self.logged),
        }
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
