//! Some of the messages.

use flowpipe_plugin::{
    Carried, Context, Effect, Error, Host, Input, JsonSchema, Next, Port, Result, Stage,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::pass::pass;

/// Config of sample.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = [{ "required": ["every"] }, { "required": ["share"] }]))]
pub struct SampleConfig {
    /// Pass on the first of so many messages, and again the first of so many after them.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub every: Option<u64>,
    /// Pass on each message with this probability, from 0 to 1.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub share: Option<f64>,
    /// With `share`: where the random numbers start. The same seed chooses the same messages.
    #[serde(default)]
    pub seed: u64,
}

/// The stage.
pub struct Sample {
    choice: Choice,
    seed: u64,
}

enum Choice {
    /// One of so many, and how many there were since.
    Every(u64, u64),
    /// With this probability.
    Share(f64, fastrand::Rng),
}

impl Stage for Sample {
    const NAME: &'static str = "sample";
    const DOC: &'static str = "Passes on one of so many messages, or a random share of them, and drops the others. \
         Messages are passed on as they are, with their frames.";
    const DETERMINISTIC: bool = true;
    const EFFECTS: Option<&'static [Effect]> = Some(&[]);
    const STATE: &'static str = "sample/1";
    type Config = SampleConfig;

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

    fn new(config: SampleConfig, _: &Host) -> Result<Self> {
        let choice = match (config.every, config.share) {
            (Some(every), None) if every > 0 => Choice::Every(every, 0),
            (None, Some(share)) if (0.0..=1.0).contains(&share) => {
                Choice::Share(share, fastrand::Rng::with_seed(config.seed))
            }
            _ => {
                return Err(Error::bad_config(
                    "set either every, at least 1, or share, from 0 to 1",
                ));
            }
        };
        Ok(Self {
            choice,
            seed: config.seed,
        })
    }

    fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
        if let Input::Message(message) = input
            && self.choose()
        {
            pass(&message, context)?;
        }
        Ok(Next::More)
    }

    fn reset(&mut self) -> Result<()> {
        match &mut self.choice {
            Choice::Every(_, count) => *count = 0,
            Choice::Share(_, random) => *random = fastrand::Rng::with_seed(self.seed),
        }
        Ok(())
    }

    fn save(&mut self) -> Result<Value> {
        Ok(match &self.choice {
            Choice::Every(_, count) => json!({ "count": count }),
            Choice::Share(_, random) => json!({ "random": random.get_seed() }),
        })
    }

    fn load(&mut self, format: &str, state: Value) -> Result<bool> {
        if format != Self::STATE {
            return Ok(false);
        }
        let number = |key: &str| state.get(key).map(Value::as_u64);
        match (&mut self.choice, number("count"), number("random")) {
            (_, Some(None), _) | (_, _, Some(None)) => {
                return Err(Error::new("the state has no number"));
            }
            (Choice::Every(every, count), Some(Some(saved)), _) => *count = saved % *every,
            (Choice::Share(_, random), _, Some(Some(saved))) => {
                *random = fastrand::Rng::with_seed(saved)
            }
            (_, None, None) => return Err(Error::new("the state has no number")),
            // The other way to choose: it starts with no state.
            _ => {}
        }
        Ok(true)
    }
}

impl Sample {
    /// Whether the next message is passed on.
    fn choose(&mut self) -> bool {
        match &mut self.choice {
            Choice::Every(every, count) => {
                let is_first = *count == 0;
                *count = (*count + 1) % *every;
                is_first
            }
            Choice::Share(share, random) => random.f64() < *share,
        }
    }
}
