//! Replays of isolated stages give the same messages.

use flowpipe_tests::{changed, pipeline, record, run};
use serde_json::Value;

use super::{apart, misbehaving};

#[test]
fn a_recorded_run_of_stages_apart_is_repeatable() {
    let folder = tempfile::tempdir().unwrap();
    let all = ["frames", "vision", "solver", "planner", "actuator"];
    let file = changed(folder.path(), |text| apart(&text, &all));
    let recording = record(folder.path(), "apart.mcap", &file.display().to_string());
    run(&["replay", &recording, "--verify", "-q"]).expect(0);
}

#[test]
fn a_recorded_crash_is_a_crash_again() {
    let folder = tempfile::tempdir().unwrap();
    let restart = "restart = { max = 3, backoff = \"1ms\" }";
    for (how, limits, isolation) in [
        ("segfault", "", "process"),
        (
            "hang",
            "timeout = \"300ms\"\nwatchdog = \"300ms\"",
            "process",
        ),
        ("fail", restart, "process"),
        ("panic-in-process", restart, "thread"),
    ] {
        let file = misbehaving(folder.path(), how, limits);
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(
            &file,
            text.replace("\"process\"", &format!("\"{isolation}\"")),
        )
        .unwrap();
        let recording = folder
            .path()
            .join(format!("{how}.mcap"))
            .display()
            .to_string();
        run(&["run", &file, "-q", "--record", &recording]).expect(0);
        let ran = run(&["replay", &recording, "--verify", "--json"]).expect(0);
        assert!(
            ran.stdout.contains("\"restarted\":2"),
            "{how}: {}",
            ran.stdout
        );
    }
}

#[test]
fn a_race_apart_is_decided_as_ever() {
    let folder = tempfile::tempdir().unwrap();
    let text = "[stages.puzzles]
plugin = \"capture-puzzles\"
config = { text = \"AB\\nAB\\n\\nABC\\nABC\\n\\nABCD\\nABCD\\n\" }
[stages.solver]
plugin = [\"solver-patient\", \"solver-varisat\"]
from = \"puzzles\"
isolation = \"process\"
";
    let file = pipeline(folder.path(), text);
    let recording = folder.path().join("race.mcap").display().to_string();
    let ran = run(&["run", "--json", "--record", &recording, &file]).expect(0);
    assert_eq!(ran.json()["boards"]["solved"], 3);
    let wins = |json: &Value| {
        let contestants = json["report"]["stages"][1]["contestants"].as_array();
        let wins = contestants.unwrap().iter().map(|it| it["won"].as_u64());
        wins.collect::<Vec<_>>()
    };
    let recorded = wins(&ran.json());
    assert_eq!(recorded.iter().flatten().sum::<u64>(), 3, "{recorded:?}");
    // The loser of a race is cancelled after the same number of polls.
    let ran = run(&["replay", &recording, "--verify", "--json"]).expect(0);
    assert_eq!(wins(&ran.json()), recorded);
    let ran = run(&["replay", &recording, "-q"]).expect(0);
    let first = recorded[0].unwrap();
    let line = format!("race in solver: solver-patient won {first}, failed ");
    assert!(ran.stdout.contains(&line), "no {line:?} in {ran:#?}");
    assert!(!ran.stdout.contains("sat out"), "{ran:#?}");
}
