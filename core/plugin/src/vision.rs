//! The vision role: reads boards from frames.

use flowpipe_puzzle::message::{FRAME, FrameNote, Reading, SIGHTING, Sighting, StepTime};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::cancel::Cancel;
use crate::context::{Context, Message};
use crate::effects::Effect;
use crate::error::{Error, Result};
use crate::frame::{Frame, PixelInfo};
use crate::host::Host;
use crate::stage::{Input, Next, Port, Stage};

/// Reads boards from frames: exactly, or not at all.
pub trait Vision: Sized + Send + 'static {
    /// The name that pipelines use: `vision-…`.
    const NAME: &'static str;
    /// A paragraph for people. Empty: the config's doc comment is used.
    const DOC: &'static str = "";
    /// Whether the same frames always give the same readings.
    const DETERMINISTIC: bool = true;
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

    /// Reads one frame. A picture without a readable board is [`Reading::Refused`], not an error.
    ///
    /// # Errors
    /// When something fails that is not due to the picture's content.
    fn see(&mut self, captured: &Captured) -> Result<Reading>;

    /// The same, with cancellation, for visions that may take long: polls `cancel` at least every 10 ms and returns
    /// soon after it is cancelled. If it is implemented, [`Vision::see`] is not called.
    ///
    /// # Errors
    /// As [`Vision::see`], and when it is cancelled.
    fn see_unless(&mut self, captured: &Captured, _cancel: &Cancel<'_>) -> Result<Reading> {
        self.see(captured)
    }

    /// The time of the last reading, by step; empty unless the config requests it.
    fn steps(&mut self) -> Vec<StepTime> {
        Vec::new()
    }

    /// Drops the state that earlier frames left.
    ///
    /// # Errors
    /// When it fails.
    fn reset(&mut self) -> Result<()> {
        Ok(())
    }

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

    /// Their layout.
    #[must_use]
    pub fn info(&self) -> PixelInfo {
        self.info
    }

    /// The frame itself, to keep it.
    #[must_use]
    pub fn frame(&self) -> &Frame {
        &self.frame
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
    const EFFECTS: Option<&'static [Effect]> = T::EFFECTS;
    const STATE: &'static str = T::STATE;
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
            let reading = self.0.see_unless(&captured, &context.cancel())?;
            let sighting = Sighting {
                steps: self.0.steps(),
                ..Sighting::new(captured.note, reading)
            };
            context.emit(0, &sighting)?;
        }
        Ok(Next::More)
    }

    fn reset(&mut self) -> Result<()> {
        self.0.reset()
    }

    fn save(&mut self) -> Result<Value> {
        self.0.save()
    }

    fn load(&mut self, format: &str, state: Value) -> Result<bool> {
        self.0.load(format, state)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::frame::Format;
    use crate::stage::NoConfig;

    /// A vision without step times.
    struct Blind;

    impl Vision for Blind {
        const NAME: &'static str = "vision-blind";
        type Config = NoConfig;

        fn new(_: NoConfig, _: &Host) -> Result<Self> {
            Ok(Self)
        }

        fn see(&mut self, captured: &Captured) -> Result<Reading> {
            Ok(Reading::Refused {
                step: "scan".to_owned(),
                reason: format!("{} pixels are nothing", captured.pixels().len()),
                confidence: 0.0,
                state: None,
            })
        }
    }

    /// A vision with step times.
    struct Timed(Blind);

    impl Vision for Timed {
        const NAME: &'static str = "vision-timed";
        type Config = NoConfig;

        fn new(config: NoConfig, host: &Host) -> Result<Self> {
            Blind::new(config, host).map(Self)
        }

        fn see(&mut self, captured: &Captured) -> Result<Reading> {
            self.0.see(captured)
        }

        fn steps(&mut self) -> Vec<StepTime> {
            vec![StepTime {
                step: "scan".to_owned(),
                ms: 0.5,
            }]
        }
    }

    #[test]
    fn sightings_have_a_visions_step_times() {
        let note = FrameNote::of("test");
        let layout = (Format::Grey8, 2, 1);
        let mut blind = crate::harness!(Blind, json!({})).unwrap();
        let emitted = blind.send_picture(FRAME, &note, layout, &[0, 0]).unwrap();
        assert_eq!(
            emitted[0].body,
            json!({
                "frame": note,
                "reading": {
                    "status": "refused",
                    "step": "scan",
                    "reason": "2 pixels are nothing",
                    "confidence": 0.0,
                },
            })
        );
        let mut timed = crate::harness!(Timed, json!({})).unwrap();
        let emitted = timed.send_picture(FRAME, &note, layout, &[0, 0]).unwrap();
        assert_eq!(
            emitted[0].body["steps"],
            json!([{ "step": "scan", "ms": 0.5 }])
        );
    }
}
