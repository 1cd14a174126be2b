//! capture-screen and actuator-mouse through one portal: a person is asked once for both. The portal is made up, as none with
//! a mouse answers without a person. Its pictures are those of GNOME's real compositor, Mutter, which shows the real game, and
//! moves the pointer as the portal is asked to.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use flowpipe_desktop::Desktop;
use flowpipe_desktop::input::Input;
use flowpipe_tests::signals::send_signal;
use flowpipe_tests::{Ran, flowpipe};
use zbus::blocking::Connection;
use zbus::zvariant::Value;

use crate::live_play::{Player, Table, ready};
use crate::made_up_portal::{Answers, MadeUpPortal, Properties};
use crate::mutter::Mutter;
use crate::mutter_pictures::{CURSOR_METADATA, shown};
use crate::screen::wait_for;
use crate::wayland_screens::GNOME;

/// A screen on which a small window of the game has room.
const SIZE: [u32; 2] = [480, 800];

/// A game, a portal that shows it, and the connection with which its pictures end.
struct PortalTable {
    is_over: Arc<AtomicBool>,
    hand: Option<JoinHandle<()>>,
    portal: Arc<MadeUpPortal>,
    _cast: Connection,
    table: Table<Mutter>,
}

impl PortalTable {
    fn start() -> Self {
        let game = ["--size", "5", "--seed", "3", "--time-trial", "1h"];
        let table = GNOME.table(Mutter::start(SIZE, "1"), &game);
        let (cast, node) = shown(&table.screen, CURSOR_METADATA);
        let [width, height] = SIZE.map(u32::cast_signed);
        let monitor = Properties::from([
            ("position", Value::new((0, 0))),
            ("size", Value::new((width, height))),
            ("source_type", Value::new(1_u32)),
        ]);
        let portal = open_to_all(MadeUpPortal::start(Answers {
            streams: Value::new(vec![(node, monitor)]),
            pipewire: Some(table.screen.pipewire_socket()),
            tokens: true,
            ..Answers::default()
        }));
        let portal = Arc::new(portal);
        let is_over = Arc::new(AtomicBool::new(false));
        let hand = move_as_asked(&table.screen, Arc::clone(&portal), Arc::clone(&is_over));
        Self {
            is_over,
            hand: Some(hand),
            portal,
            _cast: cast,
            table,
        }
    }

    fn play(&self, pipeline: &str, args: &[&str]) -> Player {
        let bus = self.portal.bus();
        let set = |command: &mut Command| {
            command.env("DBUS_SESSION_BUS_ADDRESS", bus);
        };
        self.table.play_as(pipeline, args, set)
    }

    /// Waits until the mouse has pressed its button some times more.
    fn wait_for_presses(&self) {
        self.table.wait_for("press", self.table.count("press") + 2);
    }

    /// Kills the process of an isolated stage.
    fn kill(&self, player: &Player, stage: &str) {
        let process = wait_for("process", || stage_process(player.id(), stage));
        send_signal("KILL", process);
    }
}

impl Drop for PortalTable {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        if let Some(hand) = self.hand.take() {
            // A panic there has printed its own message.
            let _ = hand.join();
        }
    }
}

