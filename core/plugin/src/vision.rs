//! The vision role: reads boards from frames.

use flowpipe_message::{FRAME, FrameNote};
use flowpipe_puzzle::message::{Reading, SIGHTING, Sighting, StepTime};

use crate::cancel::Cancel;
use crate::context::{Context, Message};
use crate::error::{Error, Result};
use crate::frame::{Frame, PixelInfo};
use crate::role::{role_as_stage, role_items};
use crate::stage::{Input, Next, Stage};

/// Reads boards from frames: exactly, or not at all.
///
/// One input, frames; one output, [`Sighting`]s.
///
/// ```
/// use flowpipe_plugin::message::{FRAME, FrameNote};
/// use flowpipe_plugin::puzzle::message::Reading;
/// use flowpipe_plugin::{Cancel, Captured, Format, Host, NoConfig, Result, Vision};
/// use serde_json::json;
///
/// /// Reads no boards: reports the brightest byte of a picture.
/// struct Brightness;
///
/// impl Vision for Brightness {
///     const NAME: &'static str = "vision-brightness";
///     type Config = NoConfig;
///
///     fn new(_: NoConfig, _: &Host) -> Result<Self> {
///         Ok(Self)
///     }
///
///     fn see(&mut self, captured: &Captured, _cancel: &Cancel<'_>) -> Result<Reading> {
///         let brightest = captured.pixels().iter().max().copied().unwrap_or(0);
///         Ok(Reading::refused("brightness", format!("the brightest byte is {brightest}")))
///     }
/// }
///
/// let mut harness = flowpipe_plugin::harness!(Brightness, json!({}))?;
/// let note = FrameNote::of("test");
/// let emitted = harness.send_picture(FRAME, &note, (Format::Grey8, 2, 1), &[10, 200])?;
/// assert_eq!(emitted[0].body["reading"]["status"], "refused");
/// assert_eq!(emitted[0].body["reading"]["reason"], "the brightest byte is 200");
/// # Ok::<(), flowpipe_plugin::Error>(())
/// ```
pub trait Vision: Sized + Send + 'static {
    role_items!(
        "vision",
        true,
        "Whether the same frames in the same order always give the same readings."
    );

    /// Reads one frame. A picture without a readable board is [`Reading::Refused`], not an error. Geometry is in pixels
    /// of the frame, colours are numbered from 0 in the order of the palette.
    ///
    /// Polls `cancel` at least every 10 ms and returns soon after it is cancelled; the result does not matter then.
    /// Called on the stage's thread.
    ///
    /// # Errors
    /// When something fails that is not due to the picture's content.
    fn see(&mut self, captured: &Captured, cancel: &Cancel<'_>) -> Result<Reading>;

    /// The time of the last reading, by step; empty unless the config requests it. Called on the stage's thread, after
    /// each [`Self::see`].
    fn steps(&mut self) -> Vec<StepTime> {
        Vec::new()
    }
}

/// A frame of a capture stage, with its note.
pub struct Captured {
    frame: Frame,
    info: PixelInfo,
    note: FrameNote,
    captured_ns: i64,
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
            captured_ns: message.captured_ns(),
        })
    }

    /// The pixels, `stride * height` bytes: rows from top to bottom.
    #[must_use]
    pub fn pixels(&self) -> &[u8] {
        self.frame.pixels()
    }

    /// Their layout.
    #[must_use]
    pub fn info(&self) -> PixelInfo {
        self.info
    }

    /// The frame itself; a clone of it keeps the pixels without copying them.
    #[must_use]
    pub fn frame(&self) -> &Frame {
        &self.frame
    }

    /// Where the pixels come from.
    #[must_use]
    pub fn note(&self) -> &FrameNote {
        &self.note
    }

    /// When they were captured, by the host's clock, in nanoseconds.
    #[must_use]
    pub fn captured_ns(&self) -> i64 {
        self.captured_ns
    }
}

/// A [`Vision`] as a [`Stage`].
#[doc(hidden)]
pub struct VisionStage<T>(T);

impl<T: Vision> Stage for VisionStage<T> {
    role_as_stage!(T as "vision", in: [FRAME], out: SIGHTING, checked by: flowpipe_puzzle::message::CHECK);

    fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
        if let Input::Message(message) = input {
            let captured = Captured::from_message(&message)?;
            let reading = self.0.see(&captured, &context.cancel())?;
            let sighting = Sighting::new(captured.note, reading).with_steps(self.0.steps());
            context.emit(0, &sighting)?;
        }
        Ok(Next::More)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::frame::Format;
    use crate::host::Host;
    use crate::stage::NoConfig;

    /// A vision without step times.
    struct Blind;

    impl Vision for Blind {
        const NAME: &'static str = "vision-blind";
        type Config = NoConfig;

        fn new(_: NoConfig, _: &Host) -> Result<Self> {
            Ok(Self)
        }

        fn see(&mut self, captured: &Captured, _: &Cancel<'_>) -> Result<Reading> {
            let pixels = captured.pixels().len();
            Ok(Reading::refused(
                "scan",
                format!("{pixels} pixels are nothing"),
            ))
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

        fn see(&mut self, captured: &Captured, cancel: &Cancel<'_>) -> Result<Reading> {
            self.0.see(captured, cancel)
        }

        fn steps(&mut self) -> Vec<StepTime> {
            vec![StepTime::new("scan", 0.5)]
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
