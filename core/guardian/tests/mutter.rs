//! A process that presses, killed by each deadly signal, on GNOME's real compositor, Mutter. The process is this test's own file.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    reason = "a test helper that can't go on should panic"
)]

#[path = "../../../tests/support/deadly_signals.rs"]
mod deadly_signals;
#[path = "../../../tests/support/mutter.rs"]
mod mutter;
#[path = "../../../tests/support/signals.rs"]
mod signals;
#[path = "../../../tests/support/wayland_click.rs"]
mod wayland_click;
#[path = "../../../tests/support/wayland_player.rs"]
mod wayland_player;
#[path = "../../../tests/support/wayland_window.rs"]
mod wayland_window;

use std::time::{Duration, Instant};

use flowpipe_desktop::Desktop;
use flowpipe_desktop::input::InputDevice;
use flowpipe_guardian::DisplayServer;
use mutter::Mutter;
use rustix::process::{Pid, Signal};
use wayland_click::{click, have_a_keyboard};
use wayland_player::{Held, UNGUARDED, kill, kill_by_every_signal, player, run_player, wait_for};
use wayland_window::{PointerEvent, WaylandWindow};

#[test]
#[ignore = "it is the process of a window: the other tests start it"]
fn window_process() {
    wayland_window::run_window();
}

#[test]
#[ignore = "it is the process that presses: the other tests start it"]
fn player_process() {
    run_player(|it| matches!(it, DisplayServer::Shared(_)));
}

/// A compositor with a keyboard, a window, and a place in it.
fn table() -> (Mutter, WaylandWindow, [i32; 2], Box<dyn InputDevice>) {
    const RED: [u8; 3] = [200, 10, 20];
    let mutter = Mutter::start([800, 600], "1");
    let window = WaylandWindow::open(&mutter.wayland_socket(), "pressed", [300, 200], RED);
    let desktop = Desktop::connect_mutter(&mutter.bus(), &mutter.pipewire_socket()).unwrap();
    let whole = desktop.monitors().unwrap()[0].place;
    let mut grabber = desktop.grabber().unwrap();
    let began = Instant::now();
    loop {
        let picture = grabber.grab(whole).unwrap().unwrap();
        let mut pixels = picture.pixels.chunks_exact(4);
        if let Some(first) = pixels.position(|it| [it[2], it[1], it[0]] == RED) {
            let at = [first as u32 % picture.width, first as u32 / picture.width];
            let [x, y] = at.map(|it| it as i32);
            let at = [x + 150, y + 100];
            let mut keyboard = desktop.input().unwrap();
            keyboard.put(at).unwrap();
            // Mutter may draw no frame before it is asked.
            while !keyboard.is_passed_on().unwrap() {
                std::thread::sleep(Duration::from_millis(2));
            }
            wait_for("pointer", &window, PointerEvent::At(150.25, 100.25));
            click(&mut *keyboard, &window, at);
            let code = desktop.key_code("F1").unwrap();
            have_a_keyboard(&mut *keyboard, &window, code);
            return (mutter, window, at, keyboard);
        }
        assert!(began.elapsed() < Duration::from_secs(60), "no window");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Kills it so often with each signal.
fn dies_by_every_signal(held: Held, times: usize) {
    let (mutter, window, at, _keyboard) = table();
    let start = || player(held, at, |command| mutter.set(command));
    let [pressed, released] = kill_by_every_signal(held, times, &window, start);
    // Of what is not pressed, Mutter sends no release to the window.
    assert_eq!(released, pressed);
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

/// The guardian relies on it, and where it is killed together with the process, nothing else releases.
#[test]
fn mutter_releases_when_the_connection_ends() {
    let (mutter, window, at, _keyboard) = table();
    for held in [Held::Button, Held::Key] {
        window.take();
        let mut player = player(held, at, |command| {
            mutter.set(command);
            command.env(UNGUARDED, "1");
        });
        wait_for("press", &window, held.pressed());
        kill(&mut player, Signal::KILL);
        wait_for("kill", &window, held.released());
    }
}

#[test]
fn what_is_pressed_is_released_while_the_process_is_stopped() {
    let (mutter, window, at, _keyboard) = table();
    for held in [Held::Button, Held::Key] {
        window.take();
        let mut player = player(held, at, |command| mutter.set(command));
        wait_for("press", &window, held.pressed());
        rustix::process::kill_process(Pid::from_child(&player), Signal::STOP).unwrap();
        wait_for("stop", &window, held.released());
        kill(&mut player, Signal::KILL);
        let events = window.take();
        let ups = events.iter().filter(|it| **it == held.released());
        assert_eq!(ups.count(), 1, "{events:?}");
    }
}
