//! A flowpipe vision stage: it reads boards from frames. This one reads none, and reports how bright the picture is.

use flowpipe_plugin::puzzle::message::Reading;
use flowpipe_plugin::{Cancel, Captured, Effect, Format, Host, JsonSchema, Result, Vision};
use serde::Deserialize;

/// Distinguishes dark pictures from bright ones. (`flowpipe plugins show` prints this line.)
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Config {
    /// Below this a picture is dark, from 0 to 255. (This one too.)
    dark: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self { dark: 64.0 }
    }
}

struct Plugin {
    config: Config,
}

impl Vision for Plugin {
    const NAME: &'static str = "plugin-name";
    /// The effects outside of the program, such as reading files or running commands: none.
    const EFFECTS: Option<&'static [Effect]> = Some(&[]);
    type Config = Config;

    fn new(config: Config, _host: &Host) -> Result<Self> {
        Ok(Self { config })
    }

    /// Reads one frame. A frame that can't be read exactly is refused with a reason: a wrong board would be played. A
    /// board is `Reading::board(SeenBoard::new(puzzle, geometry, palette))`. Long work polls `_cancel`.
    fn see(&mut self, captured: &Captured, _cancel: &Cancel<'_>) -> Result<Reading> {
        let info = captured.info();
        let pixel = info.format.bytes_per_pixel();
        let (mut sum, mut count) = (0u64, 0u64);
        for row in captured.pixels().chunks(info.stride) {
            // The bytes after a row's last pixel, up to the stride, are padding.
            for pixel in row.chunks_exact(pixel).take(info.width as usize) {
                // The fourth byte is not a colour.
                let colour = &pixel[..if info.format == Format::Grey8 { 1 } else { 3 }];
                sum += colour.iter().map(|&byte| u64::from(byte)).sum::<u64>();
                count += colour.len() as u64;
            }
        }
        let brightness = sum as f64 / count.max(1) as f64;
        let word = if brightness < self.config.dark {
            "dark"
        } else {
            "bright"
        };
        Ok(Reading::refused(
            "brightness",
            format!("a {word} picture ({brightness:.0} of 255)"),
        ))
    }
}

flowpipe_plugin::export!(Plugin);

#[cfg(test)]
mod tests {
    use flowpipe_plugin::Format;
    use flowpipe_plugin::puzzle::message::{FRAME, FrameNote};
    use serde_json::json;

    use super::Plugin;

    #[test]
    fn dark_and_bright_pictures_are_distinguished() {
        let mut harness = flowpipe_plugin::harness!(Plugin, json!({ "dark": 100.0 })).unwrap();
        for (byte, word) in [(90, "dark"), (110, "bright")] {
            let picture = (Format::Rgb8, 2, 1);
            let note = FrameNote::of("test");
            let emitted = harness
                .send_picture(FRAME, &note, picture, &[byte; 6])
                .unwrap();
            let reason = emitted[0].body["reading"]["reason"].as_str().unwrap();
            assert!(reason.contains(word), "{reason}");
        }
    }
}
