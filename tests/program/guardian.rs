//! The mouse button of a program, or of an isolated stage, that is killed in the middle of a stroke: on a real screen,
//! with a window manager and the practice game.

use std::os::unix::process::CommandExt as _;
use std::time::{Duration, Instant};

use crate::live_play::{Player, Table, ready};
use crate::screen::wait_for;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// So slow that a test can step in between a press and its release.
const SLOW: &str =
    "by_hand = false, pace = { step = 1.0, dwell_ms = 400.0, ends_ms = 400.0, repeats = 1 }";

/// Signals that a person, a system or a fault ends programs with.
pub(crate) const SIGNALS: [Signal; 10] = [
    Signal::KILL,
    Signal::ABORT,
    Signal::SEGV,
    Signal::TERM,
    Signal::INT,
    Signal::QUIT,
    Signal::BUS,
    Signal::ILL,
    Signal::FPE,
    Signal::HUP,
];

/// A stage whose death costs the run nothing but a message.
const RESTARTED: &str =
    "isolation = \"process\"\nrestart = { max = 1000, backoff = \"1ms\" }\non_error = \"skip\"";

/// The live pipeline. `mouse`: further settings of its stage.
fn live(configs: &[(&str, &str)], mouse: &str) -> String {
    let mut pipeline: toml::Table = ready("live.toml", configs).parse().unwrap();
    let stage = pipeline["stages"]["mouse"].as_table_mut().unwrap();
    stage.extend(mouse.parse::<toml::Table>().unwrap());
    pipeline.to_string()
}

/// The same, slowly and without an end.
fn slow(mouse: &str) -> String {
    let configs = [
        ("mouse", SLOW),
        ("planner", "profile = \"segments\""),
        ("referee", "attempts = 1000"),
    ];
    live(&configs, mouse)
}

/// Starts to play in a process group of its own, and returns while the button is down.
fn mid_stroke(table: &Table, pipeline: &str) -> Player {
    let player = table.play_as(pipeline, &["--json"], |command| {
        command.process_group(0);
    });
    pressed(table);
    player
}

fn pressed(table: &Table) {
    wait_for("press", || table.screen.button_is_down().then_some(()));
}

/// Waits until no button is down; how long that took.
fn released(table: &Table) -> Duration {
    let began = Instant::now();
    wait_for("release", || {
        let is_up = (1..=5).all(|button| !table.screen.is_held(button));
        is_up.then_some(())
    });
    began.elapsed()
}

/// Sends a signal that is to end a process. `of`: that process; `send` may mean its group.
pub(crate) fn end(of: u32, signal: Signal, send: fn(Pid, Signal) -> rustix::io::Result<()>) {
    let id = Pid::from_raw(of as i32).unwrap();
    // Rust's handler for overflowing stacks takes one signal from outside, and removes itself.
    if [Signal::SEGV, Signal::BUS].contains(&signal) {
        send(id, signal).unwrap();
        wait_for("end of the handler", || {
            (!handles(of, signal)).then_some(())
        });
    }
    send(id, signal).unwrap();
}

fn handles(process: u32, signal: Signal) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = u64::from_str_radix(caught.unwrap().trim(), 16).unwrap();
    caught & (1 << (signal.as_raw() - 1)) != 0
}

/// The processes of a screen that have a word in their command line.
fn processes(table: &Table, word: &str) -> Vec<u32> {
    let display = format!("DISPLAY={}\0", table.screen.display());
    let read = |process: u32, what: &str| {
        let text = std::fs::read(format!("/proc/{process}/{what}")).unwrap_or_default();
        String::from_utf8_lossy(&text).into_owned()
    };
    let all = std::fs::read_dir("/proc").unwrap();
    let numbers = all.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    numbers
        .filter(|&number| read(number, "cmdline").contains(word))
        .filter(|&number| read(number, "environ").contains(&display))
        .collect()
}

/// No guardian is left behind.
fn nobody_guards(table: &Table) {
    wait_for("end of the guardian", || {
        processes(table, "mouse-guardian").is_empty().then_some(())
    });
    assert!(!table.screen.button_is_down());
}

