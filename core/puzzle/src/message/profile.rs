//! What games need from the mouse.
//!
//! Games differ in what they make of pointer events. The description of each profile was measured by
//! driving real games with real pointer events.

use std::ops::RangeInclusive;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::geometry::Point;

/// What a game needs from the mouse, by name.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// It takes every event and fills in nothing: one event in each cell on a straight way, and no
    /// waiting.
    Events,
    /// It samples the pointer once a display frame and fills in the straight line between two samples,
    /// at any angle, as the real game and web games do: a stop at the end of each segment.
    #[default]
    Segments,
    /// The same, but only along rows and columns, and it misses some samples: stops where the pipe turns.
    Turns,
    /// It loses what lies between two events, and drags start only after a nudge, as desktop games do:
    /// a stop at every cell, in small steps.
    Cells,
    /// The same, but it looks at the pointer only once a display frame: a stop at every cell for at least as long.
    Frames,
    /// It loses events: the same, as slowly as a person.
    Slow,
    /// It takes no drags: a click at the first cell, moves, a click at the last.
    Clicks,
}

/// Where a stroke has to end for the game to join its pipe to the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StrokeEnd {
    /// In the last cell before the terminal: the game joins a pipe that ends beside its terminal, as the real game does.
    BesideTerminal,
    /// In the terminal's cell.
    InTerminal,
}

/// What a game was found to need from the mouse. `None`: it is not known.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GameNeeds {
    /// How the mouse is to be moved.
    pub profile: Option<Profile>,
    /// Where strokes have to end.
    pub stroke_end: Option<StrokeEnd>,
}

impl GameNeeds {
    /// A game that needs a profile; where strokes have to end is not known.
    #[must_use]
    pub fn of(profile: Option<Profile>) -> Self {
        Self {
            profile,
            stroke_end: None,
        }
    }

    /// The same, and where strokes have to end.
    #[must_use]
    pub fn with_stroke_end(mut self, end: Option<StrokeEnd>) -> Self {
        self.stroke_end = end;
        self
    }
}

/// Where the pointer has to stop on its way.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stops {
    /// Anywhere: straight segments at any angle.
    Segments,
    /// Where the pipe turns, at the centres of cells.
    Turns,
    /// At the centre of every cell.
    Cells,
}

/// How strokes are to be played.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Manner {
    /// How fast.
    pub pace: Pace,
    /// How far the pointer goes towards the next point after the press, in cells, before it waits as at a point: some
    /// games begin a drag only after that. 0: it does not.
    #[serde(default)]
    pub nudge: f64,
    /// How a stroke begins and ends.
    #[serde(default)]
    pub hold: Hold,
}

/// How a stroke begins and ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Hold {
    /// The button is down from the first point to the last.
    #[default]
    Drag,
    /// A click at the first point and a click at the last.
    Clicks,
}

/// How fast a pointer is moved along a stroke.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pace {
    /// The greatest distance between two places of the pointer, in cells. Without it, the points of the
    /// stroke are enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<f64>,
    /// How long the pointer stays at each point between the first and the last of a stroke, in milliseconds.
    pub dwell_ms: f64,
    /// How long the pointer stays after the press and before the release, in milliseconds.
    pub ends_ms: f64,
    /// How often each place is sent.
    pub repeats: u32,
    /// How much longer the pointer stays at most at each point between the first and the last, in milliseconds, until the
    /// picture there changes: the game has seen it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub until_shown_ms: f64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(ms: &f64) -> bool {
    *ms == 0.0
}

impl Pace {
    /// What [`Pace::step`] may be.
    pub const STEPS: RangeInclusive<f64> = 0.05..=1.0;

    /// The points of the stroke, each sent once, with these waits in milliseconds: at each point between the first and
    /// the last, and after the press and before the release. The fields set the step and the repeats.
    #[must_use]
    pub const fn new(dwell_ms: f64, ends_ms: f64) -> Self {
        Self {
            step: None,
            dwell_ms,
            ends_ms,
            repeats: 1,
            until_shown_ms: 0.0,
        }
    }

    /// Where a pointer with such a [`Pace::step`] is put on the straight way from one point to the next:
    /// after the first, up to and with the second.
    pub fn places(step: Option<f64>, from: Point, to: Point) -> impl Iterator<Item = Point> {
        let length = (to[0] - from[0]).hypot(to[1] - from[1]);
        let parts = step.map_or(1, |step| (length / step).ceil().max(1.0) as u32);
        let between = (1..parts).map(move |part| {
            let share = f64::from(part) / f64::from(parts);
            [0, 1].map(|axis| from[axis] + (to[axis] - from[axis]) * share)
        });
        between.chain(std::iter::once(to))
    }
}