/// Has the compositor do what the portal is asked to do.
fn move_as_asked(
    mutter: &Mutter,
    portal: Arc<MadeUpPortal>,
    is_over: Arc<AtomicBool>,
) -> JoinHandle<()> {
    let desktop = Desktop::connect_mutter(&mutter.bus(), &mutter.pipewire_socket());
    let mut device = desktop.unwrap().input().unwrap();
    device.put([5, 5]).unwrap();
    std::thread::spawn(move || {
        let mut done = 0;
        while !is_over.load(Ordering::SeqCst) {
            for event in portal.events_after(done) {
                done += 1;
                let words: Vec<&str> = event.split(' ').collect();
                match words[..] {
                    ["move", _, x, y] => {
                        let at = [x, y].map(|it| it.parse::<f64>().unwrap() as i32);
                        device.put(at).unwrap();
                    }
                    ["button", _, "1"] => device.press(Input::Button(1)).unwrap(),
                    ["button", _, _] => device.release(Input::Button(1)).unwrap(),
                    _ => {}
                }
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    })
}

/// The process of an isolated stage of a program.
fn stage_process(program: u32, stage: &str) -> Option<u32> {
    let children = format!("/proc/{program}/task");
    let threads = std::fs::read_dir(children).unwrap();
    let lists =
        threads.filter_map(|it| std::fs::read_to_string(it.ok()?.path().join("children")).ok());
    let children: Vec<u32> = lists
        .flat_map(|list| {
            list.split(' ')
                .filter_map(|it| it.parse().ok())
                .collect::<Vec<_>>()
        })
        .collect();
    children.into_iter().find(|child| {
        let line = std::fs::read_to_string(format!("/proc/{child}/cmdline")).unwrap_or_default();
        line.contains("isolated-stage") && line.split('\0').any(|it| it == stage)
    })
}

/// Isolated stages of root give up root's rights.
fn open_to_all(portal: MadeUpPortal) -> MadeUpPortal {
    for (name, mode) in [("", 0o755), ("bus", 0o777)] {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(portal.path(name), mode).unwrap();
    }
    portal
}

/// The sessions that were created, and the dialogs that were shown.
fn sessions(portal: &MadeUpPortal) -> [usize; 2] {
    ["CreateSession", "Start"].map(|method| portal.count(method))
}

/// The live pipeline with some stages in processes of their own, all of which are restarted.
fn pipeline(isolated: &[&str]) -> toml::Table {
    let configs = [
        ("screen", "desktop = \"portal\", monitor = 1"),
        (
            "mouse",
            "desktop = \"portal\", any_window = true, accept = [\"hotkey\"]",
        ),
    ];
    let mut pipeline: toml::Table = ready("live.toml", &configs).parse().unwrap();
    for stage in isolated {
        let stage = pipeline["stages"][stage].as_table_mut().unwrap();
        stage.insert("isolation".to_owned(), "process".into());
    }
    pipeline
}

/// The text of a pipeline with a stage before all others.
fn with_first(mut pipeline: toml::Table, name: &str) -> String {
    let stage = pipeline["stages"].as_table_mut().unwrap().remove(name);
    let stages = toml::Table::from_iter([(name.to_owned(), stage.unwrap())]);
    let first = toml::Table::from_iter([("stages".to_owned(), stages.into())]).to_string();
    let rest = pipeline.to_string();
    let (head, tail) = rest.split_at(rest.find('[').unwrap());
    format!("{head}{first}\n{tail}")
}

#[test]
fn one_dialog_is_for_both() {
    let table = PortalTable::start();
    let mut count = 0;
    for isolated in [&[][..], &["screen"], &["mouse"], &["screen", "mouse"]] {
        for first in ["screen", "mouse"] {
            let player = table.play(&with_first(pipeline(isolated), first), &[]);
            table.wait_for_presses();
            player.signal("INT");
            player.ended().expect(130);
            count += 1;
            let shown = format!("{first} first, isolated: {isolated:?}");
            let asked = table.portal.asked();
            assert_eq!(sessions(&table.portal), [count; 2], "{shown}: {asked:?}");
        }
    }
    // Each but the first one is allowed by what the one before was given.
    let asked = table.portal.asked();
    let restored = asked.iter().filter(|it| it.contains("restore_token"));
    assert_eq!(restored.count(), count - 1);
}

#[test]
fn a_stage_that_is_restarted_shows_no_other_dialog() {
    let table = PortalTable::start();
    let player = table.play(&pipeline(&["screen", "mouse"]).to_string(), &[]);
    table.wait_for_presses();
    table.kill(&player, "screen");
    table.wait_for_presses();
    assert_eq!(sessions(&table.portal), [1, 1]);
    // Its session ends with it. The capture goes on with that of the next one.
    table.kill(&player, "mouse");
    table.wait_for_presses();
    assert_eq!(sessions(&table.portal), [2, 2]);
    assert_eq!(table.portal.count("SelectDevices"), 2);
    player.signal("INT");
    let ran = player.ended();
    let deaths = ran.stderr.matches("SIGKILL").count();
    assert_eq!(deaths, 2, "no stage has failed but those two: {ran:#?}");
}

#[test]
fn the_end_of_the_session_ends_the_run() {
    let table = PortalTable::start();
    let player = table.play(&pipeline(&[]).to_string(), &[]);
    table.wait_for_presses();
    table.portal.close_session();
    let ran = player.ended().expect(1);
    let words = "the desktop portal has ended the c";
    assert!(ran.stderr.contains(words), "{ran:#?}");
    assert_eq!(sessions(&table.portal), [1, 1]);
}

/// Nothing is controlled, so that nothing but the screen is asked for.
#[test]
fn a_dry_run_asks_for_the_screen_alone() {
    let table = PortalTable::start();
    let player = table.play(&pipeline(&[]).to_string(), &["--dry-run"]);
    let pictures = || (table.portal.count("OpenPipeWireRemote") > 0).then_some(());
    wait_for("pictures", pictures);
    player.signal("INT");
    player.ended().expect(130);
    assert_eq!(sessions(&table.portal), [1, 1]);
    assert_eq!(table.portal.count("SelectDevices"), 0);
}

/// Starts a run with a portal that shows nothing.
fn start(portal: &MadeUpPortal, folder: &Path, isolated: &[&str]) -> std::process::Child {
    let text = pipeline(isolated).to_string();
    flowpipe(&["run", &flowpipe_tests::pipeline(folder, &text)])
        .env("DBUS_SESSION_BUS_ADDRESS", portal.bus())
        .env("XDG_STATE_HOME", folder)
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn a_refused_dialog_is_reported_once() {
    for isolated in [&[][..], &["screen", "mouse"]] {
        let portal = open_to_all(MadeUpPortal::start(Answers {
            refuses: Some(("Start", 1)),
            ..Answers::default()
        }));
        let folder = tempfile::tempdir().unwrap();
        let run = start(&portal, folder.path(), isolated);
        let ran: Ran = run.wait_with_output().unwrap().into();
        let ran = ran.expect(1);
        let words = "it was refused in the dialog of the desktop portal";
        assert_eq!(ran.stderr.matches(words).count(), 1, "{ran:#?}");
        assert_eq!(sessions(&portal), [1, 1]);
    }
}

#[test]
fn ctrl_c_ends_a_run_while_the_dialog_for_both_is_open() {
    for isolated in [&[][..], &["screen", "mouse"]] {
        let portal = open_to_all(MadeUpPortal::start(Answers {
            ignores: Some("Start"),
            ..Answers::default()
        }));
        let folder = tempfile::tempdir().unwrap();
        let run = start(&portal, folder.path(), isolated);
        wait_for("question", || (portal.count("Start") > 0).then_some(()));
        send_signal("INT", run.id());
        let ran: Ran = run.wait_with_output().unwrap().into();
        ran.expect(130);
        assert_eq!(sessions(&portal), [1, 1]);
    }
}
