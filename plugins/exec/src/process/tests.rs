use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use flowpipe_plugin::harness;
use serde_json::json;

use super::*;
use crate::solver::SolverExec;

/// The pipe that a link of `/proc` names.
fn pipe(link: &str) -> Option<String> {
    let target: PathBuf = fs::read_link(link).ok()?;
    let name = target.to_str()?.to_owned();
    name.starts_with("pipe:").then_some(name)
}

/// How many ends of some pipes this program holds.
fn held(pipes: &[String]) -> usize {
    let own = fs::read_dir("/proc/self/fd").unwrap();
    let links = own.filter_map(|entry| Some(entry.ok()?.path().display().to_string()));
    let is_one = |link: &String| pipe(link).is_some_and(|it| pipes.contains(&it));
    links.filter(is_one).count()
}

/// Kills a process when a test is over.
struct Kill<'a>(&'a str);

impl Drop for Kill<'_> {
    fn drop(&mut self) {
        let kill = std::process::Command::new("kill")
            .args(["-9", self.0])
            .status();
        assert!(kill.unwrap().success());
    }
}

#[test]
#[cfg(target_os = "linux")]
fn nothing_is_kept_for_what_a_command_leaves_in_another_session() {
    let host = harness!(
        SolverExec,
        json!({ "command": ["sh", "-c", "read -r line; echo '{\"id\":0}'; read -r line"] })
    );
    let host = host.unwrap();
    // It holds all three pipes, and is no part of the command's group.
    let script = "exec 3<&0; setsid sleep 1000 <&3 3<&- & echo $! >&2; read -r line; echo last >&2; printf last; exit 7";
    let config = serde_json::from_value(json!({ "command": ["sh", "-c", script] })).unwrap();
    let mut process = Process::start(&config, "it", host.host()).unwrap();
    let started = Instant::now();
    while process.last_stderr_line().is_empty() && started.elapsed() < Duration::from_secs(60) {
        thread::sleep(Duration::from_millis(5));
    }
    let number = process.last_stderr_line();
    let _killed_at_last = Kill(&number);
    let pipes = [0, 1, 2].map(|file| pipe(&format!("/proc/{number}/fd/{file}")).unwrap());
    assert_eq!(held(&pipes), 3);
    // More than its input holds, so that the writer waits.
    process
        .send([vec![b'\n'], vec![b' '; 1 << 20]].concat())
        .unwrap();
    let received = loop {
        match process.read_line(Duration::from_millis(5)) {
            Ok(Received::Nothing) => {}
            other => break other,
        }
    };
    // Its own output is read to its end.
    let Ok(Received::Line(line)) = received else {
        panic!("it wrote something: {:?}", received.err());
    };
    assert_eq!(line, b"last");
    let Err(CommandError::Ended { status, stderr }) = process.read_line(Duration::ZERO) else {
        panic!("it has ended");
    };
    assert_eq!((status.code(), stderr.as_str()), (Some(7), "last"));
    drop(process);
    while held(&pipes) > 0 && started.elapsed() < Duration::from_secs(60) {
        thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(held(&pipes), 0, "ends of pipes are kept");
    let runs = PathBuf::from(format!("/proc/{number}/fd")).exists();
    assert!(runs, "a process of another session is not killed");
}
