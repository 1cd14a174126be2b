//! What a pipeline can set.

use flowpipe_desktop::{DesktopChoice, Rect};
use flowpipe_plugin::{Error, JsonSchema, Result};
use serde::{Deserialize, Serialize};

use crate::interval::Interval;

/// The most captures per second that can be asked for.
const FASTEST: f64 = 1000.0;

/// Config of capture-screen. At most one of `window`, `monitor` and `region`; without any of them, the
/// main monitor.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("dependentSchemas" = {
    "window": { "properties": { "monitor": false, "region": false } },
    "monitor": { "properties": { "region": false } },
}))]
pub struct Config {
    /// The inside of the window of this title, wherever it goes; else of one whose title contains it, in
    /// capitals or not; of several the one in front.
    #[schemars(length(min = 1))]
    pub window: Option<String>,
    /// A whole monitor by its number; 1 is the main one. A number that does not exist is an error that lists them.
    #[schemars(range(min = 1))]
    pub monitor: Option<usize>,
    /// A part of the screen, in pixels; on a scaled monitor under Wayland in the compositor's logical pixels.
    pub region: Option<Region>,
    /// Captures per second.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1000))]
    pub rate: f64,
    /// Send nothing when a capture shows the same as the one before.
    pub skip_identical: bool,
    /// When nothing has changed for so long, the same picture is sent again, so that those who wait for
    /// it know that it is unchanged. In quotes with a unit (`"100ms"`, `"2s"`), or in milliseconds.
    pub resend: Interval,
    /// Wait for the window when it is not there, or not any more. Otherwise that is an error.
    pub wait_for_window: bool,
    /// Which way to the desktop is used. Set actuator-mouse to the same.
    pub desktop: DesktopChoice,
}

/// A part of the screen, in pixels; on a scaled monitor under Wayland in the compositor's logical pixels.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Region {
    /// Its left edge.
    pub x: i32,
    /// Its upper edge.
    pub y: i32,
    /// How wide it is.
    #[schemars(range(min = 1))]
    pub width: u32,
    /// How high it is.
    #[schemars(range(min = 1))]
    pub height: u32,
}

/// What is to be captured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The window of a title.
    Window(String),
    /// A monitor, from 1.
    Monitor(usize),
    /// A part of the screen.
    Region(Rect),
}

impl Default for Config {
    fn default() -> Self {
        Self {
            window: None,
            monitor: None,
            region: None,
            rate: 120.0,
            skip_identical: true,
            resend: Interval::from_millis(100),
            wait_for_window: true,
            desktop: DesktopChoice::Auto,
        }
    }
}

impl Config {
    /// What is to be captured, once the config is checked.
    ///
    /// # Errors
    /// What is wrong, naming the key.
    pub fn check(&self) -> Result<Subject> {
        let rate = self.rate;
        if !(rate > 0.0 && rate <= FASTEST) {
            return Err(Error::bad_config(format!(
                "rate is {rate}, it must be more than 0 and at most {FASTEST}"
            )));
        }
        match (&self.window, self.monitor, self.region) {
            (None, None, None) => Ok(Subject::Monitor(1)),
            (Some(title), None, None) if title.trim().is_empty() => Err(Error::bad_config(
                "window is empty, it must be a window's title or a part of it",
            )),
            (Some(title), None, None) => Ok(Subject::Window(title.clone())),
            (None, Some(0), None) => Err(Error::bad_config("monitor is 0, the first one is 1")),
            (None, Some(number), None) => Ok(Subject::Monitor(number)),
            (None, None, Some(region)) => region.check().map(Subject::Region),
            _ => Err(Error::bad_config(
                "window, monitor and region each name what to capture: set only one of them",
            )),
        }
    }
}

impl Region {
    fn check(self) -> Result<Rect> {
        let Self {
            x,
            y,
            width,
            height,
        } = self;
        if width == 0 || height == 0 {
            return Err(Error::bad_config(format!(
                "region is {width} x {height}, there is nothing to see in it: width and height must be at least 1"
            )));
        }
        Ok(Rect {
            x,
            y,
            width,
            height,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, from_value, json};

    use super::*;

    fn checked(config: Value) -> Result<Subject> {
        from_value::<Config>(config).unwrap().check()
    }

    #[test]
    fn at_most_one_subject() {
        assert_eq!(checked(json!({})).unwrap(), Subject::Monitor(1));
        assert_eq!(
            checked(json!({ "monitor": 2 })).unwrap(),
            Subject::Monitor(2)
        );
        assert_eq!(
            checked(json!({ "window": "Flow" })).unwrap(),
            Subject::Window("Flow".to_owned())
        );
        let region = json!({ "x": -1, "y": 2, "width": 3, "height": 4 });
        let rect = Rect {
            x: -1,
            y: 2,
            width: 3,
            height: 4,
        };
        assert_eq!(
            checked(json!({ "region": region })).unwrap(),
            Subject::Region(rect)
        );
        let empty = json!({ "x": 1, "y": 2, "width": 0, "height": 4 });
        for (config, words) in [
            (json!({ "window": "a", "monitor": 1 }), "only one of them"),
            (
                json!({ "window": "a", "region": region }),
                "only one of them",
            ),
            (
                json!({ "region": empty }),
                "region is 0 x 4, there is nothing",
            ),
            (json!({ "monitor": 0 }), "monitor is 0"),
            (json!({ "window": " " }), "window is empty"),
            (json!({ "rate": 0 }), "rate is 0"),
            (json!({ "rate": 1001 }), "rate is 1001"),
        ] {
            let error = checked(config).unwrap_err();
            assert_eq!(error.status(), flowpipe_plugin::abi::BAD_CONFIG);
            assert!(error.to_string().contains(words), "{error}");
        }
    }
}
