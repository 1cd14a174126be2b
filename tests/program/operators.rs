//! Pipelines of standard stages alone.

#[cfg(unix)]
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
#[cfg(unix)]
use std::process::Stdio;

#[cfg(unix)]
use flowpipe_tests::flowpipe;
#[cfg(unix)]
use flowpipe_tests::signals::send_signal;
use flowpipe_tests::{pipeline, project, record, run};
use serde_json::{Value, json};

/// The lines that an example writes to standard output.
fn example(name: &str) -> Vec<Value> {
    let file = project().join("examples/readings").join(name);
    let ran = run(&["run", &file.display().to_string()]).expect(0);
    let lines = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    lines.collect()
}

/// A pipeline of a source, one stage and a sink, and what the sink wrote.
fn through(folder: &Path, input: &str, stage: &str) -> Vec<Value> {
    std::fs::write(folder.join("in.jsonl"), input).unwrap();
    let out = folder.join("out.jsonl");
    let _ = std::fs::remove_file(&out);
    run(&["run", &file(folder, stage)]).expect(0);
    let text = std::fs::read_to_string(out).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.collect()
}

fn file(folder: &Path, stage: &str) -> String {
    let text = format!(
        "[stages.in]\nplugin = \"source-jsonl\"\nconfig = {{ path = \"in.jsonl\", schema = \"x.a/1\" }}\n\
         [stages.op]\nfrom = \"in\"\n{stage}\n\
         [stages.out]\nplugin = \"sink-jsonl\"\nfrom = \"op\"\nconfig = {{ path = \"out.jsonl\" }}\n"
    );
    pipeline(folder, &text)
}

#[test]
fn readings_are_filtered_and_mapped() {
    assert_eq!(
        example("hot.toml"),
        [
            json!({ "sensor": "attic", "kelvin": 307.4 }),
            json!({ "sensor": "attic", "kelvin": 308.65 })
        ]
    );
}

#[test]
fn a_replay_runs_expressions_again() {
    let folder = tempfile::tempdir().unwrap();
    let numbers: String = (0..50).map(|number| format!("{number}\n")).collect();
    std::fs::write(folder.path().join("in.jsonl"), numbers).unwrap();
    let stage = "plugin = \"map\"\nconfig = { jq = \"select(. % 2 == 0) | ., -.\" }";
    let recorded = record(folder.path(), "a.mcap", &file(folder.path(), stage));
    let verdict = run(&["replay", &recorded, "--verify", "--json"])
        .expect(0)
        .json()["verdict"]
        .clone();
    assert_eq!(verdict["same"], 50, "{verdict:#}");
    assert_eq!(verdict["differing"], 0, "{verdict:#}");
}

#[test]
fn an_expression_without_an_end_is_ended_by_the_timeout() {
    let folder = tempfile::tempdir().unwrap();
    // Each search in the text takes long, so that no other limit is reached before.
    let stage = "plugin = \"map\"\ntimeout = \"300ms\"\non_error = \"skip\"\n\
                 config = { jq = 'if . == 2 then (\"abc\" * 1000) as $text | \
                 reduce range(100000) as $i (0; if $text | test(\"[a-c]+x\") then . + 1 else . end) else . end' }";
    std::fs::write(folder.path().join("in.jsonl"), "1\n2\n3\n").unwrap();
    let report = run(&["run", &file(folder.path(), stage), "--json"])
        .expect(0)
        .json();
    let problems = &report["report"]["problem_counts"];
    assert_eq!(*problems, json!({ "timed-out": 1 }), "{report:#}");
    let text = std::fs::read_to_string(folder.path().join("out.jsonl")).unwrap();
    assert_eq!(text, "1\n3\n");
}

#[test]
fn an_error_in_an_expression_keeps_the_run_from_starting() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("in.jsonl"), "1\n").unwrap();
    let stage = "plugin = \"filter\"\nconfig = { jq = \".celsius > limit\" }";
    let ran = run(&["run", &file(folder.path(), stage)]).expect(78);
    let why = "jq = \".celsius > limit\": line 1, column 12: there is no filter limit/0";
    assert!(ran.stderr.contains(why), "{ran:#?}");
}

#[test]
fn check_reports_each_error_in_an_expression_at_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let source =
        "[stages.in]\nplugin = \"source-jsonl\"\nconfig = { stdin = true, schema = \"x.a/1\" }\n";
    let rest = r#"
[stages.hot]
plugin = "filter"
from = "in"
config = { jq = ".celsius > limit" }

[stages.other]
plugin = "dedup"
from = "hot"
config = { by = "[", lst = 3 }

