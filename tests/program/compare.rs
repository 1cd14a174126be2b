//! Two pipelines on the same recording.

use std::path::Path;
use std::sync::OnceLock;

use flowpipe_tests::{Ran, flowpipe, project, record, run};
use serde_json::{Value, json};

const READY: &str = "pipelines/replay.toml";

/// The ready pipeline, recorded: 11 boards.
fn recorded() -> &'static str {
    static RECORDING: OnceLock<(tempfile::TempDir, String)> = OnceLock::new();
    let (_, path) = RECORDING.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        // Slow enough that the recorder keeps up.
        let slow = changed(folder.path(), READY, "fps = 20", "fps = 5");
        let path = record(folder.path(), "run.mcap", &slow);
        (folder, path)
    });
    path
}

fn written(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// A ready pipeline with something changed, which must be there.
fn changed(folder: &Path, ready: &str, from: &str, to: &str) -> String {
    let text = std::fs::read_to_string(project().join(ready)).unwrap();
    assert!(text.contains(from), "{ready} has no {from}");
    // In another folder, the pictures are found in the working directory.
    let text = text.replace("\"frames/", "\"pipelines/frames/");
    written(folder, "changed.toml", &text.replace(from, to))
}

fn compare(a: &str, b: &str, recording: &str, args: &[&str]) -> Ran {
    run(&[&["compare", a, b, recording], args].concat())
}

/// The output of a comparison, without what differs between runs: times, widths of columns, paths.
fn snapshot(name: &str, text: &str, folder: &Path) {
    let text = text.replace(&folder.display().to_string(), "FOLDER");
    let lines: Vec<String> = text.lines().map(untimed).collect();
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../snapshots");
    settings.set_prepend_module_to_snapshot(true);
    settings.bind(|| insta::assert_snapshot!(name, lines.join("\n")));
}

fn untimed(line: &str) -> String {
    // Boards are narrower.
    let is_table = line.chars().count() > 70;
    if is_table && line.starts_with(['┌', '╞', '└']) && !line.contains(' ') {
        return String::new();
    }
    let row = line.strip_prefix('│').filter(|row| row.ends_with('│'));
    let Some(row) = row.filter(|_| is_table) else {
        return line.to_owned();
    };
    let mut words: Vec<&str> = row.trim_end_matches('│').split_whitespace().collect();
    let mut at = 0;
    while at + 1 < words.len() {
        let is_time =
            words[at].parse::<f64>().is_ok() && matches!(words[at + 1], "ns" | "µs" | "ms" | "s");
        if is_time {
            words.splice(at..at + 2, ["TIME"]);
        }
        at += 1;
    }
    // Of times, their ratio.
    for at in 2..words.len() {
        if words[at - 2..at] == ["TIME", "TIME"] && words[at].parse::<f64>().is_ok() {
            words[at] = "RATIO";
        }
    }
    format!("| {} |", words.join(" "))
}

fn stage<'a>(compared: &'a Value, name: &str) -> &'a Value {
    let stages = compared["stages"].as_array().unwrap();
    let found = stages.iter().find(|stage| stage["stage"] == name);
    found.unwrap_or_else(|| panic!("no stage {name} in {stages:#?}"))
}

#[test]
fn two_solvers_with_equal_answers() {
    let folder = tempfile::tempdir().unwrap();
    let b = changed(folder.path(), READY, "solver-search", "solver-batsat");
    let compared = compare(READY, &b, recorded(), &["--json"]).expect(0).json();
    assert_eq!(compared["same"], true);
    let frames = json!({ "both": 11, "a_alone": 0, "b_alone": 0, "differently": 0, "neither": 0 });
    assert_eq!(compared["frames"], frames);
    let boards = compared["boards"].as_array().unwrap();
    assert_eq!(boards.len(), 11);
    for board in boards {
        assert_eq!(board["differences"], json!([]), "{board:#}");
        for (side, solver) in [("a", "solver-search"), ("b", "solver-batsat")] {
            let side = &board[side];
            assert_eq!(
                (&side["verdict"], &side["solver"]),
                (&json!("solved"), &json!(solver))
            );
            assert!(side["solve_ns"].as_u64().unwrap() > 0);
            assert_eq!(side["accepted"], true);
        }
        assert_eq!(
            board["a"]["plan"]["segments"],
            board["b"]["plan"]["segments"]
        );
        assert_eq!(board["a"]["solution"], board["b"]["solution"]);
    }
    let totals = &compared["totals"];
    assert_eq!(
        (&totals["both_solved"], &totals["both_planned"]),
        (&json!(11), &json!(11))
    );
    assert_eq!(totals["a"]["strokes"], totals["b"]["strokes"]);
    let solver = stage(&compared, "solver");
    assert_eq!(
        (&solver["a"]["count"], &solver["b"]["count"]),
        (&json!(11), &json!(11))
    );
    assert_eq!(solver["b"]["plugin"], "solver-batsat");
    let p50 = |side: &str| solver[side]["p50_ns"].as_u64().unwrap();
    assert!(p50("a") > 0 && p50("b") > 0);
    let names = compared["stages"].as_array().unwrap().iter();
    let names: Vec<&Value> = names.map(|stage| &stage["stage"]).collect();
    assert_eq!(
        names,
        ["vision", "solver", "planner", "actuator"],
        "no source"
    );
}

