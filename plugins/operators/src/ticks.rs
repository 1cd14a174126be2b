//! A source of messages at an interval.

use flowpipe_plugin::{
    Carried, Context, Effect, Error, Host, Input, JsonSchema, Next, Port, Result, Stage,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Config of source-ticks.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TicksConfig {
    /// The time from one message to the next, in milliseconds. The first one comes when it is over.
    #[schemars(range(min = 1, max = 86_400_000))]
    pub interval_ms: u32,
    /// How many messages are sent. Left out: no end.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub count: Option<u64>,
}

/// The body of a message.
#[derive(Serialize)]
struct TickNote {
    /// How many intervals are over.
    number: i64,
}

/// The stage.
pub struct Ticks {
    config: TicksConfig,
    state: TicksState,
}

#[derive(Default, Serialize, Deserialize)]
struct TicksState {
    /// The interval of the times below, in milliseconds.
    interval_ms: u32,
    /// When the first interval began. `None`: not yet, or it was one of another length.
    began_ns: Option<i64>,
    /// How many intervals were over at the last message.
    number: i64,
    sent: u64,
}

impl Stage for Ticks {
    const NAME: &'static str = "source-ticks";
    const DOC: &'static str = "Sends a message each time that an interval is over, so that other stages act without a \
         message of their own: `batch` and `window` at their input `tick`. The body has `number`: how many intervals are \
         over. Those that end while no message is taken are left out.";
    const EFFECTS: Option<&'static [Effect]> = Some(&[]);
    const STATE: &'static str = "source-ticks/1";
    type Config = TicksConfig;

    fn inputs() -> Vec<Port> {
        Vec::new()
    }

    fn outputs() -> Vec<Port> {
        vec![Port::new("out", "time.tick/1").carrying([Carried::Nothing])]
    }

    fn new(config: TicksConfig, _: &Host) -> Result<Self> {
        if config.interval_ms == 0 || config.count == Some(0) {
            return Err(Error::bad_config("interval_ms and count are at least 1"));
        }
        Ok(Self {
            config,
            state: TicksState::default(),
        })
    }

    fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
        if !matches!(input, Input::Tick) || self.has_ended() {
            return Ok(Next::End);
        }
        let now_ns = context.host().now_ns();
        let interval_ns = i64::from(self.config.interval_ms) * 1_000_000;
        let state = &mut self.state;
        state.interval_ms = self.config.interval_ms;
        // With another interval than before, the numbers continue.
        let numbered_ns = state.number.saturating_mul(interval_ns);
        let began_ns = state.began_ns.unwrap_or(now_ns.saturating_sub(numbered_ns));
        state.began_ns = Some(began_ns);
        let over = now_ns.saturating_sub(began_ns) / interval_ns;
        let number = over.max(state.number.saturating_add(1));
        let due_ns = began_ns.saturating_add(number.saturating_mul(interval_ns));
        if due_ns > now_ns {
            context.wait_until(due_ns)?;
        }
        context.emit(0, &TickNote { number })?;
        state.number = number;
        state.sent += 1;
        Ok(match self.has_ended() {
            true => Next::End,
            false => Next::More,
        })
    }

    fn reset(&mut self) -> Result<()> {
        self.state = TicksState::default();
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
        if self.state.interval_ms != self.config.interval_ms {
            self.state.began_ns = None;
        }
        Ok(true)
    }
}

impl Ticks {
    fn has_ended(&self) -> bool {
        let sent = self.state.sent;
        self.config.count.is_some_and(|count| sent >= count)
    }
}
