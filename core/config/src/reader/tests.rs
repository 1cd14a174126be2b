//! Whole files: their pipelines, or their rendered errors.

use std::time::Duration;

use miette::{GraphicalReportHandler, GraphicalTheme};
use proptest::prelude::*;

use super::testing::{Outcome, plugins, samples, snapshot};
use super::*;
use crate::pipeline::{OnError, OnStop, Queue, WhenFull};

mod cases;

/// The errors as the program prints them, without colour.
fn render(text: &str) -> String {
    let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor())
        .with_width(100)
        .with_links(false);
    let errors = match read("dir/pipeline.toml", text, &plugins()) {
        Ok(pipeline) => panic!("no error in:\n{text}\n{pipeline:?}"),
        Err(errors) => errors,
    };
    let mut rendered = String::new();
    for error in &errors {
        handler.render_report(&mut rendered, error).unwrap();
    }
    rendered
}

/// Snapshots the errors of every file of a group. Lines that start with `#::` separate the files.
fn check(name: &str, group: &str) {
    let files = group.split("\n#:: ").skip(1);
    let rendered: Vec<String> = files
        .map(|file| {
            let (title, text) = file.split_once('\n').unwrap();
            format!("# {}\n{}", title.trim(), render(text))
        })
        .collect();
    snapshot!(name, rendered.join("\n"));
}

#[test]
fn a_good_file_becomes_a_pipeline() {
    let (text, _) = samples()[1];
    let pipeline = read("dir/replay.toml", text, &plugins()).unwrap();
    assert_eq!(pipeline.name, "live");
    assert_eq!(pipeline.on_stop, OnStop::Drop);
    let names: Vec<_> = pipeline
        .stages
        .iter()
        .map(|stage| stage.name.as_str())
        .collect();
    assert_eq!(names, ["screen", "vision", "solver", "planner", "actuator"]);
    let screen = &pipeline.stages[0];
    assert_eq!(screen.timeout, Some(Duration::from_secs(2)));
    assert_eq!(screen.on_error, OnError::Skip);
    assert_eq!(screen.watchdog, Duration::from_secs(10));
    assert_eq!(
        screen.contestants[0].config.to_string(),
        r#"{"fps":30.0,"paths":["frames/*.png"]}"#
    );
    assert_eq!(pipeline.stages[1].watchdog, Duration::from_secs(90));
    let solvers: Vec<_> = pipeline.stages[2]
        .contestants
        .iter()
        .map(|c| (c.plugin.as_str(), c.config.clone()))
        .collect();
    assert_eq!(solvers[0].0, "solver-search");
    assert_eq!(solvers[0].1["restart"]["every"], 2);
    assert_eq!(solvers[1], ("solver-varisat", serde_json::json!({})));
    let edges: Vec<_> = pipeline
        .edges
        .iter()
        .map(|e| (e.from.stage, e.to.stage, e.queue))
        .collect();
    let block = Queue::default();
    assert_eq!(
        edges,
        [
            (
                0,
                1,
                Queue {
                    capacity: 1,
                    when_full: WhenFull::DropOldest
                }
            ),
            (
                1,
                2,
                Queue {
                    capacity: 2,
                    when_full: WhenFull::Block
                }
            ),
            (2, 3, block),
            (3, 4, block),
        ]
    );
}

#[test]
fn ports_are_found_by_their_schemas() {
    let (text, _) = samples()[2];
    let pipeline = read("x.toml", text, &plugins()).unwrap();
    let into_referee: Vec<_> = pipeline
        .edges
        .iter()
        .filter(|edge| edge.to.stage == 5)
        .map(|edge| (edge.from.stage, edge.from.port, edge.to.port))
        .collect();
    assert_eq!(into_referee, [(1, 0, 0), (4, 0, 1)]);
    assert_eq!(pipeline.name, "x");
}

#[test]
fn one_of_the_optional_inputs_is_enough() {
    let text =
        "[stages.clicks]\nplugin = 'clicker'\n[stages.mouse]\nplugin = 'player'\nfrom = 'clicks'";
    let pipeline = read("x.toml", text, &plugins()).unwrap();
    let ports: Vec<_> = pipeline.edges.iter().map(|edge| edge.to.port).collect();
    assert_eq!(ports, [0]);
}

#[test]
fn inputs_that_have_to_be_connected_come_before_optional_ones() {
    let reader = plugins().manifest("vision-opencv").unwrap().clone();
    let mut reader = Manifest {
        name: "reader".to_owned(),
        ..reader
    };
    let mut rules = reader.inputs[0].clone();
    (rules.name, rules.optional) = ("rules".to_owned(), true);
    reader.inputs.insert(0, rules);
    let plugins = plugins().with(reader);
    // With the same schema, and with one that fits every input.
    for sender in ["capture-screen", "echo"] {
        let text = format!(
            "[stages.screen]\nplugin = 'capture-screen'\n[stages.sender]\nplugin = '{sender}'\n{}\n\
             [stages.reader]\nplugin = 'reader'\nfrom = 'sender'",
            if sender == "echo" {
                "from = 'screen'"
            } else {
                ""
            },
        );
        let pipeline = read("x.toml", &text, &plugins).unwrap();
        assert_eq!(pipeline.edges.last().unwrap().to.port, 1, "{sender}");
    }
}

