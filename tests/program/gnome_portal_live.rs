//! The live pipeline against the practice game through GNOME's desktop portal: the real one, whose dialog is answered by
//! clicks, as a person does.

use crate::gnome_portal::GnomePortal;
use crate::live_play::ready;
use crate::wayland_boards::{is_released, plays_once_allowed};
use crate::wayland_screens::{Configs, GNOME};

/// The dialog is wider than the game, whose window is in the middle of 640 x 800 logical pixels.
const CONFIGS: Configs = Configs {
    screen: "desktop = \"portal\", region = { x = 100, y = 20, width = 440, height = 760 }",
    mouse: "desktop = \"portal\", any_window = true, accept = [\"hotkey\"]",
    ..GNOME
};

#[test]
#[ignore = "needs GNOME's desktop portal: `./x test full` installs it and runs this"]
fn five_boards_are_played() {
    let Some(portal) = GnomePortal::start([640, 800], "1") else {
        return;
    };
    plays_once_allowed(portal, CONFIGS, 5, GnomePortal::allow);
}

/// Without libei, which GNOME 43 lacks, the portal does not reach all of such a monitor.
#[test]
#[ignore = "needs GNOME's desktop portal: `./x test full` installs it and runs this"]
fn a_scaled_monitor_is_refused() {
    let Some(portal) = GnomePortal::start([800, 1000], "1.25") else {
        return;
    };
    let table = CONFIGS.table(portal, &["--size", "5", "--seed", "1"]);
    // Its window is to be below the dialog, not above.
    table.wait_for("ready", 1);
    let stages = [("screen", CONFIGS.screen), ("mouse", CONFIGS.mouse)];
    let player = table.play(&ready("live.toml", &stages), &[]);
    table.screen.allow();
    let ran = player.ended().expect(1);
    let words = "without libei, GNOME's portal reaches only a part of a scaled monitor: this one has 800 x 1000 pixels, \
                 and 640 x 800 logical pixels; set desktop = \"mutter\"";
    assert!(ran.stderr.contains(words), "{ran:#?}");
    is_released(&table);
    assert_eq!(table.count("press"), 0);
}
