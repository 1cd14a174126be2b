//! Commands as stages: the solver in Python, and what becomes of commands that die, hang or are left behind.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use flowpipe_tests::{flowpipe, pipeline, project, ready, record, run, with_input};
use serde_json::Value;

/// The config that runs the example.
const PYTHON: &str = "{ command = [\"python3\", \"examples/solver.py\"] }";

fn lines(text: &str) -> Vec<Value> {
    let line = |line| serde_json::from_str(line).unwrap();
    text.lines().map(line).collect()
}

/// The statuses of puzzles from the solver in Python.
fn ask(puzzles: &str) -> Vec<Value> {
    let args = [
        "solve",
        "-",
        "--json",
        "--solver",
        "solver-exec",
        "--config",
        PYTHON,
    ];
    lines(&with_input(&args, puzzles).stdout)
}

#[test]
fn the_example_is_40_lines_without_packages() {
    let text = std::fs::read_to_string(project().join("examples/solver.py")).unwrap();
    assert!(text.lines().count() <= 40, "{} lines", text.lines().count());
    assert!(
        text.lines().all(|line| line.len() <= 120),
        "no line is long"
    );
    let imports: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("import"))
        .collect();
    assert_eq!(imports, ["import itertools, json, sys"]);
}

/// Generated boards have one solution, so that whoever finds one has found the default solver's.
#[test]
fn the_example_solves_boards_of_every_kind_and_proves_them() {
    for kind in [
        "",
        "bridges",
        "hexes",
        "warps",
        "walls",
        "holes",
        "bridges,warps,holes",
    ] {
        for size in ["5", "6"] {
            let mut args = vec!["generate", "--size", size, "--count", "12"];
            if !kind.is_empty() {
                args.extend(["--kind", kind]);
            }
            let boards = run(&args).expect(0).stdout;
            let ours = ask(&boards);
            let search = lines(&with_input(&["solve", "-", "--json"], &boards).stdout);
            assert_eq!(ours.len(), 12);
            for (ours, search) in ours.iter().zip(&search) {
                assert_eq!(ours["status"], "solved", "{kind}: {ours}");
                assert_eq!(ours["unique"], true, "{kind}: {ours}");
                assert_eq!(ours["paths"], search["paths"], "{kind}");
            }
        }
    }
    let seven = run(&["generate", "--size", "7", "--count", "20"])
        .expect(0)
        .stdout;
    assert!(ask(&seven).iter().all(|it| it["unique"] == true));
}

#[test]
fn the_example_plays_a_whole_pipeline_and_races() {
    let folder = tempfile::tempdir().unwrap();
    for plugin in ["\"solver-exec\"", "[\"solver-exec\", \"solver-search\"]"] {
        let text = ready();
        let config = if plugin.starts_with('[') {
            format!("{{ solver-exec = {PYTHON} }}")
        } else {
            PYTHON.to_owned()
        };
        let (before, solver) = text.split_once("[stages.solver]").unwrap();
        let (_, after) = solver.split_once("[stages.planner]").unwrap();
        let text = format!(
            "{before}[stages.solver]\nplugin = {plugin}\nfrom = \"vision\"\nconfig = {config}\n\n[stages.planner]{after}"
        );
        let small = text.replace("frames/*.png", "frames/phone-5x5-01.png");
        assert_ne!(small, text);
        let ran = run(&["run", &pipeline(folder.path(), &small), "--json"]).expect(0);
        let boards = &ran.json()["boards"];
        assert_eq!(boards["boards"], 1, "{boards}");
        assert_eq!(boards["accepted"], 1, "{boards}");
    }
}