#[test]
fn values_reach_the_plugin_as_json() {
    let text = "[stages.s]\nplugin = 'capture-screen'\n[stages.s.config]\na = 0x1F\nb = 1979-05-27\n\
                c = 18446744073709551615\nd = [1.5, { e = true }]";
    let pipeline = read("x.toml", text, &plugins()).unwrap();
    let config = pipeline.stages[0].contestants[0].config.to_string();
    assert_eq!(
        config,
        r#"{"a":31,"b":"1979-05-27","c":18446744073709551615,"d":[1.5,{"e":true}]}"#
    );
}

#[test]
fn distributed_stages_belong_to_the_machine_that_they_receive_from() {
    let text = r#"
        [machines.desk]
        listen = "tcp/127.0.0.1:7447"
        [machines.rack1]
        [machines.rack2]
        listen = "tcp/127.0.0.1:7448"
        [stages.screen]
        plugin = "capture-screen"
        machine = "desk"
        [stages.vision]
        plugin = "vision-opencv"
        from = "screen"
        machines = ["rack2", "rack1"]
        workers = 2
        [stages.first]
        plugin = "echo"
        from = [{ stage = "second", queue = { when_full = "latest" } }, "vision"]
        machines = ["desk", "rack2"]
        [stages.second]
        plugin = "echo"
        from = "first"
        machine = "rack2"
        [stages.third]
        plugin = "echo"
        from = "second"
        machines = ["rack1"]
    "#;
    let pipeline = read("x.toml", text, &plugins()).unwrap();
    let machines = &pipeline.machines;
    // Of several, the first one in `from`, which has to be resolved first.
    assert_eq!(machines.of_stages, [0, 0, 2, 2, 2]);
    assert_eq!(machines.workers(1), Some(&[2, 2, 1, 1][..]));
    assert_eq!(machines.workers(2), Some(&[0, 2][..]));
    assert_eq!(machines.workers(3), None);
    let workers: Vec<_> = pipeline.stages.iter().map(|it| it.workers).collect();
    assert_eq!(workers, [1, 4, 2, 1, 1]);
    let links = machines.links(pipeline.edges.iter().copied());
    assert_eq!(links, [(0, 1), (0, 2), (1, 2)].into());
}

#[test]
fn of_two_machines_the_longer_time_for_a_connection_counts() {
    let file = |time: &str| {
        let stage = |name: &str, rest: &str| {
            format!("[stages.{name}]\nmachine = \"{name}\"\nplugin = {rest}\n")
        };
        [
            "[machines.a]\nlisten = \"tcp/127.0.0.1:7447\"\n".to_owned(),
            format!(
                "[machines.b]\nreconnect_timeout = \"{time}\"\n[machines.c]\nreconnect_timeout = \"1s\"\n"
            ),
            stage("a", "\"capture-screen\""),
            stage("b", "\"vision-opencv\"\nfrom = \"a\""),
            stage("c", "\"vision-opencv\"\nfrom = \"a\""),
        ]
        .concat()
    };
    for (time, of_both) in [
        ("1s", Duration::from_secs(10)),
        ("9s999ms", Duration::from_secs(10)),
        ("10s1ms", Duration::from_millis(10_001)),
        ("24h", Duration::from_secs(24 * 60 * 60)),
    ] {
        let machines = read("x.toml", &file(time), &plugins()).unwrap().machines;
        assert_eq!(machines.reconnect_timeout(0, 1), of_both, "{time}");
        assert_eq!(machines.reconnect_timeout(1, 0), of_both, "{time}");
        // The default is longer than what the other one has.
        assert_eq!(machines.reconnect_timeout(0, 2), Duration::from_secs(10));
    }
    for (time, why) in [
        ("0s", "\"0s\" is no duration: it must be longer than zero"),
        (
            "999ms",
            "a broken connection is waited for at least a second",
        ),
        (
            "24h1ms",
            "\"24h1ms\" is no duration: it must not be longer than 24h",
        ),
    ] {
        let errors = read("x.toml", &file(time), &plugins()).unwrap_err();
        let errors: Vec<_> = errors.iter().map(ToString::to_string).collect();
        let expected = format!("x.toml:4:21: {why}");
        assert!(errors[0].starts_with(&expected), "{errors:?}");
        assert_eq!(errors.len(), 1, "{errors:?}");
    }
}

#[test]
fn errors_in_groups() {
    check("syntax", cases::SYNTAX);
    check("keys_and_values", cases::KEYS_AND_VALUES);
    check("plugins", cases::PLUGINS);
    check("wiring", cases::WIRING);
    check("cycles", cases::CYCLES);
    check("machines", cases::MACHINES);
    check("plugin_config", cases::PLUGIN_CONFIG);
}

#[test]
fn every_error_in_one_pass() {
    let text = include_str!("testing/everything_wrong.toml");
    snapshot!("everything_wrong", render(text));
}