[stages.ask]
plugin = "http-request"
from = "other"
[stages.ask.config]
servers = ["http://127.0.0.1:1"]
url = "http://127.0.0.1:1/"
headers = { a = "'", b = ".b" }

[[tests]]
name = "another limit"
start = "hot"
config = { hot = { jq = "limit2" } }
inputs = { schema = "x.a/1", json = 1 }
outputs = { from = "hot", count = 1 }
"#;
    let file = pipeline(folder.path(), &format!("{source}{rest}"));
    for command in ["check", "test"] {
        let ran = run(&[command, &file]).expect(78);
        for part in [
            "jq: line 1, column 12: there is no filter limit/0",
            "pipeline.toml:8:17: ",
            "pipeline.toml:13:17: ",
            // Another error in the same config.
            "pipeline.toml:13:22: ",
            "pipeline.toml:20:7: ",
            "pipeline.toml:21:17: ",
            "pipeline.toml:26:25: jq: line 1, column 1: there is no filter limit2/0",
        ] {
            assert!(ran.stderr.contains(part), "{part}: {ran:#?}");
        }
        assert!(!ran.stderr.contains("pipeline.toml:21:26: "), "{ran:#?}");
    }
}

#[test]
fn readings_are_joined_and_batched() {
    assert_eq!(example("pairs.toml"), [json!([10.5, 11.25])]);
}

#[test]
fn ticks_lose_no_reading_of_a_batch() {
    let sizes = example("ticks.toml");
    let all: u64 = sizes.iter().map(|it| it.as_u64().unwrap()).sum();
    assert_eq!(all, 8, "{sizes:?}");
    // A replay ends the same batches.
    let folder = tempfile::tempdir().unwrap();
    let file = project().join("examples/readings/ticks.toml");
    let recording = record(folder.path(), "run.mcap", &file.display().to_string());
    run(&["replay", &recording, "--verify"]).expect(0);
}