/// A solver in Python: what it does at each message is the body of a function.
fn script(folder: &Path, body: &str) -> String {
    let text = format!(
        "import json, os, sys, time\n\
         def answer(asked):\n{}\n    return {{\"verdict\": \"unknown\", \"reason\": \"it was well\"}}\n\
         for asked in map(json.loads, sys.stdin):\n    \
             replies = {{\"answer\": answer(asked)}} if \"puzzle\" in asked else {{}}\n    \
             print(json.dumps({{\"id\": asked[\"id\"], **replies}}), flush=True)\n",
        body.lines()
            .map(|line| format!("    {line}"))
            .collect::<Vec<_>>()
            .join("\n")
    );
    let path = folder.join("odd.py");
    std::fs::write(&path, text).unwrap();
    let python = path.display().to_string();
    format!("{{ command = [\"python3\", {python:?}], backoff = {{ first_ms = 10 }} }}")
}

/// Three puzzles, of which the second has four columns.
const THREE: &str = "A.A\n\nA..A\n\nB.B\n";

fn statuses(config: &str, more: &[&str]) -> Vec<Value> {
    let args = [
        "solve",
        "-",
        "--json",
        "--jobs",
        "1",
        "--solver",
        "solver-exec",
        "--config",
        config,
    ];
    lines(&with_input(&[&args, more].concat(), THREE).stdout)
}

#[test]
fn a_crash_costs_one_puzzle() {
    let folder = tempfile::tempdir().unwrap();
    let crash = script(
        folder.path(),
        "if asked['puzzle']['board']['cols'] == 4: raise ValueError('no fours')",
    );
    let replies = statuses(&crash, &[]);
    assert_eq!(replies[0]["reason"], "it was well", "{replies:?}");
    assert_eq!(replies[2]["reason"], "it was well", "{replies:?}");
    let why = replies[1].to_string();
    assert!(
        why.contains("it ended (exit code 1) instead of answering"),
        "{why}"
    );
    assert!(why.contains("ValueError: no fours"), "{why}");
}

#[test]
fn one_that_is_late_is_killed_and_the_next_puzzle_is_answered() {
    let folder = tempfile::tempdir().unwrap();
    let number = folder.path().join("number");
    let sleep = format!(
        "if asked['puzzle']['board']['cols'] == 4:\n    open({:?}, 'w').write(str(os.getpid()))\n    time.sleep(1000)",
        number.display().to_string()
    );
    // By the pipeline's limit, and by its own.
    let config = script(folder.path(), &sleep);
    let own = config.replace("backoff", "timeout_ms = 3000, backoff");
    for (config, more) in [(&config, &["--timeout", "10s"][..]), (&own, &[])] {
        let started = Instant::now();
        let replies = statuses(config, more);
        assert_eq!(replies[0]["reason"], "it was well", "{replies:?}");
        assert_ne!(replies[1]["reason"], "it was well", "{replies:?}");
        assert_eq!(replies[2]["reason"], "it was well", "{replies:?}");
        assert!(started.elapsed() < Duration::from_secs(300));
        assert!(is_gone(&std::fs::read_to_string(&number).unwrap()));
    }
}

/// Whether a process is gone, or soon is.
fn is_gone(number: &str) -> bool {
    let stat = format!("/proc/{number}/stat");
    let is_running = || std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "));
    let started = Instant::now();
    while is_running() && started.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(20));
    }
    !is_running()
}

#[test]
#[cfg(target_os = "linux")]
fn when_the_program_is_killed_its_commands_are() {
    let folder = tempfile::tempdir().unwrap();
    let number = folder.path().join("number");
    let sleep = format!(
        "open({0:?}, 'w').write(str(os.getpid()))\nos.rename({0:?}, {1:?})\ntime.sleep(1000)",
        folder.path().join("half").display().to_string(),
        number.display().to_string()
    );
    let config = script(folder.path(), &sleep);
    let puzzle = folder.path().join("puzzle.txt");
    std::fs::write(&puzzle, "A.A\n").unwrap();
    let puzzle = puzzle.display().to_string();
    let mut program = flowpipe(&[
        "solve",
        &puzzle,
        "--solver",
        "solver-exec",
        "--config",
        &config,
    ])
    .stdout(Stdio::null())
    .stderr(Stdio::null())
    .spawn()
    .unwrap();
    let started = Instant::now();
    while !number.exists() {
        assert!(started.elapsed() < Duration::from_secs(60), "it was asked");
        std::thread::sleep(Duration::from_millis(10));
    }
    program.kill().unwrap();
    program.wait().unwrap();
    assert!(is_gone(&std::fs::read_to_string(&number).unwrap()));
}

