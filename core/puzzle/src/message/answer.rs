//! What a solver is asked, and its answer.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{GameNeeds, Profile, Sighting, StrokeEnd};
use crate::colour::Colour;
use crate::solution::Solution;

/// What is asked about a puzzle: the config key `want` of solvers that can do more than find one
/// solution. Its companion `limit` sets after how many solutions to stop counting or listing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Want {
    /// A solution.
    One,
    /// A solution, and whether it is the only one.
    #[default]
    Unique,
    /// A solution, and how many there are.
    Count,
    /// Every solution.
    All,
}

/// A solver's verdict on a puzzle.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "verdict", rename_all = "lowercase")]
pub enum Verdict {
    /// A solution.
    #[non_exhaustive]
    Solution {
        /// The solution, in canonical order.
        solution: Solution,
        /// Whether it was proved the only one; `null`: not examined.
        unique: Option<bool>,
        /// How many solutions there are, this one included, where they were counted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        count: Option<Count>,
        /// Further solutions, each in canonical order, where they were asked for.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        others: Vec<Solution>,
    },
    /// There is none.
    #[non_exhaustive]
    Unsolvable {
        /// Why, where one is known.
        reason: Option<String>,
    },
    /// A kind of puzzle that this solver does not take.
    #[non_exhaustive]
    Unsupported {
        /// What it does not take.
        reason: String,
    },
    /// Gave up at a limit of its own.
    #[non_exhaustive]
    Unknown {
        /// Which limit.
        reason: String,
    },
}

/// A number of solutions, of any size.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Count {
    /// The number in decimal digits.
    pub digits: String,
    /// There may be more: counting stopped there, at a limit.
    #[serde(default, skip_serializing_if = "is_false")]
    pub or_more: bool,
}

impl Count {
    /// The whole number of solutions.
    #[must_use]
    pub fn exactly(number: impl std::fmt::Display) -> Self {
        Self {
            digits: number.to_string(),
            or_more: false,
        }
    }

    /// The number that was found before counting stopped at a limit.
    #[must_use]
    pub fn at_least(number: impl std::fmt::Display) -> Self {
        Self {
            digits: number.to_string(),
            or_more: true,
        }
    }

    /// Whether the digits are a number as it is written: no sign, no zero in front.
    #[must_use]
    pub fn is_well_formed(&self) -> bool {
        !self.digits.is_empty()
            && self.digits.bytes().all(|byte| byte.is_ascii_digit())
            && (self.digits.len() == 1 || !self.digits.starts_with('0'))
    }
}

pub(super) fn is_false(value: &bool) -> bool {
    !value
}

/// What an answer cost, by the solver's own measures, which its documentation explains. The same
/// puzzle costs the same each time where the solver is deterministic, so there are no times in it.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Effort {
    /// Steps of the search: nodes of a tree, expansions, conflicts, states, individuals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u64>,
    /// Other figures by name, such as `frontier`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub figures: BTreeMap<String, f64>,
    /// Figures that changed while it worked, by name, such as `best` by generation.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub series: BTreeMap<String, Vec<f64>>,
}

impl Effort {
    /// An effort in steps.
    #[must_use]
    pub fn nodes(nodes: u64) -> Self {
        Self {
            nodes: Some(nodes),
            ..Self::default()
        }
    }

    /// The same with one more figure.
    #[must_use]
    pub fn with(mut self, name: &str, figure: f64) -> Self {
        self.figures.insert(name.to_owned(), figure);
        self
    }

