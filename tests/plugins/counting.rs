//! A deterministic stage with state: it adds the number of its messages so far, and the host's time, to each message,
//! after a pause that differs from message to message.

use std::time::Duration;

use flowpipe_plugin::puzzle::message::{SIGHTING, Sighting, StepTime};
use flowpipe_plugin::{Context, Effect, Host, Input, Next, NoConfig, Port, Result, Stage};

struct Counting {
    host: Host,
    count: u32,
}

impl Stage for Counting {
    const NAME: &'static str = "counting";
    const DOC: &'static str = "Counts its messages, and takes its time.";
    const DETERMINISTIC: bool = true;
    const EFFECTS: Option<&'static [Effect]> = Some(&[]);
    type Config = NoConfig;

    fn inputs() -> Vec<Port> {
        vec![Port::new("in", SIGHTING)]
    }

    fn outputs() -> Vec<Port> {
        vec![Port::new("out", SIGHTING)]
    }

    fn new(_: NoConfig, host: &Host) -> Result<Self> {
        Ok(Self {
            host: *host,
            count: 0,
        })
    }

    fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
        let Input::Message(message) = input else {
            return Ok(Next::End);
        };
        let mut sighting: Sighting = message.parse()?;
        // Later messages often take less time than earlier ones.
        let pause = 20 + message.sequence() * 37 % 60;
        std::thread::sleep(Duration::from_millis(pause));
        self.count += 1;
        let now = self.host.now_ns();
        sighting
            .steps
            .push(StepTime::new("count", self.count.into()));
        sighting.steps.push(StepTime::new("now", now as f64));
        context.emit(0, &sighting)?;
        Ok(Next::More)
    }
}

flowpipe_plugin::export!(Counting);
