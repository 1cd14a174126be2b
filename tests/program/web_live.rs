//! `flowpipe run live` plays a web game of others in a real browser, with nothing configured but the window.
//!
//! The game (`shared/games/dom111-flow-free`) takes a board from its page's address. It joins no pipe to its terminal by
//! itself, has a board as wide as its window, and reads the pointer once a display frame. Where the pointer is faster it
//! fills in the shortest way, also over other flows, which takes it longer on larger boards and can make the page hang. A
//! script beside it looks at what the game itself has noted of each cell, and opens the next board once all pipes are
//! final.

use std::path::{Path, PathBuf};

use flowpipe_testing::note;
use flowpipe_tests::{Ran, flowpipe, shared};
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::screen::Screen;

/// The game knows so many colours.
const COLOURS: usize = 16;

/// Which boards are played, and the milliseconds that each took from its page's opening until it was solved: they are
/// kept in the window's name, which outlives its pages.
const SCRIPT: &str = r#"
const times = JSON.parse(window.name || "[]");
const number = times.length;
location.hash = JSON.stringify(boards[Math.min(number, boards.length - 1)]);
addEventListener("DOMContentLoaded", () => {
  const cells = () => [...document.querySelectorAll(".cell")];
  // The game notes which pipes are final, and the sides at which a pipe leaves a cell: one of a terminal, two of others.
  const isDone = cell => {
    const sides = (cell.dataset.connections || "").split(" ").filter(Boolean).length;
    return cell.hasAttribute("data-final") && sides === (cell.classList.contains("point") ? 1 : 2);
  };
  const observer = new MutationObserver(() => {
    if (cells().length === 0 || !cells().every(isDone)) return;
    observer.disconnect();
    window.name = JSON.stringify([...times, Math.round(performance.now())]);
    if (number + 1 < boards.length) setTimeout(() => location.reload(), 300);
  });
  observer.observe(document, { subtree: true, attributes: true });
});
"#;

/// The game's page, if it is there.
fn page() -> Option<PathBuf> {
    let page = shared()?.join("games/dom111-flow-free/index.html");
    page.is_file().then_some(page)
}

/// A board as the game has it in its address: rows, columns, and letters for terminals with the numbers of empty cells
/// between them. `None`: it has more colours than the game knows.
fn notation(level: &str) -> Option<Value> {
    let (head, flows) = level.split_once(';')?;
    let size: usize = head.split(',').next()?.parse().ok()?;
    let mut cells = vec![None; size * size];
    for (number, flow) in flows.split(';').enumerate() {
        let ends = [flow.split(',').next()?, flow.rsplit(',').next()?];
        for end in ends {
            let letter = (number < COLOURS).then(|| char::from(b'a' + number as u8))?;
            cells[end.parse::<usize>().ok()?] = Some(letter);
        }
    }
    let (mut text, mut empty) = (String::new(), 0);
    for cell in cells {
        match cell {
            Some(letter) if empty > 0 => {
                text += &format!("{empty}{letter}");
                empty = 0;
            }
            Some(letter) => text.push(letter),
            None => empty += 1,
        }
    }
    if empty > 0 {
        text += &empty.to_string();
    }
    Some(json!([size, size, text]))
}

/// A board of each of these sizes, again and again until there are so many.
fn boards(sizes: &[usize], count: usize) -> Vec<Value> {
    let by_size: Vec<Vec<Value>> = sizes
        .iter()
        .map(|size| {
            let size = size.to_string();
            let args = ["generate", "--size", &size, "--count", "6", "--seed", "7"];
            let ran = Ran::from(flowpipe(&args).output().unwrap()).expect(0);
            ran.stdout.lines().filter_map(notation).collect()
        })
        .collect();
    let place = |at: usize| {
        let of_size = &by_size[at % sizes.len()];
        of_size[(at / sizes.len()) % of_size.len()].clone()
    };
    (0..count).map(place).collect()
}

/// Plays boards in the game, and compares what flowpipe has counted with what the game has. Returns what was kept of it.
fn are_won(page: &Path, boards: &[Value]) -> String {
    let count = boards.len();
    let screen = Screen::start_with_manager_of([1280, 1000]);
    let mut browser = Browser::start_in_window(screen.display(), page, [720, 800]);
    browser.run_in_pages(&format!("const boards = {};{SCRIPT}", json!(boards)));
    browser.open(page);
    screen.window("Flow Free");
    let state = tempfile::tempdir().unwrap();
    let number = count.to_string();
    let args = [
        "run",
        "live",
        "--window",
        "Flow Free",
        "--boards",
        &number,
        "--json",
        "-v",
    ];
    let player = flowpipe(&args)
        .env("DISPLAY", screen.display())
        .env("XDG_STATE_HOME", state.path())
        .env_remove("WAYLAND_DISPLAY")
        .env_remove("WAYLAND_SOCKET")
        .output();
    let ran = Ran::from(player.unwrap()).expect(0);
    println!("{}", ran.stderr);
    let counts = &ran.json()["boards"];
    assert_eq!(counts["accepted"], count, "{ran:#?}");
    // The last one may still be on its way.
    browser.wait_for(&format!("JSON.parse(window.name).length === {count}"));
    let times: Vec<u64> = serde_json::from_value(browser.value("JSON.parse(window.name)")).unwrap();
    let mut sorted = times.clone();
    sorted.sort_unstable();
    // It joins no pipe to its terminal by itself.
    let found = "pipes end beside their terminals: asks for strokes into them";
    assert!(ran.stderr.contains(found), "{ran:#?}");
    let games = std::fs::read_to_string(state.path().join("flowpipe/games.toml"));
    let games = games.unwrap_or_default();
    println!(
        "{count} of {count} boards, {} of {} strokes again, {} ms a board (median), {} at most: {times:?}\n{games}",
        counts["strokes_refused"],
        counts["strokes"],
        sorted[count / 2],
        sorted[count - 1]
    );
    games
}

fn boards_are_won_with_nothing_configured(count: usize) {
    let Some(page) = page() else {
        return note!("skipped: shared/games has no dom111-flow-free");
    };
    let sizes: Vec<usize> = (3..=15).collect();
    let games = are_won(&page, &boards(&sizes, count));
    assert!(games.contains("stroke_end = \"in-terminal\""), "{games}");
}

/// One of each size.
#[test]
fn thirteen_boards_of_a_web_game_are_won_with_nothing_configured() {
    boards_are_won_with_nothing_configured(13);
}

#[test]
#[ignore = "takes a minute: `./x test full` runs it"]
fn thirty_boards_of_a_web_game_are_won_with_nothing_configured() {
    boards_are_won_with_nothing_configured(30);
}
