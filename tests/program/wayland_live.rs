//! The live pipeline against the practice game under Wayland: a real compositor (sway), a real window, and the game's own
//! log as the truth.

use std::process::{Command, Stdio};
use std::time::Duration;

use flowpipe_desktop::Desktop;
use flowpipe_desktop::input::Input;
use flowpipe_tests::{Ran, built, flowpipe, game_log};
use serde_json::Value;

use crate::live_play::{TITLE, Table, ready};
use crate::screen::wait_for;
use crate::sway::Sway;
use crate::wayland_boards::{
    SLOW, is_down, is_released, leads_on_by_a_key, lets_go, mid_drag, plays, plays_few,
    plays_isolated, plays_small_cells, plays_what_opens_later, was_stopped,
};
use crate::wayland_screens::{SWAY, SWAY_MONITOR};
use crate::wayland_window::{PointerEvent, WaylandWindow};

fn sway(scale: &str) -> Sway {
    Sway::start([1280, 1200], scale)
}

#[test]
fn ten_boards_of_all_sizes() {
    plays(sway("1"), SWAY, 10);
}

#[test]
fn boards_at_other_scales() {
    for scale in ["1.25", "2"] {
        plays_small_cells(sway(scale), SWAY);
    }
}

/// On a scaled monitor, sway reports the size of a new window before the game has it.
#[test]
fn a_game_that_opens_during_the_run_is_played() {
    for scale in ["1", "1.25"] {
        plays_what_opens_later(sway(scale), SWAY);
    }
}

/// In the layouts of sway, which gives the keyboard to the window under the pointer unless its config forbids it. A second
/// window lies beside the game's, or behind it, in a tab or on the whole monitor.
#[test]
fn tiled_tabbed_and_fullscreen_windows_are_played() {
    let game = format!("[title=\"{TITLE}\"]");
    for config in [
        "",
        "workspace_layout tabbed",
        "workspace_layout stacking",
        "default_border none\ngaps inner 10",
        &format!("for_window {game} fullscreen enable"),
    ] {
        // Else it would lie over the others, because its size is fixed.
        let config = format!("for_window [title=\"other\"] floating disable\n{config}");
        let sway = Sway::start_with_config([1280, 1200], "1.25", &config);
        let socket = sway.wayland_socket();
        let other = WaylandWindow::open(&socket, "other", [200, 200], [90, 90, 90]);
        plays_few(sway, SWAY);
        drop(other);
    }
}

/// A window of X11 on a scaled monitor: sway draws it larger than the program has drawn it.
#[test]
fn a_window_of_xwayland_is_played() {
    let sway = Sway::start_with_xwayland([1280, 1200], "1.25");
    let mut game = sway.xwayland_command(&built().join("flowpipe"));
    game.args(["play", "--size", "5,6", "--seed", "3", "--time-trial", "1h"]);
    game.args(["--log", "game.log"]).stdout(Stdio::null());
    let mut game = game.spawn().unwrap();
    wait_for("window", || sway.tree().contains(TITLE).then_some(()));
    assert!(sway.tree().contains("\"shell\": \"xwayland\""));
    let mouse = format!("mouse.{}", SWAY.mouse.replace(" = ", "="));
    let args = ["run", "live", "--boards", "3", "--json", "--set", &mouse];
    let mut run = flowpipe(&args);
    sway.set(&mut run);
    let ran = Ran::from(run.output().unwrap()).expect(0);
    game.kill().unwrap();
    game.wait().unwrap();
    assert_eq!(ran.json()["boards"]["accepted"], 3, "{ran:#?}");
    let log = game_log(&sway.folder().join("game.log"));
    let solved = log.iter().filter(|it| it["event"] == "solved").count();
    assert_eq!(solved, 3);
}

/// As in a shell of `sudo` or `ssh`, where WAYLAND_DISPLAY is not set.
#[test]
fn xwayland_is_not_taken_for_a_session_of_x11() {
    let sway = Sway::start_with_xwayland([640, 480], "1");
    let mut doctor = sway.xwayland_command(&built().join("flowpipe"));
    let doctor = doctor.args(["doctor", "--json"]).output().unwrap();
    let printed = String::from_utf8_lossy(&doctor.stdout);
    let found = "belongs to a Wayland session";
    assert!(printed.contains(found), "{doctor:?}");
}

/// The pointer, which sway draws into pictures, must not rest on the board then either.
#[test]
fn boards_on_a_captured_monitor() {
    plays(sway("1"), SWAY_MONITOR, 3);
}

