//! Navigator stage: presses what leads on to the next board.
//!
//! [`navigator`] decides when, [`frames`] keeps frames until then, [`search`] finds snippets in them, one after the
//! other ([`sweep`]), [`snippet`] reads these from files, [`target`] makes gestures, [`config`] is what can be set; here
//! is the stage around them.
//!
//! **Invariant.** Gestures descend from the frame that was searched, and vision has read that frame as one without a
//! board to play.

mod config;
mod frames;
mod navigator;
mod search;
mod snippet;
mod sweep;
mod target;

use flowpipe_plugin::message::{CHECK, FRAME, GESTURE_OUTCOME, GESTURES, GestureOutcome, Gestures};
use flowpipe_plugin::puzzle::message::{
    BoardResult, BoardState, RESULT, Reading, SIGHTING, Sighting,
};
use flowpipe_plugin::{
    Captured, Context, Effect, EffectKind, Error, Host, Input, Message, Next, Port, Result, Stage,
    tracing,
};

use crate::config::Config;
use crate::frames::Frames;
use crate::navigator::{Decision, Navigator, Seen};
use crate::search::{Picture, Template};

/// Inputs, in the order of the manifest. The last one is for outcomes.
const FRAMES: usize = 0;
const SIGHTINGS: usize = 1;
const RESULTS: usize = 2;

/// No search for another snippet begins in a frame after so many nanoseconds: its gestures would be too old.
const SEARCH_NS: i64 = 100_000_000;

/// Why a frame could not be searched, for people.
const UNKEPT: &str = "the picture in which vision saw no board to play was no longer there when vision had read it: \
    lower `rate` of capture-screen";

struct Templates {
    config: Config,
    templates: Vec<Template>,
    navigator: Navigator,
    frames: Frames<Captured>,
}

impl Stage for Templates {
    const NAME: &'static str = "navigator-templates";
    const EFFECTS: Option<&'static [Effect]> = Some(&[
        Effect::new(EffectKind::ReadsFiles, "reads pictures from {next}").with_key("next"),
        Effect::new(EffectKind::ReadsFiles, "reads pictures from {close}").with_key("close"),
    ]);
    type Config = Config;

    fn inputs() -> Vec<Port> {
        vec![
            Port::new("frame", FRAME),
            Port::new("sighting", SIGHTING),
            Port::new("result", RESULT),
            Port::new("played", GESTURE_OUTCOME),
        ]
    }

    fn outputs() -> Vec<Port> {
        vec![Port::new("gestures", GESTURES).checked_by(CHECK)]
    }

    fn new(config: Config, _: &Host) -> Result<Self> {
        config.check()?;
        // The pipeline has a thread for each stage: cores are its to share out.
        opencv::core::set_num_threads(1)?;
        let mut templates = Vec::new();
        for path in config.snippets() {
            let picture = snippet::read(path)?;
            templates.push(Template::new(path, &picture, &config.scales)?);
        }
        Ok(Self {
            navigator: navigator(&config),
            config,
            templates,
            frames: Frames::new(),
        })
    }

    fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
        let Input::Message(message) = input else {
            return Ok(Next::More);
        };
        let now = context.host().now_ns();
        match message.port() {
            FRAMES => self.keep(&message)?,
            SIGHTINGS => {
                let sighting = message.parse()?;
                let seen = seen(&sighting);
                let frame = self.frames.read(message.frame_sequence());
                let decision = self.navigator.sighting(seen, message.captured_ns(), now);
                match decision {
                    Decision::Wait => {}
                    Decision::Search { after_win } => match frame {
                        Some(frame) => self.search(&frame, after_win, context)?,
                        None => self.navigator.miss_frame(UNKEPT),
                    },
                    // Nothing is pressed in a dry run, so that nothing can lead on.
                    Decision::GiveUp(_) if context.host().is_dry() => {}
                    Decision::GiveUp(reason) => return Err(Error::new(reason)),
                }
                if !self.navigator.is_between_boards() {
                    self.frames.clear();
                }
            }
            RESULTS => {
                let result: BoardResult = message.parse()?;
                let reason = || result.reason.unwrap_or_else(|| "not solved".to_owned());
                let given_up = (!result.solved).then(reason);
                // One that has gone without anybody knowing why was neither given up nor won.
                if !result.unknown {
                    self.navigator.result(result.puzzle, given_up, now);
                }
            }
            _ => {
                let outcome: GestureOutcome = message.parse()?;
                self.navigator.outcome(&outcome, now);
            }
        }
        Ok(Next::More)
    }

    fn reset(&mut self) -> Result<()> {
        self.navigator = navigator(&self.config);
        self.frames.clear();
        Ok(())
    }
}

