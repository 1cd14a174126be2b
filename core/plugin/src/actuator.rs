//! The actuator role: plays strokes.

use flowpipe_puzzle::Flow;
use flowpipe_puzzle::message::{OUTCOME, Outcome, Pace, STROKES, StrokeOutcome, Strokes};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::cancel::Cancel;
use crate::context::Context;
use crate::effects::Effect;
use crate::error::Result;
use crate::host::Host;
use crate::stage::{Input, Next, Port, Stage};

/// Plays strokes: with the mouse, or on a simulated board.
pub trait Actuator: Sized + Send + 'static {
    /// The name that pipelines use: `actuator-…`.
    const NAME: &'static str;
    /// A paragraph for people. Empty: the config's doc comment is used.
    const DOC: &'static str = "";
    /// Whether the same strokes always have the same outcome.
    const DETERMINISTIC: bool = false;
    /// See [`Stage::EFFECTS`].
    const EFFECTS: Option<&'static [Effect]> = None;
    /// See [`Stage::STATE`].
    const STATE: &'static str = "";
    /// See [`Stage::Config`].
    type Config: DeserializeOwned + JsonSchema;

    /// Creates the stage.
    ///
    /// # Errors
    /// When the config can't be used or something is missing.
    fn new(config: Self::Config, host: &Host) -> Result<Self>;

    /// Plays the strokes and reports. Calls [`Acting::pressed`] at every press, and checks [`Acting::cancel`] between
    /// the segments of a stroke: when cancelled, it releases the button at once.
    ///
    /// # Errors
    /// When it can't play. The button must be released by then.
    fn act(&mut self, strokes: &Strokes, acting: &mut Acting<'_, '_>) -> Result<Played>;

    /// See [`Stage::save`].
    ///
    /// # Errors
    /// When the state can't be serialized.
    fn save(&mut self) -> Result<Value> {
        Ok(Value::Null)
    }

    /// See [`Stage::load`].
    ///
    /// # Errors
    /// When the state can't be used.
    fn load(&mut self, format: &str, state: Value) -> Result<bool> {
        let _ = (format, state);
        Ok(false)
    }
}

/// The context of an actuator while it plays.
pub struct Acting<'a, 'c> {
    context: &'a mut Context<'c>,
    first_press_ns: Option<i64>,
    captured_ns: i64,
}

/// The outcome of the strokes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Played {
    /// Whether the game counts the board as solved; `None`: the actuator cannot know.
    pub solved: Option<bool>,
    /// By stroke, in the order of play.
    pub strokes: Vec<StrokeOutcome>,
    /// Pipes on the board now, if the actuator can see them.
    pub drawn: Option<Vec<Flow>>,
    /// Why they were not played, or not completely; see [`Outcome::refused`].
    pub refused: Option<String>,
    /// Their pace, if the actuator has a choice.
    pub pace: Option<Pace>,
}

impl Acting<'_, '_> {
    /// Reports that the button goes down now. The first call counts as the frame's first action.
    pub fn pressed(&mut self) {
        if self.first_press_ns.is_none() {
            self.first_press_ns = Some(self.context.host().now_ns());
            self.context.mark("action");
        }
    }

    /// When the frame was captured that the strokes descend from, by [`Host::now_ns`].
    #[must_use]
    pub fn captured_ns(&self) -> i64 {
        self.captured_ns
    }

    /// Waits; see [`Context::wait_until`].
    ///
    /// # Errors
    /// [`crate::Error::cancelled`] when the work is cancelled.
    pub fn wait_until(&mut self, deadline_ns: i64) -> Result<()> {
        self.context.wait_until(deadline_ns)
    }

    /// Whether to stop and release the button.
    #[must_use]
    pub fn cancel(&self) -> Cancel<'_> {
        self.context.cancel()
    }

    /// The host.
    #[must_use]
    pub fn host(&self) -> Host {
        self.context.host()
    }
}

/// An [`Actuator`] as a [`Stage`]: takes strokes, gives outcomes.
pub struct ActuatorStage<T>(T);

impl<T: Actuator> Stage for ActuatorStage<T> {
    const NAME: &'static str = T::NAME;
    const DOC: &'static str = T::DOC;
    const ROLE: &'static str = "actuator";
    const DETERMINISTIC: bool = T::DETERMINISTIC;
    const EFFECTS: Option<&'static [Effect]> = T::EFFECTS;
    const STATE: &'static str = T::STATE;
    type Config = T::Config;

    fn inputs() -> Vec<Port> {
        vec![Port::new("in", STROKES)]
    }

    fn outputs() -> Vec<Port> {
        vec![Port::new("out", OUTCOME)]
    }

    fn new(config: Self::Config, host: &Host) -> Result<Self> {
        T::new(config, host).map(Self)
    }

    fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
        let Input::Message(message) = input else {
            return Ok(Next::More);
        };
        let strokes: Strokes = message.parse()?;
        let mut acting = Acting {
            context,
            first_press_ns: None,
            captured_ns: message.captured_ns(),
        };
        let played = self.0.act(&strokes, &mut acting)?;
        let act_ns = acting
            .first_press_ns
            .map_or(0, |first| acting.host().now_ns() - first);
        context.emit(
            0,
            &Outcome {
                actuator: T::NAME.to_owned(),
                frame: strokes.sighting.frame,
                solved: played.solved,
                strokes: played.strokes,
                drawn: played.drawn,
                refused: played.refused,
                profile: strokes.profile,
                pace: played.pace,
                act_ns,
            },
        )?;
        Ok(Next::More)
    }

    fn save(&mut self) -> Result<Value> {
        self.0.save()
    }

    fn load(&mut self, format: &str, state: Value) -> Result<bool> {
        self.0.load(format, state)
    }
}
