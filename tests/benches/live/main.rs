//! How fast the whole bot plays, against the practice game on a screen of its own, with the real mouse.
//!
//! `cargo bench -p flowpipe-tests --bench live [-- trials|first-press|pathfinding|desktops|machines]`; the program and its
//! plugins must be built for release (`./x bench` does both). Every figure is by the game's own log or by
//! the pipeline's report.

#![allow(
    clippy::unwrap_used,
    reason = "a measurement that can't go on should panic"
)]

#[cfg(target_os = "linux")]
#[path = "../../support/desktop_trials.rs"]
mod desktop_trials;
#[cfg(target_os = "linux")]
mod desktops;
#[path = "../../support/live_play.rs"]
mod live_play;
mod machines;
#[cfg(target_os = "linux")]
#[path = "../../support/mutter.rs"]
mod mutter;
#[path = "../../support/screen.rs"]
mod screen;
#[cfg(target_os = "linux")]
#[path = "../../support/sway.rs"]
mod sway;
#[cfg(target_os = "linux")]
#[path = "../../support/wayland_screens.rs"]
mod wayland_screens;

use live_play::{LiveScreen, Table, ready, with_plugin};
use serde_json::Value;

/// Time trials for each way of taking input.
const TRIALS: u64 = 5;

fn main() {
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with('-'))
        .collect();
    let wants = |name: &str| wanted.is_empty() || wanted.iter().any(|it| name.contains(it));
    if wants("trials") {
        trials("events", "events");
        trials("frames", "segments");
    }
    if wants("first-press") {
        first_press();
    }
    if wants("pathfinding") {
        pathfinding();
    }
    // It needs two Wayland compositors: only where it is asked for.
    #[cfg(target_os = "linux")]
    if wanted.iter().any(|it| "desktops".contains(it)) {
        desktops::compare();
    }
    if wanted.iter().any(|it| "machines".contains(it)) {
        machines::compare();
    }
}

/// What one run came to.
struct Played {
    log: Vec<Value>,
    report: Value,
}

fn play<S: LiveScreen>(table: &Table<S>, pipeline: &str) -> Played {
    let report = table.play(pipeline, &["--json"]).ended().expect(0).json();
    Played {
        log: table.log(),
        report,
    }
}

impl Played {
    /// Times of one kind of event, in nanoseconds.
    fn times(&self, event: &str) -> Vec<f64> {
        let of_kind = self.log.iter().filter(|line| line["event"] == event);
        of_kind.map(|line| line["t"].as_f64().unwrap()).collect()
    }

    fn solved(&self) -> usize {
        self.times("solved").len()
    }

    /// Strokes that were drawn a second time.
    fn again(&self) -> u64 {
        self.report["boards"]["strokes_refused"].as_u64().unwrap()
    }

    /// For each solved board, in milliseconds: ready to shown, shown to first press, first press to last
    /// release, last release to solved.
    fn parts(&self) -> Vec<[f64; 4]> {
        let mut parts = Vec::new();
        let (mut ready, mut shown, mut press, mut release) = (0.0, None, None, 0.0);
        for line in &self.log {
            let time = line["t"].as_f64().unwrap() / 1e6;
            match line["event"].as_str().unwrap() {
                "ready" => (ready, shown, press) = (time, None, None),
                "shown" => shown = Some(time),
                "press" => _ = press.get_or_insert(time),
                "release" => release = time,
                "solved" => {
                    // What was read and solved in the flip may be pressed before it is known to be shown.
                    let press = press.unwrap();
                    let shown = shown.unwrap_or(press);
                    parts.push([
                        shown - ready,
                        press - shown,
                        release - press,
                        time - release,
                    ]);
                }
                _ => {}
            }
        }
        parts
    }
}

/// The given share of the values is not larger.
fn share(values: impl IntoIterator<Item = f64>, share: f64) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let index = (share * values.len() as f64).ceil() as usize;
    values[index.saturating_sub(1).min(values.len() - 1)]
}

/// 30 s of 5x5 boards.
fn trials(input: &str, profile: &str) {
    println!("\n## Time trials: 30 s of 5x5 boards, --input {input}, profile \"{profile}\"\n");
    println!("| run | solved | strokes drawn again |");
    println!("|---|---|---|");
    let mut runs = Vec::new();
    for seed in 1..=TRIALS {
        let seed = seed.to_string();
        let args = [
            "--size",
            "5",
            "--seed",
            &seed,
            "--time-trial",
            "30s",
            "--input",
            input,
        ];
        let table = Table::set(&args);
        let planner = format!("profile = \"{profile}\"");
        let configs = [("planner", planner.as_str()), ("referee", "seconds = 31.0")];
        let run = play(&table, &ready("timetrial.toml", &configs));
        println!("| {seed} | {} | {} |", run.solved(), run.again());
        runs.push(run);
    }
    let median = share(runs.iter().map(|run| run.solved() as f64), 0.5);
    println!("\nmedian: {median} boards\n");
    // The first board of a run waits for the pipeline to start and for the window to be raised.
    let parts: Vec<[f64; 4]> = runs
        .iter()
        .flat_map(|run| run.parts().into_iter().skip(1))
        .collect();
    println!("| between landing and the next flip, ms | p50 | p95 | max |");
    println!("|---|---|---|---|");
    let names = [
        "landed -> on the screen (the game)",
        "on the screen -> first press (the pipeline)",
        "first press -> last release (the mouse)",
        "last release -> solved (the game)",
    ];
    for (index, name) in names.iter().enumerate() {
        row(name, parts.iter().map(|part| part[index]));
    }
    row("in all", parts.iter().map(|part| part.iter().sum()));
    println!();
    for run in &runs[..1] {
        steps(&run.report);
    }
}

