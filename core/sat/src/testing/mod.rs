//! What every back end must pass. A crate that provides one writes, in its tests,
//! `flowpipe_sat::back_end_tests!(Batsat);`.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "the tests that call this fail then"
)]

pub mod brute_force;
mod checks;
mod corpus;
mod raw;
pub mod samples;

pub use checks::*;
pub use corpus::*;
pub use raw::*;

pub use flowpipe_puzzle::Puzzle;

use crate::{Answer, Encoding, Options, SolveError};

/// [`crate::solve()`] with some back end.
pub type Solve<'s> = &'s dyn Fn(&Puzzle, &Options, &dyn Fn() -> bool) -> Result<Answer, SolveError>;

/// All there are.
pub const ENCODINGS: [Encoding; 4] = [
    Encoding::Best,
    Encoding::Binary,
    Encoding::Edges,
    Encoding::VertexEdge,
];

/// Makes the tests for one back end.
#[macro_export]
macro_rules! back_end_tests {
    ($backend:ident) => {
        fn back_end(
            puzzle: &$crate::testing::Puzzle,
            options: &$crate::Options,
            cancelled: &dyn Fn() -> bool,
        ) -> Result<$crate::Answer, $crate::SolveError> {
            $crate::solve::<$backend<'_>>(puzzle, options, cancelled)
        }

        $crate::back_end_tests!(@one
            agrees_with_brute_force,
            counts_no_further_than_its_limit,
            two_flows_of_a_colour_may_lie_side_by_side,
            a_ring_beside_the_flows_is_no_cover,
            a_ring_beside_the_flows_counts_for_nothing,
            gives_up_when_cancelled,
            solves_every_level_as_it_is_meant,
            solves_numberlink_puzzles
        );

        #[test]
        fn finds_all_models_of_formulas() {
            $crate::testing::finds_all_models_of_formulas(|variables, clauses| {
                $crate::testing::models::<$backend<'static>>(variables, clauses)
            });
        }
    };
    (@one $($name:ident),*) => {$(
        #[test]
        fn $name() {
            $crate::testing::$name(&back_end);
        }
    )*};
}

/// Makes the test of a stage made by [`solver_stage`](crate::solver_stage), in a crate that depends on
/// `flowpipe-plugin` and `serde_json`.
#[macro_export]
macro_rules! stage_tests {
    ($stage:ident) => {
        #[test]
        fn answers_as_its_config_asks() {
            use ::flowpipe_plugin::puzzle::message::{SIGHTING, Sighting};
            use ::serde_json::{Value, from_value, json};

            let sighting = json!({
                "frame": { "source": "test" },
                "reading": {
                    "status": "board",
                    "puzzle": {
                        "board": { "rows": 2, "cols": 2 },
                        "terminals": [{ "cell": 0, "colour": 0 }, { "cell": 3, "colour": 0 }],
                        "rules": { "cover": false, "touch": false },
                    },
                    "geometry": ::flowpipe_plugin::puzzle::Geometry::axis_aligned(0.0, 0.0, 9.0, 9.0, 2, 2),
                    "palette": [[255, 0, 0]],
                    "state": "empty",
                    "confidence": 1.0,
                },
            });
            let sighting: Sighting = from_value(sighting).unwrap();
            let ask = |config: Value| {
                let mut harness = ::flowpipe_plugin::harness!($stage, config).unwrap();
                let emitted = harness.send(0, SIGHTING, &sighting).unwrap();
                emitted[0].body["answer"].clone()
            };
            let one = ask(json!({}));
            assert_eq!((&one["verdict"], &one["unique"]), (&json!("solution"), &Value::Null));
            assert_eq!(ask(json!({ "want": "unique" }))["unique"], false);
            let counted = ask(json!({ "want": "count", "encoding": "binary" }));
            assert_eq!(counted["count"], json!({ "digits": "2" }));
            let listed = ask(json!({ "want": "all", "encoding": "vertex-edge" }));
            assert_eq!(listed["others"].as_array().map(Vec::len), Some(1));
            let limited = ask(json!({ "want": "count", "limit": 1, "encoding": "edges" }));
            assert_eq!(limited["count"], json!({ "digits": "1", "or_more": true }));
            let refused = ::flowpipe_plugin::harness!($stage, json!({ "want": "none" }));
            assert!(refused.is_err());
        }
    };
}
