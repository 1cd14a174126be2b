//! Records the steps of a reading, where the config asks for it: the time that each took, and a picture of what it saw.

mod album;
pub mod sketch;

use flowpipe_plugin::puzzle::message::StepTime;
use flowpipe_plugin::{Host, Result, tracing};

use crate::config::Config;
use crate::steps::album::Album;
use crate::steps::sketch::Sketch;

/// Times the steps of a reading, and saves pictures of them. Off, it costs nothing: no clock, no memory.
#[derive(Default)]
pub struct Steps(Option<Box<StepWatch>>);

/// What is recorded of the current reading.
struct StepWatch {
    /// Nanoseconds from any moment on.
    clock: Box<dyn Fn() -> i64 + Send>,
    is_timed: bool,
    /// When the last step ended.
    mark: i64,
    /// Nanoseconds by step, in the order in which the steps first ended.
    times: Vec<(&'static str, i64)>,
    album: Option<Album>,
}

impl Steps {
    /// What a config asks for.
    ///
    /// # Errors
    /// When the folder for pictures can't be made.
    pub fn new(config: &Config, host: &Host) -> Result<Self> {
        if !config.timed && config.steps.is_none() {
            return Ok(Self::default());
        }
        let host = *host;
        let album = config.steps.as_deref().map(Album::new).transpose()?;
        let watched = StepWatch::new(move || host.now_ns(), config.timed, album);
        Ok(Self(Some(Box::new(watched))))
    }

    /// Timed by any clock, which gives nanoseconds.
    #[allow(dead_code, reason = "the benchmark measures processor time by it")]
    #[must_use]
    pub fn timed(clock: impl Fn() -> i64 + Send + 'static) -> Self {
        Self(Some(Box::new(StepWatch::new(clock, true, None))))
    }

    /// The reading of a new picture starts.
    pub fn start(&mut self) {
        if let Some(watched) = &mut self.0 {
            watched.mark = (watched.clock)();
            watched.times.clear();
            if let Some(album) = &mut watched.album {
                album.is_old = true;
            }
        }
    }

    /// A step ends: the time since the last one ended is its own. A step that is taken several times
    /// has the sum.
    pub fn done(&mut self, step: &'static str) {
        if let Some(watched) = &mut self.0 {
            let now = (watched.clock)();
            let took = now - watched.mark;
            watched.mark = now;
            match watched.times.iter_mut().find(|(name, _)| *name == step) {
                Some((_, sum)) => *sum += took,
                None => watched.times.push((step, took)),
            }
        }
    }

    /// Saves a picture of what a step saw, as `NN-name.png`, where pictures are wanted; else nothing is
    /// drawn. It counts towards no step's time. A picture that can't be drawn or saved is a warning.
    pub fn picture(&mut self, name: &str, draw: impl FnOnce() -> opencv::Result<Sketch>) {
        let Some(watched) = &mut self.0 else { return };
        let Some(album) = &mut watched.album else {
            return;
        };
        let began = (watched.clock)();
        let saved = match draw() {
            Ok(sketch) => album.add(name, &sketch),
            Err(error) => Err(error.into()),
        };
        if let Err(error) = saved {
            tracing::warn!("no picture of step {name}: {error}");
        }
        watched.mark += (watched.clock)() - began;
    }

    /// What the reading cost, by step; nothing where the config does not ask. It is reported once.
    #[must_use]
    pub fn take(&mut self) -> Vec<StepTime> {
        let Some(watched) = self.0.as_mut().filter(|it| it.is_timed) else {
            return Vec::new();
        };
        let times = watched.times.drain(..);
        times
            .map(|(step, ns)| StepTime::new(step, ns as f64 / 1e6))
            .collect()
    }
}

impl StepWatch {
    fn new(clock: impl Fn() -> i64 + Send + 'static, is_timed: bool, album: Option<Album>) -> Self {
        Self {
            mark: clock(),
            clock: Box::new(clock),
            is_timed,
            times: Vec::new(),
            album,
        }
    }
}