fn row(name: &str, values: impl Iterator<Item = f64> + Clone) {
    let [p50, p95, max] = [0.5, 0.95, 1.0].map(|at| share(values.clone(), at));
    println!("| {name} | {p50:.2} | {p95:.2} | {max:.2} |");
}

/// The table of the program's own report.
fn steps(report: &Value) {
    println!("| captured -> first press, ms | boards | p50 | p95 | max |");
    println!("|---|---|---|---|---|");
    // The order of the ready pipelines, which a changed config forgets.
    let order = [
        "screen", "vision", "referee", "solver", "planner", "mouse", "waiting", "in all",
    ];
    let mut steps = report["steps"].as_array().unwrap().clone();
    steps.sort_by_key(|step| order.iter().position(|name| step["step"] == *name));
    for step in &steps {
        let ms = |key: &str| step[key].as_f64().unwrap() / 1e6;
        println!(
            "| {} | {} | {:.2} | {:.2} | {:.2} |",
            step["step"].as_str().unwrap(),
            step["count"],
            ms("p50_ns"),
            ms("p95_ns"),
            ms("max_ns")
        );
    }
}

/// Frames of a whole 1920x1080 screen.
fn first_press() {
    println!("\n## Captured -> first press, frames of a whole screen of 1920x1080\n");
    for (what, sizes) in [
        ("boards of 9x9", "9"),
        (
            "boards of nine alternating sizes",
            "5,6,7,8,9,10,12,15,15x18",
        ),
    ] {
        let args = [
            "--size",
            sizes,
            "--seed",
            "4",
            "--window",
            "1280x980",
            "--input",
            "events",
            "--time-trial",
            "1h",
        ];
        let table = Table::on_a_screen_of([1920, 1080], &args);
        let configs = [
            ("screen", "monitor = 1"),
            ("planner", "profile = \"events\""),
            ("mouse", "any_window = true"),
            ("referee", "boards = 36"),
        ];
        let run = play(&table, &ready("live.toml", &configs));
        println!("{what}:\n");
        steps(&run.report);
        println!();
    }
}

/// A way of planning, and the game that it is played in.
struct Version {
    name: &'static str,
    planner: &'static str,
    config: &'static str,
    input: &'static str,
}

/// In a game that samples the pointer once a display frame each point is a stop; in one that takes every
/// event none is.
const VERSIONS: [Version; 8] = {
    const fn version(
        name: &'static str,
        planner: &'static str,
        config: &'static str,
        input: &'static str,
    ) -> Version {
        Version {
            name,
            planner,
            config,
            input,
        }
    }
    const GRID: &str = "planner-grid";
    const CORNERS: &str = "planner-corners";
    const MINLINK: &str = "planner-minlink";
    const LOOKS: &str = "profile = \"segments\"";
    const TAKES_ALL: &str = "profile = \"events\"";
    [
        version(
            "1: every cell",
            GRID,
            "profile = \"segments\", strategy = \"cells\", skip_last_terminal = false",
            "frames",
        ),
        version(
            "2: without the last terminal",
            GRID,
            "profile = \"segments\", strategy = \"cells\", skip_last_terminal = true",
            "frames",
        ),
        version(
            "3: turns only",
            GRID,
            "profile = \"segments\", strategy = \"turns\", skip_last_terminal = true",
            "frames",
        ),
        version("5: corners and centres", CORNERS, LOOKS, "frames"),
        version("6: fewest segments", MINLINK, LOOKS, "frames"),
        version(
            "4: as 3, without a stop, in a game that takes every event",
            GRID,
            "profile = \"events\", strategy = \"turns\", skip_last_terminal = true",
            "events",
        ),
        version("5, without a stop", CORNERS, TAKES_ALL, "events"),
        version("6, without a stop", MINLINK, TAKES_ALL, "events"),
    ]
};

/// The versions that the Python bot's author describes and the sixth, on the same boards.
fn pathfinding() {
    println!("\n## Pathfinding: time from first press to last release\n");
    println!("| | 5x5, ms | 9x9, ms | 15x18, ms | strokes | drawn again |");
    println!("|---|---|---|---|---|---|");
    for version in &VERSIONS {
        let (mut again, mut strokes) = (0, 0);
        let times = ["5", "9", "15x18"].map(|size| {
            let args = ["--size", size, "--seed", "6", "--time-trial", "1h"];
            let table = Table::set(&[&args[..], &["--input", version.input]].concat());
            let configs = [("planner", version.config), ("referee", "boards = 12")];
            let pipeline = ready("live.toml", &configs);
            let run = play(&table, &with_plugin(&pipeline, "planner", version.planner));
            again += run.again();
            strokes += run.report["boards"]["strokes"].as_u64().unwrap();
            share(run.parts().into_iter().map(|part| part[2]), 0.5)
        });
        let [small, middle, large] = times;
        let name = version.name;
        println!("| {name} | {small:.0} | {middle:.0} | {large:.0} | {strokes} | {again} |");
    }
}
