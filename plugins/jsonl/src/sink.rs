//! The sink: a line for each message.

use flowpipe_plugin::{
    Carried, Context, Effect, EffectKind, Host, Input, Message, Next, Port, Result, Stage, tracing,
};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::address::Address;
use crate::config::{IfExists, SinkConfig};
use crate::writer::Writer;

/// The stage.
pub struct SinkJsonl {
    address: Address,
    if_exists: IfExists,
    listen: bool,
    envelope: bool,
    host: Host,
    /// `None`: not active, or a dry run.
    writer: Option<Writer>,
    line: Vec<u8>,
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

impl Stage for SinkJsonl {
    const NAME: &'static str = "sink-jsonl";
    const DOC: &'static str = "Writes messages as JSON lines: to a file, standard output, a Unix socket or a TCP socket. \
         Each message is a line of its own, written at once and whole. A frame's pixels are not written. In a dry run \
         nothing is written.";
    const EFFECTS: Option<&'static [Effect]> = Some(&[
        Effect::new(EffectKind::WritesFiles, "writes messages to {path}").with_key("path"),
        Effect::new(
            EffectKind::UsesNetwork,
            "sends messages to the Unix socket {unix}",
        )
        .with_key("unix"),
        Effect::new(
            EffectKind::WritesFiles,
            "creates the file of the Unix socket {unix} if it listens",
        )
        .with_key("unix"),
        Effect::new(
            EffectKind::UsesNetwork,
            "sends messages to the TCP address {tcp}",
        )
        .with_key("tcp"),
    ]);
    type Config = SinkConfig;

    fn inputs() -> Vec<Port> {
        vec![Port::new("in", "*").carrying(Carried::ANYTHING)]
    }

    fn outputs() -> Vec<Port> {
        Vec::new()
    }

    fn new(config: SinkConfig, host: &Host) -> Result<Self> {
        Ok(Self {
            address: config.ends().address()?,
            if_exists: config.if_exists,
            listen: config.listen,
            envelope: config.envelope,
            host: *host,
            writer: None,
            line: Vec::new(),
        })
    }

    fn activate(&mut self) -> Result<()> {
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

    fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
        if let (Input::Message(message), Some(writer)) = (input, &mut self.writer) {
            self.line.clear();
            match self.envelope {
                true => enveloped(&mut self.line, &message)?,
                false => self.line.extend_from_slice(message.json()),
            }
            one_line(&mut self.line);
            self.line.push(b'\n');
            writer.write_line(&mut self.line, context)?;
        }
        Ok(Next::More)
    }

    fn deactivate(&mut self) {
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
pub fn one_line(json: &mut [u8]) {
    for byte in json {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
}
