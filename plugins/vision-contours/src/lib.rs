//! Vision stage: reads boards of squares by contours, the method of a published bot. Other vision plugins are compared
//! with it, and the book's chapter *Vision in Rust* explains it.
//!
//! # Layout
//! A reading takes four steps, each a module:
//! - [`picture`] converts the pixels of the host to a matrix of OpenCV.
//! - [`find`] finds the board: the largest contour of the thresholded picture.
//! - [`grid`] finds the contours of the cells, and from these the rows, the columns and the lines between.
//! - [`cells`] samples the cells, finds the terminals, and pairs them by colour.

mod cells;
mod config;
mod error;
mod find;
mod grid;
mod picture;

use flowpipe_plugin::puzzle::message::{Reading, SeenBoard};
use flowpipe_plugin::{Cancel, Captured, Effect, Error, Host, Result, Vision};

use crate::config::Config;
use crate::error::ReadError;

struct VisionContours(Config);

impl Vision for VisionContours {
    const NAME: &'static str = "vision-contours";
    const EFFECTS: Option<&'static [Effect]> = Some(&[]);
    type Config = Config;

    fn new(config: Config, _: &Host) -> Result<Self> {
        // The pipeline has a thread for each stage.
        opencv::core::set_num_threads(1)?;
        Ok(Self(config))
    }

    fn see(&mut self, captured: &Captured, cancel: &Cancel<'_>) -> Result<Reading> {
        match read(captured, &self.0, cancel) {
            Ok(board) => Ok(Reading::board(board)),
            Err(ReadError::Refused(step, reason)) => Ok(Reading::refused(step, reason)),
            Err(ReadError::Cancelled) => Err(Error::cancelled()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Reads the board in a picture. Nothing is known from other pictures.
fn read(captured: &Captured, config: &Config, cancel: &Cancel<'_>) -> Result<SeenBoard, ReadError> {
    // A call of OpenCV can't be interrupted, so that this is checked between the steps.
    let go_on = || match cancel.is_cancelled() {
        true => Err(ReadError::Cancelled),
        false => Ok(()),
    };
    let picture = picture::rgb(captured.pixels(), captured.info())?;
    go_on()?;
    let lines = find::lines(&picture, config)?;
    go_on()?;
    let board = find::largest(&lines)?;
    go_on()?;
    let grid = grid::find(&lines, board)?;
    cells::read(&picture, &grid)
}

flowpipe_plugin::export!(VisionContours);

#[cfg(test)]
mod tests;
