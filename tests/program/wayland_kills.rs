//! The mouse button of a program that is killed in the middle of a stroke, under each real Wayland compositor, with the
//! practice game.

use std::time::{Duration, Instant};

use crate::guardian::{SIGNALS, end, soon};
use crate::live_play::LiveScreen;
use crate::mutter::Mutter;
use crate::screen::wait_for;
use crate::sway::Sway;
use crate::wayland_boards::{is_down, mid_drag};
use crate::wayland_screens::{Configs, GNOME, SWAY};
use rustix::process::{Signal, kill_process};

/// Kills programs so often with each signal. Gives how long their buttons stayed pressed.
fn kill_programs<S: LiveScreen>(screen: S, configs: Configs, rounds: usize) -> Vec<Duration> {
    let table = configs.table(screen, &["--size", "6", "--seed", "1"]);
    let mut took = Vec::new();
    // On SIGHUP the program does not end, but reloads changed files.
    for signal in SIGNALS.into_iter().filter(|&it| it != Signal::HUP) {
        for _ in 0..rounds {
            let player = mid_drag(&table, configs);
            let began = Instant::now();
            end(player.id(), signal, kill_process);
            wait_for("release", || (!is_down(&table)).then_some(()));
            took.push(began.elapsed());
            let code = player.ended().code;
            assert!(code.is_none_or(|code| code == 130), "{signal:?}: {code:?}");
            assert_eq!(table.count("press"), table.count("release"), "{signal:?}");
        }
    }
    took
}

#[test]
#[ignore = "takes many minutes: `./x check deep kills`"]
fn twenty_kills_with_each_signal_on_sway() {
    let took = kill_programs(Sway::start([1280, 1200], "1"), SWAY, 20);
    soon("programs on sway", took);
}

#[test]
#[ignore = "takes many minutes: `./x check deep kills`"]
fn twenty_kills_with_each_signal_on_mutter() {
    let took = kill_programs(Mutter::start([480, 800], "1"), GNOME, 20);
    soon("programs on Mutter", took);
}
