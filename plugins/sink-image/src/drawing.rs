//! What is drawn over a picture: what a message has of it.

use flowpipe_game::render::{Pixels, overlay, overlay_shapes};
use flowpipe_plugin::message::{OVERLAY, Overlay};
use flowpipe_plugin::puzzle::message::{Reading, SIGHTING, SeenBoard, Sighting};
use flowpipe_plugin::{Error, Message, Result};
use image::ExtendedColorType;

use crate::pixels::PlainPixels;

/// What is drawn over a picture.
pub enum Drawing {
    /// Nothing.
    Nothing,
    /// A board.
    Board(Box<SeenBoard>),
    /// A line of text.
    Caption(String),
    /// Shapes.
    Shapes(Overlay),
}

impl Drawing {
    /// What a message has. One of another schema has nothing.
    ///
    /// # Errors
    /// When the message is not what its schema says.
    pub fn of(message: &Message<'_>) -> Result<Self> {
        Ok(match message.schema() {
            SIGHTING => match message.parse::<Sighting>()?.reading {
                Reading::Board(seen) => Self::Board(seen),
                Reading::Refused { step, reason, .. } => Self::Caption(format!("{step}: {reason}")),
            },
            OVERLAY => {
                let overlay: Overlay = message.parse()?;
                overlay.check().map_err(Error::bad_message)?;
                Self::Shapes(overlay)
            }
            _ => Self::Nothing,
        })
    }

    /// Draws it.
    ///
    /// # Errors
    /// When the picture is too large to draw on.
    pub fn over(&self, pixels: PlainPixels) -> Result<PlainPixels> {
        let canvas = |pixels: &PlainPixels| Pixels {
            width: pixels.width,
            height: pixels.height,
            rgba: pixels.to_rgba(),
        };
        let drawn = match self {
            Self::Nothing => return Ok(pixels),
            Self::Board(seen) => overlay::board(canvas(&pixels), seen)?,
            Self::Caption(text) => overlay::caption(canvas(&pixels), text)?,
            Self::Shapes(overlay) => overlay_shapes::draw(canvas(&pixels), &overlay.shapes)?,
        };
        Ok(PlainPixels {
            width: drawn.width,
            height: drawn.height,
            colour: ExtendedColorType::Rgb8,
            bytes: drawn
                .rgba
                .chunks_exact(4)
                .flat_map(|pixel| [pixel[0], pixel[1], pixel[2]])
                .collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use flowpipe_plugin::harness::samples;
    use flowpipe_plugin::message::{Rectangle, Shape};

    use super::*;

    /// A grey picture, drawn over: how many of its pixels are no longer grey.
    fn changed(drawing: &Drawing) -> usize {
        let side = 600;
        let pixels = PlainPixels {
            width: side,
            height: side,
            colour: ExtendedColorType::L8,
            bytes: vec![90; 360_000],
        };
        let drawn = drawing.over(pixels).unwrap();
        assert_eq!((drawn.width, drawn.height), (side, side));
        let step = match drawn.colour {
            ExtendedColorType::L8 => 1,
            _ => 3,
        };
        assert_eq!(drawn.bytes.len(), 360_000 * step);
        let pixels = drawn.bytes.chunks_exact(step);
        pixels
            .filter(|pixel| pixel.iter().any(|it| *it != 90))
            .count()
    }

    #[test]
    fn what_a_message_has_is_drawn() {
        assert_eq!(changed(&Drawing::Nothing), 0);
        let sighting = samples::sighting(samples::puzzle("A.B\n...\nA.B").unwrap());
        let Reading::Board(seen) = sighting.reading else {
            panic!("no board");
        };
        assert!(changed(&Drawing::Board(seen)) > 1_000);
        assert!(changed(&Drawing::Caption("no lines".to_owned())) > 1_000);
        let place = Rectangle::new(100.0, 100.0, 50.0, 50.0);
        let overlay = Overlay::new(vec![Shape::rectangle(place).filled()]);
        assert!(changed(&Drawing::Shapes(overlay)) > 2_000);
    }

    #[test]
    fn a_picture_that_is_too_large_is_refused() {
        let pixels = PlainPixels {
            width: 10_000,
            height: 1,
            colour: ExtendedColorType::L8,
            bytes: vec![90; 10_000],
        };
        Drawing::Caption("a".to_owned()).over(pixels).err().unwrap();
    }
}
