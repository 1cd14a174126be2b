//! A process that presses, killed in every way, on a real X server. The process is this test's own file.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    reason = "a test helper that can't go on should panic"
)]

#[path = "../../../tests/support/deadly_signals.rs"]
mod deadly_signals;
#[path = "../../../tests/support/screen.rs"]
mod screen;
#[path = "../../../tests/support/signals.rs"]
mod signals;

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use deadly_signals::DEADLY;
use flowpipe_guardian::{DisplayServer, Guardian, Input};
use rustix::process::{Pid, Resource, Rlimit, Signal};
use screen::{Screen, wait_for};
use signals::with_default_signals;
use x11rb::connection::{Connection as _, RequestConnection as _};
use x11rb::protocol::xinput;
use x11rb::protocol::xproto::{
    BUTTON_PRESS_EVENT, BUTTON_RELEASE_EVENT, ConnectionExt as _, KEY_PRESS_EVENT,
};
use x11rb::protocol::xtest::ConnectionExt as _;

const F5: u32 = 0xffc2;
const F9: u32 = 0xffc6;

/// A process that presses on commands from its standard input.
struct Player {
    child: Child,
    stdout: BufReader<ChildStdout>,
    guardian: u32,
}

impl Player {
    fn start(screen: &Screen) -> Self {
        Self::start_as(screen, |_| {})
    }

    fn start_as(screen: &Screen, change: impl FnOnce(&mut Command)) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--ignored", "--exact", "player", "--nocapture"])
            .env("DISPLAY", screen.display())
            .env("KEY", screen.key_code(F5).to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0);
        with_default_signals(&mut command);
        change(&mut command);
        let mut child = command.spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let mut player = Self {
            child,
            stdout,
            guardian: 0,
        };
        player.guardian = player.answer().parse().unwrap();
        player
    }

    /// Its next answer. Skips the test harness's output.
    fn answer(&mut self) -> String {
        loop {
            let mut line = String::new();
            assert!(self.stdout.read_line(&mut line).unwrap() > 0, "it ended");
            if let Some(answer) = line.split("answer: ").nth(1) {
                return answer.trim().to_owned();
            }
        }
    }

    fn ask(&mut self, what: &str) -> String {
        writeln!(self.child.stdin.as_mut().unwrap(), "{what}").unwrap();
        self.answer()
    }

    /// Sends it a signal, or its group.
    fn die_of(&self, signal: Signal, send: fn(Pid, Signal) -> rustix::io::Result<()>) {
        let id = Pid::from_child(&self.child);
        // Rust's handler for overflowing stacks takes one signal from outside, and removes itself.
        if [Signal::SEGV, Signal::BUS].contains(&signal) {
            send(id, signal).unwrap();
            wait_for("end of the handler", || {
                (!self.handles(signal)).then_some(())
            });
        }
        send(id, signal).unwrap();
    }

    fn handles(&self, signal: Signal) -> bool {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let caught = u64::from_str_radix(caught.unwrap().trim(), 16).unwrap();
        caught & (1 << (signal.as_raw() - 1)) != 0
    }

    /// Reaps it.
    fn wait(&mut self) {
        self.child.wait().unwrap();
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// No test: what [`Player`] runs.
#[test]
#[ignore = "run by the other tests"]
fn player() {
    if std::env::var_os("KEY").is_none() {
        return;
    }
    let display = std::env::var("DISPLAY").unwrap();
    let (connection, screen) = x11rb::connect(Some(&display)).unwrap();
    let root = connection.setup().roots[screen].root;
    let input = |kind, detail| {
        let sent = connection.xtest_fake_input(kind, detail, 0, root, 0, 0, 0);
        sent.unwrap().check().unwrap();
    };
    let key: u8 = std::env::var("KEY").unwrap().parse().unwrap();
    let mut guardian = Guardian::start(DisplayServer::X11 { display }).unwrap();
    println!("answer: {}", guardian.id());
    for line in std::io::stdin().lines() {
        let answer = match line.unwrap().as_str() {
            "restart" => guardian
                .restart_if_dead()
                .map(|()| guardian.id().to_string()),
            "press" => guardian.pressed(Input::Button(1)).map(|()| {
                guardian.pressed(Input::Key(key)).unwrap();
                input(KEY_PRESS_EVENT, key);
                input(BUTTON_PRESS_EVENT, 1);
                guardian.id().to_string()
            }),
            "release" => {
                input(BUTTON_RELEASE_EVENT, 1);
                guardian.released(Input::Button(1));
                Ok("released".to_owned())
            }
            "check" => guardian.check().map(|()| "guarded".to_owned()),
            "starve" => {
                let none = Rlimit {
                    current: Some(0),
                    maximum: Some(0),
                };
                rustix::process::setrlimit(Resource::Nofile, none).unwrap();
                Ok("starved".to_owned())
            }
            "grow" => {
                std::mem::forget(vec![1_u8; 1 << 30]);
                Ok("grown".to_owned())
            }
            _ => break,
        };
        match answer {
            Ok(answer) => println!("answer: {answer}"),
            Err(error) => println!("answer: {error}"),
        }
    }
}

/// Waits until button and key are up; how long that took.
fn released(screen: &Screen) -> Duration {
    let began = Instant::now();
    wait_for("release", || {
        (!screen.button_is_down() && !screen.key_is_down(F5)).then_some(())
    });
    began.elapsed()
}

/// Kills players with each signal, this many times. Prints how long their buttons stayed pressed.
fn kill(rounds: usize, signals: &[Signal], how: fn(Pid, Signal) -> rustix::io::Result<()>) {
    let screen = Screen::start();
    let mut took = Vec::new();
    for &signal in signals {
        for _ in 0..rounds {
            let mut player = Player::start(&screen);
            player.ask("press");
            assert!(screen.button_is_down() && screen.key_is_down(F5));
            player.die_of(signal, how);
            took.push(released(&screen));
            player.wait();
            wait_for("end of the guardian", || is_gone(player.guardian));
            assert!(!screen.button_is_down(), "{signal:?}");
        }
    }
    took.sort();
    let (median, longest) = (took[took.len() / 2], took[took.len() - 1]);
    println!(
        "{} kills: median {median:?}, 95 % within {:?}, longest {longest:?}",
        took.len(),
        took[(took.len() * 95).div_ceil(100) - 1]
    );
    // A machine that is busy is late now and then, not every other time.
    assert!(median <= Duration::from_millis(100), "{took:?}");
    assert!(longest <= Duration::from_secs(1), "{took:?}");
}

fn is_gone(process: u32) -> Option<()> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    (stat.is_empty() || stat.contains(") Z ")).then_some(())
}