#[test]
#[ignore = "takes minutes on a busy machine: `./x test full` runs it"]
fn a_hundred_boards_of_all_sizes() {
    plays(sway("1"), SWAY, 100);
}

#[test]
fn isolated_stages_play_too() {
    plays_isolated(sway("1"), SWAY);
}

#[test]
fn what_sway_does_not_report_has_to_be_accepted() {
    let table = SWAY.table(sway("1"), &["--size", "5", "--seed", "1"]);
    let ran = table.play(&ready("live.toml", &[]), &[]).ended();
    assert_ne!(ran.code, Some(0));
    for words in [
        "this desktop does not report: where the pointer is",
        ". F12 or Ctrl-C in the terminal ends the run. Set accept",
        "panels, notifications and menus over the window",
        "Set accept = [\"pointer\", \"covered\"] of actuator-mouse",
    ] {
        assert!(ran.stderr.contains(words), "{words}: {ran:#?}");
    }
    assert_eq!(table.count("press"), 0);
    // Accepted by the option that the message names, it is printed once.
    let option = ran.stderr.split_once("; for one run: --set ").unwrap().1;
    let option = option.lines().next().unwrap().replace('\'', "");
    let pipeline = ready("live.toml", &[("referee", "boards = 2")]);
    let ran = table.play(&pipeline, &["--set", &option]).ended();
    let ran = ran.expect(0);
    let count = ran.stderr.matches("this desktop does not report").count();
    assert_eq!(count, 1, "{ran:#?}");
    let start = "the real mouse plays there; F12 or Ctrl-C in the terminal stops it\n";
    assert!(ran.stderr.contains(start), "{ran:#?}");
}

/// As in a shell that was started before sway, or by another program.
#[test]
fn sway_without_its_variables_is_led_to_its_sockets() {
    let sway = sway("1");
    let run = |change: &dyn Fn(&mut Command)| {
        let mut command = flowpipe(&["run", "live", "--window", "Flow"]);
        sway.set(&mut command);
        command.env_remove("SWAYSOCK");
        change(&mut command);
        let ran = Ran::from(command.output().unwrap());
        assert_ne!(ran.code, Some(0), "{ran:#?}");
        ran.stderr
    };
    let own = sway.own_socket().display();
    let text = run(&|_| {});
    assert!(text.contains(&format!("`export SWAYSOCK={own}`")), "{text}");
    assert!(!text.contains("capture-screen.monitor=1"), "{text}");
    let export = format!("`export WAYLAND_DISPLAY=wayland-1 SWAYSOCK={own}`");
    for (display, words) in [
        ("", "neither DISPLAY nor WAYLAND_DISPLAY is set: start"),
        ("wayland-9", "/wayland-9: No such file"),
    ] {
        let text = run(&|command| {
            command.env("WAYLAND_DISPLAY", display);
            command.env_remove("XDG_SESSION_TYPE");
        });
        assert!(text.contains(words), "{text}");
        assert!(text.contains(&export), "{text}");
    }
}

#[test]
fn what_hides_the_window_is_named() {
    let table = SWAY.table(sway("1"), &["--size", "5", "--seed", "1"]);
    let stages = [("mouse", SWAY.mouse), ("referee", "seconds = 6")];
    let run = || {
        let ran = table.play(&ready("live.toml", &stages), &[]).ended();
        format!("{}{}", ran.stdout, ran.stderr)
    };
    let socket = table.screen.wayland_socket();
    let cover = WaylandWindow::open(&socket, "cover", [1280, 1200], [90, 90, 90]);
    let printed = run();
    let words = "another window lies over the captured one: move it away";
    assert_eq!(printed.matches(words).count(), 1, "{printed}");
    drop(cover);
    table.screen.command("workspace 2");
    let printed = run();
    let words = "the window \"flowpipe play\" is not shown: it is on workspace \"1\", which no monitor shows: show it";
    assert_eq!(printed.matches(words).count(), 1, "{printed}");
    assert_eq!(table.count("press"), 0);
}

#[test]
fn a_key_leads_on_to_the_next_board() {
    leads_on_by_a_key(sway("1"), SWAY);
}

