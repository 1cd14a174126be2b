//! Makes other messages of messages.

use std::ffi::CString;

use flowpipe_plugin::{
    Carried, Context, Effect, Host, Input, JsonSchema, Next, Port, Result, Stage,
};
use serde::Deserialize;

use crate::filter::{compiled, failed};
use flowpipe_jq::Expression;

/// Config of map.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MapConfig {
    /// An expression of jq on the body of the message, such as `{ sensor, kelvin: (.celsius + 273.15) }`. Each output is
    /// the body of a message.
    #[schemars(length(min = 1), extend("format" = "jq"))]
    pub jq: String,
    /// The schema id of the messages, such as `sensor.kelvin/1`. Left out: that of the message that came in.
    #[serde(default)]
    #[schemars(regex(pattern = r"^[A-Za-z0-9._-]+/[0-9]+$"))]
    pub schema: Option<String>,
    /// The most outputs for a message. If there are more, none is sent, and the message is a failure.
    #[serde(default = "max_outputs")]
    #[schemars(range(min = 1, max = 100_000))]
    pub max_outputs: usize,
}

fn max_outputs() -> usize {
    1_000
}

/// The stage.
pub struct Map {
    expression: Expression,
    schema: Option<CString>,
    max_outputs: usize,
}

impl Stage for Map {
    const NAME: &'static str = "map";
    const DOC: &'static str = "Sends a message for each output of an expression of jq, with the frame of the message that \
         it comes from. A message on which the expression fails is a failure, and nothing of it is sent.";
    const DETERMINISTIC: bool = true;
    const EFFECTS: Option<&'static [Effect]> = Some(&[]);
    type Config = MapConfig;

    fn inputs() -> Vec<Port> {
        vec![Port::new("in", "*").carrying(Carried::ANYTHING)]
    }

    fn outputs() -> Vec<Port> {
        vec![
            Port::new("out", "*")
                .carrying(Carried::ANYTHING)
                .with_schema_key("schema")
                .passing("in"),
        ]
    }

    fn new(config: MapConfig, _: &Host) -> Result<Self> {
        Ok(Self {
            expression: compiled(&config.jq)?,
            schema: config.schema.map(CString::new).transpose()?,
            max_outputs: config.max_outputs,
        })
    }

    fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
        if let Input::Message(message) = input {
            let cancel = context.cancel();
            let outputs = self
                .expression
                .outputs(message.json(), self.max_outputs, &|| cancel.is_cancelled());
            let outputs = outputs.map_err(failed)?;
            let schema = match &self.schema {
                Some(schema) => schema.clone(),
                None => CString::new(message.schema())?,
            };
            let frame = message.frame();
            for output in outputs.iter() {
                context.emit_document(0, &schema, output, frame.as_ref(), message.captured_ns())?;
            }
        }
        Ok(Next::More)
    }
}
