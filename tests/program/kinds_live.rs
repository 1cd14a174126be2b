//! Every kind of `flowpipe play --like KIND`, played by the packaged pipelines with nothing configured but what a player
//! has to: `live`, and where something must be clicked between boards, `levels` with pictures of that.

use std::path::Path;
use std::sync::Arc;

use flowpipe_game::kind::{KINDS, Kind};
use flowpipe_game::render::{Button, Header, Layout, Painter, Pixels};
use flowpipe_game::session::{Face, Interlude, Until, View};
use flowpipe_puzzle::{Board, Point, Puzzle, Rules, Terminal};

use crate::live_play::{TITLE, Table, ready};

/// Columns and rows of the boards.
const SIDE: usize = 7;
/// Vision takes longest where there is no board, and longer still where other tests run.
const SLOW_MACHINE: (&str, &str) = ("mouse", "max_age_ms = 3000");
/// More than enough for each board on a busy machine.
const SECONDS_EACH: usize = 45;

/// What became of the boards of a kind.
struct Played {
    pipeline: &'static str,
    won: usize,
    /// Seconds of each board, from the moment in which it could be played, in order.
    seconds: Vec<f64>,
    strokes: u64,
    again: u64,
    /// The profile that was kept.
    profile: String,
}

impl Played {
    /// Plays boards of a kind.
    fn of(kind: &Kind, boards: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let games = folder.path().join("games.toml");
        let limit = SECONDS_EACH * boards;
        let referee = format!(
            "boards = {boards}, seconds = {limit}, games = '{}'",
            games.display()
        );
        let navigator = navigator(kind, folder.path());
        let (pipeline, text) = match &navigator {
            Some(navigator) => {
                let navigator = ("navigator", navigator.as_str());
                (
                    "levels",
                    ready(
                        "levels.toml",
                        &[("referee", &referee), navigator, SLOW_MACHINE],
                    ),
                )
            }
            None => ("live", ready("live.toml", &[("referee", &referee)])),
        };
        let side = SIDE.to_string();
        let table = Table::set(&["--like", kind.name, "--size", &side, "--seed", "1"]);
        let ran = table.play(&text, &["--json", "-v"]).ended();
        let counts = serde_json::from_str::<serde_json::Value>(&ran.stdout).unwrap_or_default();
        let number = |name: &str| counts["boards"][name].as_u64().unwrap_or_default();
        let solved = table.logged("solved");
        let mut seconds: Vec<f64> = solved
            .iter()
            .map(|it| it["after"].as_f64().unwrap() / 1e9)
            .collect();
        seconds.sort_by(f64::total_cmp);
        if solved.len() < boards {
            println!("{}", ran.stderr);
        }
        Self {
            pipeline,
            won: solved.len(),
            seconds,
            strokes: number("strokes"),
            again: number("strokes_refused"),
            profile: kept(&games).unwrap_or_else(|| "not found yet".to_owned()),
        }
    }

    /// A row of a table in Markdown.
    fn row(&self, kind: &Kind, boards: usize) -> String {
        let Self {
            pipeline,
            won,
            strokes,
            again,
            profile,
            ..
        } = self;
        let median = self
            .seconds
            .get(self.seconds.len() / 2)
            .copied()
            .unwrap_or_default();
        let worst = self.seconds.last().copied().unwrap_or_default();
        let name = kind.name;
        format!(
            "| `{name}` | `{pipeline}` | {won} of {boards} | {median:.1} | {worst:.1} | {again} of {strokes} | {profile} |"
        )
    }
}

/// The profile that was kept for the practice game.
fn kept(games: &Path) -> Option<String> {
    let file: toml::Table = std::fs::read_to_string(games).ok()?.parse().ok()?;
    let game = file.get("games")?.get(TITLE)?;
    Some(format!("`{}`", game.get("profile")?.as_str()?))
}

/// What a player configures so that a kind goes on after a board; `None`: nothing.
fn navigator(kind: &Kind, folder: &Path) -> Option<String> {
    let name = |number: usize| folder.join(format!("{number}.png"));
    let mut keys = Vec::new();
    for (number, step) in kind.manner.after_win.iter().enumerate() {
        let is_saved = snippet(kind, step, &name(number));
        keys.extend(is_saved.then(|| format!("'{}'", name(number).display())));
    }
    let mut config = match keys.is_empty() {
        true => Vec::new(),
        false => vec![format!("next = [{}]", keys.join(", "))],
    };
    let help = kind.manner.opening.iter().find(|step| step.cover.is_some());
    if let Some(help) = help {
        let file = folder.join("close.png");
        // Its title.
        let middle = [SIDE as f64 / 2.0, SIDE as f64 * 0.1];
        cut(
            kind,
            Some(help),
            around(kind, middle, [SIDE as f64 * 0.4, SIDE as f64 * 0.1]),
            &file,
        );
        config.push(format!("close = ['{}']", file.display()));
    }
    (!config.is_empty()).then(|| config.join(", "))
}

