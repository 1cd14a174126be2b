//! Strokes as what a pointer does: press, move, release.

use flowpipe_game::Play;
use flowpipe_plugin::puzzle::message::{Pace, Stroke, Strokes};
use flowpipe_plugin::{Acting, Cancel, Error, Result};

use crate::pointer::Pointer;

/// Plays strokes one after the other: the pointer goes to their points and, where the manner gives a
/// step, to places between. Clicks are played as a drag, which draws the same here. After a stroke that
/// is held the pointer jumps to where the next one begins.
///
/// # Errors
/// When the run ends, and when the strokes can't be meant.
pub fn drag_all(
    play: &mut Play,
    pointer: &Pointer<'_>,
    strokes: &Strokes,
    acting: &mut Acting<'_, '_>,
    cancel: &Cancel<'_>,
) -> Result<()> {
    let step = strokes.manner.and_then(|manner| manner.pace.step);
    if let Some(step) = step.filter(|step| !Pace::STEPS.contains(step)) {
        let why = format!("strokes in steps of {step}, it must be 0.05 to 1 cell");
        return Err(Error::bad_message(why));
    }
    let mut goes_on = false;
    for stroke in &strokes.strokes {
        drag(play, pointer, stroke, step, goes_on, acting, cancel)?;
        goes_on = stroke.held;
    }
    // What is held at the very end.
    play.release();
    Ok(())
}

/// Plays one stroke. When cancelled, the button goes up where it is.
fn drag(
    play: &mut Play,
    pointer: &Pointer<'_>,
    stroke: &Stroke,
    step: Option<f64>,
    goes_on: bool,
    acting: &mut Acting<'_, '_>,
    cancel: &Cancel<'_>,
) -> Result<()> {
    let Some(&first) = stroke.points.first() else {
        return Ok(());
    };
    if cancel.is_cancelled() {
        play.release();
        return Err(Error::cancelled());
    }
    if goes_on {
        play.move_to(pointer.at(first)?);
    } else {
        acting.pressed();
        play.press(pointer.at(first)?);
    }
    for segment in stroke.points.windows(2) {
        for point in Pace::places(step, segment[0], segment[1]) {
            if cancel.is_cancelled() {
                play.release();
                return Err(Error::cancelled());
            }
            play.move_to(pointer.at(point)?);
        }
    }
    if !stroke.held {
        play.release();
    }
    Ok(())
}
