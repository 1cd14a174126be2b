//! `replay`, `compare` and `report` on recordings whose entries were edited: each ends, in bounded memory, without a
//! panic, with an exit code that is documented. `PROPTEST_CASES=500` runs more cases.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use crate::edits::edited;
use crate::entries::Parts;
use flowpipe_tests::bounds::{Bounded, bounded};
use flowpipe_tests::{changed, flowpipe, record};
use proptest::prelude::*;

const MEMORY: u64 = 500_000_000;
/// So long takes nothing that ends, however busy the machine.
const DEADLINE: Duration = Duration::from_secs(120);

/// So many cases unless more are asked for: each runs the program.
const CASES: u32 = 10;

/// Real recordings of a few small boards: one of a race, one of stages in processes of their own.
fn good() -> Vec<Parts> {
    static GOOD: OnceLock<Vec<Parts>> = OnceLock::new();
    let of = |change: &dyn Fn(String) -> String| {
        let folder = tempfile::tempdir().unwrap();
        let pipeline = changed(folder.path(), |ready| {
            assert!(ready.contains("pipelines/frames/*.png"));
            change(ready.replace("frames/*.png", "frames/phone-[56]x*.png"))
        });
        let path = record(folder.path(), "good.mcap", pipeline.to_str().unwrap());
        Parts::read(Path::new(&path))
    };
    let good = GOOD.get_or_init(|| {
        let solver = "plugin = \"solver-search\"";
        let race = "plugin = [\"solver-search\", \"solver-batsat\"]";
        let apart = "plugin = \"planner-minlink\"\nisolation = \"process\"";
        vec![
            of(&|ready| ready.replace(solver, race)),
            of(&|ready| ready.replace("plugin = \"planner-minlink\"", apart)),
        ]
    });
    good.clone()
}

/// What is tried on a recording. In place of the first argument's `FILE` comes the recording, of `PAGE` a file.
const COMMANDS: [&[&str]; 7] = [
    &["replay", "FILE", "--verify", "--json"],
    &["replay", "FILE", "--verify", "--record", "PAGE"],
    &["replay", "FILE", "--from", "planner"],
    &["replay", "FILE", "--swap", "solver=solver-batsat", "-q"],
    &["report", "FILE", "--output", "PAGE"],
    &["messages", "FILE"],
    &[
        "compare",
        "pipelines/replay.toml",
        "pipelines/replay.toml",
        "FILE",
    ],
];

fn attempt(command: &[&str], file: &Path) -> Bounded {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("written").display().to_string();
    let file = file.display().to_string();
    let argument = |argument: &&str| match *argument {
        "FILE" => file.clone(),
        "PAGE" => page.clone(),
        other => other.to_owned(),
    };
    let arguments: Vec<String> = command.iter().map(argument).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    bounded(flowpipe(&arguments), MEMORY, DEADLINE)
}

/// Where a recording is kept that was found to be too much.
fn kept(bytes: &[u8]) -> PathBuf {
    let mut hash = DefaultHasher::new();
    bytes.hash(&mut hash);
    std::env::temp_dir().join(format!("flowpipe-spoiled-{:016x}.mcap", hash.finish()))
}

fn config() -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok();
    let asked = asked.and_then(|cases| cases.parse().ok());
    ProptestConfig {
        cases: asked.unwrap_or(CASES),
        failure_persistence: None,
        // Each step runs the program.
        max_shrink_iters: 30,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn edited_recordings(parts in edited(good()), command in prop::sample::select(COMMANDS.to_vec())) {
        let bytes = parts.write();
        let file = kept(&bytes);
        std::fs::write(&file, &bytes).unwrap();
        let ran = attempt(command, &file);
        // Done, failed or different, bad usage, no answer, bad data, bad config.
        let documented = [0, 1, 2, 4, 65, 78].map(Some).contains(&ran.ran.code);
        let is_orderly = ran.killed.is_none() && documented && !ran.ran.stderr.contains("panicked at");
        prop_assert!(is_orderly, "{} {}: {ran:#?}", command.join(" "), file.display());
        std::fs::remove_file(&file).unwrap();
    }
}

#[test]
fn the_recordings_are_good_ones() {
    for parts in good() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("good.mcap");
        std::fs::write(&file, parts.write()).unwrap();
        for command in COMMANDS {
            let ran = attempt(command, &file).orderly();
            assert_eq!(ran.ran.code, Some(0), "{command:?}: {ran:#?}");
        }
    }
}
