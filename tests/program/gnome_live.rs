//! The live pipeline against the practice game under GNOME's compositor, Mutter: a real session, a real window, and the
//! game's own log as the truth.

use std::process::Command;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use flowpipe_desktop::Desktop;

use crate::live_play::ready;
use crate::mutter::Mutter;
use crate::screen::wait_for;
use crate::wayland_boards::{
    is_down, is_released, leads_on_by_a_key, lets_go, mid_drag, plays, plays_isolated,
    plays_small_cells, was_stopped,
};
use crate::wayland_screens::{Configs, GNOME};

/// The screen's, at scale 1.
const SIZE: [u32; 2] = [480, 800];

/// A screen on which a small window of the game has room, at a scale: Mutter draws all of it for each picture, without a
/// graphics card.
fn mutter(scale: &str) -> Mutter {
    let size = match scale {
        "1.25" => [600, 1000],
        "2" => [960, 1600],
        _ => SIZE,
    };
    Mutter::start(size, scale)
}

#[test]
fn ten_boards_of_all_sizes() {
    plays(mutter("1"), GNOME, 10);
}

#[test]
fn boards_at_other_scales() {
    for scale in ["1.25", "2"] {
        plays_small_cells(mutter(scale), GNOME);
    }
}

#[test]
#[ignore = "takes minutes on a busy machine: `./x test full` runs it"]
fn a_hundred_boards_of_all_sizes() {
    plays(mutter("1"), GNOME, 100);
}

#[test]
fn isolated_stages_play_too() {
    plays_isolated(mutter("1"), GNOME);
}

#[test]
fn a_key_leads_on_to_the_next_board() {
    leads_on_by_a_key(mutter("1"), GNOME);
}

#[test]
fn windows_are_not_found() {
    let table = GNOME.table(mutter("1"), &["--size", "5", "--seed", "1"]);
    let screen = "window = \"flowpipe play\"";
    let pipeline = ready("live.toml", &[("screen", screen), ("mouse", GNOME.mouse)]);
    let ran = table.play(&pipeline, &[]).ended().expect(78);
    let options = "instead of --window: --set capture-screen.monitor=1 --set actuator-mouse.any_window=true --set \
                   actuator-mouse.accept='[\"hotkey\"]'\n";
    for words in ["GNOME does not report it", options] {
        assert!(ran.stderr.contains(words), "{words}: {ran:#?}");
    }
    assert_eq!(table.count("press"), 0);
}

/// The program stands still, as on a machine that stalls: for longer than reports of the pointer may take, and than answers.
/// No hand is on the mouse.
#[test]
fn a_program_that_was_stopped_plays_on() {
    let table = GNOME.table(mutter("1"), &["--size", "9", "--seed", "30"]);
    let player = mid_drag(&table, GNOME);
    for seconds in [2, 6] {
        player.signal("STOP");
        // The guardian releases the button meanwhile.
        wait_for("release", || (!is_down(&table)).then_some(()));
        std::thread::sleep(Duration::from_secs(seconds));
        let presses = table.count("press");
        player.signal("CONT");
        table.wait_for("press", presses + 1);
    }
    player.signal("INT");
    player.ended().expect(130);
    is_released(&table);
}

/// Through it come the pictures, and the pointer's place. Mutter ends its sessions then, as when a person does.
#[test]
fn the_end_of_pipewire_is_named() {
    let mut table = GNOME.table(mutter("1"), &["--size", "6", "--seed", "1"]);
    let player = mid_drag(&table, GNOME);
    table.screen.kill_pipewire();
    let ran = player.ended().expect(1);
    let remedy = "PipeWire has ended, through which the pictures come: check that it runs (`systemctl --user start";
    assert!(ran.stderr.contains(remedy), "{ran:#?}");
    for words in ["indicator", "Button("] {
        assert!(!ran.stderr.contains(words), "{words}: {ran:#?}");
    }
    is_released(&table);
    // Nor does it run now.
    let stages = [("screen", GNOME.screen), ("mouse", GNOME.mouse)];
    let ran = table.play(&ready("live.toml", &stages), &[]).ended();
    assert_ne!(ran.code, Some(0), "{ran:#?}");
    for words in [
        "PipeWire does not answer (",
        "systemctl --user start pipewire",
    ] {
        assert!(ran.stderr.contains(words), "{words}: {ran:#?}");
    }
}

