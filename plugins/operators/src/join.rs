//! Pairs of messages of two streams.

use std::ffi::CString;

use flowpipe_plugin::message::{CHECK, METRICS, Metrics};
use flowpipe_plugin::{
    Carried, Context, Effect, Error, Host, Input, JsonSchema, Message, Next, Port, Result, Stage,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::filter::{compiled, failed};
use crate::gathered::{body, schema};
use crate::unpaired::{Reason, Unpaired};
use crate::waiting::{Mark, Waiting};
use flowpipe_jq::Expression;

/// Config of join.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("allOf" = [
    {
        "if": { "properties": { "by": { "const": "frame" } }, "required": ["by"] },
        "then": { "properties": { "key": false, "right_key": false, "tolerance_ms": false } },
    },
    {
        "if": { "properties": { "by": { "const": "time" } }, "required": ["by"] },
        "then": { "required": ["tolerance_ms"], "properties": { "key": false, "right_key": false } },
    },
    {
        "if": { "properties": { "by": { "const": "key" } }, "required": ["by"] },
        "then": { "required": ["key"], "properties": { "tolerance_ms": false } },
    },
]))]
pub struct JoinConfig {
    /// The schema id of the pairs, such as `sensor.pair/1`. A pair is `{"left": …, "right": …}` with both bodies.
    #[schemars(regex(pattern = r"^[A-Za-z0-9._-]+/[0-9]+$"))]
    pub schema: String,
    /// Which messages are a pair.
    pub by: By,
    /// With `by = "key"`: an expression of jq on the body, such as `.id`: its first output is the key. A message without
    /// an output is dropped.
    #[serde(default)]
    #[schemars(length(min = 1), extend("format" = "jq"))]
    pub key: Option<String>,
    /// With `by = "key"`: the expression for messages of `right`, if it is another one.
    #[serde(default)]
    #[schemars(length(min = 1), extend("format" = "jq"))]
    pub right_key: Option<String>,
    /// With `by = "time"`: how far apart the two may be, in milliseconds.
    #[serde(default)]
    #[schemars(range(min = 0, max = 86_400_000))]
    pub tolerance_ms: Option<u32>,
    /// How many messages of each input wait for their partner. Then the oldest one is dropped.
    #[serde(default = "most_waiting")]
    #[schemars(range(min = 1, max = 100_000))]
    pub most_waiting: usize,
}

/// Which messages are a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// Those that descend from the same frame, in a pipeline with one stage that captures. A message that descends from no
    /// frame is a failure.
    Frame,
    /// Those whose frames were captured at about the same time. The time of a message that descends from no frame is that of
    /// its arrival. Of several, the nearest one counts.
    Time,
    /// Those with the same key.
    Key,
}

fn most_waiting() -> usize {
    1_000
}

/// The stage.
pub struct Join {
    schema: CString,
    rule: Rule,
    most_waiting: usize,
    state: Sides,
}

enum Rule {
    Frame,
    Time {
        tolerance_ns: u64,
    },
    Key {
        left: Expression,
        right: Option<Expression>,
    },
}

/// The messages of both inputs that wait.
#[derive(Default, Serialize, Deserialize)]
struct Sides {
    left: Waiting,
    right: Waiting,
    #[serde(default)]
    unpaired: Unpaired,
}

/// The longest key, in bytes.
const LONGEST_KEY: usize = 4 << 10;
/// The inputs, in the order of the manifest.
const LEFT: usize = 0;
/// The outputs, in the same order.
const PAIRS: usize = 0;
const COUNTS: usize = 1;

impl Stage for Join {
    const NAME: &'static str = "join";
    const DOC: &'static str = "Joins two streams: sends a message for each pair of a message of `left` and one of `right` that \
         belong together, by the frame that they descend from, by the time of capture, or by a key. Each message is in one \
         pair at most. A pair has both bodies, no frame, and the lineage of the message that came later. The output `metrics` \
         counts the messages without a partner.";
    const DETERMINISTIC: bool = true;
    const EFFECTS: Option<&'static [Effect]> = Some(&[]);
    const STATE: &'static str = "join/1";
    type Config = JoinConfig;

    fn inputs() -> Vec<Port> {
        ["left", "right"]
            .map(|name| Port::new(name, "*").carrying(Carried::ANYTHING))
            .into()
    }

    fn outputs() -> Vec<Port> {
        let metrics = Port::new("metrics", METRICS).checked_by(CHECK);
        vec![Port::new("out", "*").with_schema_key("schema"), metrics]
    }