/// The navigator of a run that begins.
fn navigator(config: &Config) -> Navigator {
    // Snippets, then the place, then the key.
    Navigator::new(config, config.snippets().count() + 2)
}

/// What vision saw. A board that is moving may be made out without being read.
fn seen(sighting: &Sighting) -> Seen<'_> {
    let board = sighting.board();
    let state = match &sighting.reading {
        Reading::Board(board) => Some(board.state),
        Reading::Refused { state, .. } => *state,
    };
    match state {
        None => Seen::Nothing,
        Some(BoardState::Moving) => Seen::Moving,
        Some(BoardState::Solved) => Seen::Solved,
        Some(BoardState::Empty | BoardState::Partial) => Seen::Board(board),
    }
}

impl Templates {
    /// Keeps a frame until vision has read it.
    fn keep(&mut self, message: &Message<'_>) -> Result<()> {
        if !self.navigator.is_between_boards() {
            return Ok(());
        }
        let frame = Captured::from_message(message)?;
        let bytes = frame.pixels().len();
        self.frames.keep(message.frame_sequence(), bytes, frame);
        Ok(())
    }

    /// Searches a frame without a board to play, and presses what is found.
    fn search(
        &mut self,
        frame: &Captured,
        after_win: bool,
        context: &mut Context<'_>,
    ) -> Result<()> {
        let picture = Picture::new(frame.pixels(), frame.info())?;
        let mut found = Vec::new();
        let began = context.host().now_ns();
        let count = self.templates.len();
        let Some(sweep) = self.navigator.sweep() else {
            return Ok(());
        };
        for target in sweep.order(count) {
            if context.host().now_ns().saturating_sub(began) > SEARCH_NS {
                sweep.stop_before(target);
                break;
            }
            let template = &self.templates[target];
            let place = picture.find(template, self.config.threshold, &context.cancel())?;
            sweep.note(place.is_some());
            found.extend(place.map(|it| (target, it)));
        }
        let is_in_vain = sweep.is_in_vain(count);
        found.sort_by_key(|(target, _)| *target);
        let mut targets: Vec<usize> = found.iter().map(|(target, _)| *target).collect();
        let (place, key) = (self.templates.len(), self.templates.len() + 1);
        if targets.is_empty() && after_win && is_in_vain {
            targets.extend(self.config.place.map(|_| place));
            targets.extend(self.config.key.as_ref().map(|_| key));
        }
        let Some(target) = self.navigator.choose(&targets) else {
            self.navigator.miss(self.missing(after_win));
            return Ok(());
        };
        let (note, size) = (frame.note().clone(), picture.size()?);
        let gestures = match found.iter().find(|(it, _)| *it == target) {
            Some((_, it)) => {
                let name = self.templates[target].name();
                target::click(Self::NAME, name, note, it.place)
            }
            None => match (
                self.config.place.filter(|_| target == place),
                &self.config.key,
            ) {
                (Some(place), _) => {
                    let bounds = target::around(place, size);
                    target::click(Self::NAME, "the place", note, bounds)
                }
                (None, Some(key)) => target::key(Self::NAME, key, note, size),
                (None, None) => return Ok(()),
            },
        };
        log(&gestures);
        self.navigator.press(target, context.host().now_ns());
        context.emit(0, &gestures)
    }

    /// What was not found, for people.
    fn missing(&self, after_win: bool) -> String {
        let names: Vec<&str> = self.templates.iter().map(Template::name).collect();
        match (names.as_slice(), after_win) {
            ([], _) => "key and place are pressed only after a solved board was seen".to_owned(),
            (names, _) => format!(
                "in the window there is nothing like {}: cut it out of a screenshot of the window as it is, or lower \
                 threshold ({})",
                names.join(" or "),
                self.config.threshold
            ),
        }
    }
}

fn log(gestures: &Gestures) {
    for gesture in &gestures.gestures {
        tracing::info!("{}", gesture.name);
    }
}

flowpipe_plugin::export!(Templates);

#[cfg(test)]
mod tests;