#[test]
fn what_a_killed_process_pressed_is_released() {
    kill(1, &DEADLY, rustix::process::kill_process);
}

#[test]
fn what_a_killed_process_group_pressed_is_released() {
    kill(1, &DEADLY, rustix::process::kill_process_group);
}

/// Ctrl-Z, or SIGSTOP: for an unknown time.
#[test]
fn what_a_stopped_process_pressed_is_released() {
    for signal in [Signal::STOP, Signal::TSTP] {
        // The guardian of a player that is dead releases several times.
        let screen = Screen::start();
        let mut player = Player::start(&screen);
        player.ask("press");
        assert!(screen.button_is_down() && screen.key_is_down(F5));
        player.die_of(signal, rustix::process::kill_process);
        println!("{signal:?}: released after {:?}", released(&screen));
        // It goes on, is guarded still, and presses again.
        player.die_of(Signal::CONT, rustix::process::kill_process);
        assert_eq!(player.ask("release"), "released");
        assert_eq!(player.ask("press"), player.guardian.to_string());
        assert!(screen.button_is_down());
        player.die_of(Signal::KILL, rustix::process::kill_process);
        released(&screen);
    }
}

#[test]
#[ignore = "takes a minute: `./x check deep kills`"]
fn twenty_kills_of_each_kind() {
    kill(20, &DEADLY, rustix::process::kill_process);
    kill(20, &DEADLY, rustix::process::kill_process_group);
}

#[test]
fn only_what_was_pressed_is_released() {
    let screen = Screen::start();
    let mut player = Player::start(&screen);
    screen.hold_key(F9);
    screen.hold_button(3);
    player.ask("press");
    player.child.kill().unwrap();
    released(&screen);
    wait_for("end of the guardian", || is_gone(player.guardian));
    assert!(screen.key_is_down(F9) && screen.is_held(3));

    // Somebody else holds the very button that the player has released.
    let mut player = Player::start(&screen);
    player.ask("press");
    player.ask("release");
    screen.press();
    player.child.kill().unwrap();
    wait_for("end of the guardian", || is_gone(player.guardian));
    assert!(screen.button_is_down());
}

