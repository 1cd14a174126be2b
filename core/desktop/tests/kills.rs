//! A process that presses through a portal that is made up, by libei and by the portal's methods, killed by each deadly
//! signal. The process is this test's own file.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    reason = "a test helper that can't go on should panic"
)]

#[path = "../../../tests/support/deadly_signals.rs"]
mod deadly_signals;
#[path = "made_up_portal/eis.rs"]
mod eis;
#[path = "made_up_portal/portal.rs"]
mod portal;
#[path = "../../../tests/support/signals.rs"]
mod signals;
#[path = "../../../tests/support/wait.rs"]
mod wait;

use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use deadly_signals::DEADLY;
use eis::MadeUpEis;
use flowpipe_desktop::Desktop;
use flowpipe_desktop::input::Input;
use flowpipe_guardian::Guardian;
use portal::{Answers, MadeUpPortal};
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, setrlimit};
use signals::with_default_signals;
use wait::wait_for;
use zbus::zvariant::Value;

/// The address of the portal's bus.
const BUS: &str = "FLOWPIPE_TEST_BUS";
/// Set for a process that uses the portal's methods.
const BY_METHODS: &str = "FLOWPIPE_TEST_BY_METHODS";
/// Set for a process that presses a key instead of the left button.
const PRESSES_KEY: &str = "FLOWPIPE_TEST_PRESSES_KEY";
const KEYMAP: &str =
    "xkb_keymap {\nxkb_keycodes { <FK02> = 68; };\nxkb_symbols { key <FK02> { [ F2 ] }; };\n};\n";

/// By what a process presses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Libei,
    Methods,
}

/// What a process presses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    Button,
    /// F2.
    Key,
}

const ALL: [(Way, Held); 4] = [
    (Way::Libei, Held::Button),
    (Way::Libei, Held::Key),
    (Way::Methods, Held::Button),
    (Way::Methods, Held::Key),
];

/// Presses with a guardian, and waits for its end.
#[test]
#[ignore = "it is the process that presses: the other tests start it"]
fn player_process() {
    let Ok(bus) = std::env::var(BUS) else { return };
    let no_core = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    setrlimit(Resource::Core, no_core).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let desktop = Desktop::connect_portal(&bus, folder.path()).unwrap();
    let is_set = |name: &str| std::env::var_os(name).is_some();
    let mut input = match is_set(BY_METHODS) {
        true => desktop.input_without_libei().unwrap(),
        false => desktop.input().unwrap(),
    };
    let pressed = match is_set(PRESSES_KEY) {
        true => {
            input.prepare_keys().unwrap();
            Input::Key(desktop.key_code("F2").unwrap())
        }
        false => Input::Button(1),
    };
    let mut guardian = Guardian::start(input.display_server().unwrap()).unwrap();
    guardian.pressed(pressed).unwrap();
    input.put([100, -50]).unwrap();
    input.press(pressed).unwrap();
    std::thread::sleep(Duration::from_secs(600));
}

/// A portal, a process that has pressed through it, and what notes that.
struct Table {
    process: Child,
    portal: MadeUpPortal,
    eis: Option<MadeUpEis>,
    way: Way,
    held: Held,
}

impl Table {
    /// Returns once it is pressed.
    fn set(way: Way, held: Held) -> Self {
        let (eis, socket) = match way {
            Way::Libei => {
                let region = ([0, 0], [640, 480], Some("the monitor"));
                let (eis, socket) = MadeUpEis::start(vec![region], Some(KEYMAP));
                (Some(eis), Some(socket))
            }
            Way::Methods => (None, None),
        };
        let mut monitor = portal::monitor();
        monitor.insert("mapping_id", Value::new("the monitor"));
        let portal = MadeUpPortal::start(Answers {
            streams: Value::new(vec![(portal::NODE, monitor)]),
            eis: Mutex::new(socket),
            ..Answers::default()
        });
        let mut command = Command::new(std::env::current_exe().unwrap());
        with_default_signals(&mut command)
            .args(["--exact", "player_process", "--ignored"])
            .env(BUS, portal.bus())
            .stdout(Stdio::null());
        if way == Way::Methods {
            command.env(BY_METHODS, "1");
        }
        if held == Held::Key {
            command.env(PRESSES_KEY, "1");
        }
        let table = Self {
            process: command.spawn().unwrap(),
            portal,
            eis,
            way,
            held,
        };
        wait_for("press", || (table.count(true) == 1).then_some(()));
        table
    }

    /// How often it was pressed, or released.
    fn count(&self, is_down: bool) -> usize {
        let what = match (self.way, self.held) {
            (_, Held::Button) => "button 272",
            (Way::Libei, Held::Key) => "key 60",
            (Way::Methods, Held::Key) => "symbol 65471",
        };
        let noted = match &self.eis {
            Some(eis) => eis.noted(),
            None => self.portal.events(),
        };
        let wanted = format!("{what} {}", u32::from(is_down));
        noted.iter().filter(|it| **it == wanted).count()
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.process), signal).unwrap();
    }

    /// Kills the process, and waits until its connection is closed. Rust's own handlers of SIGSEGV and SIGBUS let the first
    /// one pass.
    fn kill(&mut self, signal: Signal) {
        while self.process.try_wait().unwrap().is_none() {
            self.signal(signal);
            std::thread::sleep(Duration::from_millis(20));
        }
        if let Some(eis) = &self.eis {
            wait_for("end", || {
                eis.noted().contains(&"closed".to_owned()).then_some(())
            });
        }
    }

    fn wait_for_release(&self, after: Signal) {
        let what = format!(
            "release after {after:?} of {:?} by {:?}",
            self.held, self.way
        );
        wait_for(&what, || (self.count(false) > 0).then_some(()));
        assert_eq!(self.count(true), 1, "{what}");
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Kills processes so often with each signal. Returns how many releases there were.
fn die_by_every_signal(way: Way, held: Held, times: usize) {
    let [mut pressed, mut released] = [0; 2];
    for signal in DEADLY {
        for _ in 0..times {
            let mut table = Table::set(way, held);
            table.kill(signal);
            table.wait_for_release(signal);
            pressed += table.count(true);
            released += table.count(false);
        }
    }
    assert_eq!(pressed, DEADLY.len() * times);
    println!("{held:?} by {way:?}: {pressed} kills, {released} releases");
}

#[test]
fn what_is_pressed_is_released_by_every_signal() {
    for (way, held) in ALL {
        die_by_every_signal(way, held, 1);
    }
}

#[test]
#[ignore = "takes minutes: `./x check deep kills`"]
fn twenty_kills_by_each_signal() {
    for (way, held) in ALL {
        die_by_every_signal(way, held, 20);
    }
}

#[test]
fn a_dead_or_stopped_process_presses_nothing() {
    for (way, held) in ALL {
        for signal in [Signal::KILL, Signal::TERM, Signal::STOP, Signal::ABORT] {
            let mut table = Table::set(way, held);
            let began = Instant::now();
            table.signal(signal);
            table.wait_for_release(signal);
            let took = began.elapsed();
            assert!(took < Duration::from_secs(1), "{signal:?}: {took:?}");
            table.kill(Signal::KILL);
        }
    }
}
