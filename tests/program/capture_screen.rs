//! capture-screen in whole pipelines, on screens of their own.

use std::io::{BufReader, Read as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use crate::screen::Screen;
use flowpipe_tests::signals::send_signal;
use flowpipe_tests::{Ran, flowpipe, pipeline};

const TITLE: &str = "flowpipe play";

/// How long a run may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// The program on a screen, or with `None` on none.
fn on(screen: Option<&Screen>, args: &[&str]) -> Command {
    let mut command = flowpipe(args);
    for name in ["DISPLAY", "WAYLAND_DISPLAY", "WAYLAND_SOCKET"] {
        command.env_remove(name);
    }
    if let Some(screen) = screen {
        command.env("DISPLAY", screen.display());
    }
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Ends with the test, however that ends.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to end.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn play(screen: &Screen, size: &str) -> Running {
    let mut command = on(Some(screen), &["play", "--size", size, "--seed", "3"]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    Running(command.spawn().unwrap())
}

/// Lines of a stream until one contains that text.
fn read_until(stream: &mut impl std::io::BufRead, text: &str) {
    let mut all = String::new();
    while !all.lines().last().is_some_and(|line| line.contains(text)) {
        assert!(
            stream.read_line(&mut all).unwrap() > 0,
            "no {text:?} in {all}"
        );
    }
}

#[cfg(unix)]
#[test]
fn a_live_window_is_waited_for_and_read() {
    let screen = Screen::start_with_manager();
    let folder = tempfile::tempdir().unwrap();
    let text = format!(
        "
[stages.screen]
plugin = \"capture-screen\"
config = {{ window = \"{TITLE}\" }}
[stages.vision]
plugin = \"vision-opencv\"
from = \"screen\"
queue = {{ capacity = 1, when_full = \"latest\" }}
[stages.solver]
plugin = \"solver-search\"
from = \"vision\"
"
    );
    let mut run = on(Some(&screen), &["run", &pipeline(folder.path(), &text)]);
    let mut run = Running(run.spawn().unwrap());
    let (_running, ended) = std::sync::mpsc::channel::<()>();
    let id = run.0.id();
    std::thread::spawn(move || {
        // Its streams end then, and the test fails by what it has read of them.
        if ended.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
            send_signal("KILL", id);
        }
    });
    let mut stderr = BufReader::new(run.0.stderr.take().unwrap());
    let mut stdout = BufReader::new(run.0.stdout.take().unwrap());
    read_until(&mut stderr, "waiting for it");
    // Of two sizes: a picture may be sent twice, and the second game's line is not one of the first game's.
    for (size, flows) in [("5", 5), ("6", 6)] {
        let game = play(&screen, size);
        let line = format!("{TITLE} ({size} x {size}, {flows} flows) solved by solver-search");
        read_until(&mut stdout, &line);
        // It goes, and the same run finds it again.
        drop(game);
        read_until(&mut stderr, "waiting for it");
    }
    send_signal("INT", id);
    stdout.read_to_string(&mut String::new()).unwrap();
    assert_eq!(run.0.wait().unwrap().code(), Some(130));
}

/// What becomes of a pipeline of capture-screen alone.
fn alone(screen: Option<&Screen>, config: &str) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("[stages.screen]\nplugin = \"capture-screen\"\nconfig = {config}\n");
    let ran = on(screen, &["run", &pipeline(folder.path(), &text)]).output();
    ran.unwrap().into()
}

#[test]
fn a_missing_window_ends_the_run_and_names_the_others() {
    let screen = Screen::start_with_manager();
    screen.open("Solitaire", [0, 0], [90, 80], [9, 9, 9]);
    screen.open("Flow Free", [200, 200], [90, 80], [9, 9, 9]);
    let config = "{ window = \"Fow Free\", wait_for_window = false }";
    let ran = alone(Some(&screen), config).expect(1);
    for part in [
        "no window is titled \"Fow Free\"",
        "did you mean \"Flow Free\"",
        "\"Solitaire\"",
    ] {
        assert!(ran.stderr.contains(part), "{ran:#?}");
    }
}

/// Also in a confined process of its own. This test has started flowpipe, as a terminal does.
#[test]
fn the_window_of_the_terminal_is_skipped() {
    let screen = Screen::start();
    let title = "flowpipe run live --window Flow";
    let window = screen.open(title, [0, 0], [90, 80], [9, 9, 9]);
    screen.set_process(window, std::process::id(), None);
    for isolation in ["thread", "process"] {
        let config = format!(
            "{{ window = \"Flow\", wait_for_window = false }}\nisolation = \"{isolation}\""
        );
        let ran = alone(Some(&screen), &config).expect(1);
        let words = format!("no window is titled \"Flow\" (skipped: \"{title}\"");
        assert!(ran.stderr.contains(&words), "{ran:#?}");
    }
}

#[test]
fn a_wrong_config_or_no_screen_runs_nothing() {
    for (config, words) in [
        ("{ window = \"a\", monitor = 1 }", "pipeline.toml:3:36"),
        ("{ resend = \"soon\" }", "\"soon\" is no time"),
        ("{ windw = \"a\" }", "windw"),
    ] {
        let ran = alone(None, config).expect(78);
        assert!(ran.stderr.contains(words), "{ran:#?}");
    }
    let ran = alone(None, "{}").expect(1);
    let words = "neither DISPLAY nor WAYLAND_DISPLAY is set";
    assert!(ran.stderr.contains(words), "{ran:#?}");
}
