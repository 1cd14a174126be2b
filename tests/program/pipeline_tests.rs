//! `flowpipe test`: the tests in pipeline files, ours and those that fail.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use flowpipe_tests::{built, pipeline, project, record, run};
use serde_json::Value;

/// The pipelines that come with the program, and the examples that use its plugins.
fn ours() -> Vec<String> {
    let mut files: Vec<PathBuf> = Vec::new();
    for folder in [
        "pipelines",
        "examples",
        "examples/pictures",
        "examples/readings",
        "examples/sound",
    ] {
        let entries = std::fs::read_dir(project().join(folder)).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        files.extend(paths.filter(|path| path.extension().is_some_and(|it| it == "toml")));
    }
    files.sort();
    let relative = files
        .iter()
        .map(|path| path.strip_prefix(project()).unwrap());
    relative.map(|path| path.display().to_string()).collect()
}

/// They have a source and a sink alone, which tests do not start.
const WITHOUT_TESTS: [&str; 1] = ["examples/readings/copy.toml"];

/// What was printed, without the times that tests took.
fn without_times(printed: &str) -> String {
    let line = |line: &str| match line.strip_suffix(" ms") {
        Some(rest) => rest
            .trim_end_matches(|it: char| it.is_ascii_digit())
            .trim_end()
            .to_owned(),
        None => line.to_owned(),
    };
    printed.lines().map(|it| line(it) + "\n").collect()
}

fn snapshot(name: &str, folder: &Path, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../snapshots");
    settings.set_prepend_module_to_snapshot(true);
    let text = text.replace(&folder.display().to_string(), "FOLDER");
    let text = text.replace(&built().display().to_string(), "BUILT");
    settings.bind(|| insta::assert_snapshot!(name, text));
}

/// A source of readings, and `rest`.
fn readings(rest: &str) -> String {
    format!(
        "[stages.in]\nplugin = \"source-jsonl\"\nconfig = {{ stdin = true, schema = \"x.a/1\" }}\n{rest}"
    )
}

/// A pipeline of one stage behind a source, with one test of it.
fn one_stage(stage: &str, test: &str) -> String {
    readings(&format!(
        "[stages.one]\nfrom = \"in\"\n{stage}\n[[tests]]\nname = \"it\"\nstart = \"one\"\n{test}\n"
    ))
}

#[test]
fn the_tests_of_all_our_pipelines_pass_and_give_the_same_each_time() {
    let files = ours();
    let mut args = vec!["test"];
    args.extend(files.iter().map(String::as_str));
    let first = run(&args).expect(0);
    for file in files
        .iter()
        .filter(|file| !WITHOUT_TESTS.contains(&file.as_str()))
    {
        assert!(
            !first.stdout.contains(&format!("{file}: no tests")),
            "{first:#?}"
        );
    }
    let last = first.stdout.lines().last().unwrap();
    let passed: u32 = last.split(' ').next().unwrap().parse().unwrap();
    assert!(passed >= 15, "{last}");
    assert_eq!(last, format!("{passed} tests: {passed} passed, 0 failed"));
    let second = run(&args).expect(0);
    assert_eq!(without_times(&first.stdout), without_times(&second.stdout));
}

/// Each kind of failure, with the place of what is expected.
const FAILING: &str = r#"
[stages.warm]
plugin = "filter"
from = "in"
config = { jq = ".celsius > 10" }
on_error = "skip"

[stages.kelvin]
plugin = "map"
from = "warm"
config = { jq = "{ sensor, kelvin: (.celsius + 273.15) }", schema = "x.b/1" }
on_error = "skip"

[[tests]]
name = "it passes"
start = "warm"
inputs = { json = { sensor = "a", celsius = 20 }, schema = "x.a/1" }
outputs = { from = "kelvin", expect = { equal = { sensor = "a", kelvin = 293.15 } } }

[[tests]]
name = "a value differs"
start = "warm"
inputs = { json = { sensor = "a", celsius = 20 }, schema = "x.a/1" }
outputs = [
    { from = "kelvin", expect = { equal = { sensor = "b", kelvin = 293.15 } } },
    { from = "kelvin", expect = { contains = { kelvin = { value = 1 } } } },
    { from = "kelvin", expect = { equal = { sensor = "a" } } },
    { from = "kelvin", expect = { jq = ".kelvin < 100" } },
    { from = "kelvin", expect = { jq = "error(\"no\")" } },
    { from = "kelvin", expect = { contains = { kelvin = 293.15 } }, count = 1 },
]

