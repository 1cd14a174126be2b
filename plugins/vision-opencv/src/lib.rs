//! Vision stage: finds and reads Flow Free boards in whole screenshots with OpenCV.
//!
//! # Layout
//! A folder uses only those below it:
//! - [`track`] reads one picture after the other: first where a board was at rest before, then turned about there as
//!   boards flip over, then anywhere. Only pixels that have changed are examined again.
//! - [`rule_finder`] decides by which rules a board is played that has no solution by Flow Free's.
//! - [`read`] reads the board in one picture, with nothing known from others. It examines the candidates of `find`:
//!   which cells exist and where walls are (`read::shape`), and what the cells hold (`read::contents`).
//! - [`refuse`] contains the reasons why a picture is refused, and checks of whole boards.
//! - [`find`] finds straight lines in a picture and the grids that they may be of: squares, hexagons, boards that
//!   turn, tilted pictures.
//! - [`steps`] records the steps of a reading, where [`config`] asks for it.
//! - [`picture`] reads the pixels of the host in place. It contains colours, top-hats, rotations and the cache.
//! - [`numerics`] contains what needs no picture: quantiles, least squares, peaks, even spacing.
//!
//! # Boards that are turned
//! A board of squares is read as it is in the picture. One that turns about a horizontal line is searched in the
//! picture rotated clockwise ([`picture::rotation`]), and read as it is in the picture. A board of hexagons that is on
//! its side has no rows in the picture: its cells are named as they are seen in the rotated picture. The geometry
//! defines their positions in the picture: its first corner is the top left one of the board itself. Where all of this
//! finds nothing, and lines are tilted by up to six degrees ([`find::tilt`]) or seen in a slight perspective, as in a
//! photograph of a screen, the picture is rectified and searched again ([`read::tilt_search`]).
//!
//! # At rest or moving
//! A board is at rest when each end of each of its border lines is within 0.3 pixels of where it was, or, when it
//! was found by a search, within 0.7 pixels (and a little more for blurred lines) of the line's other end. In the
//! perspective of the game's flip, a board 400 pixels wide is distinguished from one at rest when it is turned by a
//! degree; a frame's step of a flip is six.
//!
//! No step knows a device: all lengths are relative to the picture or to a cell, all brightnesses relative to other
//! parts of the picture.

mod config;
mod find;
mod numerics;
mod picture;
mod read;
mod refuse;
mod rule_finder;
mod steps;
mod track;

use flowpipe_plugin::puzzle::message::{CHECK, FRAME, GAME_RULES, GameRules, SIGHTING, Sighting};
use flowpipe_plugin::{
    Captured, Context, Effect, EffectKind, Error, Host, Input, Message, Next, Port, Result, Stage,
};

use crate::config::Config;
use crate::picture::Picture;
use crate::read::error::ReadError;
use crate::steps::Steps;
use crate::track::reader::Reader;

struct VisionOpencv {
    reader: Reader,
}

/// Inputs, in the order of the manifest.
const FRAMES: usize = 0;
/// The output.
const SIGHTINGS: usize = 0;

/// What it gives depends on the messages before, for that is where it knows boards and rules from, but on nothing
/// else: the same messages in the same order give the same readings. So it counts as deterministic, and
/// forgets them on reset.
impl Stage for VisionOpencv {
    const NAME: &'static str = "vision-opencv";
    const ROLE: &'static str = "vision";
    const DETERMINISTIC: bool = true;
    const EFFECTS: Option<&'static [Effect]> = Some(&[Effect::new(
        EffectKind::WritesFiles,
        "writes pictures of its steps to {steps}",
    )
    .with_key("steps")]);
    type Config = Config;

    fn inputs() -> Vec<Port> {
        vec![
            Port::new("in", FRAME),
            Port::new("rules", GAME_RULES).optional(),
        ]
    }

    fn outputs() -> Vec<Port> {
        vec![Port::new("out", SIGHTING).checked_by(CHECK)]
    }

    fn new(config: Config, host: &Host) -> Result<Self> {
        config.check().map_err(Error::bad_config)?;
        // The pipeline has a thread for each stage: cores are its to share out.
        opencv::core::set_num_threads(1)?;
        let steps = Steps::new(&config, host)?;
        Ok(Self {
            reader: Reader::with_steps(config, steps),
        })
    }

    fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
        let Input::Message(message) = input else {
            return Ok(Next::More);
        };
        match message.port() {
            FRAMES => self.see(&message, context)?,
            _ => {
                let known: GameRules = message.parse()?;
                self.reader.rules_are_known(known);
            }
        }
        Ok(Next::More)
    }

    fn reset(&mut self) -> Result<()> {
        self.reader.reset();
        Ok(())
    }
}

impl VisionOpencv {
    fn see(&mut self, message: &Message<'_>, context: &mut Context<'_>) -> Result<()> {
        let captured = Captured::from_message(message)?;
        let picture = Picture::new(captured.pixels(), captured.info())?;
        self.reader
            .captured(&captured.note().source, captured.captured_ns());
        let reading = match self.reader.read_unless(&picture, &context.cancel()) {
            Err(ReadError::Cancelled) => return Err(Error::cancelled()),
            reading => reading?,
        };
        let steps = self.reader.steps().take();
        let sighting = Sighting::new(captured.note().clone(), reading).with_steps(steps);
        context.emit(SIGHTINGS, &sighting)
    }
}

flowpipe_plugin::export!(VisionOpencv);

#[cfg(test)]
mod tests;
