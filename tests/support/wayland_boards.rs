//! What is tested of the live pipeline under each Wayland compositor: that it plays boards, and lets go.

#![expect(
    clippy::unwrap_used,
    reason = "a test helper that can't go on should panic"
)]

use serde_json::Value;

use crate::live_play::{LiveScreen, Player, Table, ready};
use crate::screen::wait_for;
use crate::wayland_screens::Configs;

/// Every size that boards of the real game have. Ten of them are played often: among the first are the smallest, and as
/// many squares as others.
const SIZES: &str = "5,6x8,9,7x9,12,5x7,10x12,7,8x10,6,8,10,11,13,14,15,8x11,12x15,13x17,15x18";
/// The cells are small, then large.
const SMALL_CELLS: &str = "12x15,5";
/// So slow that a test can step in between a press and its release.
pub const SLOW: &str = "pace = { step = 1.0, dwell_ms = 400.0, ends_ms = 400.0, repeats = 1 }";

impl Configs {
    /// Starts the game on a screen.
    pub fn table<S: LiveScreen>(self, screen: S, args: &[&str]) -> Table<S> {
        Table::on(screen, &[self.game, args].concat())
    }
}

/// Plays so many boards of all sizes, and none of the pointer's events comes when the board takes none.
pub fn plays<S: LiveScreen>(screen: S, configs: Configs, boards: usize) {
    plays_sizes(screen, configs, SIZES, boards);
}

/// Plays two boards with few cells.
pub fn plays_few<S: LiveScreen>(screen: S, configs: Configs) {
    plays_sizes(screen, configs, "5", 2);
}

/// Plays a board with many cells, and one with few: where a press is off by little, the first one is lost.
pub fn plays_small_cells<S: LiveScreen>(screen: S, configs: Configs) {
    plays_sizes(screen, configs, SMALL_CELLS, 2);
}

/// Plays so many boards of all sizes, as [`plays`] does, after `allow` has allowed it.
pub fn plays_once_allowed<S: LiveScreen>(
    screen: S,
    configs: Configs,
    boards: usize,
    allow: impl FnOnce(&S),
) {
    let table = configs.table(
        screen,
        &["--size", SIZES, "--seed", "11", "--time-trial", "1h"],
    );
    // What asks is to be above the game's window, not below.
    table.wait_for("ready", 1);
    let player = table.play(&pipeline(configs, boards), &["--json"]);
    allow(&table.screen);
    let report = player.ended().expect(0).json();
    were_played(&table, &report, boards);
}

fn plays_sizes<S: LiveScreen>(screen: S, configs: Configs, sizes: &str, boards: usize) {
    let table = configs.table(
        screen,
        &["--size", sizes, "--seed", "11", "--time-trial", "1h"],
    );
    let report = boards_played(&table, &pipeline(configs, boards));
    were_played(&table, &report, boards);
}

/// So many boards were played, and none of the pointer's events came when the board took none.
fn were_played<S: LiveScreen>(table: &Table<S>, report: &Value, boards: usize) {
    assert_eq!(report["boards"]["accepted"], boards, "{report:#}");
    table.wait_for("solved", boards);
    for line in table.log() {
        if ["press", "move", "release"].contains(&line["event"].as_str().unwrap()) {
            assert!(line["ignored"].is_null(), "{line}");
        }
    }
    assert_eq!(table.count("press"), table.count("release"));
}

/// Plays boards of a game whose window opens while the run waits for it.
pub fn plays_what_opens_later<S: LiveScreen>(screen: S, configs: Configs) {
    let sizes = ["--size", SMALL_CELLS, "--seed", "11", "--time-trial", "1h"];
    let game = [configs.game, &sizes].concat();
    let mut table = Table::on(screen, &game);
    table.close_game();
    let printed = tempfile::NamedTempFile::new().unwrap();
    let player = table.play_as(&pipeline(configs, 2), &["--json", "-v"], |command| {
        command.stderr(printed.reopen().unwrap());
    });
    wait_for("the run", || {
        let text = std::fs::read_to_string(printed.path()).unwrap();
        text.contains("window").then_some(())
    });
    table.open_game(&game);
    let ran = player.ended();
    assert_eq!(
        ran.code,
        Some(0),
        "{}",
        std::fs::read_to_string(printed.path()).unwrap()
    );
    were_played(&table, &ran.json(), 2);
}

