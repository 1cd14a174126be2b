//! Vision stage: finds and reads Flow Free boards in whole screenshots with OpenCV.
//!
//! # Layout
//! [`read`] reads picture after picture, in one of three ways:
//! - In place, where a board was at rest before: [`tracks`] keeps the last few, [`line_places`] (of hexagons
//!   [`hex_places`]) measures to a third of a pixel whether one's lines are where they were. [`last`] knows the pixels
//!   from the last time: those that are the same are not examined again ([`memory`]).
//! - Turned about there, as boards flip over: [`turned`] finds the board in perspective, [`face_on`] undoes
//!   that. Where none was and no board is at rest, [`flips`] looks for one: [`quad`] finds its outline from the
//!   vertical lines alone, whose ends lie on borders [`aslant`], whose columns [`spacing`] gives; [`widened`] adds
//!   those that were missed.
//! - Anywhere: [`search`] looks through the picture. [`runs`] finds straight lines in some of its rows and
//!   columns, [`lattice`] evenly spaced ones that make squares ([`shortened`] where they end), [`hexes`] those that
//!   make hexagons ([`fit`]); [`effort`] decides when that was enough.
//!
//! All three end in [`read_board`] with a [`grid`], whose steps are one a file, in this order: [`cells`] finds
//! by the [`sides`] of cells, as [`line_look`] sees them and [`measure`] takes them, by which are [`thick`], and by
//! what lies [`beyond`] the border, the [`shape`] of the board: which cells there are ([`outline`]), where its walls
//! are, whether it [`warps`]. [`terminals`] finds which cells hold
//! a terminal, [`colours`] pairs them ([`numbers`] where there are numbers instead), [`contents`] finds with
//! [`drawings`] what the other cells hold, [`pipes`] follows what is drawn, [`solvable`] refuses boards without
//! a solution. [`places`] gives where in a cell to look, [`colour`] and [`pairs`] how alike things are, [`order`] what
//! is common among many. [`picture`] reads the host's pixels in place, [`thin`] finds what in them is thin and stands
//! out ([`peaks`]: where that is much; [`strength`]: by how much a board's lines do), [`refusal`] names what can be
//! wrong with a picture, [`config`] what can be set. Where that asks for it, [`steps`] times all this, and saves
//! pictures of what a step saw: [`show`] draws them, on a [`sketch`].
//!
//! # Boards that are turned
//! A board of squares is read as it lies in the picture. One that turns about a horizontal line, as one does that is
//! turned top over bottom, is found in the picture turned clockwise by a [`quarter`], and read as it lies in the
//! picture. A board of hexagons that lies on its side has no rows in the picture: its cells are named as they are seen
//! in the picture turned clockwise. The geometry gives their places in the picture: its first corner is the board's own
//! top left one. Where all of this finds nothing, and lines are tilted by a [`tilt`] of up to six degrees or seen in a
//! slight perspective, as in a photograph of a screen, the picture is made [`straight`] and searched again.
//!
//! # At rest or moving
//! A board is at rest when each end of each of its border lines is within 0.3 pixels of where it was, or, when it
//! was found by a search, within 0.7 pixels (and a little more for blurred lines) of the line's other end. In the
//! perspective of the game's flip, a board 400 pixels wide is distinguished from one at rest when it is turned by a
//! degree; a frame's step of a flip is six.
//!
//! No step knows a device: all lengths are shares of the picture or of a cell, all brightnesses shares
//! of what else is in the picture.

mod aslant;
mod beyond;
mod cells;
mod colour;
mod colours;
mod config;
mod contents;
mod drawings;
mod effort;
mod face_on;
mod fit;
mod flips;
mod grid;
mod hex_places;
mod hexes;
mod last;
mod lattice;
mod line_look;
mod line_places;
mod measure;
mod memory;
mod numbers;
mod order;
mod outline;
mod pairs;
mod peaks;
mod picture;
mod pipes;
mod places;
mod quad;
mod quarter;
mod read;
mod read_board;
mod refusal;
mod runs;
mod search;
mod shape;
mod shortened;
mod show;
mod sides;
mod sketch;
mod solvable;
mod spacing;
mod steps;
mod straight;
mod strength;
mod terminals;
mod thick;
mod thin;
mod tilt;
mod tracks;
mod turned;
mod warps;
mod widened;

use flowpipe_plugin::puzzle::message::{Reading, StepTime};
use flowpipe_plugin::{Cancel, Captured, Effect, EffectKind, Error, Host, Result, Vision};

use crate::config::Config;
use crate::picture::Picture;
use crate::read::Reader;
use crate::steps::Steps;

struct VisionOpencv {
    reader: Reader,
}

/// What it gives depends on the frames before, for that is where it knows boards from, but on nothing
/// else: the same frames in the same order give the same readings. So it counts as deterministic, and
/// forgets them on reset.
impl Vision for VisionOpencv {
    const NAME: &'static str = "vision-opencv";
    const EFFECTS: Option<&'static [Effect]> = Some(&[Effect::new(
        EffectKind::WritesFiles,
        "writes pictures of its steps to {steps}",
    )
    .with_key("steps")]);
    type Config = Config;

    fn new(config: Config, host: &Host) -> Result<Self> {
        config.check().map_err(Error::bad_config)?;
        // The pipeline has a thread for each stage: cores are its to share out.
        opencv::core::set_num_threads(1)?;
        let steps = Steps::new(&config, host)?;
        Ok(Self {
            reader: Reader::with_steps(config, steps),
        })
    }

    fn see(&mut self, captured: &Captured, _: &Cancel<'_>) -> Result<Reading> {
        let picture = Picture::new(captured.pixels(), captured.info())?;
        Ok(self.reader.read(&picture)?)
    }

    fn steps(&mut self) -> Vec<StepTime> {
        self.reader.steps().take()
    }

    fn reset(&mut self) -> Result<()> {
        self.reader.reset();
        Ok(())
    }
}

flowpipe_plugin::export!(VisionOpencv);

#[cfg(test)]
mod tests;