/// Saves a picture of what has to be clicked in a step between boards. Returns whether there is something.
fn snippet(kind: &Kind, step: &Interlude, file: &Path) -> bool {
    let place = match step.until {
        Until::Next => {
            let (middle, half) = layout(kind).button(Button::Next);
            (middle, [half; 2])
        }
        Until::CoverButton => {
            let [middle, half] = step.cover.unwrap().button(&board()).unwrap();
            around(kind, middle, half)
        }
        Until::Click | Until::After(_) => return false,
    };
    cut(kind, Some(step), place, file);
    true
}

fn board() -> Board {
    Board::rectangle(SIDE, SIDE).unwrap()
}

fn layout(kind: &Kind) -> Layout {
    let (width, height) = kind.look.window(&board());
    Layout::new(kind.look.style, &board(), width, height)
}

/// A place in board units and half of its sides, in pixels of the window.
fn around(kind: &Kind, middle: Point, half: Point) -> (Point, Point) {
    let geometry = layout(kind).geometry;
    let at = |sign: f64| geometry.to_frame([0, 1].map(|axis| middle[axis] + sign * half[axis]));
    let (from, to) = (at(-1.0), at(1.0));
    (
        geometry.to_frame(middle),
        [0, 1].map(|axis| (to[axis] - from[axis]) / 2.0),
    )
}

/// Saves a part of the window as it is in a step.
fn cut(kind: &Kind, step: Option<&Interlude>, (middle, half): (Point, Point), file: &Path) {
    let terminals = [0, 1].map(|cell| Terminal { cell, colour: 0 });
    let puzzle = Puzzle::new(board(), terminals.to_vec(), Rules::default()).unwrap();
    let (width, height) = kind.look.window(&board());
    let view = View {
        header: Header::default(),
        face: Face {
            puzzle: Arc::new(puzzle),
            flows: Vec::new(),
        },
        flip: None,
        cover: step.and_then(|step| step.cover),
    };
    let mut painter = Painter::new(1)
        .with_style(kind.look.style)
        .with_theme(kind.look.theme);
    let pixels: Pixels = painter.paint(&view, width, height).unwrap();
    let whole = image::RgbaImage::from_raw(width, height, pixels.rgba).unwrap();
    let [x, y] = [0, 1].map(|axis| (middle[axis] - half[axis]).max(0.0) as u32);
    let [wide, high] = half.map(|half| (2.0 * half) as u32);
    let part = image::imageops::crop_imm(&whole, x, y, wide, high).to_image();
    image::DynamicImage::ImageRgba8(part)
        .to_rgb8()
        .save(file)
        .unwrap();
}

/// Plays boards of some kinds, prints a table, and returns the kinds that were not won.
fn table(boards: usize, is_played: impl Fn(&Kind) -> bool) -> Vec<&'static str> {
    println!("| Kind | Pipeline | Won | Median s | Worst s | Strokes again | Profile found |");
    println!("|---|---|---|---|---|---|---|");
    let mut lost = Vec::new();
    for kind in KINDS.iter().filter(|kind| is_played(kind)) {
        let result = Played::of(kind, boards);
        println!("{}", result.row(kind, boards));
        if result.won < boards {
            lost.push(kind.name);
        }
    }
    lost
}

#[test]
#[ignore = "takes many minutes: `./x test full` runs it"]
fn boards_of_every_kind_are_won_with_nothing_configured() {
    // Both change how much is measured, for figures of single kinds.
    let boards = std::env::var("FLOWPIPE_KIND_BOARDS").map_or(5, |it| it.parse().unwrap());
    let only = std::env::var("FLOWPIPE_KINDS").unwrap_or_default();
    let only: Vec<&str> = only.split(',').filter(|it| !it.is_empty()).collect();
    let lost = table(boards, |kind| only.is_empty() || only.contains(&kind.name));
    assert!(lost.is_empty(), "{lost:?}");
}
