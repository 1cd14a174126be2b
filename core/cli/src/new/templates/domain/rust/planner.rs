//! Clicks on each target, once.

use flowpipe_plugin::message::{
    Action, CHECK, GESTURE_OUTCOME, GESTURES, Gesture, GestureOutcome, Gestures, METRICS, Metric,
    Metrics, Point, Rectangle,
};
use flowpipe_plugin::{
    Context, Effect, Host, Input, JsonSchema, Message, Next, Port, Result, Stage,
};
use serde::Deserialize;

use crate::targets::{TARGETS, Targets};

/// Clicks on each target, once. (`flowpipe plugins show` prints this line.)
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// How long the pointer stays after each click, in milliseconds. (This one too.)
    stay_ms: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self { stay_ms: 50.0 }
    }
}

pub struct Planner {
    config: Config,
    /// The middles of the targets that were clicked on.
    done: Vec<Point>,
    /// Those that the mouse was sent, until it reports what it did.
    asked: Vec<Point>,
}

impl Stage for Planner {
    const NAME: &'static str = "pipeline-name-planner";
    const DETERMINISTIC: bool = true;
    const EFFECTS: Option<&'static [Effect]> = Some(&[]);
    type Config = Config;

    fn inputs() -> Vec<Port> {
        vec![
            Port::new("targets", TARGETS),
            Port::new("played", GESTURE_OUTCOME).optional(),
        ]
    }

    fn outputs() -> Vec<Port> {
        vec![
            Port::new("gestures", GESTURES).checked_by(CHECK),
            // Shown by `flowpipe run`, `flowpipe top` and `flowpipe report`.
            Port::new("metrics", METRICS).checked_by(CHECK),
        ]
    }

    fn new(config: Config, _host: &Host) -> Result<Self> {
        Ok(Self {
            config,
            done: Vec::new(),
            asked: Vec::new(),
        })
    }

    fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
        if let Input::Message(message) = input {
            match message.schema() {
                GESTURE_OUTCOME => self.played(&message, context)?,
                _ => self.click(&message.parse()?, context)?,
            }
        }
        Ok(Next::More)
    }

    /// After a failure the stage goes on as if it were new.
    fn reset(&mut self) -> Result<()> {
        self.done.clear();
        self.asked.clear();
        Ok(())
    }
}

impl Planner {
    /// The gestures for the targets of a frame: none if nothing is left to do, or while the mouse is busy.
    fn click(&mut self, seen: &Targets, context: &mut Context<'_>) -> Result<()> {
        let middles = seen.targets.iter().map(middle);
        let left: Vec<Point> = middles.filter(|at| !self.done.contains(at)).collect();
        if !self.asked.is_empty() || left.is_empty() {
            return Ok(());
        }
        let gesture = |&[x, y]: &Point| {
            let click = Action::click([x, y]).with_stay_ms(self.config.stay_ms);
            Gesture::new(format!("click at {x:.0}, {y:.0}"), vec![click])
        };
        let gestures = left.iter().map(gesture).collect();
        // Outside of the bounds the pointer is never put.
        let bounds = Rectangle::new(0.0, 0.0, seen.size[0], seen.size[1]);
        let gestures = Gestures::new(Self::NAME, seen.frame.clone(), bounds, gestures);
        self.asked = left;
        context.emit(0, &gestures)
    }

    /// The mouse played so many of the gestures. It refuses the others, such as on an old frame: the next one shows them.
    fn played(&mut self, message: &Message<'_>, context: &mut Context<'_>) -> Result<()> {
        let outcome: GestureOutcome = message.parse()?;
        self.done.extend(self.asked.iter().take(outcome.played));
        self.asked.clear();
        let clicks = Metric::counter("targets clicked on", outcome.played as u64);
        context.emit(1, &Metrics::new(vec![clicks]))
    }
}

fn middle(place: &Rectangle) -> Point {
    [place.x + place.width / 2.0, place.y + place.height / 2.0]
}

#[cfg(test)]
mod tests {
    use flowpipe_plugin::harness::Harness;
    use flowpipe_plugin::message::{FrameNote, GESTURE_OUTCOME, GestureOutcome, Rectangle};
    use serde_json::json;

    use super::Planner;
    use crate::targets::{TARGETS, Targets};

    /// The names of the gestures for two targets.
    fn plan(harness: &mut Harness) -> Vec<String> {
        let target = |x| Rectangle::new(x, 0.0, 20.0, 20.0);
        let seen = Targets {
            frame: FrameNote::of("a test"),
            size: [100.0, 20.0],
            targets: vec![target(0.0), target(50.0)],
        };
        let emitted = harness.send(0, TARGETS, &seen).unwrap();
        let gestures = emitted
            .iter()
            .flat_map(|it| it.body["gestures"].as_array().unwrap());
        gestures
            .map(|it| it["name"].as_str().unwrap().to_owned())
            .collect()
    }

    #[test]
    fn it_waits_for_the_mouse_and_clicks_on_every_target_once() {
        let mut harness = flowpipe_plugin::harness!(Planner, json!({})).unwrap();
        let both = ["click at 10, 10", "click at 60, 10"];
        assert_eq!(plan(&mut harness), both);
        assert!(plan(&mut harness).is_empty(), "the mouse is busy");
        let played = GestureOutcome::new("a test", FrameNote::of("a test"), 1);
        let emitted = harness.send(1, GESTURE_OUTCOME, &played).unwrap();
        assert_eq!(emitted[0].body["metrics"][0]["add"], 1);
        assert_eq!(plan(&mut harness), both[1..]);
    }
}
