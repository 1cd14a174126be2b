//! Clicks as gestures of the mouse, and as shapes over the frame.

use flowpipe_plugin::Result;
use flowpipe_plugin::message::{Action, Button, Gesture, Gestures, Overlay, Rectangle, Shape};
use mines_game::clicks::Click;
use mines_game::message::Moves;

/// A gesture for each click, around the middle of its cell. Nothing may happen outside of the field.
///
/// # Errors
/// When the note of the frame can't be read.
pub fn gestures(planner: &str, moves: &Moves, clicks: &[Click]) -> Result<Gestures> {
    let (field, grid) = (&moves.seen.field, &moves.seen.grid);
    let [x, y, width, height] = grid.place(field);
    let bounds = Rectangle::new(x, y, width, height);
    let gesture = |&click: &Click| {
        let (name, cell, button) = match click {
            Click::Open(cell) => ("open", cell, Button::Left),
            Click::Chord(cell) => ("chord", cell, Button::Left),
            Click::Flag(cell) => ("flag", cell, Button::Right),
        };
        let (row, col) = (cell / field.cols() + 1, cell % field.cols() + 1);
        let [x, y] = grid.middle(field, cell);
        // A window manager may hold back what follows a press. After a press the actuator waits until the pointer has moved,
        // so that the release comes through in the same cell.
        let aside = f64::from(grid.side / 6);
        let actions = vec![
            Action::press([x - aside, y]).with_button(button),
            Action::move_to([x + aside, y]),
            Action::release().with_button(button),
        ];
        Gesture::new(format!("{name} row {row}, column {col}"), actions)
    };
    let gestures = clicks.iter().map(gesture).collect();
    let frame = serde_json::from_value(moves.frame.clone())?;
    Ok(Gestures::new(planner, frame, bounds, gestures))
}

/// A circle for each click: red for a flag, green for cells that it opens.
pub fn overlay(moves: &Moves, clicks: &[Click]) -> Overlay {
    let (field, grid) = (&moves.seen.field, &moves.seen.grid);
    let shape = |&click: &Click| {
        let (cell, colour) = match click {
            Click::Open(cell) | Click::Chord(cell) => (cell, [0, 160, 0]),
            Click::Flag(cell) => (cell, [220, 0, 0]),
        };
        let radius = f64::from(grid.side) / 3.0;
        Shape::circle(grid.middle(field, cell), radius).with_colour(colour)
    };
    Overlay::new(clicks.iter().map(shape).collect())
}
