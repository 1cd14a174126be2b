//! Processes of stages end with the run, and with the program.

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use flowpipe_tests::signals::send_signal;
use flowpipe_tests::{Ran, changed, flowpipe, run};

use super::{apart, misbehaving};

/// The processes of stages that a program has started.
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

/// A run of the project's frames that goes on and on, with all stages apart, until a board is played.
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

fn is_gone(process: u32) -> bool {
    // A zombie that nobody has waited for yet is gone too.
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"));
    stat.is_ok_and(|stat| stat.contains(") Z ")) || !Path::new(&format!("/proc/{process}")).exists()
}

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

/// The processes that have this in their environment.
fn marked(mark: &str) -> Vec<u32> {
    let marked = |entry: std::fs::DirEntry| {
        let process = entry.file_name().to_str()?.parse().ok()?;
        let environment = std::fs::read(entry.path().join("environ")).ok()?;
        let mut parts = environment.split(|&byte| byte == 0);
        parts.any(|part| part == mark.as_bytes()).then_some(process)
    };
    let all = std::fs::read_dir("/proc").unwrap();
    all.filter_map(|entry| marked(entry.ok()?)).collect()
}

/// A run of a stage that forks, and may do so. Its processes have the second value in their environment.
fn forking(folder: &Path, how: &str, settings: &str) -> (std::process::Command, String) {
    let file = misbehaving(folder, how, settings);
    let text = std::fs::read_to_string(&file).unwrap();
    let text = text.replace("every = 3", "every = 3, command = \"copies\"");
    std::fs::write(&file, text).unwrap();
    let mark = format!("FORKED={}", folder.display());
    let mut command = flowpipe(&["run", "--json", &file]);
    command.env("FORKED", folder);
    (command, mark)
}

/// The copy holds the connections, so that their end does not report the crash.
#[test]
fn a_crash_of_a_stage_that_forked_is_a_crash() {
    let folder = tempfile::tempdir().unwrap();
    let (mut command, mark) = forking(folder.path(), "fork-and-abort", "");
    let began = Instant::now();
    let ran = Ran::from(command.output().unwrap()).expect(0);
    assert!(began.elapsed() < Duration::from_secs(30), "{ran:#?}");
    for (kind, text) in super::failures::two_of_eight(&ran) {
        assert_eq!(kind, "crashed");
        assert!(text.starts_with("its process aborted (SIGABRT"), "{text}");
    }
    until("the end of the copies", || marked(&mark).is_empty());
}

/// A stage without effects starts no processes: nothing of it is left, even if it ends everything that watches it.
#[test]
fn a_stage_without_effects_cannot_fork() {
    let folder = tempfile::tempdir().unwrap();
    let file = misbehaving(folder.path(), "fork", "");
    let ran = run(&["run", "--json", &file]).expect(1);
    let failure = &ran.json()["report"]["failure"];
    let text = failure["text"].as_str().unwrap();
    assert!(text.contains("no fork"), "{ran:#?}");
}

#[test]
fn copies_of_a_stage_end_with_it() {
    let folder = tempfile::tempdir().unwrap();
    for (how, settings) in [("fork", ""), ("fork-and-hang", "watchdog = \"300ms\"")] {
        let settings = format!("timeout = \"300ms\"\n{settings}");
        let (mut command, mark) = forking(folder.path(), how, &settings);
        Ran::from(command.output().unwrap()).expect(0);
        until("the end of the copies", || marked(&mark).is_empty());
    }
}

#[test]
fn copies_of_a_stage_do_not_outlive_a_program_that_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    // The first stage ends by itself when the program is gone, the second one is killed.
    for how in ["fork", "fork-and-hang"] {
        let (mut command, mark) = forking(folder.path(), how, "watchdog = \"1h\"");
        let file = folder.path().join("pipeline.toml");
        let text = std::fs::read_to_string(&file).unwrap();
        let board = "AB\\nAB\\n\\n";
        let endless = board.repeat(20_000);
        std::fs::write(&file, text.replace(&board.repeat(8), &endless)).unwrap();
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // The program, the stage and a copy.
        until("a copy", || marked(&mark).len() >= 3);
        child.kill().unwrap();
        child.wait().unwrap();
        until("the end of the copies", || marked(&mark).is_empty());
    }
}

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