[[tests]]
name = "too many and too few"
start = "warm"
inputs = [
    { json = { celsius = 20 }, schema = "x.a/1" },
    { json = { celsius = 30 }, schema = "x.a/1" },
    { json = { celsius = 1 }, schema = "x.a/1" },
]
outputs = [
    { from = "warm", expect = "nothing" },
    { from = "warm", count = 3 },
    { from = "warm", expect = [{ jq = "true" }] },
    { from = "kelvin", expect = [{ jq = "true" }, { jq = "true" }, { jq = "true" }] },
]

[[tests]]
name = "a stage fails"
start = "kelvin"
inputs = { json = { celsius = "hot" }, schema = "x.a/1" }
outputs = { from = "kelvin", expect = "nothing" }

[[tests]]
name = "a stage does not fail so"
start = "kelvin"
inputs = { json = { celsius = "hot" }, schema = "x.a/1" }
outputs = { from = "kelvin", error = "another reason" }

[[tests]]
name = "a stage fails as expected"
start = "kelvin"
inputs = { json = { celsius = "hot" }, schema = "x.a/1" }
outputs = { from = "kelvin", expect = "nothing", error = "cannot calculate" }

[[tests]]
name = "files that are not there, or wrong"
start = "warm"
inputs = [
    { file = "none.jsonl", schema = "x.a/1" },
    { file = "wrong.jsonl", schema = "x.a/1" },
    { recording = "wrong.jsonl" },
    { file = "/dev/zero", schema = "x.a/1" },
]
outputs = { from = "warm", count = 0 }
"#;

#[test]
fn failures_name_the_place_and_the_difference() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("wrong.jsonl"),
        "{\"celsius\":1}\n{\"a\" 2}\n",
    )
    .unwrap();
    let file = pipeline(folder.path(), &readings(FAILING));
    let ran = run(&["test", &file]).expect(1);
    assert_eq!(ran.stderr, "");
    snapshot("failures", folder.path(), &without_times(&ran.stdout));

    let lines = run(&["test", "--json", "--filter", "a value", &file]).expect(1);
    let result: Value = serde_json::from_str(&lines.stdout).unwrap();
    assert_eq!(result["test"], "a value differs");
    assert_eq!(result["passed"], false);
    let first = &result["failures"][0];
    assert_eq!(first["path"], ".sensor");
    assert_eq!(
        (&first["expected"], &first["found"]),
        (&"b".into(), &"a".into())
    );
    assert!(
        first["line"].is_u64() && first["column"].is_u64(),
        "{first}"
    );

    let passing = run(&[
        "test",
        &file,
        "--filter",
        "it passes",
        "--filter",
        "as expected",
    ]);
    let last = passing.expect(0).stdout;
    assert!(
        last.ends_with("2 tests: 2 passed, 0 failed, 5 left out\n"),
        "{last}"
    );
    let none = run(&["test", &file, "--filter", "no such test"]).expect(2);
    assert!(
        none.stderr.contains("none of 7 tests has such a name"),
        "{none:#?}"
    );
}

/// What a test must not do, with a part of the error.
#[test]
fn wrong_tests_are_errors_of_check_and_test_and_none_of_run() {
    let folder = tempfile::tempdir().unwrap();
    let test = "inputs = { json = {}, schema = \"x.a/1\" }\noutputs = { from = \"one\", expect = { jq = \".a | \" } }";
    let file = pipeline(
        folder.path(),
        &one_stage("plugin = \"filter\"\nconfig = { jq = \".\" }", test),
    );
    for command in ["check", "test"] {
        let ran = run(&[command, &file]).expect(78);
        let at = ":12:43: jq: line 1, column 6: expected";
        assert!(ran.stderr.contains(at), "{ran:#?}");
    }
    run(&["run", &file]).expect(0);
    let record: Value = serde_json::from_str(&run(&["check", "--json", &file]).stdout).unwrap();
    assert_eq!(
        (&record["line"], &record["column"]),
        (&12.into(), &43.into())
    );
    // The other files are tested all the same.
    let both = run(&["test", &file, "examples/readings/hot.toml", "none.toml"]).expect(78);
    assert!(
        both.stdout.ends_with("3 tests: 3 passed, 0 failed\n"),
        "{both:#?}"
    );
    run(&["test", "none.toml"]).expect(2);
}