/// Presses or releases the left button as a person does: on the screen's own mouse, not on that of programs.
fn on_the_mouse_itself(screen: &Screen, event: u8) {
    let (connection, number) = x11rb::connect(Some(screen.display())).unwrap();
    let extension = connection.extension_information(xinput::X11_EXTENSION_NAME);
    let event = extension.unwrap().unwrap().first_event + event;
    let devices = xinput::list_input_devices(&connection).unwrap();
    let devices = devices.reply().unwrap();
    let mut names = devices.names.iter();
    let mouse = names.position(|name| name.name == b"Xvfb mouse").unwrap();
    let mouse = devices.devices[mouse].device_id;
    let root = connection.setup().roots[number].root;
    let sent = connection.xtest_fake_input(event, 1, 0, root, 0, 0, mouse);
    sent.unwrap().check().unwrap();
}

#[test]
fn a_button_that_is_held_by_hand_at_the_same_time_stays_down() {
    let screen = Screen::start();
    let mut player = Player::start(&screen);
    on_the_mouse_itself(&screen, xinput::DEVICE_BUTTON_PRESS_EVENT);
    player.ask("press");
    player.child.kill().unwrap();
    wait_for("end of the guardian", || is_gone(player.guardian));
    assert!(screen.button_is_down() && !screen.key_is_down(F5));
    on_the_mouse_itself(&screen, xinput::DEVICE_BUTTON_RELEASE_EVENT);
    assert!(!screen.button_is_down());
}

#[test]
fn it_ends_with_a_process_that_ends_by_itself() {
    let screen = Screen::start();
    let mut player = Player::start(&screen);
    player.ask("press");
    // Still pressed: an end without a release counts as a death.
    writeln!(player.child.stdin.as_mut().unwrap(), "end").unwrap();
    player.wait();
    released(&screen);
    // The process itself waits for its end.
    assert!(is_gone(player.guardian).is_some());
}

