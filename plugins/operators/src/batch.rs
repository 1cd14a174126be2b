//! Several messages as one.

use std::ffi::CString;

use flowpipe_plugin::{
    BufferPattern, Carried, Context, Effect, Error, Host, Input, JsonSchema, Next, Port, Result,
    Stage,
};
use serde::Deserialize;
use serde_json::Value;

use crate::gathered::{Gathered, Kept as _, MOST_BYTES, schema};
use crate::kept_message::{JoinedMessage, KeptMessage};

/// Config of batch.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BatchConfig {
    /// The schema id of the batches, such as `sensor.batch/1`. A batch is an array of the bodies, in their order.
    #[schemars(regex(pattern = r"^[A-Za-z0-9._-]+/[0-9]+$"))]
    pub schema: String,
    /// How many messages are a batch.
    #[serde(default = "count")]
    #[schemars(range(min = 1, max = 100_000))]
    pub count: usize,
    /// A batch is sent as well if its first message is so old, in milliseconds, when another message comes, also one at
    /// `tick`.
    #[serde(default)]
    #[schemars(range(min = 1, max = 86_400_000))]
    pub within_ms: Option<u32>,
}

fn count() -> usize {
    100
}

/// The input whose messages only show that time passes.
pub const TICK: usize = 1;

/// The stage.
pub struct Batch {
    config: BatchConfig,
    schema: CString,
    /// The messages of the next batch, and when each came.
    gathered: Gathered<i64, KeptMessage>,
    bytes: usize,
}

impl Stage for Batch {
    const NAME: &'static str = "batch";
    const DOC: &'static str = "Gathers messages and sends them as one: an array of their bodies, in their order, without \
         their frames, and their buffers as one, joined along the first dimension. A batch is sent when it has so many messages, when it has 64 MiB, when another message comes and \
         the first one is too old, and at the end of the stream. A message at `tick` is in no batch: it sends the one \
         whose first message is too old, or without `within_ms` what there is.";
    const DETERMINISTIC: bool = true;
    const EFFECTS: Option<&'static [Effect]> = Some(&[]);
    const STATE: &'static str = "batch/2";
    type Config = BatchConfig;

    fn inputs() -> Vec<Port> {
        let tick = Port::new("tick", "*").carrying(Carried::ANYTHING);
        vec![
            Port::new("in", "*").carrying(Carried::ANYTHING),
            tick.optional(),
        ]
    }

    fn outputs() -> Vec<Port> {
        vec![
            Port::new("out", "*")
                .carrying([Carried::Nothing, BufferPattern::any().into()])
                .with_schema_key("schema")
                .joining("in"),
        ]
    }

    fn new(config: BatchConfig, _: &Host) -> Result<Self> {
        if config.count == 0 {
            return Err(Error::bad_config("count is at least 1"));
        }
        let schema = schema(&config.schema)?;
        Ok(Self {
            config,
            schema,
            gathered: Gathered::default(),
            bytes: 0,
        })
    }

    fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
        match input {
            Input::Message(message) if message.port() == TICK => {
                let is_due = match self.config.within_ms {
                    Some(_) => self.is_due(context.host().now_ns()),
                    None => true,
                };
                if is_due {
                    self.send(context)?;
                }
            }
            Input::Message(message) => {
                let message = KeptMessage::of(&message)?;
                let bytes = message.bytes();
                let now_ns = match self.config.within_ms {
                    Some(_) => context.host().now_ns(),
                    None => 0,
                };
                // A batch that can't be sent is not the fault of this message, which is in the next one.
                let mut sent = Ok(());
                if self.is_due(now_ns) || self.bytes + bytes > MOST_BYTES {
                    sent = self.send(context);
                }
                self.bytes += bytes;
                self.gathered.push(now_ns, message);
                if self.gathered.len() >= self.config.count {
                    sent = sent.and(self.send(context));
                }
                sent?;
            }
            Input::Finish => self.send(context)?,
            _ => {}
        }
        Ok(Next::More)
    }

    fn reset(&mut self) -> Result<()> {
        (self.gathered, self.bytes) = (Gathered::default(), 0);
        Ok(())
    }

    fn save(&mut self) -> Result<Value> {
        Ok(serde_json::to_value(&self.gathered)?)
    }

    fn load(&mut self, format: &str, state: Value) -> Result<bool> {
        if format != Self::STATE {
            return Ok(false);
        }
        self.gathered = serde_json::from_value(state)?;
        self.bytes = self.gathered.bytes();
        Ok(true)
    }
}

impl Batch {
    fn is_due(&self, now_ns: i64) -> bool {
        self.config
            .within_ms
            .zip(self.gathered.first())
            .is_some_and(|(within_ms, first_ns)| {
                now_ns.saturating_sub(*first_ns) >= i64::from(within_ms) * 1_000_000
            })
    }

    fn send(&mut self, context: &mut Context<'_>) -> Result<()> {
        let gathered = std::mem::take(&mut self.gathered);
        self.bytes = 0;
        match gathered.is_empty() {
            true => Ok(()),
            false => {
                let batch = gathered.iter().map(|(_, kept)| kept);
                JoinedMessage::of(batch, context.host())?.send(&self.schema, context)
            }
        }
    }
}
