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
#[path = "../../../tests/support/wayland_window.rs"]
mod wayland_window;

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use deadly_signals::DEADLY;
use flowpipe_desktop::Desktop;
use flowpipe_guardian::{DisplayServer, Guardian, Input};
use mutter::Mutter;
use rustix::process::{Pid, Resource, Rlimit, Signal};
use signals::with_default_signals;
use wayland_window::{PointerEvent, WaylandWindow};

const LEFT: u32 = 0x110;

#[test]
#[ignore = "it is the process of a window: the other tests start it"]
fn window_process() {
    wayland_window::run_window();
}

/// Where the process that presses puts the pointer.
const AT: &str = "FLOWPIPE_TEST_AT";
/// Without a guardian.
const UNGUARDED: &str = "FLOWPIPE_TEST_UNGUARDED";
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
    let server = input.display_server().unwrap();
    assert!(matches!(server, DisplayServer::Mutter(_)), "{server:?}");
    let mut guardian = match std::env::var(UNGUARDED) {
        Ok(_) => None,
        Err(_) => Some(Guardian::start(server).unwrap()),
    };
    // The window learns that there is a pointer before anything is pressed in it.
    for _ in 0..20 {
        input.put(at).unwrap();
        std::thread::sleep(Duration::from_millis(10));
    }
    if let Some(guardian) = &mut guardian {
        guardian.pressed(Input::Button(1)).unwrap();
    }
    input.press(Input::Button(1)).unwrap();
    println!("{DOWN}");
    loop {
        std::thread::sleep(Duration::from_secs(60));
    }
}

/// Starts the process, and returns once the button is down.
fn player(mutter: &Mutter, at: [i32; 2]) -> Child {
    player_as(mutter, at, |_| {})
}

fn player_as(mutter: &Mutter, at: [i32; 2], change: impl FnOnce(&mut Command)) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    with_default_signals(&mut command)
        .args(["--exact", "player_process", "--ignored", "--nocapture"])
        .env(AT, serde_json::json!(at).to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    mutter.set(&mut command);
    change(&mut command);
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

/// A compositor with a window, and a place in it.
fn table() -> (Mutter, WaylandWindow, [i32; 2]) {
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
            return (mutter, window, [x + 150, y + 100]);
        }
        assert!(began.elapsed() < Duration::from_secs(60), "no window");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Kills it so often with each signal.
fn dies_by_every_signal(times: usize) {
    let (mutter, window, at) = table();
    let (mut pressed, mut released) = (0, 0);
    for signal in DEADLY {
        for _ in 0..times {
            let mut player = player(&mutter, at);
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
    // Of what is not pressed, Mutter sends no release to the window.
    assert_eq!(released, pressed);
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

/// The guardian relies on it, and where it is killed together with the process, nothing else releases.
#[test]
fn mutter_releases_when_the_connection_ends() {
    let (mutter, window, at) = table();
    let mut player = player_as(&mutter, at, |command| {
        command.env(UNGUARDED, "1");
    });
    wait_for("press", &window, PointerEvent::Pressed(LEFT));
    kill(&mut player, Signal::KILL);
    wait_for("kill", &window, PointerEvent::Released(LEFT));
}

#[test]
fn the_button_is_released_while_the_process_is_stopped() {
    let (mutter, window, at) = table();
    let mut player = player(&mutter, at);
    let id = Pid::from_child(&player);
    wait_for("press", &window, PointerEvent::Pressed(LEFT));
    rustix::process::kill_process(id, Signal::STOP).unwrap();
    wait_for("stop", &window, PointerEvent::Released(LEFT));
    kill(&mut player, Signal::KILL);
    let events = window.take();
    let ups = events
        .iter()
        .filter(|it| **it == PointerEvent::Released(LEFT));
    assert_eq!(ups.count(), 1, "{events:?}");
}