#[test]
fn errors_for_machines() {
    let text = "[stages.a]\r\nplugin = \"capture-screen\"\r\n\ttimeout = 2\r\n";
    let errors = read("dir/x.toml", text, &plugins()).unwrap_err();
    assert_eq!(
        serde_json::to_value(errors[0].record()).unwrap(),
        serde_json::json!({
            "file": "dir/x.toml", "line": 3, "column": 12,
            "message": "`timeout` must be a duration in quotes, not an integer",
            "help": "add a unit: \"2s\", \"250ms\", \"1m30s\"",
        })
    );
    assert!(
        errors[0]
            .to_string()
            .starts_with("dir/x.toml:3:12: `timeout` must be")
    );
}

#[test]
fn places_are_right_in_odd_files() {
    for (text, line, column) in [
        (
            "\u{feff}nam = 1\n[stages.a]\nplugin = 'capture-screen'",
            1,
            1,
        ),
        ("[stages.a]\r\nplugin = 'capture-screen'\r\n\tfoo = 1", 3, 2),
        (
            "name = 'ÄÖ🎲'\n[stages.a]\nplugin = 'capture-screen'\nconfig = { 'ö' = 1, window = 1 }",
            4,
            30,
        ),
        ("[stages.a]\nplugin = 'capture-screen'\nconfig = {", 3, 10),
        (
            "[stages.a]\nplugin = 'capture-screen'\nconfig = {\n\n\n",
            3,
            10,
        ),
        ("", 1, 1),
        ("\n\n", 1, 1),
    ] {
        let errors = read("x.toml", text, &plugins()).unwrap_err();
        assert_eq!(
            errors[0].position(),
            Position { line, column },
            "{text:?}: {errors:?}"
        );
        // miette computes the same position.
        let header = format!("[{line}:{column}]");
        let rendered = render(text);
        assert!(
            !rendered.contains("─[") || rendered.contains(&header),
            "{rendered}"
        );
    }
}

#[test]
fn terminal_escapes_are_not_passed_on() {
    let rendered = render("\"\\u001b[31mred\" = \"\u{1b}[31m\"\n");
    assert!(!rendered.contains('\u{1b}'), "{rendered:?}");
}

#[test]
fn a_stage_name_has_a_longest_length() {
    let file = |length| {
        let name = "n".repeat(length);
        format!("[stages.{name}]\nplugin = \"capture-screen\"\n")
    };
    assert!(read("p.toml", &file(128), &plugins()).is_ok());
    let refused = render(&file(129));
    assert!(refused.contains("at most 128 bytes"), "{refused}");
}

#[test]
fn large_files_are_refused() {
    let text = "#".repeat(problem::MAX_BYTES + 1);
    let errors = read("x.toml", &text, &plugins()).unwrap_err();
    assert!(matches!(errors[0].problem(), Problem::TooLarge));
    let stages: String = (0..257).map(|n| format!("[stages.s{n}]\n")).collect();
    let errors = read("x.toml", &stages, &plugins()).unwrap_err();
    assert!(matches!(
        errors[0].problem(),
        Problem::TooManyStages { found: 257 }
    ));
}

/// Checks the invariants of every text.
fn check_invariants(text: &str) {
    let Err(errors) = read("x.toml", text, &plugins()) else {
        return;
    };
    assert!(!errors.is_empty());
    for error in &errors {
        assert!(
            text.get(error.span()).is_some(),
            "{:?} of {text:?}",
            error.span()
        );
        assert!(error.position().line <= text.split('\n').count());
    }
    if text.len() < 10_000 {
        render(text);
    }
}

/// A good file with a few pieces cut out, doubled, or taken from elsewhere.
fn mutated() -> impl Strategy<Value = String> {
    let good: Vec<_> = samples()
        .into_iter()
        .filter(|(_, o)| *o == Outcome::Good)
        .map(|(text, _)| text)
        .collect();
    let pieces = [
        "[", "]", "{", "}", "=", "\"", "'", "\"\"\"", ".", ",", "\n", "\r", "\t", "0", "ä",
        "\u{feff}", "\u{0}", "from", "stages", "queue", "config", "-", "latest",
    ];
    let piece = prop::sample::select(pieces.to_vec());
    let edit = (
        any::<prop::sample::Index>(),
        0usize..20,
        piece,
        any::<bool>(),
    );
    (
        prop::sample::select(good),
        prop::collection::vec(edit, 1..5),
    )
        .prop_map(|(text, edits)| {
            let mut chars: Vec<char> = text.chars().collect();
            for (at, length, piece, keep) in edits {
                let at = at.index(chars.len() + 1);
                let end = if keep {
                    at
                } else {
                    (at + length).min(chars.len())
                };
                chars.splice(at..end, piece.chars());
            }
            chars.into_iter().collect()
        })
}

proptest! {
    #[test]
    fn any_text_gives_a_pipeline_or_errors(text in "\\PC{0,200}|[\\[\\]{}=\"'.,\\n\\r\\t a-c0-9#_\\-]{0,200}") {
        check_invariants(&text);
    }

    #[test]
    fn a_mutated_file_gives_a_pipeline_or_errors(text in mutated()) {
        check_invariants(&text);
    }
}
