//! Screens of Wayland compositors for the practice game, and how it is played on each.

#![allow(dead_code, reason = "each test file uses some of it")]

use std::path::Path;
use std::process::Command;

use crate::live_play::LiveScreen;
use crate::mutter::Mutter;
use crate::screen::wait_for;
use crate::sway::Sway;

/// How the game is played under a compositor.
#[derive(Clone, Copy, Debug)]
pub struct Configs {
    /// Of the stage `screen`, as in `monitor = 1`.
    pub screen: &'static str,
    /// Of the stage `mouse`.
    pub mouse: &'static str,
    /// Arguments of the game.
    pub game: &'static [&'static str],
}

/// Sway reports windows and the hotkey.
pub const SWAY: Configs = Configs {
    screen: "window = \"flowpipe play\"",
    mouse: "accept = [\"pointer\", \"covered\"]",
    game: &[],
};

/// A monitor of sway, whatever is on it.
pub const SWAY_MONITOR: Configs = Configs {
    screen: "monitor = 1",
    mouse: "any_window = true, accept = [\"pointer\"]",
    game: &[],
};

/// GNOME reports the pointer's place alone.
pub const GNOME: Configs = Configs {
    screen: "monitor = 1",
    mouse: "any_window = true, accept = [\"hotkey\"]",
    game: &["--window", "400x711"],
};

impl LiveScreen for Sway {
    fn set(&self, command: &mut Command) {
        Self::set(self, command);
    }

    fn wait_for_window(&self, title: &str) {
        wait_for("window", || self.tree().contains(title).then_some(()));
    }

    fn save_picture(&self, _: &Path) {}
}

impl LiveScreen for Mutter {
    fn set(&self, command: &mut Command) {
        Self::set(self, command);
    }

    /// Nobody says which windows there are: the pipeline sees the board when it is shown.
    fn wait_for_window(&self, _: &str) {}

    fn save_picture(&self, _: &Path) {}
}