    /// The same with one more figure that changed while it worked.
    #[must_use]
    pub fn with_series(mut self, name: &str, figures: Vec<f64>) -> Self {
        self.series.insert(name.to_owned(), figures);
        self
    }

    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Verdict {
    /// One solution, and whether it was proved the only one.
    #[must_use]
    pub fn solution(solution: Solution, unique: Option<bool>) -> Self {
        Self::Solution {
            solution,
            unique,
            count: None,
            others: Vec::new(),
        }
    }

    /// There is none, and why, where that is known.
    #[must_use]
    pub fn unsolvable(reason: Option<String>) -> Self {
        Self::Unsolvable { reason }
    }

    /// A kind of puzzle that this solver does not take, and which.
    #[must_use]
    pub fn unsupported(reason: impl Into<String>) -> Self {
        Self::Unsupported {
            reason: reason.into(),
        }
    }

    /// Gave up at a limit of its own, and at which.
    #[must_use]
    pub fn unknown(reason: impl Into<String>) -> Self {
        Self::Unknown {
            reason: reason.into(),
        }
    }

    /// The same, where there is a solution, with the number of all; `None`: they were not counted.
    #[must_use]
    pub fn with_count(mut self, number: Option<Count>) -> Self {
        if let Self::Solution { count, .. } = &mut self {
            *count = number;
        }
        self
    }

    /// The same, where there is a solution, with further ones.
    #[must_use]
    pub fn with_others(mut self, further: Vec<Solution>) -> Self {
        if let Self::Solution { others, .. } = &mut self {
            *others = further;
        }
        self
    }

    /// The same with every solution in canonical order.
    #[must_use]
    pub fn canonical(self) -> Self {
        match self {
            Self::Solution {
                solution,
                unique,
                count,
                others,
            } => Self::Solution {
                solution: solution.canonical(),
                unique,
                count,
                others: others.into_iter().map(Solution::canonical).collect(),
            },
            other => other,
        }
    }
}

/// A sighting with a solver's answer.
// Who needs no `Sighting` reads another type in its place: `&RawValue` gives its text, `IgnoredAny` nothing.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Solved")]
pub struct Solved<S = Sighting> {
    /// The plugin that answered.
    pub solver: String,
    /// Its answer.
    pub answer: Verdict,
    /// What the answer cost.
    #[serde(default, skip_serializing_if = "Effort::is_empty")]
    pub effort: Effort,
    /// What the game was found to need from the mouse, if it was detected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// Where strokes have to end in the game, if it was detected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stroke_end: Option<StrokeEnd>,
    /// What to draw of it.
    #[serde(default, skip_serializing_if = "Draw::is_all")]
    pub draw: Draw,
    /// The sighting answered to.
    pub sighting: S,
}

/// What to draw of a solution.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Draw {
    /// All flows that are missing.
    #[default]
    All,
    /// Of them, those of these colours.
    Only(Vec<Colour>),
    /// None: what is drawn of these colours is cleared, with two clicks on each of their terminals.
    Clear(Vec<Colour>),
}

impl Draw {
    fn is_all(&self) -> bool {
        *self == Self::All
    }
}

impl<S> Solved<S> {
    /// A solver's answer to a sighting.
    #[must_use]
    pub fn new(solver: impl Into<String>, answer: Verdict, sighting: S) -> Self {
        Self {
            solver: solver.into(),
            answer,
            effort: Effort::default(),
            profile: None,
            stroke_end: None,
            draw: Draw::All,
            sighting,
        }
    }

    /// The same, with what the answer cost.
    #[must_use]
    pub fn with_effort(mut self, effort: Effort) -> Self {
        self.effort = effort;
        self
    }

    /// The same, for a game that was found to need a profile.
    #[must_use]
    pub fn with_profile(mut self, profile: Profile) -> Self {
        self.profile = Some(profile);
        self
    }

    /// The same, for a game that was found to need strokes that end there.
    #[must_use]
    pub fn with_stroke_end(mut self, end: StrokeEnd) -> Self {
        self.stroke_end = Some(end);
        self
    }

    /// The same, of which this is to be drawn.
    #[must_use]
    pub fn with_draw(mut self, draw: Draw) -> Self {
        self.draw = draw;
        self
    }

    /// What the game was found to need.
    #[must_use]
    pub fn needs(&self) -> GameNeeds {
        GameNeeds::of(self.profile).with_stroke_end(self.stroke_end)
    }

    /// The solution, if there is one.
    #[must_use]
    pub fn solution(&self) -> Option<&Solution> {
        match &self.answer {
            Verdict::Solution { solution, .. } => Some(solution),
            _ => None,
        }
    }
}
