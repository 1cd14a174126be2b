//! The line that is printed before a pipeline drives the mouse.

use std::collections::BTreeSet;

use flowpipe_config::manifest::Manifest;
use flowpipe_config::manifest::effects::{EffectKind, HasEffect};
use flowpipe_config::pipeline::Pipeline;
use flowpipe_host::catalogue::Catalogue;
use flowpipe_host::message::Message;
use flowpipe_puzzle::message::{FrameNote, STROKES};
use flowpipe_terminal::{escape, escaped};
use serde::Deserialize;
use serde_json::Value;

/// The config key of an actuator that names the key that ends the run.
const HOTKEY: &str = "hotkey";
/// The most windows that are reported.
const MOST: usize = 64;

/// Reports where the mouse is to be driven, and how to stop it: once for each window, before its first stroke.
pub struct MouseNotice {
    /// What stops the mouse besides Ctrl-C.
    hotkey: Option<String>,
    dry: bool,
    /// The sources that were reported, and their windows.
    reported: BTreeSet<(String, Option<u64>)>,
}

/// The part of strokes that is read here.
#[derive(Deserialize)]
struct Strokes {
    sighting: Sighting,
}

#[derive(Deserialize)]
struct Sighting {
    frame: FrameNote,
}

impl MouseNotice {
    /// The notice of a pipeline. `None`: it does not drive the mouse.
    pub fn of(pipeline: &Pipeline, catalogue: &Catalogue, dry: bool) -> Option<Self> {
        let mut contestants = pipeline.stages.iter().flat_map(|stage| &stage.contestants);
        contestants.find_map(|contestant| {
            let manifest = &catalogue.find(&contestant.plugin)?.manifest;
            let drives = manifest.has_effect(&[EffectKind::DrivesMouse], &contestant.config);
            (drives == HasEffect::Yes).then(|| Self {
                hotkey: hotkey(manifest, &contestant.config),
                dry,
                reported: BTreeSet::new(),
            })
        })
    }

    /// The line to print before these strokes are played, if there is one.
    pub fn before(&mut self, message: &Message) -> Option<String> {
        if message.schema() != STROKES {
            return None;
        }
        // Every message has passed the checks: it parses.
        let strokes: Strokes = serde_json::from_str(message.json()).ok()?;
        self.line(&strokes.sighting.frame)
    }

    fn line(&mut self, frame: &FrameNote) -> Option<String> {
        // What is no part of the screen is not played in.
        let is_screen = frame.window.is_some() || frame.size.is_some();
        let target = (frame.source.clone(), frame.window);
        if !is_screen || self.reported.len() >= MOST || !self.reported.insert(target) {
            return None;
        }
        let name = match &frame.title {
            Some(title) => format!("the window \"{}\"", escape(title)),
            None => escaped(&frame.source).to_string(),
        };
        let [x, y] = frame.origin;
        let size = frame
            .size
            .map(|[width, height]| format!(", {width} x {height} pixels"));
        let place = format!("{name} at {x:.0}, {y:.0}{}", size.unwrap_or_default());
        Some(match (self.dry, &self.hotkey) {
            (true, _) => {
                format!("{place}: a dry run, the mouse is not moved and nothing is clicked")
            }
            (false, None) => format!("{place}: the real mouse plays there; Ctrl-C stops it"),
            (false, Some(hotkey)) => format!(
                "{place}: the real mouse plays there; {} or Ctrl-C stops it",
                escaped(hotkey)
            ),
        })
    }
}

/// The key that ends the run, by the config or else the default of the plugin.
fn hotkey(manifest: &Manifest, config: &Value) -> Option<String> {
    let default = || {
        let key = manifest.config.get("properties")?.get(HOTKEY)?;
        key.get("default")
    };
    let name = config.get(HOTKEY).or_else(default)?.as_str()?;
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn notice(hotkey: Option<&str>, dry: bool) -> MouseNotice {
        MouseNotice {
            hotkey: hotkey.map(str::to_owned),
            dry,
            reported: BTreeSet::new(),
        }
    }

    #[test]
    fn each_window_is_reported_once_by_its_whole_title() {
        let mut notice = notice(Some("F12"), false);
        let frame = FrameNote::of("Flow")
            .with_origin([20.0, 10.0])
            .with_size([600, 700])
            .with_window(7)
            .with_title("Flow \u{1b} Free");
        let line = "the window \"Flow \\u001b Free\" at 20, 10, 600 x 700 pixels: the real mouse plays there; F12 or \
                    Ctrl-C stops it";
        assert_eq!(notice.line(&frame).as_deref(), Some(line));
        assert_eq!(notice.line(&frame.clone().with_origin([30.0, 10.0])), None);
        assert!(notice.line(&frame.clone().with_window(8)).is_some());
        assert_eq!(notice.line(&frame), None);
        assert_eq!(notice.line(&FrameNote::of("a.png")), None, "no screen");
    }

    #[test]
    fn a_dry_run_clicks_nothing_and_a_key_may_be_missing() {
        let monitor = FrameNote::of("monitor 1 (screen)").with_size([800, 600]);
        let line = notice(None, true).line(&monitor).unwrap();
        assert!(
            line.ends_with("the mouse is not moved and nothing is clicked"),
            "{line}"
        );
        let line = notice(None, false).line(&monitor).unwrap();
        let words = "monitor 1 (screen) at 0, 0, 800 x 600 pixels: the real mouse plays there; Ctrl-C stops it";
        assert_eq!(line, words);
    }

    #[test]
    fn the_key_is_that_of_the_config_else_the_default() {
        let schema = json!({ "properties": { "hotkey": { "default": "F12" } } });
        let manifest = Manifest {
            config: schema,
            ..Manifest::default()
        };
        let key = |config| hotkey(&manifest, &config);
        assert_eq!(key(json!({})).as_deref(), Some("F12"));
        assert_eq!(key(json!({ "hotkey": "Pause" })).as_deref(), Some("Pause"));
        assert_eq!(key(json!({ "hotkey": "" })), None);
        assert_eq!(hotkey(&Manifest::default(), &json!({})), None);
    }
}
