//! The capture role: produces frames.

use flowpipe_puzzle::message::{FRAME, FrameNote};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::cancel::Cancel;
use crate::context::Context;
use crate::effects::Effect;
use crate::error::{Error, Result};
use crate::frame::{Format, Frame};
use crate::host::Host;
use crate::stage::{Input, Next, Port, Stage};

/// Produces frames: from a screen, from files, from a recording.
pub trait Capture: Sized + Send + 'static {
    /// The name that pipelines use: `capture-…`.
    const NAME: &'static str;
    /// A paragraph for people. Empty: the config's doc comment is used.
    const DOC: &'static str = "";
    /// Whether it gives the same frames every time.
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

    /// Emits the next frame or frames, then returns. While it waits for a picture it polls [`FrameSink::cancel`] at
    /// least every
    /// 10 ms.
    ///
    /// # Errors
    /// When no frame can be captured.
    fn capture(&mut self, sink: &mut FrameSink<'_, '_>) -> Result<Next>;

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

/// The output of a capture stage.
pub struct FrameSink<'a, 'c> {
    context: &'a mut Context<'c>,
}

impl FrameSink<'_, '_> {
    /// A frame from the host's pool; see [`Host::new_frame`].
    ///
    /// # Errors
    /// When memory is short.
    pub fn new_frame(&self, format: Format, width: u32, height: u32) -> Result<Frame> {
        self.context.host().new_frame(format, width, height)
    }

    /// Sends a frame on. `captured_ns`: when its pixels were captured, by [`Host::now_ns`].
    ///
    /// # Errors
    /// [`Error::stopped`] when no stage receives it any more.
    pub fn emit(&mut self, frame: &Frame, note: &FrameNote, captured_ns: i64) -> Result<()> {
        self.context.emit_frame(0, note, frame, captured_ns)
    }

    /// Waits for the next picture's time, by [`Host::now_ns`]; see [`Context::wait_until`].
    ///
    /// # Errors
    /// [`Error::cancelled`] when the run ends meanwhile.
    pub fn wait_until(&mut self, deadline_ns: i64) -> Result<()> {
        self.context.wait_until(deadline_ns)
    }

    /// Whether to stop.
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

/// A [`Capture`] as a [`Stage`].
pub struct CaptureStage<T>(T);

impl<T: Capture> Stage for CaptureStage<T> {
    const NAME: &'static str = T::NAME;
    const DOC: &'static str = T::DOC;
    const ROLE: &'static str = "capture";
    const DETERMINISTIC: bool = T::DETERMINISTIC;
    const EFFECTS: Option<&'static [Effect]> = T::EFFECTS;
    const STATE: &'static str = T::STATE;
    type Config = T::Config;

    fn inputs() -> Vec<Port> {
        Vec::new()
    }

    fn outputs() -> Vec<Port> {
        vec![Port::new("out", FRAME)]
    }

    fn new(config: Self::Config, host: &Host) -> Result<Self> {
        T::new(config, host).map(Self)
    }

    fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
        match input {
            Input::Tick => self.0.capture(&mut FrameSink { context }),
            Input::Message(_) => Err(Error::bad_message("a capture stage takes no messages")),
            Input::Finish => Ok(Next::End),
        }
    }

    fn save(&mut self) -> Result<Value> {
        self.0.save()
    }

    fn load(&mut self, format: &str, state: Value) -> Result<bool> {
        self.0.load(format, state)
    }
}