#[test]
fn stages_that_wait_take_no_time() {
    let folder = tempfile::tempdir().unwrap();
    let throttle = "plugin = \"throttle\"\n\
         config = { messages = 1, within_ms = 3_600_000, when_exceeded = \"wait\" }";
    // Each message comes an hour after the one before it, when the batch of that is old.
    let batch = "[stages.batches]\nplugin = \"batch\"\nfrom = \"one\"\n\
         config = { schema = \"x.b/1\", within_ms = 3_000_000 }";
    let test = "inputs = [\n\
         { json = 1, schema = \"x.a/1\" },\n\
         { json = 2, schema = \"x.a/1\" },\n\
         { json = 3, schema = \"x.a/1\", after = \"2h\" },\n]\n\
         outputs = [{ from = \"batches\", expect = [{ equal = [1] }, { equal = [2] }, { equal = [3] }] }]";
    let file = pipeline(
        folder.path(),
        &one_stage(&format!("{throttle}\n{batch}"), test),
    );
    run(&["test", &file]).expect(0);
}

#[test]
fn the_messages_of_an_output_are_listed_around_the_first_that_differs() {
    let folder = tempfile::tempdir().unwrap();
    let map = "plugin = \"map\"\nconfig = { jq = '.', schema = \"x.b/1\" }";
    let list = |what: &dyn Fn(usize) -> String, count: usize| {
        (1..=count).map(what).collect::<Vec<_>>().join(",\n")
    };
    let long = "x".repeat(1_000);
    let inputs = list(
        &|number| format!("{{ json = {{ n = {number}, text = \"{long}\" }}, schema = \"x.a/1\" }}"),
        30,
    );
    let expected = list(
        &|number| {
            format!(
                "{{ contains = {{ n = {} }} }}",
                number + usize::from(number == 5)
            )
        },
        25,
    );
    let test = format!(
        "inputs = [{inputs}]\noutputs = [{{ from = \"one\", expect = [{expected}], count = 31 }}]"
    );
    let file = pipeline(folder.path(), &one_stage(map, &test));
    let ran = run(&["test", &file]).expect(1);
    let lines: Vec<_> = ran.stdout.lines().map(str::trim).collect();
    let first = lines.iter().position(|it| it.starts_with("3  ")).unwrap();
    assert!(lines[first].len() < 300, "{ran:#?}");
    assert!(lines[first].ends_with('…'), "{ran:#?}");
    assert_eq!(lines[first + 2], "-   5  contains {\"n\":6}");
    assert!(lines[first + 3].starts_with("+   5  {\"n\":5,"), "{ran:#?}");
    assert!(lines[first + 4].starts_with("6  {"), "{ran:#?}");
    assert_eq!(lines[first + 11], "… and 18 more messages");

    let json = run(&["test", "--json", &file]).expect(1);
    let result: Value = serde_json::from_str(&json.stdout).unwrap();
    let failures = result["failures"].as_array().unwrap();
    let messages = &failures.last().unwrap()["messages"];
    assert_eq!(messages["listed"][2]["number"], 5);
    assert_eq!(messages["listed"][2]["passed"], false);
    assert_eq!(messages["more"], 18);
    assert!(failures[0].get("messages").is_none(), "{result}");
}

#[test]
fn no_test_runs_what_acts_outside_of_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let command = "plugin = \"exec\"\nconfig = { command = [\"touch\", \"made\"] }";
    let test =
        "inputs = { json = {}, schema = \"x.a/1\" }\noutputs = { from = \"one\", count = 0 }";
    let file = pipeline(folder.path(), &one_stage(command, test));
    let ran = run(&["test", &file]).expect(78);
    assert!(
        ran.stderr.contains("this test would run `one`, which runs"),
        "{ran:#?}"
    );
    assert!(
        ran.stderr.contains("allow = [\"runs-commands\"]"),
        "{ran:#?}"
    );
    assert!(!folder.path().join("made").exists());

    let live = std::fs::read_to_string(project().join("pipelines/live.toml")).unwrap();
    for (line, effect) in [
        ("without = [\"mouse\"]\n", "`mouse`, which drives the mouse"),
        (
            "config.referee.remember = false",
            "`referee`, which reads what is known of games",
        ),
    ] {
        assert!(live.contains(line));
        let file = pipeline(folder.path(), &live.replace(line, ""));
        let ran = run(&["test", &file]).expect(78);
        assert!(ran.stderr.contains(effect), "{ran:#?}");
    }
}

