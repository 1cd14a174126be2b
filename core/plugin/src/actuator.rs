//! The actuator role: plays strokes.

use flowpipe_puzzle::Flow;
use flowpipe_puzzle::message::{OUTCOME, Outcome, Pace, STROKES, StrokeOutcome, Strokes};

use crate::cancel::Cancel;
use crate::context::Context;
use crate::error::Result;
use crate::host::Host;
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

/// The context of an actuator while it plays.
pub struct Acting<'a, 'c> {
    context: &'a mut Context<'c>,
    first_press_ns: Option<i64>,
    captured_ns: i64,
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

    /// The host.
    #[must_use]
    pub fn host(&self) -> Host {
        self.context.host()
    }
}

/// An [`Actuator`] as a [`Stage`].
#[doc(hidden)]
pub struct ActuatorStage<T>(T);

impl<T: Actuator> Stage for ActuatorStage<T> {
    role_as_stage!(T as "actuator", in: [STROKES], out: OUTCOME);

    fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
        let Input::Message(message) = input else {
            return Ok(Next::More);
        };
        let strokes: Strokes = message.parse()?;
        let cancel = context.cancel();
        let mut acting = Acting {
            context,
            first_press_ns: None,
            captured_ns: message.captured_ns(),
        };
        let played = self.0.act(&strokes, &mut acting, &cancel)?;
        // Times of a replay are those of its recording, whatever they are.
        let act_ns = acting
            .first_press_ns
            .map_or(0, |first| acting.host().now_ns().saturating_sub(first));
        let mut outcome = Outcome::new(T::NAME, strokes.sighting.frame, played.strokes);
        outcome.solved = played.solved;
        outcome.drawn = played.drawn;
        outcome.refused = played.refused;
        outcome.profile = strokes.profile;
        outcome.pace = played.pace;
        outcome.act_ns = act_ns;
        context.emit(0, &outcome)?;
        Ok(Next::More)
    }
}
