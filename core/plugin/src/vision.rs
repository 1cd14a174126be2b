//! The vision role: reads boards from frames.

use flowpipe_puzzle::message::{FRAME, FrameNote, Reading, SIGHTING, Sighting};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::context::{Context, Message};
use crate::error::{Error, Result};
use crate::frame::{Frame, PixelInfo};
use crate::host::Host;
use crate::stage::{Input, Next, Port, Stage};

/// Reads boards from frames: exact, or silent.
pub trait Vision: Sized + Send + 'static {
    /// The name that pipelines use: `vision-…`.
    const NAME: &'static str;
    /// A paragraph for people. Empty: the doc comment of the config stands in.
    const DOC: &'static str = "";
    /// Whether the same frames always give the same readings.
    const DETERMINISTIC: bool = true;
    /// See [`Stage::Config`].
    type Config: DeserializeOwned + JsonSchema;

    /// Makes the stage.
    ///
    /// # Errors
    /// When the config can't be used or something is missing.
    fn new(config: Self::Config, host: &Host) -> Result<Self>;

    /// Reads one frame. A picture without a readable board is no error but
    /// [`Reading::Refused`].
    ///
    /// # Errors
    /// When something fails that has nothing to do with what the picture shows.
    fn see(&mut self, captured: &Captured) -> Result<Reading>;

    /// Forgets what earlier frames left behind.
    ///
    /// # Errors
    /// When it can't.
    fn reset(&mut self) -> Result<()> {
        Ok(())
    }
}

/// A frame with its note.
pub struct Captured {
    frame: Frame,
    info: PixelInfo,
    note: FrameNote,
}

impl Captured {
    /// Reads a frame message.
    ///
    /// # Errors
    /// When the message carries no pixels or its note can't be read.
    pub fn from_message(message: &Message<'_>) -> Result<Self> {
        let frame = message
            .frame()
            .ok_or_else(|| Error::bad_message("a frame message without pixels"))?;
        Ok(Self {
            info: frame.info()?,
            frame,
            note: message.parse()?,
        })
    }

    /// The pixels, `stride * height` bytes.
    #[must_use]
    pub fn pixels(&self) -> &[u8] {
        self.frame.pixels()
    }

    /// How they lie.
    #[must_use]
    pub fn info(&self) -> PixelInfo {
        self.info
    }

    /// Where they come from.
    #[must_use]
    pub fn note(&self) -> &FrameNote {
        &self.note
    }
}

/// A [`Vision`] as a [`Stage`].
pub struct VisionStage<T>(T);

impl<T: Vision> Stage for VisionStage<T> {
    const NAME: &'static str = T::NAME;
    const DOC: &'static str = T::DOC;
    const ROLE: &'static str = "vision";
    const DETERMINISTIC: bool = T::DETERMINISTIC;
    type Config = T::Config;

    fn inputs() -> Vec<Port> {
        vec![Port::new("in", FRAME)]
    }

    fn outputs() -> Vec<Port> {
        vec![Port::new("out", SIGHTING)]
    }

    fn new(config: Self::Config, host: &Host) -> Result<Self> {
        T::new(config, host).map(Self)
    }

    fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
        if let Input::Message(message) = input {
            let captured = Captured::from_message(&message)?;
            let reading = self.0.see(&captured)?;
            context.emit(
                0,
                &Sighting {
                    frame: captured.note,
                    reading,
                },
            )?;
        }
        Ok(Next::More)
    }

    fn reset(&mut self) -> Result<()> {
        self.0.reset()
    }
}