/// Another pointer device of the same screen, which moves as often as a person's mouse reports, until it is dropped.
struct MovingHand {
    over: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl MovingHand {
    /// `place`: where it is at each step.
    fn start(mutter: &Mutter, place: fn(i32) -> [i32; 2]) -> Self {
        let desktop = Desktop::connect_mutter(&mutter.bus(), &mutter.pipewire_socket());
        let mut device = desktop.unwrap().input().unwrap();
        let (over, is_over) = channel::<()>();
        let thread = std::thread::spawn(move || {
            let mut step = 0;
            while let Err(RecvTimeoutError::Timeout) =
                is_over.recv_timeout(Duration::from_millis(8))
            {
                step += 1;
                device.put(place(step)).unwrap();
            }
        });
        Self {
            over: Some(over),
            thread: Some(thread),
        }
    }
}

impl Drop for MovingHand {
    fn drop(&mut self) {
        self.over.take();
        if let Some(thread) = self.thread.take() {
            // A panic there has printed its own message.
            let _ = thread.join();
        }
    }
}

/// Below the board, on which the mouse is never put.
fn to_and_fro(step: i32) -> [i32; 2] {
    [step * 5 % 400, 700]
}

#[test]
fn it_lets_go_when_a_person_moves_the_mouse() {
    for scale in ["1", "1.25", "2"] {
        let table = GNOME.table(mutter(scale), &["--size", "6", "--seed", "1"]);
        let player = mid_drag(&table, GNOME);
        let _hand = MovingHand::start(&table.screen, to_and_fro);
        was_stopped(&table, player, "moved by hand");
    }
}

/// A board after the other is drawn as fast as the game takes it, so that the pointer is put elsewhere right after each of
/// the person's moves.
#[test]
fn it_lets_go_when_a_person_moves_the_mouse_while_it_is_fast() {
    let table = GNOME.table(
        mutter("1"),
        &["--size", "8", "--seed", "1", "--time-trial", "1h"],
    );
    let stages = [("screen", GNOME.screen), ("mouse", GNOME.mouse)];
    let player = table.play(&ready("live.toml", &stages), &["--json"]);
    table.wait_for("press", 1);
    let _hand = MovingHand::start(&table.screen, to_and_fro);
    was_stopped(&table, player, "moved by hand");
}

#[test]
fn it_lets_go_when_the_pointer_is_thrown_into_a_corner() {
    let table = GNOME.table(mutter("1"), &["--size", "6", "--seed", "1"]);
    let configs = Configs {
        mouse: "any_window = true, by_hand = false, hotkey = \"\"",
        ..GNOME
    };
    let player = mid_drag(&table, configs);
    // It is put back every 400 ms; a person keeps it there.
    let _hand = MovingHand::start(&table.screen, |_| [0, 0]);
    was_stopped(&table, player, "corner");
}

#[test]
fn another_desktop_than_the_session_s_can_be_chosen() {
    let table = GNOME.table(mutter("1"), &["--size", "5", "--seed", "1"]);
    let run = |desktop: &str, change: &dyn Fn(&mut Command)| {
        let [screen, mouse] =
            [GNOME.screen, GNOME.mouse].map(|it| format!("{it}, desktop = \"{desktop}\""));
        let configs = [
            ("screen", screen.as_str()),
            ("mouse", &mouse),
            ("referee", "boards = 1"),
        ];
        let player = table.play_as(&ready("live.toml", &configs), &[], change);
        player.ended()
    };
    for (desktop, words) in [
        ("x11", "desktop = \"x11\", but DISPLAY is not set"),
        ("wlroots", "does not have wlroots' protocols"),
    ] {
        let ran = run(desktop, &|_| {});
        assert_eq!(ran.code, Some(1), "{ran:#?}");
        assert!(ran.stderr.contains(words), "{ran:#?}");
        assert!(ran.stderr.contains("remove the key `desktop`"), "{ran:#?}");
    }
    // What the session decides for does not answer.
    let elsewhere = |command: &mut Command| {
        command
            .env("DISPLAY", ":4711")
            .env_remove("WAYLAND_DISPLAY");
    };
    assert_eq!(run("auto", &elsewhere).code, Some(1));
    assert_eq!(table.count("press"), 0);
    run("mutter", &elsewhere).expect(0);
    table.wait_for("solved", 1);
}

#[test]
fn it_lets_go_at_ctrl_c_and_when_it_is_killed() {
    lets_go(mutter("1"), GNOME);
}

#[test]
fn the_end_of_the_session_ends_the_run() {
    let table = GNOME.table(mutter("1"), &["--size", "6", "--seed", "1"]);
    let player = mid_drag(&table, GNOME);
    // Mutter ends the control of the mouse when the monitors change.
    table.screen.set_monitor(SIZE, "1", 1);
    let ran = player.ended();
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    // Through libei, the pointer may end first.
    let words = ["ended the control of the mouse", "has removed the pointer"];
    let is_said = words.iter().any(|it| ran.stderr.contains(it));
    assert!(is_said, "{ran:#?}");
    is_released(&table);
}
