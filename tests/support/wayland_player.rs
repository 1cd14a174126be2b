//! A process that presses the left button or a key in a window under Wayland, until it is killed. It is the test's own file.

#![allow(
    clippy::unwrap_used,
    reason = "a test helper that can't go on should panic"
)]

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use flowpipe_desktop::Desktop;
use flowpipe_guardian::{DisplayServer, Guardian, Input};
use rustix::process::{Pid, Resource, Rlimit, Signal};

use crate::deadly_signals::DEADLY;
use crate::signals::with_default_signals;
use crate::wayland_window::{LEFT, PointerEvent, WaylandWindow};

/// Set for a process without a guardian.
pub const UNGUARDED: &str = "FLOWPIPE_TEST_UNGUARDED";
/// Set for a process that presses a key instead of the button.
const PRESSES_KEY: &str = "FLOWPIPE_TEST_PRESSES_KEY";
/// F2, as X11 and Linux count.
const F2: u8 = 68;
const LINUX_F2: u32 = 60;
/// Where the process puts the pointer.
const AT: &str = "FLOWPIPE_TEST_AT";
/// What it prints once the button is down.
const DOWN: &str = "down";

/// What a process presses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// The left button.
    Button,
    /// F2.
    Key,
}

impl Held {
    fn input(self) -> Input {
        match self {
            Self::Button => Input::Button(1),
            Self::Key => Input::Key(F2),
        }
    }

    /// What the window gets first.
    pub fn pressed(self) -> PointerEvent {
        match self {
            Self::Button => PointerEvent::Pressed(LEFT),
            Self::Key => PointerEvent::KeyPressed(LINUX_F2),
        }
    }

    /// What the window gets in the end.
    pub fn released(self) -> PointerEvent {
        match self {
            Self::Button => PointerEvent::Released(LEFT),
            Self::Key => PointerEvent::KeyReleased(LINUX_F2),
        }
    }
}

/// The process itself: the test `player_process` calls this. `is_expected`: whether a display server is that of the test.
pub fn run_player(is_expected: fn(&DisplayServer) -> bool) {
    let Ok(at) = std::env::var(AT) else { return };
    let at: [i32; 2] = serde_json::from_str(&at).unwrap();
    let no_core = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    rustix::process::setrlimit(Resource::Core, no_core).unwrap();
    let mut input = Desktop::connect().unwrap().input().unwrap();
    let held = match std::env::var(PRESSES_KEY) {
        Ok(_) => Held::Key,
        Err(_) => Held::Button,
    };
    if held == Held::Key {
        input.prepare_keys().unwrap();
    }
    let server = input.display_server().unwrap();
    assert!(is_expected(&server), "{server:?}");
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
        guardian.pressed(held.input()).unwrap();
    }
    input.press(held.input()).unwrap();
    println!("{DOWN}");
    // Until a signal, or the end of its input.
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    if input.release(held.input()).is_ok()
        && let Some(guardian) = &mut guardian
    {
        guardian.released(held.input());
    }
}

/// Starts the process with the variables that `set` gives it, and returns once the button or the key is down.
pub fn player(held: Held, at: [i32; 2], set: impl FnOnce(&mut Command)) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    with_default_signals(&mut command)
        .args(["--exact", "player_process", "--ignored", "--nocapture"])
        .env(AT, serde_json::json!(at).to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    set(&mut command);
    if held == Held::Key {
        command.env(PRESSES_KEY, "1");
    }
    let mut player = command.spawn().unwrap();
    let lines = BufReader::new(player.stdout.take().unwrap()).lines();
    // With one thread, the test's name stands before it.
    let is_down = lines.map_while(Result::ok).any(|line| line.ends_with(DOWN));
    assert!(is_down, "the player did not press");
    player
}

/// Waits until a window gets an event.
pub fn wait_for(what: &str, window: &WaylandWindow, event: PointerEvent) {
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
pub fn kill(player: &mut Child, signal: Signal) {
    while player.try_wait().unwrap().is_none() {
        // It may have ended meanwhile.
        let _ = rustix::process::kill_process(Pid::from_child(player), signal);
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Kills processes so often with each signal, and checks that what they press is released each time. Returns how often it
/// was pressed and released.
pub fn kill_by_every_signal(
    held: Held,
    times: usize,
    window: &WaylandWindow,
    start: impl Fn() -> Child,
) -> [usize; 2] {
    let [mut pressed, mut released] = [0; 2];
    for signal in DEADLY {
        for _ in 0..times {
            let mut player = start();
            let what = format!("{signal:?}");
            wait_for(&what, window, held.pressed());
            kill(&mut player, signal);
            wait_for(&what, window, held.released());
            pressed += 1;
            let events = window.take();
            let downs = events.iter().filter(|it| **it == held.pressed());
            assert_eq!(downs.count(), 1, "{what}: {events:?}");
            let ups = events.iter().filter(|it| **it == held.released());
            released += ups.count();
        }
    }
    [pressed, released]
}
