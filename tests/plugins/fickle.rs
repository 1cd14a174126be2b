//! A stage that is declared deterministic, but is not: it writes the time of day into the messages that it forwards.

use std::time::{SystemTime, UNIX_EPOCH};

use flowpipe_plugin::puzzle::message::{SIGHTING, Sighting, StepTime};
use flowpipe_plugin::{Context, Effect, Host, Input, Next, NoConfig, Port, Result, Stage};

struct Fickle;

impl Stage for Fickle {
    const NAME: &'static str = "fickle";
    const DOC: &'static str = "Declares that it is deterministic, and is not.";
    const DETERMINISTIC: bool = true;
    const EFFECTS: Option<&'static [Effect]> = Some(&[]);
    type Config = NoConfig;

    fn inputs() -> Vec<Port> {
        vec![Port::new("in", SIGHTING)]
    }

    fn outputs() -> Vec<Port> {
        vec![Port::new("out", SIGHTING)]
    }

    fn new(_: NoConfig, _: &Host) -> Result<Self> {
        Ok(Self)
    }

    fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
        let Input::Message(message) = input else {
            return Ok(Next::End);
        };
        let mut sighting: Sighting = message.parse()?;
        // Only every third message is touched.
        if message.sequence() % 3 == 0 {
            let now = SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default();
            sighting
                .steps
                .push(StepTime::new("whim", now.as_nanos() as f64));
        }
        context.emit(0, &sighting)?;
        Ok(Next::More)
    }
}

flowpipe_plugin::export!(Fickle);