    fn new(config: JoinConfig, _: &Host) -> Result<Self> {
        if config.most_waiting == 0 {
            return Err(Error::bad_config("most_waiting is at least 1"));
        }
        Ok(Self {
            schema: schema(&config.schema)?,
            rule: rule(&config)?,
            most_waiting: config.most_waiting,
            state: Sides::default(),
        })
    }

    fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
        let message = match input {
            Input::Message(message) => message,
            Input::Finish => {
                let Sides {
                    left,
                    right,
                    mut unpaired,
                } = std::mem::take(&mut self.state);
                unpaired.add(true, Reason::Ended, left.len());
                unpaired.add(false, Reason::Ended, right.len());
                return Self::report(unpaired.take(), context);
            }
            _ => return Ok(Next::More),
        };
        let is_left = message.port() == LEFT;
        let Some(mark) = self.mark(&message, is_left, context)? else {
            self.state.unpaired.add(is_left, Reason::NoKey, 1);
            let due = self.state.unpaired.take_due();
            return Self::report(due, context);
        };
        let body = body(&message)?;
        let Sides {
            left,
            right,
            unpaired,
        } = &mut self.state;
        let (own, others) = if is_left {
            (left, right)
        } else {
            (right, left)
        };
        let partner = match (&self.rule, &mark) {
            (Rule::Time { tolerance_ns }, Mark::Time(time_ns)) => {
                others.take_nearest(*time_ns, *tolerance_ns)
            }
            _ => others.take(&mark),
        };
        match partner {
            None => {
                let dropped = own.push(mark, body, self.most_waiting);
                unpaired.add(is_left, Reason::TooMany, dropped);
                let due = unpaired.take_due();
                return Self::report(due, context);
            }
            Some(partner) => {
                let (left, right) = if is_left {
                    (&body, &partner)
                } else {
                    (&partner, &body)
                };
                let pair = format!("{{\"left\":{left},\"right\":{right}}}");
                context.emit_document(PAIRS, &self.schema, pair.as_bytes(), None, 0)?;
            }
        }
        Ok(Next::More)
    }

    fn reset(&mut self) -> Result<()> {
        self.state = Sides::default();
        Ok(())
    }

    fn save(&mut self) -> Result<Value> {
        Ok(serde_json::to_value(&self.state)?)
    }

    fn load(&mut self, format: &str, state: Value) -> Result<bool> {
        if format != Self::STATE {
            return Ok(false);
        }
        self.state = serde_json::from_value(state)?;
        Ok(true)
    }
}

fn rule(config: &JoinConfig) -> Result<Rule> {
    let has_key = config.key.is_some() || config.right_key.is_some();
    match (config.by, &config.key, config.tolerance_ms) {
        (By::Frame, _, None) if !has_key => Ok(Rule::Frame),
        (By::Time, _, Some(tolerance_ms)) if !has_key => Ok(Rule::Time {
            tolerance_ns: u64::from(tolerance_ms) * 1_000_000,
        }),
        (By::Key, Some(key), None) => Ok(Rule::Key {
            left: compiled(key)?,
            right: config.right_key.as_deref().map(compiled).transpose()?,
        }),
        _ => Err(Error::bad_config(
            "by = \"frame\" needs no other key, by = \"time\" needs tolerance_ms, and by = \"key\" needs key",
        )),
    }
}

impl Join {
    /// Reports how many messages had no partner.
    fn report(metrics: Option<Metrics>, context: &mut Context<'_>) -> Result<Next> {
        if let Some(metrics) = metrics {
            context.emit(COUNTS, &metrics)?;
        }
        Ok(Next::More)
    }

    /// What a message is compared by. `None`: it has no partner.
    fn mark(
        &self,
        message: &Message<'_>,
        is_left: bool,
        context: &Context<'_>,
    ) -> Result<Option<Mark>> {
        Ok(match &self.rule {
            Rule::Frame => match message.frame_sequence() {
                0 => {
                    return Err(Error::new(
                        "the message descends from no frame: join it by time or by key",
                    ));
                }
                frame => Some(Mark::Frame(frame)),
            },
            Rule::Time { .. } => Some(Mark::Time(match message.frame_sequence() {
                0 => context.host().now_ns(),
                _ => message.captured_ns(),
            })),
            Rule::Key { left, right } => {
                let expression = right.as_ref().filter(|_| !is_left).unwrap_or(left);
                let cancel = context.cancel();
                let key = expression
                    .key(message.json(), &|| cancel.is_cancelled())
                    .map_err(failed)?;
                match key {
                    None => None,
                    Some(key) if key.len() > LONGEST_KEY => {
                        return Err(Error::new("the key has more than 4 KiB"));
                    }
                    Some(key) => Some(Mark::Key(String::from_utf8(key)?)),
                }
            }
        })
    }
}
