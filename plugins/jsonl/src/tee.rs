//! Passes messages on, and writes a line for each to a file.

use std::ffi::CString;

use flowpipe_plugin::{
    Carried, Context, Effect, EffectKind, Host, Input, Next, Port, Result, Stage,
};
use serde_json::Value;

use crate::address::Address;
use crate::config::TeeConfig;
use crate::message_writer::MessageWriter;

/// The stage.
pub struct Tee(MessageWriter);

impl Stage for Tee {
    const NAME: &'static str = "tee";
    const DOC: &'static str = "Passes messages on as they came, with their frames and buffers, and appends each to a file \
         as a line of JSON before. A message that can't be written is a failure, and is not passed on. What its frame or buffer \
         holds is not written. In a dry run nothing is written, and all is passed on.";
    const EFFECTS: Option<&'static [Effect]> =
        Some(&[Effect::new(EffectKind::WritesFiles, "writes messages to {path}").with_key("path")]);
    const STATE: &'static str = "tee/1";
    type Config = TeeConfig;

    fn inputs() -> Vec<Port> {
        vec![Port::new("in", "*").carrying(Carried::ANYTHING)]
    }

    fn outputs() -> Vec<Port> {
        vec![
            Port::new("out", "*")
                .carrying(Carried::ANYTHING)
                .passing("in"),
        ]
    }

    fn new(config: TeeConfig, host: &Host) -> Result<Self> {
        let address = Address::File(config.path.into());
        Ok(Self(MessageWriter::new(
            address,
            config.if_exists,
            false,
            config.envelope,
            *host,
        )))
    }

    fn activate(&mut self) -> Result<()> {
        self.0.open()
    }

    fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
        if let Input::Finish = input {
            self.0.finish()?;
        }
        if let Input::Message(message) = input {
            self.0.write(&message, context)?;
            let schema = CString::new(message.schema())?;
            let frame = message.frame();
            let captured_ns = message.captured_ns();
            context.emit_document(0, &schema, message.json(), frame.as_ref(), captured_ns)?;
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
