//! Reads the field from frames of the window of `sgt-mines`: exactly, or not at all.
//!
//! [`picture`] finds colours, [`grid`] the cells, [`cells`] what they show.

mod cells;
mod grid;
mod picture;

use flowpipe_plugin::message::{CHECK, OVERLAY, Overlay, Rectangle, Shape};
use flowpipe_plugin::{Context, Effect, Error, Host, Input, JsonSchema, Next, Port, Result, Stage};
use mines_game::field::Field;
use mines_game::message::{FIELD, Reading, SeenField, Sighting};
use serde::Deserialize;

use crate::cells::Colours;
use crate::grid::Edges;
use crate::picture::Picture;

/// Reads the field from frames of the window of sgt-mines, from Simon Tatham's Portable Puzzle Collection.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Config {
    /// The number of mines. The window shows it below the field, in a font of the system's.
    mines: usize,
}

struct Vision(Config);

impl Stage for Vision {
    const NAME: &'static str = "vision-mines";
    const DETERMINISTIC: bool = true;
    const EFFECTS: Option<&'static [Effect]> = Some(&[]);
    type Config = Config;

    fn inputs() -> Vec<Port> {
        vec![Port::new("frame", "flowpipe.frame/1")]
    }

    fn outputs() -> Vec<Port> {
        vec![
            Port::new("field", FIELD),
            Port::new("overlay", OVERLAY).checked_by(CHECK),
        ]
    }

    fn new(config: Config, _: &Host) -> Result<Self> {
        // The pipeline has a thread for each stage.
        opencv::core::set_num_threads(1)?;
        Ok(Self(config))
    }

    fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
        if let Input::Message(message) = input {
            let frame = message
                .frame()
                .ok_or_else(|| Error::bad_message("a frame message without pixels"))?;
            let picture = Picture::new(frame.pixels(), frame.info()?)?;
            let reading = match read(&picture, self.0.mines)? {
                Ok(field) => Reading::Field(field),
                Err(reason) => Reading::Refused { reason },
            };
            let overlay = match &reading {
                Reading::Field(seen) => Some(overlay(seen)),
                Reading::Refused { .. } => None,
            };
            let frame = message.parse()?;
            context.emit(0, &Sighting { frame, reading })?;
            if let Some(overlay) = overlay {
                context.emit(1, &overlay)?;
            }
        }
        Ok(Next::More)
    }
}

/// The outline of the field.
fn overlay(seen: &SeenField) -> Overlay {
    let [x, y, width, height] = seen.grid.place(&seen.field);
    let label = format!("{} x {}", seen.field.cols(), seen.field.rows());
    let outline = Shape::rectangle(Rectangle::new(x, y, width, height)).with_label(label);
    Overlay::new(vec![outline])
}

/// Reads the field, or finds out why it can't be read.
///
/// # Errors
/// When OpenCV fails, which is not due to what the picture shows.
fn read(picture: &Picture, mines: usize) -> Result<std::result::Result<SeenField, String>> {
    let edges = Edges::of(picture)?;
    let Some(found) = edges.find()? else {
        return Ok(Err("there is no grid of cells".to_owned()));
    };
    let colours = Colours::of(picture)?;
    let mut cells = Vec::new();
    for index in 0..found.rows * found.cols {
        let Some(cell) = colours.read(&edges, found.cell(index))? else {
            let (row, col) = (index / found.cols + 1, index % found.cols + 1);
            return Ok(Err(format!(
                "the cell in row {row}, column {col} shows nothing that is known"
            )));
        };
        cells.push(cell);
    }
    Ok(Field::new(found.cols, mines, cells).and_then(|field| {
        field.check()?;
        Ok(SeenField {
            state: field.state(),
            field,
            grid: found.grid,
        })
    }))
}

flowpipe_plugin::export!(Vision);

#[cfg(test)]
mod tests;
