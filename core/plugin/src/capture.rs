//! The capture role: produces frames.

use flowpipe_message::{FRAME, FrameNote};

use crate::cancel::Cancel;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::frame::{Format, Frame};
use crate::host::Host;
use crate::role::{role_as_stage, role_items};
use crate::stage::{Input, Next, Stage};

/// Produces frames: from a screen, from files, from a recording.
///
/// No input; one output, frames with a [`FrameNote`].
///
/// ```
/// use flowpipe_plugin::message::FrameNote;
/// use flowpipe_plugin::{Cancel, Capture, Format, FrameSink, Host, Next, NoConfig, Result};
/// use serde_json::json;
///
/// /// Emits one white pixel, then ends.
/// struct White;
///
/// impl Capture for White {
///     const NAME: &'static str = "capture-white";
///     type Config = NoConfig;
///
///     fn new(_: NoConfig, _: &Host) -> Result<Self> {
///         Ok(Self)
///     }
///
///     fn capture(&mut self, sink: &mut FrameSink<'_, '_>, _cancel: &Cancel<'_>) -> Result<Next> {
///         let captured_ns = sink.host().now_ns();
///         let mut frame = sink.new_frame(Format::Rgb8, 1, 1)?;
///         frame.pixels_mut()?.fill(255);
///         sink.emit(&frame, &FrameNote::of("white"), captured_ns)?;
///         Ok(Next::End)
///     }
/// }
///
/// let mut harness = flowpipe_plugin::harness!(White, json!({}))?;
/// let emitted = harness.tick()?;
/// assert_eq!(emitted[0].body["source"], "white");
/// assert_eq!(emitted[0].frame.as_ref().unwrap().pixels(), [255; 3]);
/// # Ok::<(), flowpipe_plugin::Error>(())
/// ```
pub trait Capture: Sized + Send + 'static {
    role_items!(
        "capture",
        false,
        "Whether it gives the same frames every time."
    );

    /// Emits the next frame or frames, then returns: [`Next::More`] to be called again, [`Next::End`] at the end of the
    /// stream.
    ///
    /// While it waits for a picture it polls `cancel` at least every 10 ms and returns soon after it is cancelled;
    /// [`FrameSink::wait_until`] does so by itself. Called on the stage's thread.
    ///
    /// # Errors
    /// When no frame can be captured.
    fn capture(&mut self, sink: &mut FrameSink<'_, '_>, cancel: &Cancel<'_>) -> Result<Next>;
}

/// The output of a capture stage.
pub struct FrameSink<'a, 'c> {
    context: &'a mut Context<'c>,
}

impl FrameSink<'_, '_> {
    /// A frame from the host's pool: width and height in pixels, rows without gaps. See [`Host::new_frame`].
    ///
    /// # Errors
    /// When the size is invalid or memory is short.
    pub fn new_frame(&self, format: Format, width: u32, height: u32) -> Result<Frame> {
        self.context.host().new_frame(format, width, height)
    }

    /// Sends a frame on, without copying its pixels. `captured_ns`: when they were captured, by [`Host::now_ns`].
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

    /// The host.
    #[must_use]
    pub fn host(&self) -> Host {
        self.context.host()
    }
}

/// A [`Capture`] as a [`Stage`].
#[doc(hidden)]
pub struct CaptureStage<T>(T);

impl<T: Capture> Stage for CaptureStage<T> {
    role_as_stage!(T as "capture", in: [], out: FRAME, checked by: flowpipe_message::CHECK);

    fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
        match input {
            Input::Tick => {
                let cancel = context.cancel();
                self.0.capture(&mut FrameSink { context }, &cancel)
            }
            Input::Message(_) => Err(Error::bad_message("a capture stage takes no messages")),
            Input::Finish => Ok(Next::End),
        }
    }
}
