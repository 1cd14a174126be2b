//! A video round after round, or a camera.

use std::time::{Duration, Instant};

use flowpipe_plugin::message::FrameNote;
use flowpipe_plugin::{
    Cancel, Capture, Effect, EffectKind, Error, FrameSink, Host, Next, Result, abi, tracing,
};

use crate::config::{Config, Source};
use crate::decoder::{Decoded, Decoder};
use crate::error::DecodeError;
use crate::picture::Picture;

/// How often the stage checks whether its call is cancelled.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The stage.
pub struct CaptureVideo {
    config: Config,
    host: Host,
    /// `None`: not active, or between two rounds.
    decoder: Option<Decoder>,
    /// How many rounds are left, this one included. `None`: no end.
    rounds: Option<u64>,
    /// How many frames were emitted.
    frames: u64,
    /// When the round began: the time of a frame that is due at its start. `None`: not yet.
    began_ns: Option<i64>,
}

impl Capture for CaptureVideo {
    const NAME: &'static str = "capture-video";
    const DOC: &'static str = "Emits the frames of a video file or a camera. The program ffmpeg decodes them, which has to \
         be installed, in a process of its own: on Linux, it may read the file and no other, write none, and reach no server. A camera \
         of Video4Linux is captured until the run ends.";
    const EFFECTS: Option<&'static [Effect]> = Some(&[
        Effect::new(EffectKind::RunsCommands, "runs `{ffmpeg}`").with_paths(&["ffmpeg"]),
        Effect::new(EffectKind::ReadsFiles, "reads the video {path}").with_key("path"),
        Effect::new(EffectKind::ReadsFiles, "captures the camera {camera}").with_key("camera"),
    ]);
    type Config = Config;

    fn new(config: Config, host: &Host) -> Result<Self> {
        if let Source::File(path) = config.source()? {
            // What is no file, such as a pipe, might never end.
            flowpipe_output::open_regular(path.as_ref())
                .map_err(|error| Error::bad_config(format!("can't read {path}: {error}")))?;
        }
        let mut stage = Self {
            rounds: config.rounds(),
            config,
            host: *host,
            decoder: None,
            frames: 0,
            began_ns: None,
        };
        // Found now, before anything runs, if ffmpeg is missing.
        stage.start()?;
        Ok(stage)
    }

    fn capture(&mut self, sink: &mut FrameSink<'_, '_>, cancel: &Cancel<'_>) -> Result<Next> {
        if self.is_complete() {
            return Ok(Next::End);
        }
        if self.decoder.is_none() {
            self.start()?;
        }
        match self.next(cancel) {
            Ok(Some(picture)) => {
                self.emit(picture, sink)?;
                Ok(match self.is_complete() {
                    true => Next::End,
                    false => Next::More,
                })
            }
            Ok(None) => Ok(self.end_round()),
            Err(error) => {
                if error.status() != abi::CANCELLED {
                    // A damaged video is not played again.
                    (self.decoder, self.rounds) = (None, Some(0));
                }
                Err(error)
            }
        }
    }

    fn reset(&mut self) -> Result<()> {
        self.rounds = self.config.rounds();
        (self.decoder, self.frames, self.began_ns) = (None, 0, None);
        Ok(())
    }
}

impl CaptureVideo {
    fn start(&mut self) -> Result<()> {
        let source = self.config.source()?;
        let started = Decoder::start(&self.config, source, self.host);
        self.decoder = Some(started.map_err(|error| self.failed(error))?);
        Ok(())
    }

    /// The next picture. `None`: the round has ended.
    fn next(&mut self, cancel: &Cancel<'_>) -> Result<Option<Picture>> {
        let stall = Duration::from_millis(self.config.stall_ms);
        let began = Instant::now();
        let mut next = || {
            let Some(decoder) = &mut self.decoder else {
                return Ok(Decoded::End(String::new()));
            };
            loop {
                match decoder.next(POLL_INTERVAL)? {
                    Decoded::Nothing if cancel.is_cancelled() => return Ok(Decoded::Nothing),
                    Decoded::Nothing if began.elapsed() > stall => {
                        return Err(DecodeError::Stalled(self.config.stall_ms));
                    }
                    Decoded::Nothing => {}
                    decoded => return Ok(decoded),
                }
            }
        };
        match next().map_err(|error| self.failed(error))? {
            Decoded::Picture(picture) => Ok(Some(picture)),
            Decoded::Nothing => Err(Error::cancelled()),
            Decoded::End(reported) => {
                if !reported.is_empty() {
                    tracing::warn!("{}: ffmpeg reports: {reported}", self.name());
                }
                Ok(None)
            }
        }
    }

    /// Sends a picture when it is due.
    fn emit(&mut self, picture: Picture, sink: &mut FrameSink<'_, '_>) -> Result<()> {
        let mut now_ns = sink.host().now_ns();
        let source = match picture.time_ns {
            Some(time_ns) => format!("{}, {:.3} s", self.name(), time_ns as f64 / 1e9),
            None => self.name().to_owned(),
        };
        if let Some(time_ns) = picture.time_ns.filter(|_| self.config.real_time) {
            let began_ns = *self.began_ns.get_or_insert(now_ns.saturating_sub(time_ns));
            let due_ns = began_ns.saturating_add(time_ns);
            if due_ns > now_ns {
                sink.wait_until(due_ns)?;
                now_ns = due_ns;
            }
        }
        self.frames += 1;
        sink.emit(&picture.frame, &FrameNote::of(source), now_ns)
    }

    fn end_round(&mut self) -> Next {
        self.decoder = None;
        self.began_ns = None;
        self.rounds = self.rounds.map(|rounds| rounds.saturating_sub(1));
        match self.is_complete() {
            true => Next::End,
            false => Next::More,
        }
    }

    fn is_complete(&self) -> bool {
        let has_enough = |most| self.frames >= most;
        self.rounds == Some(0) || self.config.max_frames.is_some_and(has_enough)
    }

    /// What is captured, for people.
    fn name(&self) -> &str {
        let Config { path, camera, .. } = &self.config;
        path.as_deref().or(camera.as_deref()).unwrap_or_default()
    }

    fn failed(&self, error: DecodeError) -> Error {
        let failed = match error {
            // It is missing the next time, too.
            DecodeError::NotInstalled(_) => Error::bad_config(error.to_string()),
            _ => Error::from(error),
        };
        failed.context(self.name())
    }
}