#[test]
fn two_planners_need_other_segments() {
    let folder = tempfile::tempdir().unwrap();
    let b = changed(folder.path(), READY, "planner-minlink", "planner-corners");
    let compared = compare(READY, &b, recorded(), &["--json"]).expect(0).json();
    let sum = |side: &str, figure: &str| compared["totals"][side][figure].as_f64().unwrap();
    let boards = compared["boards"].as_array().unwrap();
    let by_board = |side: &str, figure: &str| -> f64 {
        let plans = boards
            .iter()
            .map(|board| board[side]["plan"][figure].as_f64().unwrap());
        plans.sum()
    };
    for side in ["a", "b"] {
        for figure in ["strokes", "segments", "length", "drag_ms"] {
            let difference = sum(side, figure) - by_board(side, figure);
            assert!(difference.abs() < 1e-6, "{side} {figure}");
        }
        // A stop of 18 ms at each turn, and none at the ends: profile "segments".
        let turns = sum(side, "segments") - sum(side, "strokes");
        assert_eq!(sum(side, "drag_ms"), 18.0 * turns, "{side}");
    }
    assert!(
        sum("a", "segments") < sum("b", "segments"),
        "fewest there are"
    );
    let ran = compare(READY, &b, recorded(), &[]).expect(0);
    snapshot("planners", &ran.stdout, folder.path());
}

#[test]
fn a_board_that_one_gives_up_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let weak = "plugin = \"solver-bruteforce\"\nconfig = { max_paths = 2000 }";
    let b = changed(folder.path(), READY, "plugin = \"solver-search\"", weak);
    let ran = compare(READY, &b, recorded(), &[]).expect(1);
    snapshot("gives_up", &ran.stdout, folder.path());
    let compared = compare(READY, &b, recorded(), &["--json"]).expect(1).json();
    assert_eq!(compared["same"], false);
    let boards = compared["boards"].as_array().unwrap();
    let differ: Vec<&Value> = boards
        .iter()
        .filter(|board| board["same"] == false)
        .collect();
    assert!(!differ.is_empty() && differ.len() < boards.len());
    for board in differ {
        assert_eq!(board["differences"][0]["what"], "verdict");
        assert_eq!(board["a"]["verdict"], "solved");
        assert_ne!(board["b"]["verdict"], "solved");
        assert!(board["b"]["reason"].is_string());
        assert_eq!(board["b"]["plan"], Value::Null);
    }
}

#[test]
fn a_solver_that_runs_out_of_time_gave_up() {
    let folder = tempfile::tempdir().unwrap();
    let patient = "plugin = \"solver-patient\"";
    let b = changed(folder.path(), READY, "plugin = \"solver-search\"", patient);
    let b = changed(folder.path(), &b, "timeout = \"10s\"", "timeout = \"20ms\"");
    let compared = compare(READY, &b, recorded(), &["--json"]).expect(1).json();
    let boards = compared["boards"].as_array().unwrap();
    let (same, differ): (Vec<&Value>, Vec<&Value>) =
        boards.iter().partition(|board| board["same"] == true);
    for board in same {
        assert_eq!(board["b"]["verdict"], "solved", "{board:#}");
    }
    // It would take it longer than there are stars.
    assert!(differ.iter().any(|it| it["puzzle"]["board"]["rows"] == 18));
    for board in differ {
        assert_eq!(board["b"]["verdict"], "gave-up", "{board:#}");
        assert_eq!(board["b"]["reason"], "not done after 20ms");
    }
}

