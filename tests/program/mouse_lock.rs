//! One run at a time controls the mouse of a session.

use std::path::Path;
use std::process::Command;

use flowpipe_tests::{Ran, flowpipe, pipeline};

use crate::going::Going;
use crate::screen::Screen;

/// A pipeline with the mouse, which waits for a window that does not come.
fn waiting(folder: &Path) -> String {
    let text = "
[stages.screen]
plugin = \"capture-screen\"
config = { window = \"a game that nobody starts\" }
[stages.vision]
plugin = \"vision-opencv\"
from = \"screen\"
[stages.solver]
plugin = \"solver-search\"
from = \"vision\"
[stages.planner]
plugin = \"planner-minlink\"
from = \"solver\"
[stages.mouse]
plugin = \"actuator-mouse\"
from = \"planner\"
";
    pipeline(folder, text)
}

fn on(screen: &Screen, args: &[&str]) -> Command {
    let mut command = flowpipe(args);
    command.env_remove("WAYLAND_DISPLAY");
    command.env("DISPLAY", screen.display());
    command
}

const WAITS: &str = "waiting for it";

#[test]
fn a_second_run_is_refused_until_the_first_has_ended() {
    let folder = tempfile::tempdir().unwrap();
    let file = waiting(folder.path());
    let (screen, other) = (Screen::start(), Screen::start());
    let start = |screen, args: &[&str]| {
        let run = Going::start_command(&mut on(screen, args));
        run.wait_for_stderr(WAITS);
        run
    };
    let refused = || {
        let ran: Ran = on(&screen, &["run", &file]).output().unwrap().into();
        ran.expect(1).stderr
    };
    let first = start(&screen, &["run", &file]);
    let stderr = refused();
    let named = format!("another run (process {}) controls the mouse", first.pid());
    assert!(stderr.contains(&named), "{stderr}");
    assert!(!stderr.contains(WAITS), "{stderr}");
    // What presses nothing here may run beside it.
    start(&screen, &["run", &file, "--dry-run"]).stop();
    start(&other, &["run", &file]).stop();
    assert!(refused().contains(&named), "the first one still has it");
    first.stop();
    // Also a run that can't end in order releases the lock.
    let killed = start(&screen, &["run", &file]);
    killed.signal("KILL");
    drop(killed);
    start(&screen, &["run", &file]).stop();
}

#[test]
fn a_reload_that_adds_the_mouse_is_refused_too() {
    let folder = tempfile::tempdir().unwrap();
    let file = waiting(folder.path());
    let text = std::fs::read_to_string(&file).unwrap();
    let without = text.split("[stages.mouse]").next().unwrap();
    let changed = folder.path().join("changed.toml");
    std::fs::write(&changed, without).unwrap();
    let screen = Screen::start();
    let start = |file: &str| {
        let run = Going::start_command(&mut on(&screen, &["run", file]));
        run.wait_for_stderr(WAITS);
        run
    };
    let first = start(&file);
    let second = start(changed.to_str().unwrap());
    std::fs::write(&changed, &text).unwrap();
    second.signal("HUP");
    second.wait_for_stderr("not changed: another run");
    first.stop();
    second.signal("HUP");
    second.wait_for_stderr("changed: mouse (added: actuator-mouse)");
    second.stop();
}
