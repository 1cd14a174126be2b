//! The sink: a line for each message.

use flowpipe_plugin::{
    Carried, Context, Effect, EffectKind, Host, Input, Next, Port, Result, Stage,
};
use serde_json::Value;

use crate::config::SinkConfig;
use crate::message_writer::MessageWriter;

/// The stage.
pub struct SinkJsonl(MessageWriter);

impl Stage for SinkJsonl {
    const NAME: &'static str = "sink-jsonl";
    const DOC: &'static str = "Writes messages as JSON lines: to a file, standard output, a Unix socket or a TCP socket. \
         Each message is a line of its own, written at once and whole. What a frame or a buffer holds is not written. In \
         a dry run nothing is written.";
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
    const STATE: &'static str = "sink-jsonl/1";
    type Config = SinkConfig;

    fn inputs() -> Vec<Port> {
        vec![Port::new("in", "*").carrying(Carried::ANYTHING)]
    }

    fn outputs() -> Vec<Port> {
        Vec::new()
    }

    fn new(config: SinkConfig, host: &Host) -> Result<Self> {
        let address = config.ends().address()?;
        Ok(Self(MessageWriter::new(
            address,
            config.if_exists,
            config.listen,
            config.envelope,
            *host,
        )))
    }

    fn activate(&mut self) -> Result<()> {
        self.0.open()
    }

    fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
        match input {
            Input::Message(message) => self.0.write(&message, context)?,
            Input::Finish => self.0.finish()?,
            _ => {}
        }
        Ok(Next::More)
    }

    fn deactivate(&mut self) {
        self.0.close();
    }

    fn save(&mut self) -> Result<Value> {
        self.0.save()
    }

    fn load(&mut self, format: &str, state: Value) -> Result<bool> {
        if format != Self::STATE {
            return Ok(false);
        }
        self.0.load(state)?;
        Ok(true)
    }
}
