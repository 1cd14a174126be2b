//! At most so many messages within a time.

use std::collections::VecDeque;

use flowpipe_plugin::{
    Carried, Context, Effect, Error, Host, Input, JsonSchema, Next, Port, Result, Stage,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::pass::pass;

/// Config of throttle.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThrottleConfig {
    /// How many messages are passed on within any `within_ms`.
    #[schemars(range(min = 1, max = 100_000))]
    pub messages: usize,
    /// A time in milliseconds.
    #[serde(default = "second")]
    #[schemars(range(min = 1, max = 86_400_000))]
    pub within_ms: u32,
    /// What happens to a message beyond that.
    #[serde(default)]
    pub when_exceeded: WhenExceeded,
}

/// What happens to a message beyond the rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WhenExceeded {
    /// It is dropped.
    #[default]
    Drop,
    /// It waits until it can be passed on, and so do those behind it in the queue of the stage.
    Wait,
}

fn second() -> u32 {
    1_000
}

/// The stage.
pub struct Throttle {
    config: ThrottleConfig,
    /// When the last messages were passed on, by the host's clock, at most `messages` of them.
    passed: VecDeque<i64>,
}

impl Stage for Throttle {
    const NAME: &'static str = "throttle";
    const DOC: &'static str = "Passes on at most so many messages within a time, such as ten within any second, and drops \
         the others or lets them wait. Messages are passed on as they are, with their frames.";
    const DETERMINISTIC: bool = true;
    const EFFECTS: Option<&'static [Effect]> = Some(&[]);
    const STATE: &'static str = "throttle/1";
    type Config = ThrottleConfig;

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

    fn new(config: ThrottleConfig, _: &Host) -> Result<Self> {
        if config.messages == 0 || config.within_ms == 0 {
            return Err(Error::bad_config("messages and within_ms are at least 1"));
        }
        Ok(Self {
            config,
            passed: VecDeque::new(),
        })
    }

    fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
        let Input::Message(message) = input else {
            return Ok(Next::More);
        };
        let mut now_ns = context.host().now_ns();
        if let Some(due_ns) = self.due(now_ns) {
            match self.config.when_exceeded {
                WhenExceeded::Drop => return Ok(Next::More),
                WhenExceeded::Wait => {
                    context.wait_until(due_ns)?;
                    now_ns = due_ns;
                }
            }
        }
        while self.passed.len() >= self.config.messages {
            self.passed.pop_front();
        }
        self.passed.push_back(now_ns);
        pass(&message, context)?;
        Ok(Next::More)
    }

    fn reset(&mut self) -> Result<()> {
        self.passed.clear();
        Ok(())
    }

    fn save(&mut self) -> Result<Value> {
        Ok(serde_json::to_value(&self.passed)?)
    }

    fn load(&mut self, format: &str, state: Value) -> Result<bool> {
        if format != Self::STATE {
            return Ok(false);
        }
        self.passed = serde_json::from_value(state)?;
        Ok(true)
    }
}

impl Throttle {
    /// When the next message may be passed on. `None`: now.
    fn due(&self, now_ns: i64) -> Option<i64> {
        let place = self.passed.len().checked_sub(self.config.messages)?;
        let within_ns = i64::from(self.config.within_ms) * 1_000_000;
        let due_ns = self.passed.get(place)?.saturating_add(within_ns);
        (due_ns > now_ns).then_some(due_ns)
    }
}
