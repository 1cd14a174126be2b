//! One run at a time controls the mouse of a session.

use std::path::{Path, PathBuf};
use std::process::Command;

use flowpipe_tests::{Ran, flowpipe, pipeline};

use crate::going::Going;
use crate::live_play::LiveScreen as _;
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
config = { accept = [\"pointer\", \"hotkey\", \"covered\"] }
";
    pipeline(folder, text)
}

fn on(screen: &Screen, args: &[&str]) -> Command {
    let mut command = flowpipe(args);
    screen.set(&mut command);
    command
}

/// A pipeline that waits for its window.
fn started(screen: &Screen, args: &[&str]) -> Going {
    let run = Going::start_command(&mut on(screen, args));
    run.wait_for_stderr(WAITS);
    run
}

/// Writes a pipeline beside a file, without the mouse of that one. Returns its path, and the text of the file.
fn without_mouse(file: &str) -> (PathBuf, String) {
    let text = std::fs::read_to_string(file).unwrap();
    let without = text.split("[stages.mouse]").next().unwrap();
    let changed = Path::new(file).with_file_name("changed.toml");
    std::fs::write(&changed, without).unwrap();
    (changed, text)
}

/// A change to how a program is started.
type Change<'a> = &'a dyn Fn(&mut Command);

const WAITS: &str = "waiting for it";

#[test]
fn a_second_run_is_refused_until_the_first_has_ended() {
    let folder = tempfile::tempdir().unwrap();
    let file = waiting(folder.path());
    let (screen, other) = (Screen::start(), Screen::start());
    let refused = || {
        let ran: Ran = on(&screen, &["run", &file]).output().unwrap().into();
        ran.expect(1).stderr
    };
    let first = started(&screen, &["run", &file]);
    let stderr = refused();
    let named = format!("another run (process {}) controls the mouse", first.pid());
    assert!(stderr.contains(&named), "{stderr}");
    assert!(!stderr.contains(WAITS), "{stderr}");
    // What presses nothing here may run beside it.
    started(&screen, &["run", &file, "--dry-run"]).stop();
    started(&other, &["run", &file]).stop();
    assert!(refused().contains(&named), "the first one still has it");
    first.stop();
    // Also a run that can't end in order releases the lock.
    let killed = started(&screen, &["run", &file]);
    killed.signal("KILL");
    drop(killed);
    started(&screen, &["run", &file]).stop();
}

#[test]
fn a_reload_that_adds_the_mouse_is_refused_too() {
    let folder = tempfile::tempdir().unwrap();
    let file = waiting(folder.path());
    let (changed, text) = without_mouse(&file);
    let screen = Screen::start();
    let start = |file: &str| started(&screen, &["run", file]);
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

/// A run that does not press keeps no other one from it.
#[test]
fn a_reload_that_is_refused_releases_the_mouse() {
    let folder = tempfile::tempdir().unwrap();
    let file = waiting(folder.path());
    let (changed, text) = without_mouse(&file);
    // A sink does not start with a file that has content.
    std::fs::write(folder.path().join("full.jsonl"), "1\n").unwrap();
    let refused = "[stages.out]\nplugin = \"sink-jsonl\"\nfrom = \"solver\"\nconfig = { path = \"full.jsonl\" }\n";
    let screen = Screen::start();
    let start = |file: &str| started(&screen, &["run", file]);
    let first = start(changed.to_str().unwrap());
    std::fs::write(&changed, format!("{text}{refused}")).unwrap();
    first.signal("HUP");
    first.wait_for_stderr("full.jsonl is there already");
    start(&file).stop();
    // It takes the mouse when it can add the stage.
    std::fs::write(&changed, &text).unwrap();
    first.signal("HUP");
    first.wait_for_stderr("changed: mouse (added: actuator-mouse)");
    let ran: Ran = on(&screen, &["run", &file]).output().unwrap().into();
    let named = format!("another run (process {}) controls the mouse", first.pid());
    assert!(ran.expect(1).stderr.contains(&named));
    first.stop();
}

/// The compositor is named by a socket in the runtime folder, or by the whole path, and its X server by a display.
#[test]
#[cfg(target_os = "linux")]
fn a_compositor_has_one_mouse_by_any_name() {
    let folder = tempfile::tempdir().unwrap();
    let file = waiting(folder.path());
    let sway = crate::sway::Sway::start([640, 480], "1");
    let on_sway = |change: Change<'_>| {
        let mut command = flowpipe(&["run", &file]);
        sway.set(&mut command);
        change(&mut command);
        command
    };
    let by_path = |command: &mut Command| {
        command.env("WAYLAND_DISPLAY", sway.wayland_socket());
    };
    let with_x11 = |command: &mut Command| {
        command.env("DISPLAY", ":4711");
    };
    let cases: [[Change<'_>; 2]; 3] = [
        [&|_| {}, &by_path],
        [&by_path, &|_| {}],
        [&with_x11, &by_path],
    ];
    for [first, second] in cases {
        let run = Going::start_command(&mut on_sway(first));
        run.wait_for_stderr(WAITS);
        let ran: Ran = on_sway(second).output().unwrap().into();
        let stderr = ran.expect(1).stderr;
        let named = format!("another run (process {}) controls the mouse", run.pid());
        assert!(stderr.contains(&named), "{stderr}");
        run.stop();
    }
}

/// GNOME and the portal are found by the session's bus alone.
#[test]
#[cfg(target_os = "linux")]
fn a_session_that_its_bus_names_has_one_mouse() {
    use crate::live_play::ready;
    use crate::wayland_screens::GNOME;

    let mutter = crate::mutter::Mutter::start([480, 800], "1");
    let table = GNOME.table(mutter, &["--size", "5", "--seed", "1"]);
    let by_bus = |command: &mut Command| {
        command.env_remove("WAYLAND_DISPLAY");
    };
    let elsewhere = |command: &mut Command| {
        command
            .env_remove("WAYLAND_DISPLAY")
            .env("DISPLAY", ":4711");
    };
    let chosen = format!("{}, desktop = \"mutter\"", GNOME.mouse);
    let screen_chosen = format!("{}, desktop = \"mutter\"", GNOME.screen);
    // A solved board stays, so that the run goes on.
    let stages = [("screen", GNOME.screen), ("mouse", GNOME.mouse)];
    let pipeline = ready("live.toml", &stages);
    let first = table.play_as(&pipeline, &[], by_bus);
    table.wait_for("press", 1);
    let refused = |pipeline: &str, change: Change<'_>| {
        let ran = table.play_as(pipeline, &[], change).ended().expect(1);
        let named = format!("another run (process {}) controls the mouse", first.id());
        assert!(ran.stderr.contains(&named), "{ran:#?}");
    };
    refused(&pipeline, &by_bus);
    refused(&pipeline, &|_| {});
    let stages = [("screen", screen_chosen.as_str()), ("mouse", &chosen)];
    refused(&ready("live.toml", &stages), &elsewhere);
    first.signal("INT");
    first.ended().expect(130);
}
