//! A process that presses, killed by each deadly signal, on a real Wayland compositor. The process is this test's own file.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    reason = "a test helper that can't go on should panic"
)]

#[path = "../../../tests/support/deadly_signals.rs"]
mod deadly_signals;
#[path = "../../../tests/support/made_up_compositor.rs"]
mod made_up_compositor;
#[path = "../../../tests/support/signals.rs"]
mod signals;
#[path = "../../../tests/support/sway.rs"]
mod sway;
#[path = "../../../tests/support/wayland_player.rs"]
mod wayland_player;
#[path = "../../../tests/support/wayland_window.rs"]
mod wayland_window;

use flowpipe_desktop::Desktop;
use flowpipe_guardian::{DisplayServer, Guardian};
use made_up_compositor::{Endless, Flaws, MadeUpCompositor};
use rustix::process::{Pid, Signal};
use sway::Sway;
use wayland_player::{Held, UNGUARDED, kill, kill_by_every_signal, player, run_player, wait_for};
use wayland_window::WaylandWindow;

#[test]
#[ignore = "it is the process of a window: the other tests start it"]
fn window_process() {
    wayland_window::run_window();
}

#[test]
#[ignore = "it is the process that presses: the other tests start it"]
fn player_process() {
    run_player(|it| matches!(it, DisplayServer::Wlroots { .. }));
}

/// A compositor with a window, and a place in it.
fn table() -> (Sway, WaylandWindow, [i32; 2]) {
    let sway = Sway::start([800, 600], "1");
    let socket = sway.wayland_socket();
    let window = WaylandWindow::open(&socket, "pressed", [300, 200], [200, 10, 20]);
    let desktop = Desktop::connect_wlroots(&socket, Some(sway.own_socket())).unwrap();
    let place = desktop.place(desktop.find("pressed").unwrap().unwrap());
    let place = place.unwrap().unwrap();
    (sway, window, [place.x + 150, place.y + 100])
}

/// Kills it so often with each signal.
fn dies_by_every_signal(held: Held, times: usize) {
    let (sway, window, at) = table();
    let start = || player(held, at, |command| sway.set(command));
    let [pressed, released] = kill_by_every_signal(held, times, &window, start);
    match held {
        // A second time once nothing is left of the player: a press may have been on its way.
        Held::Button => assert!(released <= 2 * pressed, "{released} releases"),
        // Of what is not pressed, sway sends no release to the window.
        Held::Key => assert_eq!(released, pressed),
    }
    println!("{held:?}: {pressed} kills, {released} releases");
}

#[test]
fn what_is_pressed_is_released_by_every_signal() {
    for held in [Held::Button, Held::Key] {
        dies_by_every_signal(held, 1);
    }
}

#[test]
#[ignore = "takes minutes: `./x check deep kills`"]
fn twenty_kills_by_each_signal() {
    for held in [Held::Button, Held::Key] {
        dies_by_every_signal(held, 20);
    }
}

/// Where the guardian is killed together with the process, nothing else releases a key.
#[test]
fn sway_releases_a_key_when_the_connection_ends() {
    let (sway, window, at) = table();
    let mut player = player(Held::Key, at, |command| {
        sway.set(command);
        command.env(UNGUARDED, "1");
    });
    wait_for("press", &window, Held::Key.pressed());
    kill(&mut player, Signal::KILL);
    wait_for("kill", &window, Held::Key.released());
}

/// Longer than the process waits for the compositor, and than it waits for its guardian.
#[test]
fn what_is_pressed_is_released_after_a_standstill_in_which_the_process_ends() {
    let (sway, window, at) = table();
    for held in [Held::Button, Held::Key] {
        window.take();
        let mut player = player(held, at, |command| sway.set(command));
        wait_for("press", &window, held.pressed());
        sway.stand_still(true);
        // The end of its input ends it.
        player.wait().unwrap();
        sway.stand_still(false);
        wait_for("standstill", &window, held.released());
    }
}

#[test]
fn what_is_pressed_is_released_while_the_process_is_stopped() {
    let (sway, window, at) = table();
    for held in [Held::Button, Held::Key] {
        window.take();
        let mut player = player(held, at, |command| sway.set(command));
        wait_for("press", &window, held.pressed());
        rustix::process::kill_process(Pid::from_child(&player), Signal::STOP).unwrap();
        wait_for("stop", &window, held.released());
        kill(&mut player, Signal::KILL);
    }
}

#[test]
fn a_compositor_that_announces_without_an_end_is_refused() {
    let compositor = MadeUpCompositor::start(Flaws {
        endless: Some(Endless::Globals),
        ..Flaws::default()
    });
    let error = Guardian::start(DisplayServer::Wlroots {
        socket: compositor.socket(),
        keyboard: None,
        clean_up: None,
    });
    let error = error.unwrap_err().to_string();
    assert!(error.contains("announces more than"), "{error}");
}
