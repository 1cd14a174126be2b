//! Messages that were not there before.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use flowpipe_plugin::{
    Carried, Context, Effect, Error, Host, Input, JsonSchema, Next, Port, Result, Stage,
};
use serde::Deserialize;
use serde_json::Value;

use crate::content::content_key;
use crate::filter::{compiled, failed};
use crate::pass::pass;
use flowpipe_jq::Expression;

/// The most bytes of all keys that are kept.
const MOST_BYTES: usize = 64 << 20;

/// Config of dedup.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DedupConfig {
    /// What has to be equal, an expression of jq on the body of the message, such as `.id` or `[.sensor, .celsius]`: its
    /// first output. A message without an output is passed on. Left out: the whole body, and the picture or buffer that the
    /// message carries.
    #[serde(default)]
    #[schemars(length(min = 1), extend("format" = "jq"))]
    pub by: Option<String>,
    /// With how many different messages before it a message is compared; 1: drops repetitions in a row.
    #[serde(default = "last")]
    #[schemars(range(min = 1, max = 65_536))]
    pub last: usize,
}

fn last() -> usize {
    1_000
}

/// The stage.
pub struct Dedup {
    by: Expression,
    /// What messages carry is compared too.
    is_whole: bool,
    last: usize,
    keys: Keys,
}

/// The keys of the last messages, without repetitions.
#[derive(Default)]
struct Keys {
    /// Oldest first.
    order: VecDeque<Arc<[u8]>>,
    known: HashSet<Arc<[u8]>>,
    bytes: usize,
}

impl Keys {
    /// Adds a key, and forgets the oldest. `false`: it is there already.
    fn add(&mut self, key: Vec<u8>, most: usize) -> bool {
        let key: Arc<[u8]> = key.into();
        if !self.known.insert(key.clone()) {
            return false;
        }
        self.bytes += key.len();
        self.order.push_back(key);
        while self.order.len() > most || (self.bytes > MOST_BYTES && self.order.len() > 1) {
            if let Some(oldest) = self.order.pop_front() {
                self.bytes -= oldest.len();
                self.known.remove(&oldest);
            }
        }
        true
    }
}

impl Stage for Dedup {
    const NAME: &'static str = "dedup";
    const DOC: &'static str = "Drops messages that are equal to one of the last ones, as a whole with what they carry or by \
         an expression of jq on their bodies. The others are passed on as they are, with their frames.";
    const DETERMINISTIC: bool = true;
    const EFFECTS: Option<&'static [Effect]> = Some(&[]);
    const STATE: &'static str = "dedup/1";
    type Config = DedupConfig;

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

    fn new(config: DedupConfig, _: &Host) -> Result<Self> {
        if config.last == 0 {
            return Err(Error::bad_config("last is at least 1"));
        }
        Ok(Self {
            is_whole: config.by.is_none(),
            by: compiled(config.by.as_deref().unwrap_or("."))?,
            last: config.last,
            keys: Keys::default(),
        })
    }

    fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
        if let Input::Message(message) = input {
            let cancel = context.cancel();
            let mut key = self
                .by
                .key(message.json(), &|| cancel.is_cancelled())
                .map_err(failed)?;
            if let (Some(key), true) = (&mut key, self.is_whole) {
                key.extend(content_key(&message)?.into_bytes());
            }
            if key.is_none_or(|key| self.keys.add(key, self.last)) {
                pass(&message, context)?;
            }
        }
        Ok(Next::More)
    }

    fn reset(&mut self) -> Result<()> {
        self.keys = Keys::default();
        Ok(())
    }

    fn save(&mut self) -> Result<Value> {
        let texts = self
            .keys
            .order
            .iter()
            .map(|key| String::from_utf8_lossy(key).into_owned());
        Ok(Value::Array(texts.map(Value::String).collect()))
    }

    fn load(&mut self, format: &str, state: Value) -> Result<bool> {
        if format != Self::STATE {
            return Ok(false);
        }
        let texts: Vec<String> = serde_json::from_value(state)?;
        self.keys = Keys::default();
        for text in texts {
            self.keys.add(text.into_bytes(), self.last);
        }
        Ok(true)
    }
}
