//! Stages in processes of their own, in the real program.
mod confined;
#[cfg(target_os = "linux")]
mod ends;
mod failures;
mod printed;
mod recorded;

use std::path::Path;

use flowpipe_tests::{changed, pipeline, run};

/// Puzzles, a stage apart that does wrong at the third of every three, a solver.
pub fn misbehaving(folder: &Path, how: &str, settings: &str) -> String {
    let puzzles = "AB\\nAB\\n\\n".repeat(8);
    let text = format!(
        "[stages.puzzles]
plugin = \"capture-puzzles\"
config = {{ text = \"{puzzles}\" }}

[stages.wrong]
plugin = \"misbehaving\"
from = \"puzzles\"
isolation = \"process\"
config = {{ how = \"{how}\", every = 3 }}
{settings}

[stages.solver]
plugin = \"solver-varisat\"
from = \"wrong\"
"
    );
    pipeline(folder, &text)
}

/// `pipelines/replay.toml` with these stages apart.
fn apart(text: &str, stages: &[&str]) -> String {
    stages.iter().fold(text.to_owned(), |text, stage| {
        let head = format!("[stages.{stage}]\n");
        assert!(text.contains(&head), "{text}");
        text.replace(&head, &format!("{head}isolation = \"process\"\n"))
    })
}

#[test]
fn whoever_runs_apart_the_boards_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let all = ["frames", "vision", "solver", "planner", "actuator"];
    let here = run(&["run", "--json", "pipelines/replay.toml"])
        .expect(0)
        .json()["boards"]
        .clone();
    assert!(here["accepted"].as_u64().unwrap() > 0, "{here:#}");
    for stages in [&["vision"][..], &["frames"], &all] {
        let file = changed(folder.path(), |text| apart(&text, stages));
        let ran = run(&["run", "--json", &file.display().to_string()]).expect(0);
        assert_eq!(ran.json()["boards"], here, "{stages:?}");
        assert_eq!(ran.json()["report"]["frames"]["live"], 0);
        assert_eq!(ran.json()["report"]["problems"], serde_json::json!([]));
    }
}

#[test]
fn mistakes_are_reported_with_their_place() {
    let folder = tempfile::tempdir().unwrap();
    let file = misbehaving(
        folder.path(),
        "abort",
        "restart = { max = 0, backof = \"1s\" }",
    );
    let text = std::fs::read_to_string(&file)
        .unwrap()
        .replace("\"process\"", "\"proces\"");
    std::fs::write(&file, text).unwrap();
    let ran = run(&["check", &file]).expect(78);
    for part in [
        ":8:13",
        "`isolation` can't be \"proces\"",
        "process",
        ":10:19",
        "a stage is restarted 1 to",
        ":10:22",
        "unknown key `backof`",
    ] {
        assert!(ran.stderr.contains(part), "no {part:?} in {}", ran.stderr);
    }
}