/// What an X server shows is not played on a compositor, where the same place is elsewhere.
#[test]
fn frames_of_another_desktop_are_not_played() {
    let table = Table::set(&["--size", "5", "--seed", "1"]);
    let other = sway("1");
    let stages = [
        ("screen", "monitor = 1, desktop = \"x11\""),
        // As the session decides.
        ("mouse", SWAY_MONITOR.mouse),
        ("referee", "seconds = 60"),
    ];
    let player = table.play_as(&ready("live.toml", &stages), &[], |command| {
        command.envs(other.variables());
    });
    let ran = player.ended().expect(1);
    for words in [
        format!("shows the desktop \"x11 {}\"", table.screen.display()),
        format!(
            "acts on \"wlroots (sway) {}\"",
            other.wayland_socket().display()
        ),
        "set the key `desktop` of capture-screen and actuator-mouse to the same; for one run: --set \
         capture-screen.desktop=wlroots --set actuator-mouse.desktop=wlroots"
            .to_owned(),
    ] {
        assert!(ran.stderr.contains(&words), "{words}: {ran:#?}");
    }
    assert_eq!(table.count("press"), 0);
}

#[test]
fn it_lets_go_at_ctrl_c_and_when_it_is_killed() {
    lets_go(sway("1"), SWAY);
}

/// Sway's pictures contain the pointer, so that a stage of the mouse puts it aside when it is created. A stroke that is being
/// drawn ends before.
#[test]
fn a_reload_moves_no_pointer_whose_button_is_down() {
    let table = SWAY.table(sway("1"), &["--size", "6", "--seed", "1"]);
    let pipeline = |hotkey: &str| {
        let mouse = format!("{SLOW}, hotkey = \"{hotkey}\", {}", SWAY.mouse);
        let stages = [
            ("screen", SWAY.screen),
            ("mouse", mouse.as_str()),
            ("planner", "profile = \"segments\""),
        ];
        ready("live.toml", &stages)
    };
    let printed = tempfile::NamedTempFile::new().unwrap();
    let player = table.play_as(&pipeline("F12"), &[], |command| {
        command.stderr(printed.reopen().unwrap());
    });
    wait_for("press", || is_down(&table).then_some(()));
    table.change(&pipeline("F11"));
    player.signal("HUP");
    wait_for("the change", || {
        let text = std::fs::read_to_string(printed.path()).unwrap();
        text.contains("changed: mouse (config)").then_some(())
    });
    player.signal("INT");
    player.ended().expect(130);
    is_released(&table);
    let mut is_down = false;
    for line in table.log() {
        match line["event"].as_str() {
            Some("press") => is_down = true,
            Some("release") => is_down = false,
            Some("move") if is_down => {
                let at = [0, 1].map(|axis| line["at"][axis].as_f64().unwrap());
                assert!(at.iter().all(|it| (0.0..6.0).contains(it)), "{line}");
            }
            _ => {}
        }
    }
}

/// The program stands still, as on a machine that stalls, while it waits for sway. That is not sway's silence.
#[test]
fn a_program_that_was_stopped_while_it_waited_plays_on() {
    let table = SWAY.table(sway("1"), &["--size", "9", "--seed", "30"]);
    let player = mid_drag(&table, SWAY);
    table.screen.stand_still(true);
    std::thread::sleep(Duration::from_millis(300));
    player.signal("STOP");
    std::thread::sleep(Duration::from_secs(3));
    player.signal("CONT");
    std::thread::sleep(Duration::from_millis(100));
    table.screen.stand_still(false);
    let presses = table.count("press");
    table.wait_for("press", presses + 1);
    player.signal("INT");
    player.ended().expect(130);
    is_released(&table);
}

/// By a keyboard of its own, while the game has sway's. The binding ends with the run.
#[test]
fn it_lets_go_at_the_hotkey() {
    let table = SWAY.table(sway("1"), &["--size", "6", "--seed", "1"]);
    let socket = table.screen.wayland_socket();
    let desktop = Desktop::connect_wlroots(&socket, Some(table.screen.own_socket())).unwrap();
    let f12 = desktop.key_code("F12").unwrap();
    let mut keyboard = desktop.input().unwrap();
    keyboard.prepare_keys().unwrap();
    let mut press = |code| {
        keyboard.press(Input::Key(code)).unwrap();
        keyboard.release(Input::Key(code)).unwrap();
    };
    let is_unbound = || {
        let why = table
            .screen
            .refused("unbindsym --locked --inhibited Group1+F12");
        why.contains("Could not find binding")
    };
    let player = mid_drag(&table, SWAY);
    press(f12);
    was_stopped(&table, player, "F12 was pressed");
    assert!(is_unbound());
    let player = mid_drag(&table, SWAY);
    player.signal("INT");
    player.ended().expect(130);
    assert!(is_unbound());
    let crash = "[stages.crash]\nplugin = \"misbehaving\"\nfrom = \"vision\"\n\
                 config = { how = \"panic-in-process\", every = 5 }\n";
    let pipeline = ready("live.toml", &[("mouse", SWAY.mouse)]);
    let ran = table.play(&format!("{pipeline}\n{crash}"), &[]).ended();
    ran.expect(1);
    assert!(is_unbound());
    let player = mid_drag(&table, SWAY);
    player.signal("KILL");
    assert_eq!(player.ended().code, None);
    // The guardian removes it, and windows get the key again.
    let window = WaylandWindow::open(&socket, "keys", [100, 100], [90, 90, 90]);
    wait_for("the key", || {
        press(f12);
        std::thread::sleep(Duration::from_millis(50));
        window.took_a_key().then_some(())
    });
    assert!(is_unbound());
}