#[test]
fn a_test_has_bounded_time_and_memory() {
    let folder = tempfile::tempdir().unwrap();
    let deep = format!("{}1{}\n", "[".repeat(100_000), "]".repeat(100_000));
    std::fs::write(folder.path().join("deep.jsonl"), deep).unwrap();
    let long = format!("\"{}\"\n", "x".repeat(2 << 20));
    std::fs::write(folder.path().join("long.jsonl"), long).unwrap();
    std::fs::write(
        folder.path().join("wait.py"),
        "import time\ntime.sleep(60)\n",
    )
    .unwrap();
    let map =
        |jq: &str| format!("plugin = \"map\"\nconfig = {{ jq = '{jq}', schema = \"x.b/1\" }}");
    let json = "inputs = { json = {}, schema = \"x.a/1\" }";
    let file = |name: &str| format!("inputs = {{ file = \"{name}\", schema = \"x.a/1\" }}");
    // The machine may be busy.
    let patience = "timeout = \"1m\"";
    let count = "outputs = { from = \"one\", count = 1 }";
    let anything = format!("{patience}\n{count}");
    let waits = "plugin = \"exec\"\nconfig = { command = [\"python3\", \"wait.py\"] }".to_owned();
    let condition =
        "outputs = { from = \"one\", expect = { jq = \"[range(1e12)]\" } }\ntimeout = \"1m\"";
    for (stage, test, why) in [
        (
            map("[range(1e12)]"),
            format!("{json}\n{anything}"),
            "went through more than 1,000,000",
        ),
        (
            map("."),
            format!("{json}\n{condition}"),
            "went through more than 1,000,000",
        ),
        (
            map("."),
            format!("{}\n{anything}", file("deep.jsonl")),
            "nested more than 128 levels",
        ),
        (
            map("."),
            format!("{}\n{anything}", file("long.jsonl")),
            "long.jsonl",
        ),
        (
            waits,
            format!("{json}\n{count}\nallow = [\"runs-commands\"]\ntimeout = \"300ms\""),
            "it was not done after 300ms",
        ),
    ] {
        let file = pipeline(folder.path(), &one_stage(&stage, &test));
        let began = Instant::now();
        let ran = run(&["test", &file]).expect(1);
        assert!(ran.stdout.contains(why), "{stage}: {ran:#?}");
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "{stage}: {ran:#?}"
        );
    }
    // A loop of messages that become more and more.
    let loops = "[stages.both]\nplugin = \"map\"\nfrom = [\"in\", { stage = \"both\", queue = { when_full = \"latest\" } }]\n\
                 config = { jq = \"., .\", schema = \"x.a/1\" }\n\
                 [[tests]]\nname = \"it\"\nstart = \"both\"\ninputs = { json = {}, schema = \"x.a/1\" }\n\
                 outputs = { from = \"end\", count = 1 }\n\
                 [stages.end]\nplugin = \"filter\"\nfrom = \"both\"\nconfig = { jq = \".\" }\n";
    let file = pipeline(folder.path(), &readings(loops));
    let ran = run(&["test", &file]).expect(1);
    let too_much = ran.stdout.contains("emitted more than 100,000 messages");
    assert!(
        too_much || ran.stdout.contains("was not done after"),
        "{ran:#?}"
    );
}

#[test]
fn failures_without_end_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let lines: String = (0..1500).map(|it| format!("{it}\n")).collect();
    std::fs::write(folder.path().join("many.jsonl"), lines).unwrap();
    let many = "inputs = { file = \"many.jsonl\", schema = \"x.a/1\" }\n\
                outputs = { from = \"one\", count = 0 }\ntimeout = \"1m\"";
    for (jq, shown, rest) in [
        // Each fails in its own way.
        (
            "error(\"no \" + tostring)",
            10,
            Some("and 1490 more failures"),
        ),
        ("error(\"no\")", 1, None),
    ] {
        let stage = format!(
            "plugin = \"map\"\non_error = \"skip\"\nconfig = {{ jq = '{jq}', schema = \"x.b/1\" }}"
        );
        let file = pipeline(folder.path(), &one_stage(&stage, many));
        let ran = run(&["test", &file]).expect(1);
        assert_eq!(ran.stdout.matches("one failed").count(), shown, "{ran:#?}");
        match rest {
            Some(rest) => assert!(ran.stdout.contains(rest), "{ran:#?}"),
            None => assert!(ran.stdout.contains("one failed 1500 times"), "{ran:#?}"),
        }
    }
}