impl Profile {
    /// From fast to slow: what is tried one after the other while a game loses cells.
    pub const LADDER: [Self; 6] = [
        Self::Events,
        Self::Segments,
        Self::Turns,
        Self::Cells,
        Self::Frames,
        Self::Slow,
    ];

    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Events,
        Self::Segments,
        Self::Turns,
        Self::Cells,
        Self::Frames,
        Self::Slow,
        Self::Clicks,
    ];

    /// Its name, as in messages and configs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::Segments => "segments",
            Self::Turns => "turns",
            Self::Cells => "cells",
            Self::Frames => "frames",
            Self::Slow => "slow",
            Self::Clicks => "clicks",
        }
    }

    /// The next one of [`Profile::LADDER`].
    #[must_use]
    pub fn slower(self) -> Option<Self> {
        let at = Self::LADDER.iter().position(|&rung| rung == self)?;
        Self::LADDER.get(at + 1).copied()
    }

    /// The one before it in [`Profile::LADDER`].
    #[must_use]
    pub fn faster(self) -> Option<Self> {
        let at = Self::LADDER.iter().position(|&rung| rung == self)?;
        Self::LADDER.get(at.checked_sub(1)?).copied()
    }

    /// Where the pointer has to stop.
    #[must_use]
    pub fn stops(self) -> Stops {
        match self {
            Self::Events | Self::Segments => Stops::Segments,
            Self::Turns | Self::Clicks => Stops::Turns,
            Self::Cells | Self::Frames | Self::Slow => Stops::Cells,
        }
    }

    /// Whether the game needs a point in every cell on the way.
    #[must_use]
    pub fn needs_every_cell(self) -> bool {
        self == Self::Events
    }

    /// How strokes are to be played.
    #[must_use]
    pub fn manner(self) -> Manner {
        // Display frames last 16.7 ms: a sample that comes late must not meet the pointer beyond the
        // turn.
        match self {
            Self::Events => manner(None, 0.0, 0.0, 1, 0.0),
            Self::Segments => manner(None, 18.0, 0.0, 1, 0.0),
            Self::Turns => manner(Some(0.34), 25.0, 5.0, 2, 0.0).until_shown(),
            Self::Cells => manner(Some(0.25), 5.0, 5.0, 1, 0.4),
            Self::Frames => manner(Some(0.25), 18.0, 18.0, 1, 0.4).until_shown(),
            Self::Slow => manner(Some(0.25), 45.0, 25.0, 3, 0.4).until_shown(),
            Self::Clicks => manner(Some(0.5), 18.0, 18.0, 1, 0.0).with_hold(Hold::Clicks),
        }
    }
}

impl Manner {
    /// A pace, without a nudge, the button down from the first point to the last.
    #[must_use]
    pub const fn new(pace: Pace) -> Self {
        Self {
            pace,
            nudge: 0.0,
            hold: Hold::Drag,
        }
    }

    /// The same manner with a nudge, in cells.
    #[must_use]
    pub const fn with_nudge(mut self, nudge: f64) -> Self {
        self.nudge = nudge;
        self
    }

    /// The same manner for a game that looks at the pointer when it draws: no cell is left before the game has drawn it,
    /// however slow it is just now. The limit is for cells where nothing changes.
    const fn until_shown(mut self) -> Self {
        self.pace.until_shown_ms = 1000.0;
        self
    }

    /// The same manner with another beginning and end of strokes.
    #[must_use]
    pub const fn with_hold(mut self, hold: Hold) -> Self {
        self.hold = hold;
        self
    }
}

impl Default for Manner {
    /// The default of planners: no waiting, and a point in every cell.
    fn default() -> Self {
        manner(Some(0.5), 0.0, 0.0, 1, 0.0)
    }
}

const fn manner(
    step: Option<f64>,
    dwell_ms: f64,
    ends_ms: f64,
    repeats: u32,
    nudge: f64,
) -> Manner {
    let pace = Pace {
        step,
        dwell_ms,
        ends_ms,
        repeats,
        until_shown_ms: 0.0,
    };
    Manner::new(pace).with_nudge(nudge)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ladder_ends() {
        let mut rungs = vec![Profile::LADDER[0]];
        rungs.extend(std::iter::successors(Profile::LADDER[0].slower(), |it| {
            it.slower()
        }));
        assert_eq!(rungs, Profile::LADDER);
        assert_eq!(Profile::Clicks.slower(), None);
    }

    #[test]
    fn names_are_those_of_messages() {
        for profile in Profile::ALL {
            assert_eq!(
                serde_json::to_value(profile).expect("a name"),
                profile.name()
            );
        }
    }
}
