//! Whole pictures: drawn here, the project's own frames, and real screenshots where they are at hand.

mod canvas;
mod corpus;
mod desktop;
mod edges;
mod flips;
mod game;
mod hatched;
mod hexes;
mod kinds;
mod known_grid;
mod levels;
mod lying;
mod memory;
mod pictures;
mod plugin;
mod properties;
mod refusals;
mod robust;
mod rules;
mod scaled;
mod small;
mod steps;
mod summary;
mod tilted;
mod tracking;
mod truth;

use flowpipe_plugin::puzzle::message::{Reading, SeenBoard};

use crate::config::Config;
use crate::picture::Picture;
use crate::track::reader::Reader;
use canvas::Canvas;

fn read(canvas: &Canvas) -> Reading {
    let picture = Picture::new(&canvas.rgb, canvas.info()).unwrap();
    Reader::new(Config::default()).read(&picture).unwrap()
}

#[track_caller]
fn board(canvas: &Canvas) -> Box<SeenBoard> {
    match read(canvas) {
        Reading::Board(board) => board,
        Reading::Refused { step, reason, .. } => panic!("refused at {step}: {reason}"),
    }
}

/// The step and the reason without its common beginning.
#[track_caller]
fn refusal(canvas: &Canvas) -> (String, String) {
    match read(canvas) {
        Reading::Board(board) => panic!("read as a board:\n{}", summary::of(&board)),
        Reading::Refused { step, reason, .. } => {
            let rest = reason.strip_prefix("not a board that I can read: ");
            (step, rest.unwrap().to_owned())
        }
    }
}
