//! A process that presses, killed by each deadly signal, on a real Wayland compositor. The process is this test's own file.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    reason = "a test helper that can't go on should panic"
)]

#[path = "../../../tests/support/deadly_signals.rs"]
mod deadly_signals;
#[path = "../../../tests/support/signals.rs"]
mod signals;
#[path = "../../../tests/support/sway.rs"]
mod sway;
#[path = "../../../tests/support/wayland_player.rs"]
mod wayland_player;
#[path = "../../../tests/support/wayland_window.rs"]
mod wayland_window;

use flowpipe_desktop::Desktop;
use flowpipe_guardian::DisplayServer;
use sway::Sway;
use wayland_player::{kill_by_every_signal, player, run_player};
use wayland_window::WaylandWindow;

#[test]
#[ignore = "it is the process of a window: the other tests start it"]
fn window_process() {
    wayland_window::run_window();
}

#[test]
#[ignore = "it is the process that presses: the other tests start it"]
fn player_process() {
    run_player(|it| matches!(it, DisplayServer::Wlroots));
}

/// Kills it so often with each signal.
fn dies_by_every_signal(times: usize) {
    let sway = Sway::start([800, 600], "1");
    let socket = sway.wayland_socket();
    let window = WaylandWindow::open(&socket, "pressed", [300, 200], [200, 10, 20]);
    let desktop = Desktop::connect_wlroots(&socket, Some(sway.own_socket())).unwrap();
    let place = desktop.place(desktop.find("pressed").unwrap().unwrap());
    let place = place.unwrap().unwrap();
    let at = [place.x + 150, place.y + 100];
    let start = || player(at, |command| sway.set(command));
    let [pressed, released] = kill_by_every_signal(times, &window, start);
    // A second time once nothing is left of the player: a press may have been on its way.
    assert!(released <= 2 * pressed, "{released} releases");
}

#[test]
fn the_button_is_released_by_every_signal() {
    dies_by_every_signal(1);
}

#[test]
#[ignore = "takes a minute: `./x check deep kills`"]
fn twenty_kills_by_each_signal() {
    dies_by_every_signal(20);
}
