//! Stages are confined to what they declare, which has to be enough.

use flowpipe_tests::{Ran, changed, pipeline, record, run};

use super::apart;

/// What the stages of a run did: how many messages each took, and that none had a problem.
#[track_caller]
fn without_problems(ran: &Ran) -> Vec<(String, u64)> {
    let report = ran.json();
    assert_eq!(
        report["report"]["problems"],
        serde_json::json!([]),
        "{report:#}"
    );
    let stages = report["report"]["stages"].as_array().unwrap();
    let took = |stage: &serde_json::Value| {
        (
            stage["name"].as_str().unwrap().to_owned(),
            stage["in"].as_u64().unwrap(),
        )
    };
    stages.iter().map(took).collect()
}

/// Each is confined to what it declares, which has to be enough.
#[test]
fn every_solver_solves_apart() {
    let folder = tempfile::tempdir().unwrap();
    let puzzles = folder.path().join("puzzles.txt");
    std::fs::write(&puzzles, "AB\nAB\n\nABC\nABC\n\nABCD\nABCD\n").unwrap();
    let mut text = format!(
        "[stages.puzzles]
plugin = \"capture-puzzles\"
isolation = \"process\"
config = {{ files = [{:?}] }}
",
        puzzles.display().to_string()
    );
    let solvers = [
        "astar",
        "backtrack",
        "batsat",
        "bruteforce",
        "exec",
        "frontier",
        "genetic",
        "search",
        "splr",
        "varisat",
    ];
    for solver in solvers {
        let config = match solver {
            "exec" => "command = [\"python3\", \"examples/solver.py\"]",
            _ => "",
        };
        text += &format!(
            "[stages.{solver}]
plugin = \"solver-{solver}\"
from = \"puzzles\"
isolation = \"process\"
config = {{ {config} }}
"
        );
    }
    let file = pipeline(folder.path(), &text);
    let ran = run(&["run", "--json", &file]).expect(0);
    assert_eq!(ran.json()["boards"]["solved"], 30);
    for (stage, took) in &without_problems(&ran)[1..] {
        assert_eq!(*took, 3, "{stage}");
    }
    assert!(
        !ran.stderr.contains("declares no effects"),
        "{}",
        ran.stderr
    );
}

#[test]
fn every_planner_plans_apart() {
    let folder = tempfile::tempdir().unwrap();
    for planner in ["planner-grid", "planner-corners", "planner-minlink"] {
        let file = changed(folder.path(), |text| {
            apart(&text, &["planner", "actuator"]).replace("planner-minlink", planner)
        });
        let ran = run(&["run", "--json", &file.display().to_string()]).expect(0);
        without_problems(&ran);
        assert!(
            ran.json()["boards"]["accepted"].as_u64().unwrap() > 0,
            "{planner}"
        );
    }
}

#[test]
fn a_stage_apart_writes_where_its_config_allows() {
    let folder = tempfile::tempdir().unwrap();
    let (pictures, steps) = (
        folder.path().join("new/pictures"),
        folder.path().join("steps"),
    );
    let file = changed(folder.path(), |text| {
        let vision = format!(
            "[stages.vision]\nconfig = {{ steps = {:?} }}",
            steps.display().to_string()
        );
        let actuator = format!(
            "config = {{ pictures = {:?} }}\n",
            pictures.display().to_string()
        );
        apart(
            &text.replace("[stages.vision]", &vision),
            &["vision", "actuator"],
        ) + &actuator
    });
    let ran = run(&["run", "--json", &file.display().to_string()]).expect(0);
    without_problems(&ran);
    for folder in [pictures, steps] {
        let written = std::fs::read_dir(&folder).unwrap().count();
        assert!(written > 0, "{}", folder.display());
    }
}

#[test]
fn a_recording_is_read_apart() {
    let folder = tempfile::tempdir().unwrap();
    let recording = record(folder.path(), "a.mcap", "pipelines/replay.toml");
    let text = format!(
        "[stages.recorded]
plugin = \"capture-recording\"
isolation = \"process\"
config = {{ file = {recording:?}, stage = \"frames\" }}

[stages.vision]
plugin = \"vision-opencv\"
from = \"recorded\"
isolation = \"process\"
on_error = \"skip\"
"
    );
    let file = pipeline(folder.path(), &text);
    let ran = run(&["run", "--json", &file]).expect(0);
    assert_eq!(without_problems(&ran)[1], ("vision".to_owned(), 11));
}
