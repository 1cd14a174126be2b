//! Vision stage: finds and reads Flow Free boards in whole screenshots with OpenCV.
//!
//! # Layout
//! [`read`] reads picture after picture, in one of three ways:
//! - In place, where a board was at rest before: [`tracks`] keeps the last few, [`line_places`] tells to a
//!   third of a pixel whether one's lines are where they were. Pixels that are the same as the last time are
//!   not even looked at.
//! - Turned about there, as boards flip over: [`turned`] finds the board in perspective, [`face_on`] undoes
//!   that.
//! - Anywhere: [`search`] looks through the picture. [`find_board`] finds large shapes made of thin lines,
//!   [`grid_lines`] evenly spaced lines in them.
//!
//! All three end in [`read_board`] with a grid, whose steps are one a file, in this order: [`cells`]
//! checks with [`line_look`] that every side of every cell is drawn, [`terminals`] which cells hold a
//! terminal, [`colours`] pairs them, [`contents`] says what the other cells hold, [`pipes`] follows what is
//! drawn. [`picture`] reads the host's pixels in place, [`thin`] says what in them is thin and bright,
//! [`refusal`] names what can be wrong with a picture, [`config`] what can be set.
//!
//! # At rest or moving
//! A board is at rest when each end of each of its border lines is within 0.3 pixels of where it was, or, when it was
//! found by a search, of the line's middle. In the perspective of the game's flip, a board 400 pixels wide
//! is told from one at rest when it is turned by half a degree; a frame's step of a flip is six degrees.
//!
//! No step knows a device: all lengths are shares of the picture or of a cell, all brightnesses shares
//! of what else is in the picture.

mod cells;
mod colours;
mod config;
mod contents;
mod face_on;
mod find_board;
mod grid_lines;
mod line_look;
mod line_places;
mod picture;
mod pipes;
mod read;
mod read_board;
mod refusal;
mod search;
mod terminals;
mod thin;
mod tracks;
mod turned;

use flowpipe_plugin::puzzle::message::Reading;
use flowpipe_plugin::{Captured, Error, Host, Result, Vision};

use crate::config::Config;
use crate::picture::Picture;
use crate::read::Reader;

struct VisionOpencv {
    reader: Reader,
}

/// What it gives depends on the frames before, for that is where it knows boards from, but on nothing
/// else: the same frames in the same order give the same readings. So it counts as deterministic, and
/// forgets them on reset.
impl Vision for VisionOpencv {
    const NAME: &'static str = "vision-opencv";
    type Config = Config;

    fn new(config: Config, _host: &Host) -> Result<Self> {
        config.check().map_err(Error::bad_config)?;
        // The pipeline has a thread for each stage: cores are its to share out.
        opencv::core::set_num_threads(1)?;
        Ok(Self {
            reader: Reader::new(config),
        })
    }

    fn see(&mut self, captured: &Captured) -> Result<Reading> {
        let picture = Picture::new(captured.pixels(), captured.info())?;
        Ok(self.reader.read(&picture)?)
    }

    fn reset(&mut self) -> Result<()> {
        self.reader.reset();
        Ok(())
    }
}

flowpipe_plugin::export!(VisionOpencv);

#[cfg(test)]
mod tests;