/// Plays two boards with the screen and the mouse in processes of their own.
pub fn plays_isolated<S: LiveScreen>(screen: S, configs: Configs) {
    let table = configs.table(
        screen,
        &["--size", "5,6", "--seed", "3", "--time-trial", "1h"],
    );
    let mut pipeline: toml::Table = pipeline(configs, 2).parse().unwrap();
    for name in ["screen", "mouse"] {
        let stage = pipeline["stages"][name].as_table_mut().unwrap();
        stage.insert("isolation".into(), "process".into());
    }
    let report = boards_played(&table, &pipeline.to_string());
    assert_eq!(report["boards"]["accepted"], 2, "{report:#}");
}

/// Stops a run while the button is down: by a signal that it handles, and by one that it can't.
pub fn lets_go<S: LiveScreen>(screen: S, configs: Configs) {
    let table = configs.table(screen, &["--size", "6", "--seed", "1"]);
    let player = mid_drag(&table, configs);
    player.signal("INT");
    player.ended().expect(130);
    is_released(&table);
    let player = mid_drag(&table, configs);
    player.signal("KILL");
    assert_eq!(player.ended().code, None);
    wait_for("release", || (!is_down(&table)).then_some(()));
}

/// Plays boards of a game that stays on each solved board until a key is pressed.
pub fn leads_on_by_a_key<S: LiveScreen>(screen: S, configs: Configs) {
    let table = configs.table(
        screen,
        &["--like", "next-button", "--size", "5", "--seed", "4"],
    );
    table.wait_for("ready", 1);
    // Vision takes longest where there is no board, and longer still where other tests run.
    let mouse = format!("{}, max_age_ms = 3000", configs.mouse);
    let stages = [
        ("screen", configs.screen),
        ("mouse", &mouse),
        ("referee", "boards = 3"),
        ("navigator", "key = \"n\""),
    ];
    let report = boards_played(&table, &ready("levels.toml", &stages));
    assert_eq!(report["boards"]["accepted"], 3, "{report:#}");
    table.wait_for("solved", 3);
}

/// Starts to drag, slowly, and returns while the button is down.
pub fn mid_drag<S: LiveScreen>(table: &Table<S>, configs: Configs) -> Player {
    let Configs { screen, mouse, .. } = configs;
    let mouse = format!("{SLOW}, {mouse}");
    let stops = ("planner", "profile = \"segments\"");
    let pipeline = ready("live.toml", &[("screen", screen), ("mouse", &mouse), stops]);
    let player = table.play(&pipeline, &["--json"]);
    wait_for("press", || is_down(table).then_some(()));
    player
}

/// Waits until a run was stopped by a person, with the button up.
pub fn was_stopped<S: LiveScreen>(table: &Table<S>, player: Player, why: &str) {
    let report = player.ended().expect(130).json();
    let ended = &report["report"]["ended"];
    assert_eq!(ended["how"], "stopped", "{report}");
    assert!(ended["reason"].as_str().unwrap().contains(why), "{ended}");
    is_released(table);
}

/// Whether the game has the button down.
pub fn is_down<S: LiveScreen>(table: &Table<S>) -> bool {
    table.count("press") > table.count("release")
}

/// Waits until the button is up, and stays so.
pub fn is_released<S: LiveScreen>(table: &Table<S>) {
    wait_for("release", || (!is_down(table)).then_some(()));
    let presses = table.count("press");
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(table.count("press"), presses);
}

fn pipeline(configs: Configs, boards: usize) -> String {
    let referee = format!("boards = {boards}");
    let stages = [
        ("screen", configs.screen),
        ("mouse", configs.mouse),
        ("referee", &referee),
    ];
    ready("live.toml", &stages)
}

/// Runs a pipeline to its end. Returns its report.
fn boards_played<S: LiveScreen>(table: &Table<S>, pipeline: &str) -> Value {
    table.play(pipeline, &["--json"]).ended().expect(0).json()
}
