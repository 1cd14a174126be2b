//! Stages in processes of their own, in the real program.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    reason = "a test helper that can't go on should panic"
)]

use std::io::{BufRead as _, BufReader, Read as _};
#[cfg(target_os = "linux")]
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use flowpipe_tests::signals::send_signal;
use flowpipe_tests::{Ran, changed, flowpipe, flowpipe_within, pipeline, record, run};

/// Puzzles, a stage apart that does wrong at the third of every three, a solver.
fn misbehaving(folder: &Path, how: &str, settings: &str) -> String {
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

/// What a run with two failures out of eight came to: the kinds and texts of its problems.
#[track_caller]
fn two_of_eight(ran: &Ran) -> Vec<(String, String)> {
    let said = ran.json();
    assert_eq!(said["boards"]["solved"], 6, "{said:#}");
    let stage = &said["report"]["stages"][1];
    assert_eq!((&stage["in"], &stage["restarted"]), (&8.into(), &2.into()));
    let problems = said["report"]["problems"].as_array().unwrap().clone();
    let counted = problems.iter().filter(|it| it["kind"] != "slow");
    let sequences: Vec<_> = counted
        .clone()
        .map(|it| it["message"]["sequence"].clone())
        .collect();
    assert_eq!(sequences, [3, 6]);
    let text = |of: &serde_json::Value, key: &str| of[key].as_str().unwrap().to_owned();
    counted
        .map(|it| (text(it, "kind"), text(it, "text")))
        .collect()
}

#[test]
fn a_crash_costs_one_message() {
    let folder = tempfile::tempdir().unwrap();
    for (how, words) in [
        ("segfault", "its process was killed by SIGSEGV"),
        ("abort", "its process aborted (SIGABRT"),
    ] {
        let file = misbehaving(folder.path(), how, "");
        let problems = two_of_eight(&run(&["run", "--json", &file]).expect(0));
        for (kind, text) in problems {
            assert_eq!(kind, "crashed");
            assert!(text.starts_with(words), "{text}");
        }
    }
}

#[test]
fn the_end_of_a_run_tells_of_restarts() {
    let folder = tempfile::tempdir().unwrap();
    let file = misbehaving(folder.path(), "segfault", "");
    let restarts = "restarts of wrong: 2\n";
    let ran = run(&["run", &file]).expect(0);
    assert!(ran.stdout.contains(restarts), "{}", ran.stdout);
    let recording = record(folder.path(), "crashes.mcap", &file);
    let ran = run(&["replay", &recording]).expect(0);
    assert!(ran.stdout.contains(restarts), "{}", ran.stdout);
    let page = run(&["report", &recording, "-o", "-"]).expect(0);
    let told: Vec<_> = page.stdout.match_indices("\"restarts\":").collect();
    assert_eq!(told.len(), 3, "one a stage");
    assert!(page.stdout.contains("\"restarts\":2"));

    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("every = 3", "every = 9")).unwrap();
    let ran = run(&["run", &file]).expect(0);
    assert!(!ran.stdout.contains("restarts"), "{}", ran.stdout);
}

#[test]
fn a_hang_costs_one_message() {
    let folder = tempfile::tempdir().unwrap();
    let limits = "timeout = \"300ms\"\nwatchdog = \"300ms\"";
    let file = misbehaving(folder.path(), "hang", limits);
    for (kind, text) in two_of_eight(&run(&["run", "--json", &file]).expect(0)) {
        assert_eq!(kind, "hang");
        assert!(text.ends_with("; its process was killed"), "{text}");
    }
}

/// Where the address space is bounded, memory ends in the process that takes it.
#[cfg(target_os = "linux")]
#[test]
fn out_of_memory_costs_one_message() {
    let folder = tempfile::tempdir().unwrap();
    let file = misbehaving(folder.path(), "out-of-memory", "");
    let mut command = flowpipe_within("-v 4000000", &["run", "--json", &file]);
    let ran = Ran::from(command.output().unwrap()).expect(0);
    for (kind, text) in two_of_eight(&ran) {
        assert_eq!(kind, "crashed");
        assert!(text.starts_with("its process aborted (SIGABRT"), "{text}");
    }
}

#[test]
fn what_a_plugin_prints_is_no_output_of_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let file = misbehaving(folder.path(), "print", "");
    let ran = run(&["run", "--json", &file]).expect(0);
    assert_eq!(ran.json()["boards"]["solved"], 8);
    assert!(ran.stderr.contains("printed by a plugin"), "{}", ran.stderr);
}

