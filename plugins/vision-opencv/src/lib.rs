//! Vision stage: finds and reads Flow Free boards in whole screenshots with OpenCV.
//!
//! # Layout
//! One step a file, in this order: [`picture`] reads the host's pixels in place, [`find_board`] finds
//! large shapes made of thin lines, [`grid_lines`] evenly spaced lines in them, [`cells`] checks with
//! [`line_look`] that every side of every cell is drawn, [`terminals`] which cells hold a terminal,
//! [`colours`] pairs them, [`contents`] says what the other cells hold, [`pipes`] follows what is drawn, and
//! [`read`] joins the steps. [`refusal`] names what
//! can be wrong with a picture, [`config`] what can be set.
//!
//! No step knows a device: all lengths are shares of the picture or of a cell, all brightnesses shares
//! of what else is in the picture.

mod cells;
mod colours;
mod config;
mod contents;
mod find_board;
mod grid_lines;
mod line_look;
mod picture;
mod pipes;
mod read;
mod refusal;
mod terminals;

use flowpipe_plugin::puzzle::message::Reading;
use flowpipe_plugin::{Captured, Error, Host, Result, Vision};

use crate::config::Config;
use crate::picture::Picture;
use crate::read::Reader;

struct VisionOpencv {
    reader: Reader,
}

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
}

flowpipe_plugin::export!(VisionOpencv);

#[cfg(test)]
mod tests;