/// Kills programs in the middle of a stroke. Gives how long their buttons stayed pressed.
fn kill_programs(signals: &[Signal], rounds: usize) -> Vec<Duration> {
    let table = Table::set(&["--size", "6", "--seed", "1"]);
    let mut took = Vec::new();
    for send in [kill_process, kill_process_group] {
        // On SIGHUP the program does not end, but reloads changed files.
        for &signal in signals.iter().filter(|&&signal| signal != Signal::HUP) {
            for _ in 0..rounds {
                let player = mid_stroke(&table, &slow(""));
                end(player.id(), signal, send);
                took.push(released(&table));
                let code = player.ended().code;
                assert!(code.is_none_or(|code| code == 130), "{signal:?}: {code:?}");
                nobody_guards(&table);
            }
        }
    }
    took
}

/// Kills processes of isolated stages in the middle of a stroke. Gives how long their buttons stayed pressed.
fn kill_stages(signals: &[Signal], rounds: usize) -> Vec<Duration> {
    let table = Table::set(&["--size", "6", "--seed", "1"]);
    let mut took = Vec::new();
    for &signal in signals {
        for _ in 0..rounds {
            let player = mid_stroke(&table, &slow(RESTARTED));
            end(stage(&table), signal, kill_process);
            took.push(released(&table));
            // Another process has taken the stage over, and waits for strokes.
            end(player.id(), Signal::KILL, kill_process);
            player.ended();
            nobody_guards(&table);
        }
    }
    took
}

/// The process of the isolated stage.
fn stage(table: &Table) -> u32 {
    match processes(table, "isolated-stage")[..] {
        [stage] => stage,
        ref others => panic!("{} processes of stages", others.len()),
    }
}

/// Checks how long buttons stayed pressed after kills.
#[track_caller]
pub(crate) fn soon(what: &str, mut took: Vec<Duration>) {
    took.sort();
    let (median, longest) = (took[took.len() / 2], took[took.len() - 1]);
    println!(
        "{what}: {} kills, median {median:?}, 95 % within {:?}, longest {longest:?}",
        took.len(),
        took[(took.len() * 95).div_ceil(100) - 1]
    );
    // A machine that is busy is late now and then, not every other time.
    assert!(median <= Duration::from_millis(100), "{what}: {took:?}");
    assert!(longest <= Duration::from_secs(1), "{what}: {took:?}");
}

#[test]
fn a_program_that_is_killed_leaves_nothing_pressed() {
    let took = kill_programs(&[Signal::KILL, Signal::SEGV], 1);
    soon("programs and groups", took);
}

#[test]
fn a_stage_that_is_killed_leaves_nothing_pressed() {
    let took = kill_stages(&[Signal::ABORT, Signal::KILL, Signal::SEGV], 1);
    soon("stages", took);
}

#[test]
#[ignore = "takes some minutes: `./x check deep kills`"]
fn twenty_kills_with_each_signal() {
    soon("stages", kill_stages(&SIGNALS, 20));
    soon("programs and groups", kill_programs(&SIGNALS, 20));
}

#[test]
fn a_program_that_is_killed_by_its_name_leaves_nothing_pressed() {
    let table = Table::set(&["--size", "6", "--seed", "1"]);
    let player = mid_stroke(&table, &slow(""));
    // As `pkill -KILL -f pipeline.toml` does, on this screen alone.
    let found = processes(&table, "pipeline.toml");
    assert_eq!(found, [player.id()]);
    end(found[0], Signal::KILL, kill_process);
    assert_eq!(player.ended().code, None);
    released(&table);
    nobody_guards(&table);
}

#[test]
fn an_isolated_stage_lets_go_when_the_program_is_killed() {
    let table = Table::set(&["--size", "6", "--seed", "1"]);
    let player = mid_stroke(&table, &slow("isolation = \"process\""));
    end(player.id(), Signal::KILL, kill_process_group);
    player.ended();
    released(&table);
    nobody_guards(&table);
    assert!(processes(&table, "isolated-stage").is_empty());
}

