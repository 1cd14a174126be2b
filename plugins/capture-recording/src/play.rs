//! Sends the recorded messages, one after the other.

use std::ffi::CString;
use std::path::Path;

use flowpipe_plugin::{
    Carried, Context, Effect, EffectKind, Error, Format, Frame, Host, Input, Next, Port, Result,
    Stage, tracing,
};
use flowpipe_recording::{Elements, Encoding, Payload, Pixels, Recording, Topic};

use crate::config::Config;
use crate::list;

/// The stage.
pub struct CaptureRecording {
    recording: Recording,
    output: Topic,
    /// Numbers and times of the messages.
    messages: Vec<(u64, i64)>,
    /// The next one.
    at: usize,
    speed: Option<f64>,
    repeat: bool,
    /// When the first message of this round was sent.
    began_ns: Option<i64>,
    left_out: u64,
    /// How many messages in a row were refused.
    refused: u32,
}

impl Stage for CaptureRecording {
    const NAME: &'static str = "capture-recording";
    const DOC: &'static str = "What a stage gave in a recorded run, instead of a screen: its frames, or \
         any other stage's messages.";
    const ROLE: &'static str = "capture";
    const DETERMINISTIC: bool = true;
    const EFFECTS: Option<&'static [Effect]> =
        Some(&[Effect::new(EffectKind::ReadsFiles, "reads the recording {file}").with_key("file")]);
    type Config = Config;

    fn inputs() -> Vec<Port> {
        Vec::new()
    }

    fn outputs() -> Vec<Port> {
        vec![Port::new("out", "*").carrying(Carried::ANYTHING)]
    }

    fn new(config: Config, _: &Host) -> Result<Self> {
        config.check()?;
        let recording = Recording::open_messages(Path::new(&config.file))
            .map_err(|error| Error::bad_config(format!("file: {error}")))?;
        let output = list::output(&recording, config.stage.as_deref())?;
        let messages = list::messages(&recording, &output);
        if messages.is_empty() {
            return Err(Error::bad_config(format!(
                "file: {} has no messages of \"{}.{}\"",
                config.file, output.stage, output.port
            )));
        }
        if recording.is_cut_off() {
            tracing::warn!("{} ends early: what is whole is played", config.file);
        }
        Ok(Self {
            recording,
            output,
            messages,
            at: 0,
            speed: config.speed,
            repeat: config.repeat,
            began_ns: None,
            left_out: 0,
            refused: 0,
        })
    }

    fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
        if !matches!(input, Input::Tick) {
            return Ok(Next::End);
        }
        let Some(&(sequence, at_ns)) = self.messages.get(self.at) else {
            return Ok(Next::End);
        };
        self.wait(at_ns, context)?;
        // Counted before it is sent: whatever becomes of it, the next call takes the next one.
        self.at += 1;
        if self.at == self.messages.len() && self.repeat {
            self.at = 0;
            self.began_ns = None;
        }
        self.send(sequence, context)?;
        Ok(match self.at < self.messages.len() {
            true => Next::More,
            false => Next::End,
        })
    }
}

/// After so many refused messages in a row the rest is not played: each one is a failure that is reported.
const MOST_REFUSED: u32 = 16;

impl CaptureRecording {
    /// Waits until the message is due.
    fn wait(&mut self, at_ns: i64, context: &mut Context<'_>) -> Result<()> {
        let Some(speed) = self.speed else {
            return Ok(());
        };
        let now = context.host().now_ns();
        let first_ns = self.messages.first().map_or(0, |first| first.1);
        let began = *self.began_ns.get_or_insert(now);
        let due =
            began.saturating_add((at_ns.saturating_sub(first_ns).max(0) as f64 / speed) as i64);
        match due > now {
            true => context.wait_until(due),
            false => Ok(()),
        }
    }

    fn send(&mut self, sequence: u64, context: &mut Context<'_>) -> Result<()> {
        let Some((schema, body)) = self.recording.message(&self.output, sequence) else {
            return Ok(());
        };
        let schema = CString::new(&**schema).map_err(|_| {
            Error::bad_message(format!("message {sequence} has a schema with a NUL in it"))
        })?;
        let host = context.host();
        let frame = match self.recording.payload_kind(&self.output, sequence) {
            Some(_) => {
                let frame = self
                    .recording
                    .payload(&self.output, sequence, |recorded| match recorded {
                        Payload::Picture(pixels) => frame(host, pixels),
                        Payload::Buffer(elements) => buffer(host, elements),
                    })
                    .map_err(|error| Error::bad_message(error.to_string()))?;
                let Some(frame) = frame else {
                    self.left_out += 1;
                    if self.left_out == 1 {
                        tracing::warn!(
                            "the recorder left out the pixels or elements of message {sequence}, and perhaps of others: they are not played"
                        );
                    }
                    return Ok(());
                };
                Some(frame?)
            }
            None => None,
        };
        let sent =
            context.emit_document(0, &schema, body.as_bytes(), frame.as_ref(), host.now_ns());
        self.refused = if sent.is_ok() { 0 } else { self.refused + 1 };
        if self.refused == MOST_REFUSED {
            tracing::warn!("{MOST_REFUSED} messages in a row were refused: no more are played");
            self.at = self.messages.len();
        }
        sent
    }
}

/// A recorded buffer in the host's memory.
fn buffer(host: Host, elements: &Elements<'_>) -> Result<Frame> {
    let info = elements.info();
    let (media_type, element) = info
        .media_type()
        .zip(info.element())
        .ok_or_else(|| Error::bad_message("its layout is none of a buffer".to_owned()))?;
    let mut buffer = host.new_buffer(media_type, element, info.shape())?;
    buffer.bytes_mut()?.copy_from_slice(elements.bytes());
    Ok(buffer.as_frame().clone())
}

/// Recorded pixels in the host's memory.
fn frame(host: Host, pixels: &Pixels<'_>) -> Result<Frame> {
    let format = match pixels.encoding {
        Encoding::Bgra8 => Format::Bgra8,
        Encoding::Rgba8 => Format::Rgba8,
        Encoding::Bgr8 => Format::Bgr8,
        Encoding::Rgb8 => Format::Rgb8,
        Encoding::Grey8 => Format::Grey8,
    };
    let mut frame = host.new_frame(format, pixels.width, pixels.height)?;
    let row = pixels.width as usize * format.bytes_per_pixel();
    let stride = frame.info()?.stride;
    let from = pixels.bytes.chunks(pixels.stride.max(1) as usize);
    let to = frame.pixels_mut()?.chunks_mut(stride.max(1));
    for (from, to) in from.zip(to) {
        if let (Some(from), Some(to)) = (from.get(..row), to.get_mut(..row)) {
            to.copy_from_slice(from);
        }
    }
    Ok(frame)
}
