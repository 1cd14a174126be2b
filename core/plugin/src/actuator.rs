//! The actuator role: plays strokes.

use flowpipe_puzzle::Flow;
use flowpipe_puzzle::message::{OUTCOME, Outcome, Pace, STROKES, StrokeOutcome, Strokes};

use crate::acting::Acting;
use crate::cancel::Cancel;
use crate::context::Context;
use crate::error::Result;
use crate::role::{role_as_stage, role_items};
use crate::stage::{Input, Next, Stage};

/// Plays strokes: with the mouse, or on a simulated board.
///
/// One input, [`Strokes`]; one output, [`Outcome`].
///
/// ```
/// use flowpipe_plugin::harness::samples;
/// use flowpipe_plugin::puzzle::message::{STROKES, Stroke, StrokeOutcome, Strokes};
/// use flowpipe_plugin::puzzle::{Flow, Solution};
/// use flowpipe_plugin::{Acting, Actuator, Cancel, Error, Host, NoConfig, Played, Result};
/// use serde_json::json;
///
/// /// Presses no button: whether the game accepts the strokes is unknown.
/// struct Pretended;
///
/// impl Actuator for Pretended {
///     const NAME: &'static str = "actuator-pretended";
///     type Config = NoConfig;
///
///     fn new(_: NoConfig, _: &Host) -> Result<Self> {
///         Ok(Self)
///     }
///
///     fn act(
///         &mut self,
///         strokes: &Strokes,
///         acting: &mut Acting<'_, '_>,
///         cancel: &Cancel<'_>,
///     ) -> Result<Played> {
///         let mut outcomes = Vec::new();
///         for stroke in &strokes.strokes {
///             if cancel.is_cancelled() {
///                 return Err(Error::cancelled());
///             }
///             acting.pressed();
///             outcomes.push(StrokeOutcome::new(stroke.colour, None));
///         }
///         Ok(Played::new(outcomes))
///     }
/// }
///
/// let mut harness = flowpipe_plugin::harness!(Pretended, json!({}))?;
/// let stroke = Stroke::new(0, vec![0, 1], vec![[0.5, 0.5], [1.5, 0.5]]);
/// let solution = Solution::new(vec![Flow::new(0, vec![0, 1])]);
/// let sighting = samples::sighting(samples::puzzle("AA")?);
/// let strokes = Strokes::new("planner-test", vec![stroke], solution, sighting);
/// let emitted = harness.send(0, STROKES, &strokes)?;
/// assert_eq!(emitted[0].body["strokes"][0]["accepted"], json!(null));
/// assert_eq!(harness.marks(), ["action"]);
/// # Ok::<(), flowpipe_plugin::Error>(())
/// ```
pub trait Actuator: Sized + Send + 'static {
    role_items!(
        "actuator",
        false,
        "Whether the same strokes always have the same outcome."
    );

    /// Plays the strokes and reports. Points are in board units; the sighting's geometry maps them to pixels of the
    /// frame, and its note those to the screen. Calls [`Acting::pressed`] at every press.
    ///
    /// Polls `cancel` between the segments of a stroke and at least every 10 ms: when cancelled, it releases the button
    /// at once. Called on the stage's thread.
    ///
    /// # Errors
    /// When it can't play. The button must be released by then.
    fn act(
        &mut self,
        strokes: &Strokes,
        acting: &mut Acting<'_, '_>,
        cancel: &Cancel<'_>,
    ) -> Result<Played>;
}

/// The outcome of the strokes.
#[non_exhaustive]
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

impl Played {
    /// Strokes that were played, in that order. Whether the game counts the board as solved is unknown.
    #[must_use]
    pub fn new(strokes: Vec<StrokeOutcome>) -> Self {
        Self {
            strokes,
            ..Self::default()
        }
    }

    /// No stroke was played; see [`Outcome::refused`].
    #[must_use]
    pub fn refused(reason: impl Into<String>) -> Self {
        Self::default().with_refused(reason)
    }

    /// The same, and whether the game counts the board as solved.
    #[must_use]
    pub fn with_solved(mut self, solved: bool) -> Self {
        self.solved = Some(solved);
        self
    }

    /// The same, and the pipes on the board now.
    #[must_use]
    pub fn with_drawn(mut self, drawn: Vec<Flow>) -> Self {
        self.drawn = Some(drawn);
        self
    }

    /// The same, and why not all strokes were played.
    #[must_use]
    pub fn with_refused(mut self, reason: impl Into<String>) -> Self {
        self.refused = Some(reason.into());
        self
    }

    /// The same, and the pace that was chosen.
    #[must_use]
    pub fn with_pace(mut self, pace: Pace) -> Self {
        self.pace = Some(pace);
        self
    }

    /// The message of an actuator that took so many nanoseconds from the first action on.
    #[must_use]
    pub fn into_outcome(self, actuator: &str, strokes: Strokes, act_ns: i64) -> Outcome {
        let mut outcome = Outcome::new(actuator, strokes.sighting.frame, self.strokes);
        outcome.solved = self.solved;
        outcome.drawn = self.drawn;
        outcome.refused = self.refused;
        outcome.profile = strokes.profile;
        outcome.pace = self.pace;
        outcome.act_ns = act_ns;
        outcome
    }
}

/// An [`Actuator`] as a [`Stage`].
#[doc(hidden)]
pub struct ActuatorStage<T>(T);

impl<T: Actuator> Stage for ActuatorStage<T> {
    role_as_stage!(T as "actuator", in: [STROKES], out: OUTCOME, checked by: flowpipe_puzzle::message::CHECK);

    fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
        let Input::Message(message) = input else {
            return Ok(Next::More);
        };
        let strokes: Strokes = message.parse()?;
        let cancel = context.cancel();
        let mut acting = Acting::new(context, &message);
        let played = self.0.act(&strokes, &mut acting, &cancel)?;
        let outcome = played.into_outcome(T::NAME, strokes, acting.act_ns());
        context.emit(0, &outcome)?;
        Ok(Next::More)
    }
}
