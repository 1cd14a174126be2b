//! The live pipeline against the practice game under GNOME's compositor, Mutter: a real session, a real window, and the
//! game's own log as the truth.

use std::process::Command;

use crate::live_play::ready;
use crate::mutter::Mutter;
use crate::wayland_boards::{is_down, leads_on_by_a_key, lets_go, mid_drag, plays, plays_isolated};
use crate::wayland_screens::GNOME;

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
        plays(mutter(scale), GNOME, 2);
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
fn what_gnome_does_not_report_has_to_be_accepted() {
    let table = GNOME.table(mutter("1"), &["--size", "5", "--seed", "1"]);
    for (screen, mouse, words) in [
        (
            "window = \"flowpipe play\"",
            GNOME.mouse,
            "GNOME does not report it",
        ),
        (GNOME.screen, "any_window = true", "accept = [\"pointer\"]"),
    ] {
        let pipeline = ready("live.toml", &[("screen", screen), ("mouse", mouse)]);
        let ran = table.play(&pipeline, &[]).ended();
        assert_ne!(ran.code, Some(0));
        assert!(ran.stderr.contains(words), "{ran:#?}");
    }
    assert_eq!(table.count("press"), 0);
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
    let words = "ended the control of the mouse";
    assert!(ran.stderr.contains(words), "{ran:#?}");
    assert!(!is_down(&table), "Mutter has released the button");
}
