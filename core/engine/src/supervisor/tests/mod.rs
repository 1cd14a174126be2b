//! The state machine under random events, and its table.

mod failed_start;
mod messages;
mod observed;
mod race;
mod steps;
mod table;
mod world;

use std::time::Duration;

use flowpipe_config::pipeline::{self, OnError, Restart};
use flowpipe_host::problem::{Problem, ProblemKind};
use proptest::prelude::*;
use steps::{Step, step};
use world::World;

use super::{Policy, Settings, ThreadModel};

/// The stages of a run, and settings that a change gives them.
#[derive(Clone, Debug)]
struct Setup {
    stages: Vec<Settings>,
    others: Vec<Settings>,
    drops: bool,
}

fn settings() -> impl Strategy<Value = Settings> {
    let restart = prop_oneof![
        Just(None),
        (0_u32..4, 0_u64..50).prop_map(|(max, backoff)| Some(Restart {
            max,
            backoff: Duration::from_millis(backoff),
        })),
    ];
    let stage = (
        restart,
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        1_usize..4,
        prop_oneof![Just(1), 1_usize..4],
    );
    stage.prop_map(|(restart, skips, apart, is_source, contestants, workers)| {
        let stage = stage_with(restart, skips, apart);
        Settings {
            policy: Policy::new(&stage),
            is_source: is_source && contestants == 1 && workers == 1,
            threads: match contestants {
                1 => ThreadModel::One,
                _ => ThreadModel::Race,
            },
            workers,
            contestants,
            timeout: None,
            watchdog: stage.watchdog,
        }
    })
}

fn stage_with(restart: Option<Restart>, skips: bool, apart: bool) -> pipeline::Stage {
    pipeline::Stage {
        on_error: match skips {
            true => OnError::Skip,
            false => OnError::Stop,
        },
        restart,
        isolation: match apart {
            true => pipeline::Isolation::Process,
            false => pipeline::Isolation::Thread,
        },
        name: String::new(),
        contestants: Vec::new(),
        timeout: None,
        watchdog: Duration::from_secs(1),
        fresh: false,
        workers: 1,
        ordered: true,
    }
}

/// Runs of pipelines, and one in four is a replay.
fn setup() -> impl Strategy<Value = Setup> {
    let stages = prop::collection::vec(settings(), 1..4);
    let others = prop::collection::vec(settings(), 4);
    (stages, others, any::<bool>(), 0..4).prop_map(|(mut stages, others, drops, kind)| {
        if kind == 0 {
            for stage in &mut stages {
                stage.threads = ThreadModel::Replay;
                stage.policy = Policy::replay(&stage_with(None, true, drops));
            }
        }
        Setup {
            stages,
            others,
            drops,
        }
    })
}

fn problem() -> Problem {
    Problem {
        kind: ProblemKind::Failed,
        stage: String::new(),
        plugin: String::new(),
        message: None,
        text: String::new(),
    }
}

/// Runs, unless `PROPTEST_CASES` gives another number: `./x test full` makes a million events of it.
const RUNS: u32 = 500;
/// The most events of a run.
const MOST_EVENTS: usize = 400;

fn runs() -> ProptestConfig {
    let default = ProptestConfig {
        // In milliseconds. Each attempt to shrink a failure is another run.
        max_shrink_time: 20_000,
        ..ProptestConfig::default()
    };
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => default,
        None => ProptestConfig {
            cases: RUNS,
            ..default
        },
    }
}

proptest! {
    #![proptest_config(runs())]

    /// Every instance is destroyed once or abandoned once, each worker takes from its queue on one thread, every message
    /// has exactly one owner, a stage is closed when no worker of it takes messages any more, nothing is created after the end, no backoff exceeds the bound, no race waits for a contestant that does not
    /// come, and the run ends from every state.
    #[test]
    fn every_instance_is_destroyed_or_abandoned_once(
        setup in setup(),
        steps in prop::collection::vec(step(), 0..MOST_EVENTS),
    ) {
        run(&setup, &steps);
    }
}

/// Runs to the end.
fn run(setup: &Setup, steps: &[Step]) -> World {
    let mut world = World::start(setup);
    for step in steps {
        world.step(step);
    }
    world.end_run();
    world
}
