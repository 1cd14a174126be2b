//! What users can set of every planner.

use flowpipe_puzzle::message::{GameNeeds, Profile, StrokeEnd};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::corridor::Inner;

/// Settings of planners that plan segments at any angle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// How much of a cell the pointer keeps to, as a share of its side: at 2/3 it stays a sixth of a
    /// cell away from its border. More allows fewer segments where a game bears it, 0.68 already some.
    /// On hexes three quarters of it are used, so that their tips stay as far from it.
    pub inner: Inner,
    /// Stop in the last cell but one, near the border to the last terminal: the real game joins a
    /// pipe that ends beside its other terminal by itself. Where the pointer has to stop at turns or
    /// at cells, or the game was found to need it, it goes into the terminal anyway.
    pub skip_last_terminal: bool,
    /// What the game needs from the mouse; "auto": what it was found to need, and "segments" where
    /// nothing is detected.
    pub profile: Needs,
    /// How a flow goes on over an edge, on boards that warp.
    pub warps: Warps,
    /// Draw the flows in an order, and each from the end, that has the pointer travel little between
    /// them. If not, they are drawn in the solution's order, each from the end that needs fewer
    /// segments.
    pub order: bool,
}

/// What the game needs from the mouse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Needs {
    /// What it was found to need; where nothing is detected, "segments".
    #[default]
    Auto,
    /// A point in every cell on a straight way, and no waiting.
    Events,
    /// A stop at the end of each segment, at any angle.
    Segments,
    /// Stops where the pipe turns.
    Turns,
    /// A stop at every cell, in small steps.
    Cells,
    /// The same, for at least a display frame.
    Frames,
    /// The same, as slowly as a person.
    Slow,
    /// A click at the first cell, moves, a click at the last.
    Clicks,
}

/// How a flow goes on over an edge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Warps {
    /// With a new press on the pipe's end, at the opposite edge.
    #[default]
    NewPress,
    /// The button stays down while the pointer goes over to the opposite edge, as in the real game.
    GoOn,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            inner: Inner::default(),
            skip_last_terminal: true,
            profile: Needs::default(),
            warps: Warps::default(),
            order: true,
        }
    }
}

impl Config {
    /// The config and the profile to plan with in a game that was found to need this.
    #[must_use]
    pub fn for_game(mut self, needs: GameNeeds) -> (Self, Profile) {
        self.skip_last_terminal &= needs.stroke_end != Some(StrokeEnd::InTerminal);
        (self, self.profile.profile(needs.profile))
    }
}

impl Needs {
    /// The profile to plan for, when the game was found to need another or nothing was detected.
    #[must_use]
    pub fn profile(self, found: Option<Profile>) -> Profile {
        match self {
            Self::Auto => found.unwrap_or_default(),
            Self::Events => Profile::Events,
            Self::Segments => Profile::Segments,
            Self::Turns => Profile::Turns,
            Self::Cells => Profile::Cells,
            Self::Frames => Profile::Frames,
            Self::Slow => Profile::Slow,
            Self::Clicks => Profile::Clicks,
        }
    }
}

/// As a number.
impl Serialize for Inner {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.share())
    }
}

/// From a number, see [`Inner::try_from`].
impl<'de> Deserialize<'de> for Inner {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let share = f64::deserialize(deserializer)?;
        Self::try_from(share).map_err(de::Error::custom)
    }
}

impl JsonSchema for Inner {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Inner".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1 })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_config_is_read_with_its_names() {
        let read = |value| serde_json::from_value::<Config>(value);
        assert_eq!(read(json!({})).expect("nothing set"), Config::default());
        let set = json!({
            "inner": 0.68, "skip_last_terminal": false, "profile": "turns", "warps": "go-on",
            "order": false,
        });
        let set = read(set).expect("all set");
        assert_eq!(set.inner.fraction(), [17, 25]);
        assert_eq!((set.profile, set.warps), (Needs::Turns, Warps::GoOn));
        for wrong in [
            json!({ "inner": 1 }),
            json!({ "profile": "fast" }),
            json!({ "width": 1 }),
        ] {
            assert!(read(wrong.clone()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_game_that_joins_nothing_gets_strokes_into_terminals() {
        let ends = |config: Config, end| {
            let needs = GameNeeds::of(Some(Profile::Turns)).with_stroke_end(end);
            let (config, profile) = config.for_game(needs);
            (config.skip_last_terminal, profile)
        };
        let (skips, enters) = (
            Config::default(),
            Config {
                skip_last_terminal: false,
                ..Config::default()
            },
        );
        for end in [None, Some(StrokeEnd::BesideTerminal)] {
            assert_eq!(ends(skips, end), (true, Profile::Turns));
            assert_eq!(ends(enters, end), (false, Profile::Turns));
        }
        assert_eq!(
            ends(skips, Some(StrokeEnd::InTerminal)),
            (false, Profile::Turns)
        );
    }

    #[test]
    fn every_profile_can_be_asked_for() {
        for profile in Profile::ALL {
            let name = serde_json::to_value(profile).expect("a name");
            let needs: Needs = serde_json::from_value(name).expect("the same name");
            assert_eq!(needs.profile(Some(Profile::Slow)), profile);
        }
        assert_eq!(Needs::Auto.profile(Some(Profile::Slow)), Profile::Slow);
        assert_eq!(Needs::Auto.profile(None), Profile::default());
    }
}
