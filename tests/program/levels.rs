//! `pipelines/levels.toml` on games that go on only where something is clicked: a real screen, a real window, the real
//! mouse, snippets cut out of what the screen shows, and the game's own log as the truth.

use std::path::Path;

use flowpipe_game::kind::Kind;
use flowpipe_game::render::{Button, Layout};
use flowpipe_puzzle::Board;

use crate::live_play::{TITLE, Table, ready};
use crate::screen::wait_for;

/// Vision takes longest where there is no board, and longer still where other tests run.
const SLOW_MACHINE: (&str, &str) = ("mouse", "max_age_ms = 3000");

/// Columns and rows of the boards.
const SIDE: usize = 5;

fn table(kind: &str) -> Table {
    let table = Table::set(&["--like", kind, "--size", "5", "--seed", "4"]);
    table.wait_for("layout", 1);
    table
}

/// Where a kind's board and buttons are in its window.
fn layout(kind: &str) -> Layout {
    let look = Kind::named(kind).unwrap().look;
    let board = Board::rectangle(SIDE, SIDE).unwrap();
    let (width, height) = look.window(&board);
    Layout::new(look.style, &board, width, height)
}

/// The middle of the button for the next board and half of its sides, in pixels of the window.
fn next_button(kind: &str) -> ([f64; 2], [f64; 2]) {
    let (middle, half) = layout(kind).button(Button::Next);
    (middle, [half; 2])
}

/// A place in board units and half of the sides around it, in pixels of the window.
fn on_the_board(kind: &str, middle: [f64; 2], half: [f64; 2]) -> ([f64; 2], [f64; 2]) {
    let geometry = layout(kind).geometry;
    let [left, top, right, bottom] = [
        middle[0] - half[0],
        middle[1] - half[1],
        middle[0] + half[0],
        middle[1] + half[1],
    ];
    let (from, to) = (
        geometry.to_frame([left, top]),
        geometry.to_frame([right, bottom]),
    );
    let sides = [0, 1].map(|axis| (to[axis] - from[axis]) / 2.0);
    (geometry.to_frame(middle), sides)
}

/// Saves a part of the game's window as it is on the screen.
fn cut(table: &Table, (middle, half): ([f64; 2], [f64; 2]), file: &Path) {
    let [x, y] = table.screen.window(TITLE);
    let whole = file.with_extension("ppm");
    let corner = [0, 1].map(|axis| (middle[axis] - half[axis]).floor() as u32);
    let [width, height] = half.map(|half| (2.0 * half).floor() as u32);
    let (x, y) = (x as u32 + corner[0], y as u32 + corner[1]);
    // The game logs what it shows before the screen shows it.
    let snippet = wait_for("a picture", || {
        table.screen.picture(&whole);
        let snippet = image::imageops::crop_imm(&ppm(&whole), x, y, width, height).to_image();
        let first = *snippet.get_pixel(0, 0);
        snippet.pixels().any(|it| *it != first).then_some(snippet)
    });
    snippet.save(file).unwrap();
}

/// Reads a picture of the screen.
fn ppm(file: &Path) -> image::RgbImage {
    let bytes = std::fs::read(file).unwrap();
    let mut lines = bytes.splitn(4, |byte| byte.is_ascii_whitespace());
    let mut number = || -> u32 {
        let field = lines.next().unwrap();
        std::str::from_utf8(field).unwrap().parse().unwrap_or(0)
    };
    let [_, width, height] = [number(), number(), number()];
    let pixels = &bytes[bytes.len() - (width * height * 3) as usize..];
    image::RgbImage::from_raw(width, height, pixels.to_vec()).unwrap()
}