/// The stage waits for the program in the middle of a stroke.
#[test]
fn an_isolated_stage_lets_go_while_the_program_is_stopped() {
    let table = Table::set(&["--size", "6", "--seed", "1"]);
    let player = mid_stroke(&table, &slow("isolation = \"process\""));
    end(player.id(), Signal::STOP, kill_process);
    println!("released after {:?}", released(&table));
    end(player.id(), Signal::KILL, kill_process);
    player.ended();
    nobody_guards(&table);
}

/// Whatever the pipeline configures for errors and restarts.
#[test]
fn a_run_whose_mouse_died_has_failed() {
    let table = Table::set(&["--size", "6", "--seed", "1"]);
    for settings in ["isolation = \"process\"", RESTARTED] {
        let solved = table.count("solved");
        let pipeline = live(&[("referee", "boards = 1000")], settings);
        let player = table.play(&pipeline, &["--json", "--watch"]);
        table.wait_for("solved", solved + 1);
        let first = stage(&table);
        end(first, Signal::KILL, kill_process);
        wait_for("restart", || {
            let now = processes(&table, "isolated-stage");
            (now.len() == 1 && now[0] != first).then_some(())
        });
        // The run ends because its time is up.
        table.change(&pipeline.replace("boards = 1000", "seconds = 0.1"));
        let report = player.ended().expect(1).json();
        assert_eq!(report["report"]["ended"]["how"], "done", "{report:#}");
        let stages = report["report"]["stages"].as_array().unwrap();
        let mouse = stages.iter().find(|stage| stage["name"] == "mouse");
        assert_eq!(mouse.unwrap()["restarted"], 1, "{report:#}");
        let failure = &report["report"]["failure"];
        assert_eq!(failure["stage"], "mouse", "{report:#}");
        assert_eq!(failure["kind"], "crashed");
        nobody_guards(&table);
    }
}

/// Where nobody would release the button if the program died next, it is not pressed any longer.
#[test]
fn a_stroke_ends_when_its_guardian_is_killed_or_stopped() {
    let table = Table::set(&["--size", "6", "--seed", "1"]);
    for settings in ["", "isolation = \"process\""] {
        for signal in [Signal::KILL, Signal::STOP] {
            // A stroke that takes most of a minute, and no other after it.
            let pipeline = slow(settings).replace("400.0", "10000.0");
            let pipeline = pipeline.replace("attempts = 1000", "attempts = 1");
            let player = mid_stroke(&table, &pipeline);
            let guardians = processes(&table, "mouse-guardian");
            assert_eq!(guardians.len(), 1, "{guardians:?}");
            end(guardians[0], signal, kill_process);
            println!("{signal:?}: released after {:?}", released(&table));
            let report = player.ended().expect(1).json();
            let failure = &report["report"]["failure"];
            assert_eq!(failure["stage"], "mouse", "{report:#}");
            let text = failure["text"].as_str().unwrap();
            assert!(text.contains("was killed or stopped"), "{text}");
            nobody_guards(&table);
        }
    }
}

/// The strokes that died with the mouse's process are not waited for long.
#[test]
fn a_run_whose_mouse_died_goes_on_within_seconds() {
    let table = Table::set(&["--size", "6", "--seed", "1"]);
    let pace =
        "by_hand = false, pace = { step = 1.0, dwell_ms = 20.0, ends_ms = 400.0, repeats = 1 }";
    let configs = [
        ("mouse", pace),
        ("planner", "profile = \"segments\""),
        ("referee", "boards = 1"),
    ];
    let player = mid_stroke(&table, &live(&configs, RESTARTED));
    let killed = Instant::now();
    end(stage(&table), Signal::KILL, kill_process);
    let report = player.ended().expect(1).json();
    let took = killed.elapsed();
    assert_eq!(report["boards"]["solved"], 1, "{report:#}");
    assert_eq!(report["report"]["ended"]["how"], "done", "{report:#}");
    // Five seconds of waiting, and the board once more. The machines that run tests are busy.
    assert!(took < Duration::from_secs(60), "{took:?}");
    nobody_guards(&table);
}