#[test]
fn without_budget_on_error_decides() {
    let folder = tempfile::tempdir().unwrap();
    let always = |settings: &str| {
        let file = misbehaving(folder.path(), "abort", settings);
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, text.replace("every = 3", "every = 1")).unwrap();
        run(&["run", "--json", &file])
    };
    let ran = always("restart = { max = 2, backoff = \"1ms\" }").expect(1);
    let said = ran.json();
    assert_eq!(said["report"]["failure"]["kind"], "crashed");
    assert_eq!(said["report"]["stages"][1]["in"], 3);
    let ran = always("restart = { max = 2, backoff = \"1ms\" }\non_error = \"skip\"").expect(0);
    assert_eq!(ran.json()["report"]["stages"][1]["failed"], 8);
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

/// What the stages of a run did: how many messages each took, and that none had a problem.
#[track_caller]
fn without_problems(ran: &Ran) -> Vec<(String, u64)> {
    let said = ran.json();
    assert_eq!(
        said["report"]["problems"],
        serde_json::json!([]),
        "{said:#}"
    );
    let stages = said["report"]["stages"].as_array().unwrap();
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
fn a_stage_apart_writes_where_its_config_says() {
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
        "[stages.tape]
plugin = \"capture-recording\"
isolation = \"process\"
config = {{ file = {recording:?}, stage = \"frames\" }}

[stages.vision]
plugin = \"vision-opencv\"
from = \"tape\"
isolation = \"process\"
on_error = \"skip\"
"
    );
    let file = pipeline(folder.path(), &text);
    let ran = run(&["run", "--json", &file]).expect(0);
    assert_eq!(without_problems(&ran)[1], ("vision".to_owned(), 11));
}

#[test]
fn a_recorded_run_of_stages_apart_is_the_same_again() {
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
    let ran = run(&["run", "--json", &file]).expect(0);
    assert_eq!(ran.json()["boards"]["solved"], 3);
    // Whoever lost is told so after as many questions as then.
    let recording = record(folder.path(), "race.mcap", &file);
    run(&["replay", &recording, "--verify", "-q"]).expect(0);
}

#[test]
fn mistakes_are_told_with_their_place() {
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
        "a stage is made anew 1 to",
        ":10:22",
        "unknown key `backof`",
    ] {
        assert!(ran.stderr.contains(part), "no {part:?} in {}", ran.stderr);
    }
}

/// The processes of stages that a program has started.
#[cfg(target_os = "linux")]
fn children(of: u32) -> Vec<u32> {
    let stat = |entry: std::fs::DirEntry| {
        let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
        let (process, rest) = stat.split_once(' ')?;
        let parent = rest.rsplit_once(") ")?.1.split(' ').nth(1)?;
        (parent == of.to_string()).then(|| process.parse().ok())?
    };
    let all = std::fs::read_dir("/proc").unwrap();
    all.filter_map(|entry| stat(entry.ok()?)).collect()
}

#[cfg(target_os = "linux")]
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "{what} never happened"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A run of the project's frames that goes on and on, with all stages apart, until a board is played.
#[cfg(target_os = "linux")]
fn endless(folder: &Path) -> (Child, BufReader<std::process::ChildStdout>) {
    let all = ["frames", "vision", "solver", "planner", "actuator"];
    let file = changed(folder, |text| {
        apart(&text.replace("*.png\"]", "*.png\"], repeat = true"), &all)
    });
    let mut child = flowpipe(&["run", &file.display().to_string()])
        .process_group(0)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("the game counts it as solved") {
        line.clear();
        assert!(
            stdout.read_line(&mut line).unwrap() > 0,
            "it ended by itself"
        );
    }
    (child, stdout)
}

#[cfg(target_os = "linux")]
fn is_gone(process: u32) -> bool {
    // A zombie that nobody has waited for yet is gone too.
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"));
    stat.is_ok_and(|stat| stat.contains(") Z ")) || !Path::new(&format!("/proc/{process}")).exists()
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupt_ends_the_run_and_its_processes() {
    let folder = tempfile::tempdir().unwrap();
    let (mut child, mut stdout) = endless(folder.path());
    let processes = children(child.id());
    assert_eq!(processes.len(), 5);
    // As a terminal does: to all of the group.
    send_signal("INT", -i64::from(child.id()));
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{rest}");
    assert!(!rest.contains("its process"), "{rest}");
    assert!(!rest.contains("left over at the end"), "{rest}");
    for process in processes {
        assert!(is_gone(process), "{process}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn no_process_outlives_a_program_that_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let (mut child, _stdout) = endless(folder.path());
    let processes = children(child.id());
    assert_eq!(processes.len(), 5);
    // One that does nothing of itself any more must go too.
    child.kill().unwrap();
    child.wait().unwrap();
    for process in processes {
        until("its end", || is_gone(process));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn one_that_hangs_does_not_outlive_a_program_that_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let file = misbehaving(folder.path(), "hang", "watchdog = \"1h\"");
    let mut child = flowpipe(&["run", &file])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until("a process", || children(child.id()).len() == 1);
    let process = children(child.id())[0];
    std::thread::sleep(Duration::from_millis(500));
    child.kill().unwrap();
    child.wait().unwrap();
    until("its end", || is_gone(process));
}