/// A source that stays open sends nothing more: the batch comes all the same.
#[cfg(unix)]
#[test]
fn a_batch_ends_on_time_while_no_message_comes() {
    let folder = tempfile::tempdir().unwrap();
    let text = r#"
[stages.in]
plugin = "source-jsonl"
config = { stdin = true, schema = "x.a/1" }

[stages.clock]
plugin = "source-ticks"
config = { interval_ms = 10 }

[stages.batches]
plugin = "batch"
from = ["in", { stage = "clock", into = "tick" }]
config = { schema = "x.b/1", within_ms = 30 }

[stages.windows]
plugin = "window"
from = ["in", { stage = "clock", into = "tick" }]
config = { schema = "x.w/1", span_ms = 30 }

[stages.out]
plugin = "sink-jsonl"
from = ["batches", "windows"]
config = { stdout = true }
"#;
    let mut program = flowpipe(&["run", &pipeline(folder.path(), text), "--quiet"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = program.stdin.take().unwrap();
    input.write_all(b"7\n").unwrap();
    let mut lines = BufReader::new(program.stdout.take().unwrap()).lines();
    for _ in 0..2 {
        assert_eq!(lines.next().unwrap().unwrap(), "[7]");
    }
    drop(input);
    send_signal("TERM", program.id());
    assert_eq!(program.wait().unwrap().code(), Some(130));
}

#[test]
fn each_operator_works_in_a_pipeline() {
    let folder = tempfile::tempdir().unwrap();
    let numbers: String = (0..6).map(|number| format!("{number}\n")).collect();
    let all = |stage: &str| through(folder.path(), &numbers, stage);
    let numbers = |list: &[u64]| list.iter().map(|number| json!(number)).collect::<Vec<_>>();
    let throttle = "plugin = \"throttle\"\nconfig = { messages = 2, within_ms = 60000 }";
    assert_eq!(all(throttle), numbers(&[0, 1]));
    let sample = "plugin = \"sample\"\nconfig = { every = 3 }";
    assert_eq!(all(sample), numbers(&[0, 3]));
    let dedup = "plugin = \"dedup\"\nconfig = { by = \". % 4\" }";
    assert_eq!(all(dedup), numbers(&[0, 1, 2, 3]));
    let batch = "plugin = \"batch\"\nconfig = { schema = \"x.b/1\", count = 4 }";
    assert_eq!(all(batch), [json!([0, 1, 2, 3]), json!([4, 5])]);
    let window = "plugin = \"window\"\nconfig = { schema = \"x.w/1\", count = 3, step = 2 }";
    assert_eq!(
        all(window),
        [json!([0, 1, 2]), json!([2, 3, 4]), json!([4, 5])]
    );
    // In a process of their own, where they may do nothing to the world.
    if cfg!(target_os = "linux") {
        let confined = format!("{window}\nisolation = \"process\"");
        assert_eq!(all(&confined).len(), 3);
    }
}

/// Stages that read the clock do the same in a replay, in which the messages come at once.
#[test]
fn a_replay_repeats_the_times() {
    let folder = tempfile::tempdir().unwrap();
    let numbers: String = (0..40).map(|number| format!("{number}\n")).collect();
    std::fs::write(folder.path().join("in.jsonl"), numbers).unwrap();
    let text = "[stages.in]\nplugin = \"source-jsonl\"\nconfig = { path = \"in.jsonl\", schema = \"x.a/1\" }\n\
                [stages.slow]\nplugin = \"throttle\"\nfrom = \"in\"\n\
                config = { messages = 1, within_ms = 10, when_exceeded = \"wait\" }\n\
                [stages.few]\nplugin = \"throttle\"\nfrom = \"slow\"\nconfig = { messages = 2, within_ms = 50 }\n\
                [stages.batch]\nplugin = \"batch\"\nfrom = \"slow\"\nconfig = { schema = \"x.b/1\", within_ms = 35 }\n\
                [stages.window]\nplugin = \"window\"\nfrom = \"slow\"\n\
                config = { schema = \"x.w/1\", span_ms = 60, step_ms = 20 }\n\
                [stages.join]\nplugin = \"join\"\n\
                from = [{ stage = \"few\", into = \"left\" }, { stage = \"slow\", into = \"right\" }]\n\
                config = { schema = \"x.j/1\", by = \"time\", tolerance_ms = 5 }\n\
                [stages.out]\nplugin = \"sink-jsonl\"\nfrom = [\"few\", \"batch\", \"window\", \"join\"]\n\
                config = { path = \"out.jsonl\" }\n";
    let recorded = record(folder.path(), "a.mcap", &pipeline(folder.path(), text));
    let verdict = run(&["replay", &recorded, "--verify", "--json"])
        .expect(0)
        .json()["verdict"]
        .clone();
    assert_eq!(verdict["differing"], 0, "{verdict:#}");
    assert!(verdict["same"].as_u64().unwrap() > 60, "{verdict:#}");
}

/// Frames pass through filters, and what descends from the same frame is joined.
#[test]
fn frames_are_filtered_and_joined() {
    let folder = tempfile::tempdir().unwrap();
    let frames = project().join("pipelines/frames").canonicalize().unwrap();
    let text = format!(
        "[stages.frames]\nplugin = \"capture-files\"\nconfig = {{ paths = \"{}\" }}\n\
         [stages.some]\nplugin = \"filter\"\nfrom = \"frames\"\nconfig = {{ jq = '.source | test(\"[13579][.]png$\") | not' }}\n\
         [stages.vision]\nplugin = \"vision-opencv\"\nfrom = \"some\"\n\
         [stages.sizes]\nplugin = \"map\"\nfrom = \"vision\"\n\
         config = {{ jq = \".reading.puzzle.board | select(.) | .rows * .cols\", schema = \"x.size/1\" }}\n\
         [stages.names]\nplugin = \"map\"\nfrom = \"some\"\nconfig = {{ jq = \".source\", schema = \"x.name/1\" }}\n\
         [stages.join]\nplugin = \"join\"\n\
         from = [{{ stage = \"names\", into = \"left\" }}, {{ stage = \"sizes\", into = \"right\" }}]\n\
         config = {{ schema = \"x.j/1\", by = \"frame\" }}\n\
         [stages.out]\nplugin = \"sink-jsonl\"\nfrom = \"join\"\nconfig = {{ path = \"out.jsonl\" }}\n",
        frames.display()
    );
    run(&["run", &pipeline(folder.path(), &text)]).expect(0);
    let out = std::fs::read_to_string(folder.path().join("out.jsonl")).unwrap();
    let pairs: Vec<Value> = out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(!pairs.is_empty());
    for pair in pairs {
        assert!(pair["left"].as_str().unwrap().contains(".png"), "{pair}");
        assert!(pair["right"].as_u64().unwrap() > 0, "{pair}");
    }
}

/// Stages with state, with several inputs, and with clocks.
#[test]
fn the_plugins_pass_their_checks() {
    for (plugin, config) in [
        ("filter", "{ jq = \".a\" }"),
        ("window", "{ schema = \"a.b/1\", span_ms = 1 }"),
        ("join", "{ schema = \"a.b/1\", by = \"key\", key = \".\" }"),
    ] {
        for only in ["malformed", "repeatable", "state"] {
            let args = [
                "plugin", "check", plugin, "--config", config, "--only", only,
            ];
            let ran = run(&args).expect(0);
            assert!(ran.stdout.contains("none failed"), "{plugin}: {ran:#?}");
        }
    }
}