#[test]
fn it_holds_nothing_of_the_process_that_started_it() {
    let screen = Screen::start();
    let player = Player::start(&screen);
    let of = |process: u32, what: &str| {
        let path = format!("/proc/{process}/{what}");
        std::fs::read_link(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
    };
    let files = std::fs::read_dir(format!("/proc/{}/fd", player.guardian)).unwrap();
    let mut files: Vec<_> = files
        .map(|file| std::fs::read_link(file.unwrap().path()).unwrap())
        .map(|file| file.display().to_string())
        .map(|file| file.split(':').next().unwrap().to_owned())
        .collect();
    files.sort();
    let status = format!("/proc/{}/status", player.child.id());
    assert_eq!(files, [&status, "anon_inode", "pipe", "socket"]);
    let lifeline = of(player.guardian, "fd/0");
    for file in ["fd/0", "fd/1", "fd/2"] {
        assert_ne!(of(player.child.id(), file), lifeline);
    }
    assert_eq!(of(player.guardian, "cwd"), Path::new("/"));
    let read = |what| std::fs::read_to_string(format!("/proc/{}/{what}", player.guardian)).unwrap();
    assert_eq!(read("comm").trim(), "mouse-guardian");
    assert_eq!(read("cmdline").trim_end_matches('\0'), "mouse-guardian");
    let session = rustix::process::getsid(Pid::from_raw(player.guardian as i32)).unwrap();
    assert_eq!(session.as_raw_nonzero().get(), player.guardian as i32);
}

#[test]
fn signals_to_the_guardian_change_nothing() {
    let screen = Screen::start();
    let mut player = Player::start(&screen);
    let guardian = Pid::from_raw(player.guardian as i32).unwrap();
    player.ask("press");
    for signal in DEADLY.into_iter().filter(|&signal| signal != Signal::KILL) {
        rustix::process::kill_process(guardian, signal).unwrap();
    }
    assert!(screen.button_is_down());
    player.child.kill().unwrap();
    released(&screen);
}

#[test]
fn a_guardian_that_is_killed_is_restarted_before_the_next_press() {
    let screen = Screen::start();
    let mut player = Player::start(&screen);
    let first = player.guardian;
    let kill = |guardian: u32| {
        let guardian = Pid::from_raw(guardian as i32).unwrap();
        rustix::process::kill_process(guardian, Signal::KILL).unwrap();
    };
    kill(first);
    wait_for("its end", || is_gone(first));
    // Until then nothing is pressed.
    let answer = player.ask("press");
    assert!(answer.contains("was killed or stopped"), "{answer}");
    assert!(!screen.button_is_down());
    player.guardian = player.ask("restart").parse().unwrap();
    assert_ne!(player.guardian, first);
    assert_eq!(player.ask("press"), player.guardian.to_string());
    player.child.kill().unwrap();
    released(&screen);

    // Where it can't be, nothing is pressed.
    let mut player = Player::start(&screen);
    player.ask("starve");
    kill(player.guardian);
    wait_for("its end", || is_gone(player.guardian));
    let answer = player.ask("restart");
    assert!(
        answer.starts_with("failed to start the process that"),
        "{answer}"
    );
    assert!(!screen.button_is_down());
}

#[test]
fn what_is_pressed_when_the_guardian_is_killed_or_stopped_is_known() {
    let screen = Screen::start();
    for signal in [Signal::KILL, Signal::STOP] {
        let mut player = Player::start(&screen);
        let first = player.guardian;
        player.ask("press");
        assert_eq!(player.ask("check"), "guarded");
        let guardian = Pid::from_raw(first as i32).unwrap();
        rustix::process::kill_process(guardian, signal).unwrap();
        wait_for("the death to be known", || {
            (player.ask("check") != "guarded").then_some(())
        });
        let answer = player.ask("check");
        assert!(answer.contains("was killed or stopped"), "{answer}");
        assert!(is_gone(first).is_some());
        // Another one guards what is pressed next, and what is pressed still.
        let second = player.ask("restart").parse().unwrap();
        assert_ne!(second, first);
        assert_eq!(player.ask("press"), format!("{second}"));
        assert_eq!(player.ask("check"), "guarded");
        player.child.kill().unwrap();
        released(&screen);
        wait_for("end of the guardian", || is_gone(second));
    }
}

/// The display server is stopped for longer than the guardian waits for an answer.
#[test]
fn a_server_that_is_late_is_waited_for() {
    const LATE: Duration = Duration::from_millis(2500);
    let send = |process: u32, signal| {
        let id = Pid::from_raw(process as i32).unwrap();
        rustix::process::kill_process(id, signal).unwrap();
    };
    let screen = Screen::start();
    let mut player = Player::start(&screen);
    player.ask("press");
    // The guardian finds an event that everybody gets, at a server that does not answer.
    send(player.guardian, Signal::STOP);
    let (connection, _) = x11rb::connect(Some(screen.display())).unwrap();
    let change = connection.change_keyboard_mapping(1, screen.key_code(F5), 1, &[F5]);
    change.unwrap().check().unwrap();
    send(screen.server(), Signal::STOP);
    send(player.guardian, Signal::CONT);
    std::thread::sleep(LATE);
    assert_eq!(is_gone(player.guardian), None);
    // What it presses is released as soon as the server goes on.
    player.child.kill().unwrap();
    std::thread::sleep(LATE);
    assert_eq!(is_gone(player.guardian), None);
    send(screen.server(), Signal::CONT);
    released(&screen);
    player.wait();
    wait_for("end of the guardian", || is_gone(player.guardian));
    assert!(!screen.button_is_down() && !screen.key_is_down(F5));
}

#[test]
fn it_ends_with_its_display_server() {
    let screen = Screen::start();
    let mut player = Player::start(&screen);
    player.ask("press");
    drop(screen);
    wait_for("end of the guardian", || is_gone(player.guardian));
}

#[test]
#[ignore = "writes a file of a gigabyte"]
fn what_a_process_pressed_is_released_before_its_core_is_dumped() {
    let pattern = std::fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap();
    assert!(
        !pattern.starts_with(['/', '|']),
        "cores go elsewhere: {pattern}"
    );
    let screen = Screen::start();
    let folder = tempfile::tempdir().unwrap();
    let mut player = Player::start_as(&screen, |command| {
        command.current_dir(&folder);
        let all = Rlimit {
            current: None,
            maximum: None,
        };
        // SAFETY: a system call alone.
        unsafe {
            command.pre_exec(move || Ok(rustix::process::setrlimit(Resource::Core, all)?));
        }
    });
    player.ask("grow");
    player.ask("press");
    let began = Instant::now();
    player.die_of(Signal::SEGV, rustix::process::kill_process);
    let took = released(&screen);
    assert!(player.child.try_wait().unwrap().is_none(), "it still dumps");
    player.wait();
    println!("released after {took:?}, dead after {:?}", began.elapsed());
}

#[test]
#[ignore = "measures"]
fn what_a_press_costs() {
    let screen = Screen::start();
    let display = screen.display().to_owned();
    let began = Instant::now();
    let mut guardian = Guardian::start(DisplayServer::X11 { display }).unwrap();
    println!("start: {:?}", began.elapsed());
    let began = Instant::now();
    for _ in 0..100_000 {
        guardian.pressed(Input::Button(1)).unwrap();
        guardian.released(Input::Button(1));
    }
    println!("press and release: {:?}", began.elapsed() / 100_000);
}
