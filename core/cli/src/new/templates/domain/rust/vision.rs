//! Finds the coloured spots of a frame.

use std::collections::BTreeSet;

use flowpipe_plugin::message::{CHECK, FRAME, OVERLAY, Overlay, Point, Rectangle, Shape};
use flowpipe_plugin::{
    Context, Effect, Error, Format, Host, Input, JsonSchema, Next, PixelInfo, Port, Result, Stage,
};
use serde::Deserialize;

use crate::targets::{TARGETS, Targets};

/// Finds the coloured spots of a frame. (`flowpipe plugins show` prints this line.)
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// How much the brightest and the darkest of red, green and blue differ in a coloured pixel. (This one too.)
    colour: u8,
    /// The sides of a spot, in pixels, at least.
    smallest: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            colour: 120,
            smallest: 16.0,
        }
    }
}

/// Every so many pixels are looked at, in both directions.
const STEP: usize = 4;

pub struct Vision {
    config: Config,
}

impl Stage for Vision {
    const NAME: &'static str = "pipeline-name-vision";
    /// The same frame always gives the same targets, so a replay can run it.
    const DETERMINISTIC: bool = true;
    /// The effects outside of the program, such as reading files or running commands: none.
    const EFFECTS: Option<&'static [Effect]> = Some(&[]);
    type Config = Config;

    fn inputs() -> Vec<Port> {
        vec![Port::new("frame", FRAME)]
    }

    fn outputs() -> Vec<Port> {
        vec![
            Port::new("targets", TARGETS),
            // Drawn over the frame in `flowpipe see --overlay` and `flowpipe report`.
            Port::new("overlay", OVERLAY).checked_by(CHECK),
        ]
    }

    fn new(config: Config, _host: &Host) -> Result<Self> {
        Ok(Self { config })
    }

    fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
        let Input::Message(message) = input else {
            return Ok(Next::More);
        };
        let frame = message
            .frame()
            .ok_or_else(|| Error::bad_message("a frame without pixels"))?;
        let info = frame.info()?;
        let coloured = self.coloured(frame.pixels(), info);
        let mut targets: Vec<Rectangle> = spots(coloured)
            .iter()
            .filter_map(|spot| Rectangle::around(spot))
            .filter(|place| place.width.min(place.height) >= self.config.smallest)
            .collect();
        targets.sort_by(|one, other| one.y.total_cmp(&other.y).then(one.x.total_cmp(&other.x)));
        let shapes = targets.iter().map(|place| Shape::rectangle(*place));
        let overlay = Overlay::new(shapes.collect());
        context.emit(
            0,
            &Targets {
                frame: message.parse()?,
                size: [f64::from(info.width), f64::from(info.height)],
                targets,
            },
        )?;
        context.emit(1, &overlay)?;
        Ok(Next::More)
    }
}

impl Vision {
    /// The coloured pixels among those that are looked at, as columns and rows of steps.
    fn coloured(&self, pixels: &[u8], info: PixelInfo) -> BTreeSet<(usize, usize)> {
        let bytes = info.format.bytes_per_pixel();
        let mut coloured = BTreeSet::new();
        if info.format == Format::Grey8 {
            return coloured;
        }
        for row in (0..info.height as usize).step_by(STEP) {
            let line = pixels.get(row * info.stride..).unwrap_or_default();
            let line = line.chunks_exact(bytes).take(info.width as usize);
            for (column, pixel) in line.enumerate().step_by(STEP) {
                let (darkest, brightest) = (pixel[..3].iter().min(), pixel[..3].iter().max());
                if let (Some(darkest), Some(brightest)) = (darkest, brightest)
                    && brightest - darkest >= self.config.colour
                {
                    coloured.insert((column / STEP, row / STEP));
                }
            }
        }
        coloured
    }
}

/// The spots of pixels that touch: the corners of their pixels, in pixels of the frame.
fn spots(mut left: BTreeSet<(usize, usize)>) -> Vec<Vec<Point>> {
    let mut spots = Vec::new();
    while let Some(first) = left.pop_first() {
        let (mut edge, mut spot) = (vec![first], Vec::new());
        while let Some((x, y)) = edge.pop() {
            let corner = |x: usize, y: usize| [(x * STEP) as f64, (y * STEP) as f64];
            spot.extend([corner(x, y), corner(x + 1, y + 1)]);
            let around = [
                (x.wrapping_sub(1), y),
                (x + 1, y),
                (x, y.wrapping_sub(1)),
                (x, y + 1),
            ];
            edge.extend(around.into_iter().filter(|at| left.remove(at)));
        }
        spots.push(spot);
    }
    spots
}

#[cfg(test)]
mod tests {
    use flowpipe_plugin::Format;
    use flowpipe_plugin::message::FRAME;
    use serde_json::json;

    use super::Vision;

    #[test]
    fn a_coloured_spot_is_a_target() {
        // A grey picture with a red square.
        let mut pixels = vec![90; 100 * 60 * 3];
        for y in 20..40 {
            for x in 40..60 {
                pixels[(y * 100 + x) * 3..][..3].copy_from_slice(&[220, 30, 30]);
            }
        }
        let mut harness = flowpipe_plugin::harness!(Vision, json!({})).unwrap();
        let note = json!({ "source": "a test" });
        let emitted = harness
            .send_picture(FRAME, &note, (Format::Rgb8, 100, 60), &pixels)
            .unwrap();
        let place = json!({ "x": 40.0, "y": 20.0, "width": 20.0, "height": 20.0 });
        assert_eq!(emitted[0].body["targets"], json!([place]));
        let shapes = json!([{ "form": { "rectangle": place } }]);
        assert_eq!(emitted[1].body["shapes"], shapes);
    }
}
