//! Time trials on X11, sway and Mutter, alike but for the desktop.

#![allow(dead_code, reason = "each test file uses some of it")]

use serde_json::Value;

use crate::live_play::{LiveScreen, Table, ready};
use crate::mutter::Mutter;
use crate::screen::Screen;
use crate::sway::Sway;
use crate::wayland_screens::{Configs, GNOME, SWAY};

/// How the game is played on X11.
pub const X11: Configs = Configs {
    screen: "window = \"flowpipe play\"",
    mouse: "",
    game: &[],
};

/// The desktops, in the order of the trials.
pub const NAMES: [&str; 3] = ["X11", "sway", "Mutter"];

/// The same small screen for each: a compositor without a graphics card draws all of it for each picture.
const SCREEN: [u16; 2] = [480, 800];

/// What a trial came to.
pub struct Trial {
    /// Of the game.
    pub log: Vec<Value>,
    /// Of the pipeline.
    pub report: Value,
}

/// 30 s of 5x5 boards on each desktop, one after the other.
pub fn on_each_desktop(seed: u64) -> [Trial; 3] {
    let size = SCREEN.map(u32::from);
    [
        trial(Screen::start_with_manager_of(SCREEN), X11, seed),
        trial(Sway::start(size, "1"), SWAY, seed),
        trial(Mutter::start(size, "1"), GNOME, seed),
    ]
}

fn trial<S: LiveScreen>(screen: S, configs: Configs, seed: u64) -> Trial {
    let seed = seed.to_string();
    let args = [
        "--window",
        "400x711",
        "--size",
        "5",
        "--seed",
        &seed,
        "--time-trial",
        "30s",
    ];
    let table = Table::on(screen, &args);
    let stages = [
        ("screen", configs.screen),
        ("mouse", configs.mouse),
        ("referee", "seconds = 31.0"),
    ];
    let pipeline = ready("timetrial.toml", &stages);
    let report = table.play(&pipeline, &["--json"]).ended().expect(0).json();
    Trial {
        log: table.log(),
        report,
    }
}
