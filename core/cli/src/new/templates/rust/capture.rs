//! A flowpipe capture stage: it captures frames. This one draws a board with three flows.

use flowpipe_plugin::puzzle::message::FrameNote;
use flowpipe_plugin::{Cancel, Capture, Effect, Format, FrameSink, Host, JsonSchema, Next, Result};
use serde::Deserialize;

/// Draws a board with three flows. (`flowpipe plugins show` prints this line.)
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Config {
    /// The number of frames. (This one too.)
    frames: u64,
    /// Frames a second.
    fps: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            frames: 3,
            fps: 10.0,
        }
    }
}

struct Plugin {
    config: Config,
    given: u64,
}

/// Pixels of a cell's side.
const CELL: u32 = 60;
/// Terminals: row, column and colour (blue, green, red).
const TERMINALS: [(u32, u32, [u8; 3]); 6] = [
    (0, 0, [40, 40, 250]),
    (2, 2, [40, 40, 250]),
    (0, 1, [250, 80, 40]),
    (1, 1, [250, 80, 40]),
    (0, 2, [40, 220, 230]),
    (1, 2, [40, 220, 230]),
];

impl Capture for Plugin {
    const NAME: &'static str = "plugin-name";
    /// The same frames every time: a replay can run it.
    const DETERMINISTIC: bool = true;
    /// The effects outside of the program, such as reading files or running commands: none.
    const EFFECTS: Option<&'static [Effect]> = Some(&[]);
    type Config = Config;

    fn new(config: Config, _host: &Host) -> Result<Self> {
        Ok(Self { config, given: 0 })
    }

    /// Emits the next frame; `Next::End` ends the stream. What waits otherwise than by `sink.wait_until` polls `_cancel`.
    fn capture(&mut self, sink: &mut FrameSink<'_, '_>, _cancel: &Cancel<'_>) -> Result<Next> {
        if self.given == self.config.frames {
            return Ok(Next::End);
        }
        // Waiting does not count as work, and ends when the run stops.
        let time = self.given as f64 / self.config.fps.max(0.001);
        sink.wait_until((time * 1e9) as i64)?;
        let side = 3 * CELL + 40;
        let mut frame = sink.new_frame(Format::Bgra8, side, side)?;
        let pixels = frame.pixels_mut()?.chunks_exact_mut(4);
        for (index, pixel) in (0u32..).zip(pixels) {
            let [blue, green, red] = colour(index % side, index / side);
            pixel.copy_from_slice(&[blue, green, red, 255]);
        }
        let now = sink.host().now_ns();
        sink.emit(&frame, &FrameNote::of("plugin-name"), now)?;
        self.given += 1;
        Ok(Next::More)
    }
}

/// The colour of a pixel: black, with lines around the cells, and a disc at each terminal.
fn colour(x: u32, y: u32) -> [u8; 3] {
    let (Some(x), Some(y)) = (x.checked_sub(20), y.checked_sub(20)) else {
        return [0; 3];
    };
    if x > 3 * CELL || y > 3 * CELL {
        return [0; 3];
    }
    if x % CELL == 0 || y % CELL == 0 {
        return [110, 120, 110];
    }
    let from_centre = |at: u32| f64::from(at % CELL) - f64::from(CELL) / 2.0;
    let terminal = TERMINALS
        .iter()
        .find(|(row, col, _)| (*row, *col) == (y / CELL, x / CELL));
    match terminal {
        Some((.., colour)) if from_centre(x).hypot(from_centre(y)) < 0.35 * f64::from(CELL) => {
            *colour
        }
        _ => [0; 3],
    }
}

flowpipe_plugin::export!(Plugin);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Plugin;

    #[test]
    fn as_many_frames_come_as_were_asked_for() {
        let config = json!({ "frames": 2, "fps": 1000.0 });
        let mut harness = flowpipe_plugin::harness!(Plugin, config).unwrap();
        for _ in 0..2 {
            let emitted = harness.tick().unwrap();
            let frame = emitted[0].frame.as_ref().unwrap();
            assert_eq!(frame.info().unwrap().width, 220);
            assert!(
                frame.pixels().iter().any(|&byte| byte == 250),
                "a terminal is drawn"
            );
        }
        assert!(harness.tick().unwrap().is_empty());
    }
}
