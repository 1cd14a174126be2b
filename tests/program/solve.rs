//! `flowpipe solve`: its output, its options, its exit codes.

use std::collections::BTreeSet;

use flowpipe_tests::{run, with_input};
use serde_json::Value;

const SOLVER: [&str; 2] = ["--solver", "solver-varisat"];
const EASY: &str = "A.B.C\n..D.E\n.....\n.B.C.\n.ADE.\n";
const PUZZLES: &str = "// easy\nA.B.C\n..D.E\n.....\n.B.C.\n.ADE.\n\nAB\nBA\n\nAB\nA.\n";
/// Twelve ways from corner to corner.
const TWELVE: &str = "rules: empty, touch\nA..\n...\n..A\n";

fn snapshot(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../snapshots");
    settings.set_prepend_module_to_snapshot(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

/// Each line of JSON.
fn answers(stdout: &str) -> Vec<Value> {
    stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn statuses(answers: &[Value]) -> Vec<&str> {
    answers
        .iter()
        .map(|answer| answer["status"].as_str().unwrap())
        .collect()
}

/// Solves with `solver-varisat` and gives the one answer.
fn ask(args: &[&str], puzzle: &str) -> Value {
    let args = [&["solve", "-", "--json"], &SOLVER[..], args].concat();
    with_input(&args, puzzle).expect(0).json()
}

#[test]
fn puzzles_as_text() {
    // The last puzzle can't be read, which outweighs that the second has no solution.
    let args = [&["solve", "-"], &SOLVER[..]].concat();
    let ran = with_input(&args, PUZZLES).expect(65);
    // Without the time and what it cost.
    let plain = ran
        .stdout
        .lines()
        .map(|line| line.split(" in ").next().unwrap_or(line));
    snapshot("text", &plain.collect::<Vec<_>>().join("\n"));
}

#[test]
fn a_json_object_a_line_in_the_order_of_the_puzzles() {
    let args = [&["solve", "-", "--json"], &SOLVER[..]].concat();
    let ran = with_input(&args, PUZZLES).expect(65);
    let answers = answers(&ran.stdout);
    assert_eq!(statuses(&answers), ["solved", "unsolvable", "invalid"]);
    for (index, answer) in answers.iter().enumerate() {
        let keys: BTreeSet<&str> = answer.as_object().unwrap().keys().map(|it| &**it).collect();
        let always = [
            "index",
            "status",
            "unique",
            "count",
            "paths",
            "search_us",
            "reason",
        ];
        assert!(always.iter().all(|key| keys.contains(key)), "{answer}");
        let more = keys.iter().filter(|key| !always.contains(key));
        assert!(
            more.clone().all(|key| ["title", "effort"].contains(key)),
            "{answer}"
        );
        assert_eq!(answer["index"], index);
        assert!(answer["search_us"].is_number(), "{answer}");
    }
    let cells: usize = answers[0]["paths"]
        .as_array()
        .unwrap()
        .iter()
        .map(|path| path.as_array().unwrap().len())
        .sum();
    assert_eq!(cells, 25);
    assert_eq!(answers[0]["title"], "easy");
    assert_eq!(
        (&answers[1]["count"], &answers[1]["paths"]),
        (&0.into(), &Value::Null)
    );
    let reason = answers[2]["reason"].as_str().unwrap();
    assert!(reason.starts_with("line 11, column 2"), "{reason}");
}

#[test]
fn one_solution_or_whether_it_is_the_only_one_or_how_many_or_all() {
    let unique = ask(&["--unique"], EASY);
    assert_eq!(
        (&unique["unique"], &unique["count"]),
        (&true.into(), &1.into())
    );
    let not = ask(&["--unique"], TWELVE);
    assert_eq!(
        (&not["unique"], &not["status"]),
        (&false.into(), &"solved".into())
    );

    let counted = ask(&["--count"], TWELVE);
    assert_eq!(
        (&counted["count"], &counted["unique"]),
        (&12.into(), &false.into())
    );
    assert_eq!(counted["more"], Value::Null);
    let stopped = ask(&["--count", "--limit", "5"], TWELVE);
    assert_eq!(
        (&stopped["count"], &stopped["more"]),
        (&5.into(), &true.into())
    );

    let all = ask(&["--all"], TWELVE);
    let solutions = all["solutions"].as_array().unwrap();
    let distinct: BTreeSet<String> = solutions.iter().map(Value::to_string).collect();
    assert_eq!((solutions.len(), distinct.len()), (12, 12));
    assert_eq!(all["paths"], solutions[0]);
    let some = ask(&["--all", "--limit", "3"], TWELVE);
    assert_eq!(some["solutions"].as_array().unwrap().len(), 3);
    assert_eq!(some["more"], true);

    let args = [&["solve", "-", "--all"], &SOLVER[..]].concat();
    let text = with_input(&args, TWELVE).expect(0).stdout;
    assert!(
        text.contains("12 solutions") && text.contains("\nsolution 12\n"),
        "{text}"
    );
}

#[test]
fn what_a_solver_cannot_do_is_refused_with_those_that_can() {
    for flag in ["--unique", "--count", "--all"] {
        let args = ["solve", "-", "--solver", "solver-patient", flag];
        let refused = with_input(&args, EASY).expect(78).stderr;
        let expected = format!("solver-patient can't do {flag}; these can: ");
        assert!(refused.contains(&expected), "{refused}");
        assert!(refused.contains("solver-varisat"), "{refused}");
    }
    let args = [
        &["solve", "-", "--unique", "--config", "{ want = \"all\" }"],
        &SOLVER[..],
    ]
    .concat();
    let twice = with_input(&args, EASY).expect(2).stderr;
    assert!(twice.contains("`want` is set by --config"), "{twice}");
    with_input(&["solve", "-", "--limit", "3"], EASY).expect(2);
    with_input(&["solve", "-", "--all", "--count"], EASY).expect(2);
}

#[test]
fn other_solvers_and_their_configs() {
    let ran = with_input(&["solve", "--solver", "solver-patient", "-"], EASY).expect(0);
    assert!(
        ran.stdout.contains("solved by solver-patient"),
        "{}",
        ran.stdout
    );
    assert_eq!(
        ask(&["--config", "{ want = \"unique\" }"], EASY)["unique"],
        true
    );
    let wrong = [&["solve", "-", "--config", "{ prove = 1 }"], &SOLVER[..]].concat();
    let wrong = with_input(&wrong, EASY).expect(78);
    assert!(wrong.stderr.contains("prove"), "{}", wrong.stderr);
    let wrong = with_input(&["solve", "--solver", "solver-varista", "-"], EASY).expect(78);
    assert!(
        wrong.stderr.contains("did you mean `solver-varisat`?"),
        "{}",
        wrong.stderr
    );
    with_input(&["solve", "-"], "\n").expect(2);
}

/// No solver that tries every path finds this one within its time.
fn hostile() -> String {
    let rows = vec![".".repeat(12); 11].join("\n");
    format!("A{}B\n{rows}\nB{}A\n", ".".repeat(10), ".".repeat(10))
}

#[test]
fn a_timeout_is_reported_and_the_next_puzzle_is_solved() {
    let args = [
        "solve",
        "-",
        "--solver",
        "solver-patient",
        "--timeout",
        "100ms",
        "--json",
    ];
    let puzzles = format!("{}\n{EASY}\n{}\nAB\nAB\n", hostile(), hostile());
    let ran = with_input(&[&args[..], &["--jobs", "1"]].concat(), &puzzles).expect(4);
    let answers = answers(&ran.stdout);
    assert_eq!(
        statuses(&answers),
        ["timeout", "solved", "timeout", "solved"]
    );
    assert_eq!(answers[0]["search_us"], 100_000.0);
    assert!(answers[0]["count"].is_null() && answers[0]["unique"].is_null());
}

#[test]
fn exit_codes() {
    let unsolvable = "AB\nBA\n";
    let bridge = ".A.\nB+B\n.A.\n";
    let patient = |puzzles: &[&str]| {
        let args = [
            "solve",
            "-",
            "--json",
            "--solver",
            "solver-patient",
            "--timeout",
            "100ms",
        ];
        with_input(&args, &puzzles.join("\n"))
    };
    patient(&[EASY]).expect(0);
    patient(&[EASY, unsolvable]).expect(3);
    let unsupported = patient(&[unsolvable, bridge, EASY]).expect(4);
    let answers = answers(&unsupported.stdout);
    assert_eq!(statuses(&answers), ["unsolvable", "unsupported", "solved"]);
    let reason = answers[1]["reason"].as_str().unwrap();
    assert!(reason.contains("bridges"), "{reason}");
    patient(&["A\n", bridge, unsolvable]).expect(65);
}

#[test]
fn a_broken_solver_is_named_and_others_are_not_spoiled() {
    let args = [
        "solve",
        "-",
        "--json",
        "--solver",
        "misbehaving",
        "--config",
        "{ how = \"panic-in-process\" }",
    ];
    let ran = with_input(&args, &format!("{EASY}\nA\n"));
    let answers = answers(&ran.stdout);
    assert_eq!(statuses(&answers), ["failed", "invalid"], "{ran:?}");
    ran.expect(1);
}

#[test]
fn a_solver_that_does_not_start_answers_nothing() {
    let config = ["--config", "{ how = \"panic-in-create\" }"];
    let args = [&["solve", "-", "--solver", "misbehaving"], &config[..]].concat();
    let ran = with_input(&args, &format!("{EASY}\n{EASY}")).expect(1);
    assert_eq!(ran.stdout, "");
    let named = ran.stderr.matches("made to panic in create").count();
    assert!(named >= 1 && !ran.stderr.contains("no answer"), "{ran:#?}");
}

#[test]
fn thousands_are_solved_in_parallel_and_printed_in_order() {
    let puzzles: Vec<String> = (0..2000)
        .map(|index| match index % 4 {
            0 => "AB\nAB\n".to_owned(),
            1 => format!("// {index}\nA{}A\n", ".".repeat(index % 7)),
            2 => "AB\nBA\n".to_owned(),
            _ => "A?\n".to_owned(),
        })
        .collect();
    for jobs in ["1", "3"] {
        let args = [&["solve", "-", "--json", "--jobs", jobs], &SOLVER[..]].concat();
        let ran = with_input(&args, &puzzles.join("\n")).expect(65);
        let answers = answers(&ran.stdout);
        assert_eq!(answers.len(), puzzles.len());
        for (index, answer) in answers.iter().enumerate() {
            let expected = ["solved", "solved", "unsolvable", "invalid"][index % 4];
            assert_eq!(
                (&answer["index"], &answer["status"]),
                (&index.into(), &expected.into())
            );
            if index % 4 == 1 {
                assert_eq!(answer["title"], index.to_string());
                assert_eq!(answer["paths"][0].as_array().unwrap().len(), index % 7 + 2);
            }
        }
    }
}

#[test]
fn pictures() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("board.svg");
    let path = file.display().to_string();
    let args = [&["solve", "-", "--svg", &path], &SOLVER[..]].concat();
    with_input(&args, EASY).expect(0);
    let one = std::fs::read_to_string(&file).unwrap();
    assert!(
        one.starts_with("<svg ") && one.matches("stroke-linejoin").count() == 5,
        "{one}"
    );
    with_input(&args, PUZZLES).expect(65);
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name));
    assert!(read("board-1.svg").unwrap().contains("<title>easy</title>"));
    // Without a solution the bare board is drawn; what can't be read is not.
    assert!(!read("board-2.svg").unwrap().contains("stroke-linejoin"));
    assert!(read("board-3.svg").is_err());
    let nowhere = [
        &["solve", "-", "--svg", "no/such/folder/a.svg"],
        &SOLVER[..],
    ]
    .concat();
    with_input(&nowhere, EASY).expect(2);
    // The answers that were found are printed all the same.
    let ran = with_input(&[&nowhere[..], &["--json"]].concat(), EASY).expect(2);
    assert!(
        ran.stdout.contains(r#""index":0,"status":"solved""#),
        "{ran:#?}"
    );
}

#[test]
fn a_plot_needs_a_solver_that_reports_its_generations() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plot.svg").display().to_string();
    let args = [&["solve", "-", "--plot", &path], &SOLVER[..]].concat();
    let ran = with_input(&args, EASY).expect(1);
    assert!(
        ran.stderr
            .contains("solver-varisat reported no best, average and worst"),
        "{ran:?}"
    );
    assert!(ran.stdout.contains("solved by"), "{ran:?}");
}

