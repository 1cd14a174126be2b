//! A domain that exists nowhere (`tests/plugins/orchard.rs`) has all of the framework: a race whose answers are checked,
//! workers, a process of its own that crashes, reload, the flight recorder, replay, compare, report, plugin check.

use std::path::Path;

use crate::going::{Going, replace};
use flowpipe_tests::{Ran, built, pipeline};

/// Twelve pictures of 2, 3, 4, 5, 1, 2, … apples: two baskets are full.
const APPLES: usize = 35;

/// The pipeline, with more keys of the sorter and of the scale.
fn orchard(camera: &str, sorter: &str, scale: &str) -> String {
    format!(
        "name = \"orchard\"\n\
         [stages.camera]\nplugin = \"orchard-camera\"\nconfig = {{ {camera} }}\n\
         [stages.eye]\nplugin = \"orchard-eye\"\nfrom = \"camera\"\nworkers = 2\n\
         [stages.sorter]\nfrom = \"eye\"\n{sorter}\n\
         [stages.scale]\nplugin = \"orchard-scale\"\nfrom = \"sorter\"\n{scale}\n"
    )
}

/// Twelve pictures, a race, and a process of its own.
fn usual() -> String {
    let race = "plugin = [\"orchard-hasty-sorter\", \"orchard-sorter\"]\n\
                config = { orchard-sorter = { pause_ms = 5 } }";
    orchard("pictures = 12", race, "isolation = \"process\"")
}

/// The arguments that name the domain's plugins.
fn plugins() -> [String; 2] {
    let (prefix, suffix) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let library = built()
        .join("examples")
        .join(format!("{prefix}orchard{suffix}"));
    ["--plugin-dir".to_owned(), library.display().to_string()]
}

/// Runs the program with the domain's plugins.
#[track_caller]
fn run(args: &[&str]) -> Ran {
    let plugins = plugins();
    flowpipe_tests::run(&[args, &[&*plugins[0], &*plugins[1]]].concat())
}

#[track_caller]
fn has_no_boards(text: &str) {
    for word in ["board", "stroke", "solve", "mouse"] {
        assert!(!text.contains(word), "{word}: {text}");
    }
}

#[test]
fn the_summary_is_that_of_the_domain() {
    let folder = tempfile::tempdir().unwrap();
    let file = pipeline(folder.path(), &usual());
    let ran = run(&["run", &file]).expect(0);
    assert_eq!(ran.stdout.matches("scale: a basket is full").count(), 2);
    assert!(ran.stdout.contains("│ scale   apples"), "{ran:#?}");
    assert!(ran.stdout.contains("workers of eye: 2"), "{ran:#?}");
    has_no_boards(&ran.stdout);
    let last = ran.stdout.trim_end().lines().last().unwrap();
    assert_eq!(last, format!("apples: {APPLES}"));
    // The hasty sorter is the first, and its answers are wrong.
    assert!(
        ran.stdout.contains("orchard-hasty-sorter won 0, failed"),
        "{ran:#?}"
    );
    assert!(
        ran.stdout.contains("orchard-sorter won 12, failed 0"),
        "{ran:#?}"
    );
    let ran = run(&["run", &file, "--json"]).expect(0).json();
    assert_eq!(ran["metrics"][0]["counter"], APPLES, "{ran:#}");
    assert_eq!(ran["metrics"][2]["distribution"]["count"], APPLES);
}

#[test]
fn a_wrong_answer_alone_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let sorter = "plugin = \"orchard-sorter\"\nconfig = { is_wrong = true }\non_error = \"skip\"";
    let file = pipeline(folder.path(), &orchard("pictures = 12", sorter, ""));
    let ran = run(&["run", &file]).expect(0);
    let refused = ran.stderr.matches("apples in the wrong order or place");
    // A basket of one apple is sorted.
    assert_eq!(refused.count(), 10, "{ran:#?}");
}

#[test]
fn a_process_that_crashes_loses_its_message() {
    let folder = tempfile::tempdir().unwrap();
    let scale = "isolation = \"process\"\nconfig = { aborts_at = 5 }\non_error = \"skip\"\n\
                 restart = { max = 8, backoff = \"1ms\" }";
    let sorter = "plugin = \"orchard-sorter\"";
    let file = pipeline(folder.path(), &orchard("pictures = 12", sorter, scale));
    let ran = run(&["run", &file]).expect(0);
    let last = ran.stdout.trim_end().lines().last().unwrap();
    assert_eq!(last, format!("apples: {}", APPLES - 2 * 5), "{ran:#?}");
}