#[test]
fn it_lets_go_when_the_window_moves_or_is_covered() {
    let table = SWAY.table(sway("1"), &["--size", "6", "--seed", "1"]);
    let player = mid_drag(&table, SWAY);
    let title = format!("[title=\"{TITLE}\"]");
    table
        .screen
        .command(&format!("{title} move absolute position 300 10"));
    wait_for("release", || (!is_down(&table)).then_some(()));
    // It plays on where the window is now.
    let presses = table.count("press");
    wait_for("another press", || {
        (table.count("press") > presses).then_some(())
    });
    let plays_on = || {
        let presses = table.count("press");
        wait_for("another press", || {
            (table.count("press") > presses).then_some(())
        });
    };
    let socket = table.screen.wayland_socket();
    let cover = WaylandWindow::open(&socket, "cover", [1280, 1200], [90, 90, 90]);
    is_released(&table);
    drop(cover);
    plays_on();
    // A workspace without the window.
    table.screen.command("workspace 2");
    is_released(&table);
    table.screen.command("workspace 1");
    plays_on();
    player.signal("INT");
    player.ended().expect(130);
    is_released(&table);
    // A stroke that ends by itself is released too, and in its other terminal.
    let log = table.log();
    let level = log.iter().find(|line| line["event"] == "level").unwrap();
    let terminals = level["puzzle"]["terminals"].as_array().unwrap();
    let cell = |line: &Value| {
        let [x, y] = [0, 1].map(|axis| line["at"][axis].as_f64().unwrap() as u64);
        y * 6 + x
    };
    let ends = |kind: &str| {
        let ends = log.iter().filter(|line| line["event"] == kind).map(cell);
        ends.collect::<Vec<_>>()
    };
    for (from, to) in ends("press").into_iter().zip(ends("release")) {
        let is_terminal = terminals.iter().any(|it| it["cell"] == to);
        assert!(to == from || !is_terminal, "{log:#?}");
    }
}

/// Another window that has the keyboard may have locked the pointer to itself: then it gets the presses, wherever they are.
#[test]
fn nothing_is_pressed_while_another_window_has_the_keyboard() {
    let table = SWAY.table(sway("1"), &["--size", "6", "--seed", "1"]);
    let socket = table.screen.wayland_socket();
    let other = WaylandWindow::open(&socket, "other", [100, 100], [90, 90, 90]);
    // Beside the game.
    let aside = "[title=\"^other$\"] move absolute position 1100 1000";
    table.screen.command(aside);
    let player = mid_drag(&table, SWAY);
    for _ in 0..2 {
        table.screen.command("[title=\"^other$\"] focus");
        is_released(&table);
        // The game gets the keyboard again.
        let presses = table.count("press");
        wait_for("another press", || {
            (table.count("press") > presses).then_some(())
        });
    }
    player.signal("INT");
    player.ended().expect(130);
    is_released(&table);
    let is_press = |it: &PointerEvent| matches!(it, PointerEvent::Pressed(_));
    assert!(!other.events().iter().any(is_press));
}

#[test]
fn it_plays_on_wherever_the_window_is_moved_under_the_pointer() {
    let table = SWAY.table(sway("1"), &["--size", "9", "--seed", "30"]);
    let player = mid_drag(&table, SWAY);
    let title = format!("[title=\"{TITLE}\"]");
    for [x, y] in [
        [100, 100],
        [0, 0],
        [300, 200],
        [150, 20],
        [400, 300],
        [20, 250],
    ] {
        wait_for("press", || is_down(&table).then_some(()));
        let presses = table.count("press");
        table
            .screen
            .command(&format!("{title} move absolute position {x} {y}"));
        wait_for("another press", || {
            (table.count("press") > presses).then_some(())
        });
    }
    player.signal("INT");
    player.ended().expect(130);
    is_released(&table);
}
