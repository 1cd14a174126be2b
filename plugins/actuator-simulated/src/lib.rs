//! Actuator stage: plays strokes on a board in memory, under the game's own rules of dragging.
//!
//! There is no time here, so that of the manner in which strokes are to be played only the places
//! count: [`drag`] plays them, [`pointer`] gives where a mouse would really be.

mod config;
mod drag;
mod picture;
mod pointer;

use flowpipe_game::Play;
use flowpipe_plugin::puzzle::message::{SeenBoard, Stroke, StrokeOutcome, Strokes};
use flowpipe_plugin::{Acting, Actuator, Cancel, Effect, EffectKind, Error, Host, Played, Result};

use crate::config::Config;
use crate::drag::drag_all;
use crate::picture::Pictures;
use crate::pointer::Pointer;

struct Simulated {
    config: Config,
    pictures: Option<Pictures>,
}

impl Actuator for Simulated {
    const NAME: &'static str = "actuator-simulated";
    const DETERMINISTIC: bool = true;
    const EFFECTS: Option<&'static [Effect]> =
        Some(&[
            Effect::new(EffectKind::WritesFiles, "writes pictures to {pictures}")
                .with_key("pictures"),
        ]);
    type Config = Config;

    fn new(config: Config, _: &Host) -> Result<Self> {
        config.check()?;
        let pictures = config
            .pictures
            .as_deref()
            .map(Pictures::into_folder)
            .transpose()?;
        Ok(Self { config, pictures })
    }

    fn act(
        &mut self,
        strokes: &Strokes,
        acting: &mut Acting<'_, '_>,
        cancel: &Cancel<'_>,
    ) -> Result<Played> {
        let board = strokes
            .sighting
            .board()
            .ok_or_else(|| Error::bad_message("strokes that belong to no board"))?;
        let mut play = Play::resume(board.puzzle.clone(), self.config.settings(), &board.drawn)?;
        let pointer = Pointer::new(
            &board.geometry,
            &strokes.sighting.frame,
            self.config.subpixel,
        );
        drag_all(&mut play, &pointer, strokes, acting, cancel)?;
        if let Some(pictures) = &mut self.pictures {
            pictures.write(&play, board, &strokes.sighting.frame.source)?;
        }
        Ok(Played::new(
            strokes
                .strokes
                .iter()
                .map(|stroke| outcome(&play, board, stroke))
                .collect(),
        )
        .with_solved(play.is_solved())
        .with_drawn(play.drawn()))
    }
}

/// Whether the flow that a stroke was to draw is on the board, cell by cell.
fn outcome(play: &Play, board: &SeenBoard, stroke: &Stroke) -> StrokeOutcome {
    let drawn = play.drawn();
    let name = flowpipe_plugin::puzzle::colour::name(stroke.colour);
    let is_drawn = drawn
        .iter()
        .filter(|flow| flow.colour == stroke.colour)
        .any(|flow| {
            let joined = flow
                .cells
                .last()
                .is_some_and(|&cell| board.puzzle.terminal_at(cell).is_some());
            joined && flow.cells.starts_with(&stroke.cells)
        });
    let reason = (!is_drawn).then(|| {
        let covered: usize = drawn
            .iter()
            .filter(|flow| flow.colour == stroke.colour)
            .map(|flow| flow.cells.len())
            .sum();
        let planned = stroke.cells.len();
        format!(
            "flow {name} has {covered} cells drawn and is not joined as planned ({planned} cells)"
        )
    });
    let mut outcome = StrokeOutcome::new(stroke.colour, Some(is_drawn));
    outcome.reason = reason;
    outcome
}

flowpipe_plugin::export!(Simulated);

#[cfg(test)]
mod tests;
