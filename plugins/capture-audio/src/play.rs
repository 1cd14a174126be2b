//! A file round after round.

use std::path::Path;

use flowpipe_plugin::{
    BufferPattern, Context, Effect, EffectKind, Error, Host, Input, Next, Port, Result, Stage,
};
use serde::Serialize;

use crate::config::Config;
use crate::wave::{Block, Wave};

/// The stage.
pub struct CaptureAudio {
    config: Config,
    host: Host,
    /// `None`: between two rounds.
    wave: Option<Wave>,
    /// How many rounds are left, this one included. `None`: no end.
    rounds: Option<u64>,
    /// When the round began. `None`: not yet.
    began_ns: Option<i64>,
}

/// The body of a message.
#[derive(Serialize)]
struct BlockNote<'a> {
    /// The file.
    source: &'a str,
    /// Samples a second of each channel.
    rate: u32,
    /// How many samples of each channel are before the block.
    position: u64,
    /// The same in seconds.
    seconds: f64,
}

impl Stage for CaptureAudio {
    const NAME: &'static str = "capture-audio";
    const DOC: &'static str = "Emits the samples of a WAV file in blocks: messages with a buffer of the media type \
         audio/pcm and the shape [samples, channels]. Their body has `source`, `rate` (samples a second), `position` \
         (samples before the block) and `seconds`.";
    const EFFECTS: Option<&'static [Effect]> =
        Some(&[Effect::new(EffectKind::ReadsFiles, "reads the sound {path}").with_key("path")]);
    type Config = Config;

    fn inputs() -> Vec<Port> {
        Vec::new()
    }

    fn outputs() -> Vec<Port> {
        let sound = BufferPattern::of("audio/pcm").shape(&[None, None]);
        vec![
            Port::new("out", "audio.block/1")
                .carrying([sound])
                .with_element_key("element"),
        ]
    }

    fn new(config: Config, host: &Host) -> Result<Self> {
        config.check()?;
        let mut stage = Self {
            rounds: config.rounds(),
            config,
            host: *host,
            wave: None,
            began_ns: None,
        };
        let opened = stage.open();
        stage.wave = Some(opened.map_err(|error| Error::bad_config(error.to_string()))?);
        Ok(stage)
    }

    fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
        if !matches!(input, Input::Tick) || self.rounds == Some(0) {
            return Ok(Next::End);
        }
        let mut wave = match self.wave.take() {
            Some(wave) => wave,
            None => self.open()?,
        };
        match wave.next(self.host) {
            Ok(Some(block)) => {
                let rate = wave.rate();
                self.wave = Some(wave);
                self.emit(&block, rate, context)?;
                Ok(Next::More)
            }
            Ok(None) if wave.is_at_start() => {
                self.rounds = Some(0);
                Err(Error::new("it has no samples").context(&self.config.path))
            }
            Ok(None) => Ok(self.end_round()),
            Err(error) => {
                // A damaged file is not played again.
                self.rounds = Some(0);
                Err(error.context(&self.config.path))
            }
        }
    }

    fn reset(&mut self) -> Result<()> {
        self.rounds = self.config.rounds();
        (self.wave, self.began_ns) = (None, None);
        Ok(())
    }
}

impl CaptureAudio {
    fn open(&self) -> Result<Wave> {
        let Config {
            path,
            block,
            element,
            ..
        } = &self.config;
        Wave::open(Path::new(path), *block, *element)
            .map_err(|error| error.context(format!("can't read {path}")))
    }

    /// Sends a block; in real time, when it is over.
    fn emit(&mut self, block: &Block, rate: u32, context: &mut Context<'_>) -> Result<()> {
        let mut now_ns = context.host().now_ns();
        if self.config.real_time {
            let began_ns = *self.began_ns.get_or_insert(now_ns);
            let samples = u128::from(block.position + block.length);
            let length_ns = samples * 1_000_000_000 / u128::from(rate);
            let due_ns = began_ns.saturating_add(i64::try_from(length_ns).unwrap_or(i64::MAX));
            if due_ns > now_ns {
                context.wait_until(due_ns)?;
                now_ns = due_ns;
            }
        }
        let note = BlockNote {
            source: &self.config.path,
            rate,
            position: block.position,
            seconds: block.position as f64 / f64::from(rate),
        };
        context.emit_buffer(0, &note, &block.samples, now_ns)
    }

    fn end_round(&mut self) -> Next {
        self.wave = None;
        self.began_ns = None;
        self.rounds = self.rounds.map(|rounds| rounds.saturating_sub(1));
        match self.rounds {
            Some(0) => Next::End,
            _ => Next::More,
        }
    }
}
