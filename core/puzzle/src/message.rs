//! What flows between the stages of Flow Free: one type for each schema id. The crate `flowpipe-message` has those that
//! belong to no domain.
//!
//! As JSON they are canonical: the same value always gives the same bytes, so that runs can be
//! compared. Each message carries the earlier ones that later stages need, so that a straight
//! pipeline needs no joins.
//!
//! Readers ignore fields that they don't know, so that plugins of different ages work together.
//! Within the version of a schema id only such fields are added as may be ignored without harm; what
//! changes the meaning of the others is a new version. Read strictly are the puzzle itself (a
//! puzzle of which a part was ignored is another puzzle) and the pace of the mouse.
//!
//! So structs and variants with fields may grow: they are `#[non_exhaustive]`, and are made with `new`, `of` and the
//! `with_…` methods. Their fields are public, to read and to set. Enums do not grow within a version: no reader would
//! know the new variant.
//!
//! What is read strictly is exhaustive too, and has constructors as well: [`Terminal`](crate::Terminal),
//! [`Rules`](crate::Rules), [`Description`](crate::board::Description), [`Flow`](crate::Flow),
//! [`Solution`](crate::Solution), [`Geometry`](crate::Geometry) and [`Pace`]. A new field changes what the others mean,
//! so that it comes with a new version only, and the compiler shows each place that has to consider it.

mod answer;
mod drag;
mod game_rules;
mod outcome;
mod profile;
mod sighting;
mod strokes;
mod tagged;

use schemars::{Schema, schema_for};

pub use flowpipe_message::{FRAME, FrameNote};

pub use answer::{Count, Draw, Effort, Solved, Verdict, Want};
pub use game_rules::GameRules;
pub use outcome::{BoardResult, Outcome, StrokeOutcome};
pub use profile::{GameNeeds, Hold, Manner, Pace, Profile, Stops, StrokeEnd};
pub use sighting::{BoardState, Reading, SeenBoard, Sighting, StepTime};
pub use strokes::{Stroke, Strokes};

/// Schema id of [`Sighting`].
pub const SIGHTING: &str = "flowpipe.sighting/1";
/// Schema id of [`Solved`].
pub const SOLVED: &str = "flowpipe.solved/1";
/// Schema id of [`Strokes`].
pub const STROKES: &str = "flowpipe.strokes/1";
/// Schema id of [`Outcome`].
pub const OUTCOME: &str = "flowpipe.outcome/1";

/// Schema id of [`BoardResult`].
pub const RESULT: &str = "flowpipe.result/1";

/// Schema id of [`GameRules`].
pub const GAME_RULES: &str = "flowpipe.game-rules/1";

/// The plugin that checks these messages before they are sent: outputs name it.
pub const CHECK: &str = "check-flowfree";

/// Whether a stage that emits messages of this schema works on boards. Outcomes do not show it: an actuator that plays
/// gestures of any domain declares an output of them too.
#[must_use]
pub fn concerns_boards(schema: &str) -> bool {
    [SIGHTING, SOLVED, STROKES, RESULT, GAME_RULES].contains(&schema)
}

/// The JSON Schema of each message, by schema id.
#[must_use]
pub fn schemas() -> [(&'static str, Schema); 6] {
    [
        (SIGHTING, schema_for!(Sighting)),
        (SOLVED, schema_for!(Solved)),
        (STROKES, schema_for!(Strokes)),
        (OUTCOME, schema_for!(Outcome)),
        (RESULT, schema_for!(BoardResult)),
        (GAME_RULES, schema_for!(GameRules)),
    ]
}

#[cfg(test)]
mod tests;