#[test]
fn a_replay_starts_no_command_unless_it_is_asked_to() {
    let folder = tempfile::tempdir().unwrap();
    let asked = folder.path().join("asked");
    let config = script(
        folder.path(),
        &format!("open({:?}, 'a').write('x')", asked.display().to_string()),
    );
    let text = format!(
        "[stages.puzzles]\nplugin = \"capture-puzzles\"\nconfig = {{ text = \"A.A\" }}\n\n\
         [stages.solver]\nplugin = \"solver-exec\"\nfrom = \"puzzles\"\nconfig = {config}\n\n\
         [stages.planner]\nplugin = \"planner-minlink\"\nfrom = \"solver\"\n"
    );
    let file = record(folder.path(), "run.mcap", &pipeline(folder.path(), &text));
    let times = || std::fs::read_to_string(&asked).unwrap().len();
    assert_eq!(times(), 1);
    run(&["replay", &file]).expect(0);
    assert_eq!(times(), 1, "its answers came out of the recording");
    let again = ["replay", &file, "--verify", "--from", "solver"];
    let ran = run(&again).expect(2);
    assert!(
        ran.stderr.contains("--allow runs-commands permits it"),
        "{ran:?}"
    );
    assert_eq!(times(), 1);
    run(&[&again[..], &["--allow", "runs-commands"]].concat()).expect(0);
    assert_eq!(times(), 2);
}

#[test]
fn a_benchmark_of_all_solvers_leaves_out_those_that_need_a_config() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("puzzle.txt");
    std::fs::write(&file, "A.A\n").unwrap();
    let rows = run(&["bench", &file.display().to_string(), "--json"]).expect(0);
    assert!(rows.stdout.contains("solver-search"), "{rows:?}");
    assert!(!rows.stdout.contains("solver-exec"), "{rows:?}");
    let config = format!("solver-exec={PYTHON}");
    let file = file.display().to_string();
    let rows = run(&[
        "bench",
        &file,
        "--json",
        "--timeout",
        "30s",
        "--config",
        &config,
    ])
    .expect(0);
    let row = lines(&rows.stdout)
        .into_iter()
        .find(|row| row["solver"] == "solver-exec");
    assert_eq!(row.unwrap()["solved"], 1, "{rows:?}");
}

#[test]
fn a_command_is_compared_with_a_shipped_solver() {
    let folder = tempfile::tempdir().unwrap();
    let text = |plugin: &str| {
        format!(
            "[stages.puzzles]\nplugin = \"capture-puzzles\"\nconfig = {{ text = \"ABC\\n...\\nABC\" }}\n\n\
             [stages.solver]\nplugin = {plugin}\nfrom = \"puzzles\"\n\n\
             [stages.planner]\nplugin = \"planner-minlink\"\nfrom = \"solver\"\n"
        )
    };
    let shipped = pipeline(folder.path(), &text("\"solver-search\""));
    let file = record(folder.path(), "run.mcap", &shipped);
    let python = folder.path().join("python.toml");
    std::fs::write(
        &python,
        text(&format!("\"solver-exec\"\nconfig = {PYTHON}")),
    )
    .unwrap();
    let python = python.display().to_string();
    let compared = run(&["compare", &shipped, &python, &file]);
    assert!(compared.stdout.contains("solver-exec"), "{compared:?}");
    assert!(
        compared.stdout.contains("1 board: the same answer"),
        "{compared:?}"
    );
}
