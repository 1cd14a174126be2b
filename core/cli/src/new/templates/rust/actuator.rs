//! A flowpipe actuator: it plays strokes. This one only logs what it would do.

use flowpipe_plugin::puzzle::message::{StrokeOutcome, Strokes};
use flowpipe_plugin::tracing::info;
use flowpipe_plugin::{Acting, Actuator, Cancel, Error, Host, JsonSchema, Played, Result};
use serde::Deserialize;

/// Logs where the mouse would go. (`flowpipe plugins show` prints this line.)
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Config {
    /// Log every point, not only their number. (This one too.)
    points: bool,
}

struct Plugin {
    config: Config,
}

impl Actuator for Plugin {
    const NAME: &'static str = "plugin-name";
    /// Only for a stage without effects outside of the program: a replay runs it.
    const DETERMINISTIC: bool = true;
    // It declares no effects, so a replay does not run it. A stage without effects outside of the program declares
    // `const EFFECTS: Option<&'static [Effect]> = Some(&[]);`; one that moves the mouse
    // includes `Effect::new(EffectKind::DrivesMouse, "")`.
    type Config = Config;

    fn new(config: Config, _host: &Host) -> Result<Self> {
        Ok(Self { config })
    }

    /// Plays the strokes. A stage that moves a real mouse checks `acting.host().is_dry()` first, calls
    /// `acting.pressed()` at each press, and releases the button as soon as it is cancelled.
    fn act(
        &mut self,
        strokes: &Strokes,
        acting: &mut Acting<'_, '_>,
        cancel: &Cancel<'_>,
    ) -> Result<Played> {
        let mut played = Played::default();
        for stroke in &strokes.strokes {
            if cancel.is_cancelled() {
                return Err(Error::cancelled());
            }
            acting.pressed();
            if self.config.points {
                info!("{} cells by {:?}", stroke.cells.len(), stroke.points);
            } else {
                info!(
                    "{} cells by {} points",
                    stroke.cells.len(),
                    stroke.points.len()
                );
            }
            // `None`: the reaction of the game is unknown.
            played.strokes.push(StrokeOutcome::new(stroke.colour, None));
        }
        Ok(played)
    }
}

flowpipe_plugin::export!(Plugin);

#[cfg(test)]
mod tests {
    use flowpipe_plugin::harness::samples;
    use flowpipe_plugin::puzzle::Solution;
    use flowpipe_plugin::puzzle::message::{STROKES, Stroke, Strokes};
    use serde_json::json;

    use super::Plugin;

    #[test]
    fn each_stroke_has_an_outcome() {
        let strokes = Strokes::new(
            "test",
            vec![Stroke::new(0, vec![0, 1], vec![[0.5, 0.5], [1.5, 0.5]])],
            Solution::default(),
            samples::sighting(samples::puzzle("AA").unwrap()),
        );
        let mut harness = flowpipe_plugin::harness!(Plugin, json!({})).unwrap();
        let emitted = harness.send(0, STROKES, &strokes).unwrap();
        assert_eq!(emitted[0].body["strokes"][0]["accepted"], json!(null));
        assert_eq!(harness.marks(), ["action"]);
    }
}