#[test]
fn solved_puzzles_as_level_lines_and_as_json() {
    let solve = |format: &str, puzzles: &str| {
        let args = [&["solve", "-", "--to", format], &SOLVER[..]].concat();
        with_input(&args, puzzles)
    };
    let ran = solve("level", PUZZLES).expect(65);
    assert_eq!(
        ran.stdout,
        "// easy\n5,0,0,5;0,5,10,15,20,21;2,1,6,11,16;4,3,8,13,18;7,12,17,22;9,14,19,24,23\n"
    );
    assert!(
        ran.stderr.contains("-:8 (2 x 2, 2 flows) has no solution"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("-:11 can't be read"), "{}", ran.stderr);
    // What was solved can be solved again.
    let json = solve("json", EASY).expect(0).stdout;
    assert!(json.contains("\"solution\":{\"flows\":["), "{json}");
    assert_eq!(solve("json", &json).expect(0).stdout, json);
}

#[test]
fn errors_name_the_flag() {
    let refused = |args: &[&str], flag: &str, what: &str| {
        let args = [&["solve", "-"], args].concat();
        let stderr = with_input(&args, EASY).expect(78).stderr;
        // The terminal's width breaks lines.
        let words: Vec<&str> = stderr.split_whitespace().collect();
        let printed = words.join(" ").replace("│ ", "");
        assert!(printed.contains(flag), "{flag}: {stderr}");
        assert!(printed.contains(what), "{what}: {stderr}");
        assert!(!stderr.contains("command line"), "{stderr}");
        assert!(!stderr.contains("[stages"), "{stderr}");
    };
    let solver = ["--solver", "solver-serach"];
    refused(&solver, "--solver solver-serach: ", "did you mean");
    let config = ["--config", "{ prove = 1 }"];
    refused(&config, "--config '{ prove = 1 }': ", "unknown key");
    refused(&["--config", "3"], "--config 3: ", "must be a table");
    for config in ["{ prove = ", "{ prove = }", "{ a = [ }", "{ a = \"x }"] {
        refused(&["--config", config], &format!("--config '{config}': "), "");
    }
    refused(&["--config", "{"], "--config {: ", "never closed");
    refused(&["--config", ""], "--config '': ", "");
    let vision = ["--solver", "vision-opencv"];
    refused(
        &vision,
        "--solver vision-opencv: ",
        "its role is vision, and not solver",
    );
    let vision = ["--plan=vision-opencv"];
    refused(
        &vision,
        "--plan=vision-opencv: ",
        "its role is vision, and not planner",
    );
    refused(
        &["--config", "prove = 1"],
        "--config 'prove = 1': ",
        "must be a table",
    );
    refused(&["--timeout", "soon"], "--timeout soon: ", "duration");
    refused(&["--timeout", "3"], "--timeout 3: ", "duration");
    let planner = ["--plan=planner-gird"];
    refused(&planner, "--plan=planner-gird: ", "did you mean");
    let plan = ["--plan=planner-grid", "--plan-config", "{ strategy = 1 }"];
    refused(&plan, "--plan-config '{ strategy = 1 }': ", "strategy");
}

#[test]
fn errors_of_bench_name_the_flag() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("easy.txt");
    std::fs::write(&file, EASY).unwrap();
    let path = file.display().to_string();
    let refused = |args: &[&str], flag: &str| {
        let stderr = run(&[&["bench", &path], args].concat()).expect(78).stderr;
        assert!(stderr.contains(flag), "{flag}: {stderr}");
        assert!(!stderr.contains("command line"), "{stderr}");
    };
    refused(&["--solver", "solver-serach"], "--solver solver-serach: ");
    let config = "solver-varisat={ prove = 1 }";
    let varisat = ["--solver", "solver-varisat", "--config", config];
    refused(&varisat, "--config 'solver-varisat={ prove = 1 }': ");
    refused(&["--timeout", "soon"], "--timeout soon: ");
    let other = ["--solver", "solver-search", "--config", config];
    let stderr = run(&[&["bench", &path], &other[..]].concat())
        .expect(2)
        .stderr;
    assert!(
        stderr.contains("solver-varisat is not measured"),
        "{stderr}"
    );
}
