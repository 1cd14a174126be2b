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
#[path = "../../../tests/support/wayland_window.rs"]
mod wayland_window;

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use deadly_signals::DEADLY;
use flowpipe_desktop::Desktop;
use flowpipe_guardian::{DisplayServer, Guardian, Input};
use rustix::process::{Pid, Resource, Rlimit, Signal};
use signals::with_default_signals;
use sway::Sway;
use wayland_window::{PointerEvent, WaylandWindow};

const LEFT: u32 = 0x110;

#[test]
#[ignore = "it is the process of a window: the other tests start it"]
fn window_process() {
    wayland_window::run_window();
}

/// Where the process that presses puts the pointer.
const AT: &str = "FLOWPIPE_TEST_AT";
/// What it prints once the button is down.
const DOWN: &str = "down";

#[test]
#[ignore = "it is the process that presses: the other tests start it"]
fn player_process() {
    let Ok(at) = std::env::var(AT) else { return };
    let at: [i32; 2] = serde_json::from_str(&at).unwrap();
    let no_core = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    rustix::process::setrlimit(Resource::Core, no_core).unwrap();
    let mut input = Desktop::connect().unwrap().input().unwrap();
    let mut guardian = Guardian::start(DisplayServer::Wlroots).unwrap();
    // The window learns that there is a pointer before anything is pressed in it.
    for _ in 0..20 {
        input.put(at).unwrap();
        std::thread::sleep(Duration::from_millis(10));
    }
    guardian.pressed(Input::Button(1)).unwrap();
    input.press(Input::Button(1)).unwrap();
    println!("{DOWN}");
    loop {
        std::thread::sleep(Duration::from_secs(60));
    }
}

/// Starts the process, and returns once the button is down.
fn player(sway: &Sway, at: [i32; 2]) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    with_default_signals(&mut command)
        .args(["--exact", "player_process", "--ignored", "--nocapture"])
        .env(AT, serde_json::json!(at).to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    sway.set(&mut command);
    let mut player = command.spawn().unwrap();
    let lines = BufReader::new(player.stdout.take().unwrap()).lines();
    let is_down = lines.map_while(Result::ok).any(|line| line == DOWN);
    assert!(is_down, "the player did not press");
    player
}

fn wait_for(what: &str, window: &WaylandWindow, event: PointerEvent) {
    let began = Instant::now();
    while !window.events().contains(&event) {
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "{what}: no {event:?}, but {:?}",
            window.events()
        );
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Kills it. Rust's own handlers of SIGSEGV and SIGBUS let the first one pass.
fn kill(player: &mut Child, signal: Signal) {
    while player.try_wait().unwrap().is_none() {
        // It may have ended meanwhile.
        let _ = rustix::process::kill_process(Pid::from_child(player), signal);
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Kills it so often with each signal.
fn dies_by_every_signal(times: usize) {
    let sway = Sway::start([800, 600], "1");
    let socket = sway.wayland_socket();
    let window = WaylandWindow::open(&socket, "pressed", [300, 200], [200, 10, 20]);
    let desktop = Desktop::connect_wlroots(&socket, Some(sway.own_socket())).unwrap();
    let place = desktop.place(desktop.find("pressed").unwrap().unwrap());
    let place = place.unwrap().unwrap();
    let (mut pressed, mut released) = (0, 0);
    for signal in DEADLY {
        for _ in 0..times {
            let mut player = player(&sway, [place.x + 150, place.y + 100]);
            let what = format!("{signal:?}");
            wait_for(&what, &window, PointerEvent::Pressed(LEFT));
            kill(&mut player, signal);
            wait_for(&what, &window, PointerEvent::Released(LEFT));
            pressed += 1;
            let events = window.take();
            let downs = events
                .iter()
                .filter(|it| **it == PointerEvent::Pressed(LEFT));
            assert_eq!(downs.count(), 1, "{what}: {events:?}");
            let ups = events
                .iter()
                .filter(|it| **it == PointerEvent::Released(LEFT));
            released += ups.count();
        }
    }
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