#[test]
fn another_solution_is_reported_and_is_no_failure() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // Twelve ways from corner to corner.
    let puzzle = r#"{"board":{"rows":3,"cols":3},"terminals":[{"cell":0,"colour":0},{"cell":8,"colour":0}],"rules":{"cover":false,"touch":true}}"#;
    let stages = |solver: &str| {
        format!(
            "[stages.puzzles]\nplugin = \"capture-puzzles\"\nconfig = {{ text = '{puzzle}' }}\n\
             [stages.solver]\nplugin = \"{solver}\"\nfrom = \"puzzles\"\n"
        )
    };
    let a = written(folder, "a.toml", &stages("solver-search"));
    let b = written(folder, "b.toml", &stages("solver-bruteforce"));
    let recording = record(folder, "puzzles.mcap", &a);
    let ran = compare(&a, &b, &recording, &[]).expect(0);
    snapshot("another_solution", &ran.stdout, folder);
    let compared = compare(&a, &b, &recording, &["--json"]).expect(0).json();
    let board = &compared["boards"][0];
    assert_eq!(
        board["differences"],
        json!([{ "what": "another-solution" }])
    );
    assert_eq!(board["source"], "text:1");

    // Frames are no puzzles.
    let ran = compare(&a, &b, recorded(), &[]).expect(2);
    let why = "stage \"solver\" takes flowpipe.sighting/1, and frames.out of the recording gives flowpipe.frame/1";
    assert!(ran.stderr.contains(why), "{}", ran.stderr);
}

/// The live pipeline: no mouse is made, nothing is kept of the game, and each board is solved once, however often it
/// is seen.
#[test]
fn a_live_pipeline_touches_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let twice = changed(folder, READY, "fps = 20", "fps = 10, times = 2");
    let recording = record(folder, "twice.mcap", &twice);
    let b = changed(
        folder,
        "pipelines/live.toml",
        "solver-search",
        "solver-splr",
    );
    let state = folder.join("state");
    let ran: Ran = flowpipe(&["compare", "pipelines/live.toml", &b, &recording, "--json"])
        // A mouse that was made would ask for a screen, and fail.
        .env("DISPLAY", ":9999")
        .env_remove("WAYLAND_DISPLAY")
        .env("XDG_STATE_HOME", &state)
        .output()
        .unwrap()
        .into();
    let compared = ran.expect(0).json();
    for side in ["a", "b"] {
        assert_eq!(
            compared[side]["changes"],
            json!([
                { "stage": "screen", "plugin": "capture-screen", "change": "recorded", "from": "frames.out" },
                { "stage": "referee", "plugin": "referee-repair", "change": "replaced", "by": "referee-once" },
                { "stage": "mouse", "plugin": "actuator-mouse", "change": "acts-on-the-world" },
            ])
        );
        assert_eq!(compared["totals"][side]["solved"], 11);
        assert_eq!(stage(&compared, "vision")[side]["count"], 22);
        assert_eq!(stage(&compared, "solver")[side]["count"], 11);
        assert_eq!(stage(&compared, "planner")[side]["count"], 11);
    }
    assert_eq!(compared["totals"]["both_planned"], 11);
    let names = compared["stages"].as_array().unwrap().iter();
    assert!(!names.clone().any(|stage| stage["stage"] == "mouse"));
    assert!(!state.exists(), "nothing is kept of games");
}

#[test]
fn failures_and_unread_boards_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // Every fifth board goes wrong.
    let stage = "[stages.wrong]\nplugin = \"misbehaving\"\nfrom = \"vision\"\nconfig = { how = \"fail\", every = 5 }\n\n[stages.solver]";
    let b = changed(folder, READY, "[stages.solver]", stage);
    let b = changed(
        folder,
        &b,
        "plugin = \"solver-search\"\nfrom = \"vision\"",
        "plugin = \"solver-search\"\nfrom = \"wrong\"",
    );
    let compared = compare(READY, &b, recorded(), &["--json"]).expect(1).json();
    let boards = compared["boards"].as_array().unwrap();
    for (board, number) in boards.iter().zip(1..) {
        let wrong = number % 5 == 0;
        assert_eq!(board["same"], !wrong, "{board:#}");
        if wrong {
            let failure =
                json!({ "what": "failure", "by": "b", "stage": "wrong", "text": "made to fail" });
            let differences = board["differences"].as_array().unwrap();
            assert!(differences.contains(&failure), "{differences:#?}");
        }
    }

    // Small boards are refused.
    let config = "plugin = \"vision-opencv\"\nconfig = { min_cells = 6 }";
    let b = changed(folder, READY, "plugin = \"vision-opencv\"", config);
    let compared = compare(READY, &b, recorded(), &["--json"]).expect(1).json();
    let frames = &compared["frames"];
    assert_eq!(
        (&frames["both"], &frames["a_alone"]),
        (&json!(9), &json!(2))
    );
    let unread = &compared["boards"][0];
    assert_eq!(unread["b"], Value::Null);
    let difference = &unread["differences"][0];
    assert_eq!(
        (&difference["what"], &difference["by"]),
        (&json!("unread"), &json!("b"))
    );
    assert!(difference["reason"].is_string(), "{difference}");

    // Nobody reads anything: there is nothing to compare.
    let config = "plugin = \"vision-opencv\"\nconfig = { min_cells = 35 }";
    let neither = changed(folder, READY, "plugin = \"vision-opencv\"", config);
    let ran = compare(&neither, &neither, recorded(), &[]).expect(4);
    assert!(
        ran.stdout.contains("neither reads a board"),
        "{}",
        ran.stdout
    );
}