#[test]
fn messages_of_a_recording_and_pictures_enter_as_from_their_stage() {
    let folder = tempfile::tempdir().unwrap();
    record(folder.path(), "run.mcap", "pipelines/replay.toml");
    std::fs::write(folder.path().join("broken.png"), "no picture").unwrap();
    let stages = std::fs::read_to_string(project().join("pipelines/replay.toml")).unwrap();
    let (stages, _) = stages.split_once("[[tests]]").unwrap();
    let tests = r#"
[[tests]]
name = "what vision has read is solved again"
timeout = "1m"                            # the machine may be busy
start = "solver"
inputs = { recording = "run.mcap" }
outputs = { from = "actuator", count = 11 }

[[tests]]
name = "the recorded frames are read again"
timeout = "1m"                            # the machine may be busy
start = "vision"
inputs = { recording = "run.mcap", output = "frames" }
outputs = { from = "solver", count = 11 }

[[tests]]
name = "it is no picture"
start = "vision"
inputs = { pictures = "broken.png" }
outputs = { from = "vision", expect = "nothing" }

[[tests]]
name = "no such message passes the checks"
start = "solver"
inputs = { json = { reading = 1 } }
outputs = { from = "solver", expect = "nothing" }
"#;
    let file = pipeline(folder.path(), &format!("{stages}{tests}"));
    let ran = run(&["test", &file]).expect(1);
    assert!(
        ran.stdout.ends_with("4 tests: 2 passed, 2 failed\n"),
        "{ran:#?}"
    );
    assert!(
        ran.stdout.contains("this input can't be read: "),
        "{ran:#?}"
    );
    let refused = "this message is refused: it does not pass the checks: not a flowpipe.sighting/1";
    assert!(ran.stdout.contains(refused), "{ran:#?}");
}

/// Plugins that race are called in their order, until one has won.
#[test]
fn the_first_that_answers_wins_a_race() {
    let folder = tempfile::tempdir().unwrap();
    let replay = std::fs::read_to_string(project().join("pipelines/replay.toml")).unwrap();
    let race = replay.replace(
        "plugin = \"solver-search\"",
        "plugin = [\"solver-batsat\", \"solver-search\"]",
    );
    assert_ne!(race, replay);
    let frames = project().join("pipelines").display().to_string();
    let race = race.replace("\"frames/desktop", &format!("\"{frames}/frames/desktop"));
    let race = race.replace("\"no-board", &format!("\"{frames}/no-board"));
    let answer = "answer.verdict = \"solution\"";
    let race = race.replace(
        "{ verdict = \"solution\", unique = true }",
        "{ verdict = \"solution\" }",
    );
    let more = format!(
        "\n[[tests]]\nname = \"who answers\"\nstart = \"vision\"\n\
         inputs = {{ pictures = \"{frames}/frames/desktop-5x5-02.png\" }}\n\
         outputs = {{ from = \"solver\", expect = {{ contains = {{ solver = \"solver-batsat\", {answer} }} }} }}\n"
    );
    let file = pipeline(folder.path(), &format!("{race}{more}"));
    let ran = run(&["test", &file]).expect(0);
    assert!(
        ran.stdout.ends_with("4 tests: 4 passed, 0 failed\n"),
        "{ran:#?}"
    );
}

#[test]
fn relative_paths_start_at_the_pipeline_s_folder() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.jsonl"), "1\n2\n").unwrap();
    let test = "inputs = { file = \"a.jsonl\", schema = \"x.a/1\" }\noutputs = { from = \"one\", expect = [{ equal = 1 }, { equal = 2 }] }";
    let stage = "plugin = \"filter\"\nconfig = { jq = \"true\" }";
    let file = pipeline(folder.path(), &one_stage(stage, test));
    run(&["test", &file]).expect(0);
}