#[test]
fn recordings_replay_and_compare() {
    let folder = tempfile::tempdir().unwrap();
    let file = pipeline(folder.path(), &usual());
    let recording = folder.path().join("orchard.mcap").display().to_string();
    run(&[
        "run",
        &file,
        "-q",
        "--record",
        &recording,
        "--record-lossless",
    ])
    .expect(0);
    let ran = run(&["replay", &recording, "--verify"]).expect(0);
    assert!(ran.stdout.contains("the same, byte for byte"), "{ran:#?}");
    has_no_boards(&ran.stdout);
    let swapped = "sorter=orchard-sorter{is_wrong=true}";
    let ran = run(&["replay", &recording, "--verify", "--swap", swapped]).expect(1);
    assert!(ran.stderr.contains("wrong order or place"), "{ran:#?}");

    let page = folder.path().join("page.html");
    let ran = run(&["report", &recording, "-o", page.to_str().unwrap()]).expect(0);
    has_no_boards(&ran.stdout);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("a basket is full"));

    let same = run(&["compare", &file, &file, &recording]).expect(0);
    has_no_boards(&same.stdout);
    assert!(same.stdout.contains("the same"), "{same:#?}");
    let wrong = "plugin = \"orchard-sorter\"\nconfig = { is_wrong = true }\non_error = \"skip\"";
    let other = folder.path().join("other.toml");
    std::fs::write(&other, orchard("pictures = 12", wrong, "")).unwrap();
    let ran = run(&["compare", &file, other.to_str().unwrap(), &recording]).expect(1);
    assert!(ran.stdout.contains("orchard.basket/1"), "{ran:#?}");
}

#[test]
fn the_flight_recorder_writes_down_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    let sorter = "plugin = \"orchard-sorter\"\nconfig = { is_wrong = true }\non_error = \"skip\"";
    let file = pipeline(folder.path(), &orchard("pictures = 1", sorter, ""));
    let flight = folder.path().join("flight.mcap").display().to_string();
    run(&["run", &file, "--flight", "10s", "--flight-to", &flight]).expect(0);
    let written = |entry: std::io::Result<std::fs::DirEntry>| {
        let path = entry.unwrap().path();
        let is_flight = path.extension().is_some_and(|it| it == "mcap");
        is_flight.then_some(path)
    };
    let files: Vec<_> = std::fs::read_dir(folder.path())
        .unwrap()
        .filter_map(written)
        .collect();
    let [file] = &files[..] else {
        panic!("{files:?}")
    };
    let again: Ran = run(&["replay", file.to_str().unwrap(), "--verify"]).expect(0);
    assert!(again.stderr.contains("wrong order"), "{again:#?}");
}

#[test]
fn a_running_pipeline_is_reloaded() {
    let folder = tempfile::tempdir().unwrap();
    let endless = |sorter: &str| orchard("pictures = 4000000000, pause_ms = 5", sorter, "");
    let file = pipeline(
        folder.path(),
        &endless("plugin = \"orchard-sorter\"\nconfig = { is_wrong = true }\non_error = \"skip\""),
    );
    let [flag, library] = plugins();
    let going = Going::start(&["run", &file, "--watch", &flag, &library]);
    going.wait_for_stderr("wrong order or place");
    replace(
        Path::new(&file),
        &endless("plugin = \"orchard-sorter\"\non_error = \"skip\""),
    );
    going.wait_for_stderr("changed: sorter (config)");
    going.wait_for_stdout("scale: a basket is full", 1);
    let (stdout, _) = going.stop();
    has_no_boards(&stdout);
}

#[test]
fn its_plugins_are_shown_and_checked() {
    let [_, library] = plugins();
    let ran = run(&["plugins"]).expect(0);
    assert!(ran.stdout.contains("check-orchard"), "{ran:#?}");
    let ran = flowpipe_tests::run(&["plugin", "check", &library, "--only", "malformed"]).expect(0);
    assert!(ran.stdout.contains("orchard-hasty-sorter"), "{ran:#?}");
}