#[test]
fn rounds_take_turns() {
    let compared = compare(READY, READY, recorded(), &["--repeat", "3", "--json"]);
    let compared = compared.expect(0).json();
    assert_eq!(compared["rounds"], 3);
    for side in ["a", "b"] {
        assert_eq!(compared[side]["seconds"].as_array().unwrap().len(), 3);
        assert_eq!(compared[side]["unsteady"], 0);
        assert_eq!(stage(&compared, "vision")[side]["count"], 33);
    }
    assert_eq!(compared["totals"]["boards"], 11);
}

/// A recorded stage feeds the source of its name, or the one that a source names itself.
#[test]
fn the_recorded_output_of_a_source_is_given_or_found() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let solver = "[stages.solver]\nplugin = \"solver-search\"\nfrom = \"vision\"\n";
    let named = format!("[stages.vision]\nplugin = \"capture-puzzles\"\n{solver}");
    let named = written(folder, "named.toml", &named);
    let asked = format!(
        "[stages.vision]\nplugin = \"capture-recording\"\nconfig = {{ file = 'elsewhere.mcap', stage = 'vision' }}\n{solver}"
    );
    let asked = written(folder, "asked.toml", &asked);
    let compared = compare(&named, &asked, recorded(), &["--json"])
        .expect(0)
        .json();
    assert_eq!(compared["totals"]["both_solved"], 11);
    assert_eq!(compared["a"]["changes"][0]["from"], "vision.out");
    assert_eq!(compared["boards"][0]["a"]["plan"], Value::Null);

    let two = "[stages.left]\nplugin = \"capture-puzzles\"\nconfig = { text = \"AA\" }\n\
               [stages.right]\nplugin = \"capture-puzzles\"\nconfig = { text = \"AA\" }\n\
               [stages.solver]\nplugin = \"solver-search\"\nfrom = [\"left\", \"right\"]\n";
    let two = written(folder, "two.toml", two);
    let recording = record(folder, "two.mcap", &two);
    run(&["compare", &two, &two, &recording]).expect(0);
    let ran = compare(&two, &named, &recording, &[]).expect(2);
    assert!(
        ran.stderr.contains("stage \"vision\": the recording has no stage of that name, and several captured (left, right)"),
        "{}",
        ran.stderr
    );
}

#[test]
fn bad_files_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let none = folder.join("none").display().to_string();
    let ran = compare(READY, READY, &none, &[]).expect(2);
    assert!(ran.stderr.contains(&none), "{}", ran.stderr);
    let ran = compare(READY, &none, recorded(), &[]).expect(2);
    assert!(ran.stderr.contains(&none), "{}", ran.stderr);
    let malformed = written(folder, "malformed.mcap", "no recording");
    let ran = compare(READY, READY, &malformed, &[]).expect(65);
    assert!(ran.stderr.contains("is no recording"), "{}", ran.stderr);
    let bad = written(folder, "bad.toml", "[stages.a]\nplugin = \"nothing\"\n");
    let worse = written(folder, "worse.toml", "[stages.a]\nplugin = \"nobody\"\n");
    let ran = compare(&bad, &worse, recorded(), &[]).expect(78);
    assert!(
        ran.stderr.contains("bad.toml:2:10") && ran.stderr.contains("worse.toml:2:10"),
        "{}",
        ran.stderr
    );
    run(&["compare", READY, READY, recorded(), "--repeat", "0"]).expect(2);
}

/// The same referee in a pipeline of one's own: each board is played once, and its result is emitted.
#[test]
fn a_referee_for_recordings_counts_what_was_played() {
    let folder = tempfile::tempdir().unwrap();
    let live = std::fs::read_to_string(project().join("pipelines/live.toml")).unwrap();
    let source = format!(
        "plugin = \"capture-recording\"\nconfig = {{ file = '{}', repeat = false }}\n#",
        recorded()
    );
    let text = live
        .replace("plugin = \"capture-screen\"\n", &source)
        .replace("\"latest\"", "\"block\"")
        // All boards may wait for the solver: on a busy machine the oldest would be dropped.
        .replace("capacity = 4", "capacity = 11")
        .replace("referee-repair", "referee-once")
        .replace("actuator-mouse", "actuator-simulated");
    let pipeline = written(folder.path(), "once.toml", &text);
    let ran = run(&["run", &pipeline, "--json"]).expect(0).json();
    let boards = &ran["boards"];
    assert_eq!(
        (&boards["played"], &boards["accepted"]),
        (&json!(11), &json!(11)),
        "{boards}"
    );
}
