//! The live pipeline against the practice game under Wayland: a real compositor (sway), a real window, and the game's own
//! log as the truth.

use std::path::Path;
use std::process::Command;

use crate::live_play::{LiveScreen, Player, TITLE, Table, ready};
use crate::screen::wait_for;
use crate::sway::Sway;

/// Every size that boards of the real game have, squares first.
const SIZES: &str = "5,6,7,8,9,10,11,12,13,14,15,5x7,6x8,7x9,8x10,8x11,10x12,12x15,13x17,15x18";
/// Sway does not report where the pointer is.
const ACCEPT: &str = "accept = [\"pointer\"]";
/// So slow that a test can step in between a press and its release.
const SLOW: &str = "pace = { step = 1.0, dwell_ms = 400.0, ends_ms = 400.0, repeats = 1 }";

impl LiveScreen for Sway {
    fn set(&self, command: &mut Command) {
        Self::set(self, command);
    }

    fn wait_for_window(&self, title: &str) {
        wait_for("window", || self.tree().contains(title).then_some(()));
    }

    fn save_picture(&self, _: &Path) {}
}

fn table(scale: &str, args: &[&str]) -> Table<Sway> {
    Table::on(Sway::start([1280, 1200], scale), args)
}

/// Plays so many boards of all sizes.
fn plays(scale: &str, boards: usize) {
    let table = table(
        scale,
        &["--size", SIZES, "--seed", "11", "--time-trial", "1h"],
    );
    let referee = format!("boards = {boards}");
    let pipeline = ready("live.toml", &[("referee", &referee), ("mouse", ACCEPT)]);
    let report = table.play(&pipeline, &["--json"]).ended().expect(0).json();
    assert_eq!(report["boards"]["accepted"], boards, "{report:#}");
    table.wait_for("solved", boards);
    for line in table.log() {
        if ["press", "move", "release"].contains(&line["event"].as_str().unwrap()) {
            assert!(line["ignored"].is_null(), "{line}");
        }
    }
    assert_eq!(table.count("press"), table.count("release"));
}

#[test]
fn ten_boards_of_all_sizes() {
    plays("1", 10);
}

#[test]
fn boards_at_other_scales() {
    for scale in ["1.25", "2"] {
        plays(scale, 3);
    }
}

#[test]
#[ignore = "takes minutes on a busy machine: `./x test full` runs it"]
fn a_hundred_boards_of_all_sizes() {
    plays("1", 100);
}

#[test]
fn isolated_stages_play_too() {
    let table = table("1", &["--size", "5,6", "--seed", "3", "--time-trial", "1h"]);
    let pipeline = ready("live.toml", &[("referee", "boards = 2"), ("mouse", ACCEPT)]);
    let mut pipeline: toml::Table = pipeline.parse().unwrap();
    for name in ["screen", "mouse"] {
        let stage = pipeline["stages"][name].as_table_mut().unwrap();
        stage.insert("isolation".into(), "process".into());
    }
    let player = table.play(&pipeline.to_string(), &["--json"]);
    let report = player.ended().expect(0).json();
    assert_eq!(report["boards"]["accepted"], 2, "{report:#}");
}

#[test]
fn what_sway_does_not_report_has_to_be_accepted() {
    let table = table("1", &["--size", "5", "--seed", "1"]);
    let ran = table.play(&ready("live.toml", &[]), &[]).ended();
    assert_ne!(ran.code, Some(0));
    assert!(ran.stderr.contains("accept = [\"pointer\"]"), "{ran:#?}");
    assert_eq!(table.count("press"), 0);
}

fn is_down(table: &Table<Sway>) -> bool {
    table.count("press") > table.count("release")
}

/// Starts to drag, slowly, and returns while the button is down.
fn mid_drag(table: &Table<Sway>) -> Player {
    let mouse = format!("{SLOW}, {ACCEPT}");
    let stops = ("planner", "profile = \"segments\"");
    let pipeline = ready("live.toml", &[("mouse", &mouse), stops]);
    let player = table.play(&pipeline, &["--json"]);
    wait_for("press", || is_down(table).then_some(()));
    player
}

fn is_released(table: &Table<Sway>) {
    wait_for("release", || (!is_down(table)).then_some(()));
    let presses = table.count("press");
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(table.count("press"), presses);
}

#[test]
fn it_lets_go_at_ctrl_c_and_when_it_is_killed() {
    let table = table("1", &["--size", "6", "--seed", "1"]);
    let player = mid_drag(&table);
    player.signal("INT");
    player.ended().expect(130);
    is_released(&table);
    let player = mid_drag(&table);
    player.signal("KILL");
    assert_eq!(player.ended().code, None);
    wait_for("release", || (!is_down(&table)).then_some(()));
}

#[test]
fn it_lets_go_when_the_window_moves_or_is_covered() {
    let table = table("1", &["--size", "6", "--seed", "1"]);
    let player = mid_drag(&table);
    let title = format!("[title=\"{TITLE}\"]");
    table
        .screen
        .command(&format!("{title} move absolute position 300 10"));
    wait_for("release", || (!is_down(&table)).then_some(()));
    // It plays on where the window is now.
    let presses = table.count("press");
    wait_for("another press", || {
        (table.count("press") > presses).then_some(())
    });
    // A workspace without the window.
    table.screen.command("workspace 2");
    is_released(&table);
    table.screen.command("workspace 1");
    let presses = table.count("press");
    wait_for("another press", || {
        (table.count("press") > presses).then_some(())
    });
    player.signal("INT");
    player.ended().expect(130);
    is_released(&table);
}
