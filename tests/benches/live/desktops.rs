//! The same time trials on each desktop, interleaved.

use crate::desktop_trials::{NAMES, Trial, X11, on_each_desktop};
use crate::live_play::{LiveScreen, Table, ready};
use crate::mutter::Mutter;
use crate::screen::Screen;
use crate::sway::Sway;
use crate::wayland_screens::{Configs, GNOME, SWAY_MONITOR};
use crate::{Played, TRIALS, play, share, steps};

/// X11, sway and Mutter.
pub fn compare() {
    time_trials();
    first_press();
}

/// 30 s of 5x5 boards.
fn time_trials() {
    println!("\n## Time trials on each desktop: 30 s of 5x5 boards, profile \"segments\"\n");
    let mut runs: [Vec<Played>; 3] = Default::default();
    for seed in 1..=TRIALS {
        for (runs, Trial { log, report }) in runs.iter_mut().zip(on_each_desktop(seed)) {
            runs.push(Played { log, report });
        }
    }
    println!("| desktop | boards, median (each) | on the screen -> first press, ms (p50 / p95) |");
    println!("|---|---|---|");
    for (name, runs) in NAMES.iter().zip(&runs) {
        let solved: Vec<f64> = runs.iter().map(|run| run.solved() as f64).collect();
        let presses = runs.iter().flat_map(|run| run.parts().into_iter().skip(1));
        let presses: Vec<f64> = presses.map(|part| part[1]).collect();
        let [p50, p95] = [0.5, 0.95].map(|at| share(presses.iter().copied(), at));
        let median = share(solved.iter().copied(), 0.5);
        println!("| {name} | {median} {solved:?} | {p50:.1} / {p95:.1} |");
    }
    for (name, runs) in NAMES.iter().zip(&runs) {
        println!("\n{name}, the first trial:\n");
        steps(&runs[0].report);
    }
}

/// Frames of a whole screen of 1920x1080, with the same boards of 9x9.
fn first_press() {
    println!(
        "\n## Captured -> first press on each desktop, frames of a whole screen of 1920x1080\n"
    );
    let size = [1920, 1080];
    let x11 = Configs {
        screen: "monitor = 1",
        mouse: "any_window = true",
        ..X11
    };
    let screen = Screen::start_with_manager_of(size);
    let size = size.map(u32::from);
    let runs = [
        boards(screen, x11),
        boards(Sway::start(size, "1"), SWAY_MONITOR),
        boards(Mutter::start(size, "1"), GNOME),
    ];
    for (name, run) in NAMES.iter().zip(&runs) {
        println!("{name}:\n");
        steps(&run.report);
        println!();
    }
}

fn boards<S: LiveScreen>(screen: S, configs: Configs) -> Played {
    let args = [
        "--size",
        "9",
        "--seed",
        "4",
        "--window",
        "600x900",
        "--time-trial",
        "1h",
    ];
    let table = Table::on(screen, &args);
    let stages = [
        ("screen", configs.screen),
        ("mouse", configs.mouse),
        ("planner", "profile = \"segments\""),
        ("referee", "boards = 36"),
    ];
    play(&table, &ready("live.toml", &stages))
}