/// Plays three boards with the config of the navigator.
fn plays_three(table: &Table, navigator: &str) {
    let pipeline = ready(
        "levels.toml",
        &[
            ("referee", "boards = 3"),
            ("navigator", navigator),
            SLOW_MACHINE,
        ],
    );
    let report = table.play(&pipeline, &["--json"]).ended().expect(0).json();
    assert_eq!(report["boards"]["accepted"], 3, "{report:#}");
    table.wait_for("solved", 3);
    let numbers: Vec<u64> = table
        .logged("solved")
        .iter()
        .map(|line| line["number"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers, [1, 2, 3], "no board is left out");
}

#[test]
fn the_button_for_the_next_board_is_found_and_clicked() {
    let folder = tempfile::tempdir().unwrap();
    let table = table("next-button");
    table.wait_for("ready", 1);
    let file = folder.path().join("next.png");
    cut(&table, next_button("next-button"), &file);
    plays_three(&table, &format!("next = ['{}']", file.display()));
}

#[test]
fn a_place_leads_on_without_a_snippet() {
    let table = table("next-button");
    table.wait_for("ready", 1);
    let (width, height) = Kind::named("next-button")
        .unwrap()
        .look
        .window(&Board::rectangle(SIDE, SIDE).unwrap());
    let ([x, y], _) = next_button("next-button");
    let (x, y) = (x / f64::from(width), y / f64::from(height));
    plays_three(&table, &format!("place = {{ x = {x}, y = {y} }}"));
}

/// The button of a dialog, cut out after somebody has brought it up.
fn dialog_button(table: &Table, kind: &str, step: usize, file: &Path) {
    let cover = Kind::named(kind).unwrap().manner.after_win[step]
        .cover
        .unwrap();
    let board = Board::rectangle(SIDE, SIDE).unwrap();
    let [middle, half] = cover.button(&board).unwrap();
    cut(table, on_the_board(kind, middle, half), file);
}

#[test]
fn a_dialog_that_asks_is_confirmed() {
    let folder = tempfile::tempdir().unwrap();
    let kind = "next-button-dialog";
    let (next, ok) = (folder.path().join("next.png"), folder.path().join("ok.png"));
    {
        // A first game to take the pictures of.
        let table = table(kind);
        table.wait_for("ready", 1);
        cut(&table, next_button(kind), &next);
        let only = format!("next = ['{}']", next.display());
        let pipeline = ready("levels.toml", &[("navigator", &only), SLOW_MACHINE]);
        let player = table.play(&pipeline, &["--json"]);
        table.wait_for("solved", 1);
        // The button is clicked, and the dialog stays.
        std::thread::sleep(std::time::Duration::from_secs(5));
        player.signal("INT");
        player.ended().expect(130);
        assert_eq!(table.count("solved"), 1);
        dialog_button(&table, kind, 1, &ok);
    }
    let table = table(kind);
    plays_three(
        &table,
        &format!("next = ['{}', '{}']", next.display(), ok.display()),
    );
}

#[test]
fn a_dialog_after_a_win_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let kind = "popup";
    let next = folder.path().join("next.png");
    {
        let table = table(kind);
        let player = table.play(&ready("live.toml", &[]), &["--json"]);
        table.wait_for("solved", 1);
        std::thread::sleep(std::time::Duration::from_secs(2));
        player.signal("INT");
        player.ended().expect(130);
        dialog_button(&table, kind, 0, &next);
    }
    let table = table(kind);
    plays_three(&table, &format!("next = ['{}']", next.display()));
}

#[test]
fn a_page_of_help_is_closed_and_nothing_else_is_clicked() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("help.png");
    let table = table("help");
    // Its title.
    let place = on_the_board("help", [SIDE as f64 / 2.0, 0.5], [2.0, 0.5]);
    // The game logs its board before the window shows it.
    std::thread::sleep(std::time::Duration::from_millis(500));
    cut(&table, place, &file);
    plays_three(&table, &format!("close = ['{}']", file.display()));
    let ignored = table
        .log()
        .iter()
        .filter(|line| line["event"] == "press" && !line["ignored"].is_null())
        .count();
    assert_eq!(ignored, 1);
}

#[test]
fn a_run_ends_with_the_reason_when_nothing_leads_on() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("other.png");
    let other = image::RgbImage::from_fn(60, 60, |x, y| image::Rgb([(x * y) as u8, 200, x as u8]));
    other.save(&file).unwrap();
    let table = table("next-button");
    let navigator = format!("next = ['{}'], patience = 3.0", file.display());
    let pipeline = ready("levels.toml", &[("navigator", &navigator)]);
    let ran = table.play(&pipeline, &["--json"]).ended().expect(1);
    let failure = ran.json()["report"]["failure"].to_string();
    assert!(
        failure.contains("nothing leads on to the next board"),
        "{failure}"
    );
    assert!(failure.contains("other.png"), "{failure}");
    assert_eq!(table.count("solved"), 1);
}
