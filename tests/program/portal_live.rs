//! capture-screen through a desktop portal: a real one, that of wlroots' compositors, and a real window in sway. Where nobody
//! answers its dialog, one that is made up.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use flowpipe_tests::signals::send_signal;
use flowpipe_tests::{Ran, flowpipe, pipeline};

use crate::live_play::{LiveScreen, TITLE, Table};
use crate::made_up_portal::{Answers, MadeUpPortal};
use crate::portal::PortalSession;
use crate::screen::wait_for;

impl LiveScreen for PortalSession {
    fn set(&self, command: &mut Command) {
        Self::set(self, command);
    }

    fn wait_for_window(&self, title: &str) {
        wait_for("window", || self.sway.tree().contains(title).then_some(()));
    }

    fn save_picture(&self, _: &Path) {}
}

/// What becomes of a pipeline in a session.
fn run(session: &PortalSession, text: &str) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    let mut command = flowpipe(&["run", &pipeline(folder.path(), text)]);
    LiveScreen::set(session, &mut command);
    command.output().unwrap().into()
}

fn screen(config: &str) -> String {
    format!(
        "[stages.screen]\nplugin = \"capture-screen\"\nconfig = {{ desktop = \"portal\", {config} }}\n"
    )
}

#[test]
#[ignore = "a real portal passes some changes on late: `./x test full` runs it"]
fn a_board_is_read_through_a_portal() {
    for isolation in ["thread", "process"] {
        // A second session of the same portal would get its first picture with the next change of the screen.
        let session = PortalSession::start([800, 900], "1");
        let game = ["--size", "5", "--seed", "3", "--window", "400x700"];
        let table = Table::on(session, &game);
        let folder = tempfile::tempdir().unwrap();
        let text = format!(
            "{}isolation = \"{isolation}\"
[stages.vision]
plugin = \"vision-opencv\"
from = \"screen\"
queue = {{ capacity = 1, when_full = \"latest\" }}
[stages.solver]
plugin = \"solver-search\"
from = \"vision\"
",
            screen("monitor = 1")
        );
        let mut command = flowpipe(&["run", &pipeline(folder.path(), &text)]);
        LiveScreen::set(&table.screen, &mut command);
        let log = folder.path().join("printed");
        let mut run = command
            .stdout(std::fs::File::create(&log).unwrap())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let began = Instant::now();
        let solved = "(5 x 5, 5 flows) solved by solver-search";
        let found = loop {
            let printed = std::fs::read_to_string(&log).unwrap();
            if printed.contains(solved) {
                break true;
            }
            if began.elapsed() > Duration::from_secs(60) || run.try_wait().unwrap().is_some() {
                break false;
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        run.kill().unwrap();
        run.wait().unwrap();
        let printed = std::fs::read_to_string(&log).unwrap();
        assert!(found, "{isolation}: {TITLE}: {printed}");
    }
}

#[test]
#[ignore = "a real portal passes some changes on late: `./x test full` runs it"]
fn what_a_portal_does_not_report_is_said() {
    let session = PortalSession::start([640, 480], "1");
    let ran = run(&session, &screen("window = \"flow\"")).expect(78);
    let words = "the desktop portal does not report it: monitor 1 is the monitor or the window";
    assert!(ran.stderr.contains(words), "{ran:#?}");
    let folder = tempfile::tempdir().unwrap();
    let puzzle = folder.path().join("puzzle.txt");
    std::fs::write(&puzzle, "A.B\n...\nA.B\n").unwrap();
    let mouse = format!(
        "[stages.puzzles]\nplugin = \"capture-puzzles\"\nconfig = {{ files = [{puzzle:?}] }}\n\
         [stages.solver]\nplugin = \"solver-search\"\nfrom = \"puzzles\"\n\
         [stages.planner]\nplugin = \"planner-minlink\"\nfrom = \"solver\"\n\
         [stages.mouse]\nplugin = \"actuator-mouse\"\nfrom = \"planner\"\n\
         config = {{ desktop = \"portal\", any_window = true, accept = [\"pointer\", \"hotkey\"] }}\n"
    );
    let ran = run(&session, &mouse).expect(1);
    let words = "this desktop's portal lets no program move the pointer";
    assert!(ran.stderr.contains(words), "{ran:#?}");
    // Where no portal is, the choice of one is refused.
    let elsewhere = screen("monitor = 1");
    let mut command = flowpipe(&["run", &pipeline(folder.path(), &elsewhere)]);
    LiveScreen::set(&session, &mut command);
    command.env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere");
    let ran: Ran = command.output().unwrap().into();
    let ran = ran.expect(1);
    let words = "desktop = \"portal\", but no desktop portal that shows the screen answers";
    assert!(ran.stderr.contains(words), "{ran:#?}");
}

/// Ends a run by Ctrl-C while the dialog is open, which nobody answers.
fn is_given_up(text: &str) {
    let portal = MadeUpPortal::start(Answers {
        ignores: Some("Start"),
        ..Answers::default()
    });
    // Isolated stages of root give up root's rights.
    for (name, mode) in [("", 0o755), ("bus", 0o777)] {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(portal.path(name), mode).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let mut run = flowpipe(&["run", &pipeline(folder.path(), text)])
        .env("DBUS_SESSION_BUS_ADDRESS", portal.bus())
        .env("XDG_STATE_HOME", folder.path())
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for("question", || {
        let ended = run.try_wait().unwrap();
        assert!(ended.is_none(), "{text}: {ended:?}");
        let asked = portal.asked();
        asked.iter().any(|it| it.starts_with("Start")).then_some(())
    });
    send_signal("INT", run.id());
    let sent = Instant::now();
    while run.try_wait().unwrap().is_none() {
        if sent.elapsed() > Duration::from_secs(10) {
            run.kill().unwrap();
            let ran: Ran = run.wait_with_output().unwrap().into();
            panic!("{text} goes on: {ran:#?}");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let ran: Ran = run.wait_with_output().unwrap().into();
    println!("{text}: ended after {:?}", sent.elapsed());
    ran.expect(130);
}

#[test]
fn ctrl_c_ends_a_run_while_the_dialog_is_open() {
    // A monitor is asked for at the start, a region with the first capture.
    for config in [
        "monitor = 1",
        "region = { x = 0, y = 0, width = 9, height = 9 }",
    ] {
        for isolation in ["thread", "process"] {
            let screen = screen(config);
            is_given_up(&format!("{screen}isolation = \"{isolation}\"\n"));
        }
    }
}
