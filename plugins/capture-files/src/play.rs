//! Plays the pictures, round after round.

use std::path::PathBuf;

use flowpipe_plugin::puzzle::message::FrameNote;
use flowpipe_plugin::{
    Cancel, Capture, Effect, EffectKind, Error, Frame, FrameSink, Host, Next, Result, tracing,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::{Config, OnBroken};
use crate::list;
use crate::pace::Pace;
use crate::picture::decode;

/// In a loop, decoded pictures are kept up to so many bytes of pixels in all, and sent again as they
/// are; the others are decoded again each time.
const KEPT_BYTES: usize = 64 << 20;

/// The stage.
pub struct CaptureFiles {
    pictures: Vec<Picture>,
    /// The next one to play.
    at: usize,
    /// Rounds begun before this one.
    round: u64,
    /// How many rounds to play; `None`: no end.
    rounds: Option<u64>,
    pace: Pace,
    on_broken: OnBroken,
    kept_bytes: usize,
}

struct Picture {
    path: PathBuf,
    pixels: Pixels,
}

enum Pixels {
    /// To be decoded.
    InFile,
    /// Decoded before.
    Kept(Frame),
    /// Could not be decoded before.
    Broken,
}

impl Capture for CaptureFiles {
    const NAME: &'static str = "capture-files";
    const DOC: &'static str = "Pictures from files (PNG, JPEG) instead of a screen: once or in a \
         loop, at a rate or as fast as they are taken.";
    const DETERMINISTIC: bool = true;
    const EFFECTS: Option<&'static [Effect]> =
        Some(&[
            Effect::new(EffectKind::ReadsFiles, "reads pictures from {paths}").with_key("paths"),
        ]);
    const STATE: &'static str = "capture-files/1";
    type Config = Config;

    fn new(config: Config, _host: &Host) -> Result<Self> {
        config.check()?;
        let mut pictures = Vec::new();
        for entry in config.paths.as_slice() {
            pictures.extend(list::files(entry)?.into_iter().map(|path| Picture {
                path,
                pixels: Pixels::InFile,
            }));
        }
        if pictures.is_empty() {
            return Err(Error::bad_config("paths is empty: no pictures to play"));
        }
        Ok(Self {
            pictures,
            at: 0,
            round: 0,
            rounds: config.rounds(),
            pace: Pace::new(config.fps),
            on_broken: config.on_broken,
            kept_bytes: 0,
        })
    }

    fn capture(&mut self, sink: &mut FrameSink<'_, '_>, cancel: &Cancel<'_>) -> Result<Next> {
        while !self.ended() {
            let index = self.at;
            // Counted before it is sent: whatever becomes of it, the next call takes the next one.
            self.advance();
            if let Some(frame) = self.frame(index, sink)? {
                if let Some(due_ns) = self.pace.next(sink.host().now_ns()) {
                    sink.wait_until(due_ns)?;
                }
                let note = FrameNote::of(self.pictures[index].path.display().to_string());
                sink.emit(&frame, &note, sink.host().now_ns())?;
                break;
            }
            if cancel.is_cancelled() {
                return Err(Error::cancelled());
            }
        }
        Ok(if self.ended() { Next::End } else { Next::More })
    }

    fn save(&mut self) -> Result<Value> {
        let next = self.pictures[self.at].path.display().to_string();
        let round = self.round;
        Ok(serde_json::to_value(Place { next, round })?)
    }

    fn load(&mut self, format: &str, state: Value) -> Result<bool> {
        if format != Self::STATE {
            return Ok(false);
        }
        let Place { next, round } = serde_json::from_value(state)?;
        let is_next = |picture: &Picture| picture.path.display().to_string() == next;
        // Other pictures begin with their first.
        if let Some(at) = self.pictures.iter().position(is_next) {
            (self.at, self.round) = (at, round);
        }
        Ok(true)
    }
}

/// The progress.
#[derive(Serialize, Deserialize)]
struct Place {
    /// The picture that comes next.
    next: String,
    round: u64,
}

impl CaptureFiles {
    fn ended(&self) -> bool {
        self.rounds.is_some_and(|rounds| self.round >= rounds)
    }

    fn advance(&mut self) {
        self.at += 1;
        if self.at == self.pictures.len() {
            self.at = 0;
            self.round = self.round.saturating_add(1);
        }
    }

    /// The pixels of a picture; `None`: it is broken, and such ones are skipped.
    fn frame(&mut self, index: usize, sink: &FrameSink<'_, '_>) -> Result<Option<Frame>> {
        let picture = &mut self.pictures[index];
        match &picture.pixels {
            Pixels::Kept(frame) => return Ok(Some(frame.clone())),
            Pixels::Broken => return Ok(None),
            Pixels::InFile => {}
        }
        match decode(&picture.path, sink) {
            Ok(frame) => {
                let bytes = frame.pixels().len();
                if self.rounds != Some(1) && self.kept_bytes + bytes <= KEPT_BYTES {
                    self.kept_bytes += bytes;
                    picture.pixels = Pixels::Kept(frame.clone());
                }
                Ok(Some(frame))
            }
            Err(error) if self.on_broken == OnBroken::Skip => {
                tracing::warn!("skipped: {error}");
                picture.pixels = Pixels::Broken;
                let broken = |picture: &Picture| matches!(picture.pixels, Pixels::Broken);
                if self.pictures.iter().all(broken) {
                    // A loop without any readable picture would never send one.
                    return Err(error.context("no picture can be read, the last of them"));
                }
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}
