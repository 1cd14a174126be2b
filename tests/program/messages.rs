//! `flowpipe messages`: the messages of a recording, as JSON Lines.

use flowpipe_tests::{Ran, record, run};
use serde_json::Value;

fn lines(ran: &Ran) -> Vec<Value> {
    let lines = ran.stdout.lines();
    lines.map(|it| serde_json::from_str(it).unwrap()).collect()
}

#[test]
fn each_message_is_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = record(folder.path(), "run.mcap", "pipelines/replay.toml");
    let all = lines(&run(&["messages", &file]).expect(0));
    // Eleven frames, and four messages of each.
    let count = |stage: &str| all.iter().filter(|it| it["stage"] == stage).count();
    for stage in ["frames", "vision", "solver", "planner", "actuator"] {
        assert_eq!(count(stage), 11, "{stage}");
    }
    assert_eq!(all.len(), 55);
    let strokes = lines(&run(&["messages", &file, "--stage", "planner"]).expect(0));
    assert_eq!(strokes.len(), 11);
    let (first, last) = (&strokes[0], &strokes[10]);
    assert_eq!(first["schema"], "flowpipe.strokes/1");
    assert_eq!(
        (&first["port"], &first["sequence"]),
        (&"out".into(), &1.into())
    );
    assert_eq!(last["sequence"], 11);
    assert!(first["at_ns"].as_i64() < last["at_ns"].as_i64());
    assert!(first["body"]["strokes"].is_array(), "{first:#}");
    let of = |schema: &str| lines(&run(&["messages", &file, "--schema", schema]).expect(0)).len();
    assert_eq!(of("flowpipe.outcome/1"), 11);
    assert_eq!(of("flowpipe.metrics/1"), 0);
    let two = [
        "--stage",
        "solver",
        "--stage",
        "planner",
        "--schema",
        "flowpipe.solved/1",
    ];
    let solved = run(&[&["messages", file.as_str()][..], &two].concat()).expect(0);
    assert_eq!(lines(&solved).len(), 11);
    let ran = run(&["messages", &file, "--stage", "planer"]).expect(2);
    assert!(
        ran.stderr
            .contains("frames, vision, solver, planner, actuator"),
        "{ran:?}"
    );
}

#[test]
fn what_is_no_recording_is_refused() {
    run(&["messages", "README.md"]).expect(65);
    run(&["messages", "no/such/file"]).expect(2);
}
