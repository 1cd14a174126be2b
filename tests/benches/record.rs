//! What it costs a run to be written down: frames of 1920x1080, 60 a second.
//!
//! `cargo bench -p flowpipe-tests --bench record [-- live|all-different]`; the program and its plugins must be built
//! for release (`./x bench` does both). Runs with and without a recorder take turns.

#![allow(
    clippy::unwrap_used,
    reason = "a measurement that can't go on should panic"
)]

#[path = "../support/live_play.rs"]
mod live_play;
#[path = "../support/screen.rs"]
mod screen;

use std::path::Path;

use flowpipe_recording::entry::{About, AboutStage, Call, Emitted, Event};
use flowpipe_recording::{Encoding, FORMAT, Pixels, Schemas, Topic, Writer};
use flowpipe_tests::{Ran, project, run};
use live_play::{Table, ready};

/// How often each is run.
const TURNS: usize = 5;

fn main() {
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with('-'))
        .collect();
    let wants = |name: &str| wanted.is_empty() || wanted.iter().any(|it| name.contains(it));
    println!("\n## Recording: frames of 1920x1080, 60 a second, each asked of vision\n");
    println!("| what is recorded | frames/s without | with | ratio | lineages dropped |");
    println!("|---|---|---|---|---|");
    if wants("live") {
        live();
    }
    if wants("all-different") {
        all_different();
    }
}

/// The whole screen, while boards are played on it with the real mouse.
fn live() {
    let folder = tempfile::tempdir().unwrap();
    let args = [
        "--size",
        "9",
        "--seed",
        "4",
        "--window",
        "1280x980",
        "--input",
        "events",
        "--time-trial",
        "1h",
    ];
    compare(
        "a screen on which boards are played",
        "screen",
        |recorder| {
            let table = Table::on_a_screen_of([1920, 1080], &args);
            let configs = [
                ("screen", "monitor = 1, rate = 60.0, skip_identical = false"),
                ("planner", "profile = \"events\""),
                ("mouse", "any_window = true"),
                ("referee", "seconds = 15.0"),
            ];
            let file = folder.path().join("live.mcap").display().to_string();
            let args = ["--json", "--record", &file];
            let args = if recorder { &args[..] } else { &args[..1] };
            table
                .play(&ready("live.toml", &configs), args)
                .ended()
                .expect(0)
        },
    );
}

/// Frames of which no two are alike.
fn all_different() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source.mcap");
    write_source(&source);
    let text = format!(
        "name = \"all-different\"
[stages.frames]
plugin = \"capture-recording\"
config = {{ file = {:?}, speed = 1.0 }}

[stages.vision]
plugin = \"vision-opencv\"
from = \"frames\"
queue = {{ capacity = 1, when_full = \"latest\" }}
",
        source.display().to_string()
    );
    let pipeline = flowpipe_tests::pipeline(folder.path(), &text);
    compare("frames that all differ", "frames", |recorder| {
        let file = folder.path().join("all.mcap").display().to_string();
        let args = ["run", &pipeline, "--json", "--record", &file];
        run(if recorder { &args } else { &args[..3] }).expect(0)
    });
}

/// Frames that `stage` captured and vision read, a second, without a recorder and with one.
fn compare(what: &str, stage: &str, run: impl Fn(bool) -> Ran) {
    let mut rates = [Vec::new(), Vec::new()];
    let mut dropped = Vec::new();
    for turn in 0..2 * TURNS {
        // First one, then the other: neither always comes after the other.
        let recorder = turn % 4 == 1 || turn % 4 == 2;
        let ran = run(recorder);
        let report = &ran.json()["report"];
        let stages = report["stages"].as_array().unwrap();
        let count = |name: &str, key: &str| {
            let stage = stages.iter().find(|it| it["name"] == name);
            stage.unwrap()[key].as_f64().unwrap()
        };
        let seconds = report["seconds"].as_f64().unwrap();
        let captured = count(stage, "out") / seconds;
        let read = count("vision", "out") / seconds;
        rates[usize::from(recorder)].push((captured, read));
        if recorder {
            dropped.push(lineages_dropped(&ran.stderr));
        }
    }
    let [without, with] = rates;
    for (part, pick) in [("captured", 0), ("read", 1)] {
        let median = |rates: &[(f64, f64)]| {
            let mut rates: Vec<f64> = rates.iter().map(|it| [it.0, it.1][pick]).collect();
            rates.sort_by(f64::total_cmp);
            rates[rates.len() / 2]
        };
        let (without, with) = (median(&without), median(&with));
        println!(
            "| {what}: {part} | {without:.2} | {with:.2} | {:.3} | {dropped:?} |",
            with / without
        );
    }
}

fn lineages_dropped(stderr: &str) -> u64 {
    let rest = stderr.split("seen before), ").nth(1);
    rest.and_then(|rest| rest.split(' ').next()?.parse().ok())
        .unwrap_or(0)
}

/// Ten seconds of a screen over which something moves, beside a board at rest.
fn write_source(path: &Path) {
    const SIZE: [usize; 2] = [1920, 1080];
    let about = About {
        format: FORMAT,
        flowpipe: "0".into(),
        name: "source".into(),
        file: String::new(),
        started_unix_ns: 1_700_000_000_000_000_000,
        since_ns: None,
        excerpt: false,
        dry: true,
        stages: vec![AboutStage {
            name: "screen".into(),
            role: "capture".into(),
            plugins: Vec::new(),
            inputs: Vec::new(),
            outputs: vec![("out".into(), "flowpipe.frame/1".into())],
            timeout_ns: None,
            isolated: false,
            workers: 1,
            machine: None,
        }],
        edges: Vec::new(),
    };
    let mut writer = Writer::new(
        std::fs::File::create(path).unwrap(),
        &about,
        "",
        Schemas::new(),
    )
    .unwrap();
    let topic = Topic::new("screen", "out");
    let board = board();
    let mut screen = vec![0x28; 4 * SIZE[0] * SIZE[1]];
    for (row, line) in board.pixels.chunks_exact(4 * board.width).enumerate() {
        let start = 4 * ((row + 20) * SIZE[0] + 40);
        screen[start..start + line.len()].copy_from_slice(line);
    }
    for number in 1..=600_u64 {
        let mut pixels = screen.clone();
        // A square of 200 pixels that goes to and fro, and noise within: a film in a corner.
        let at = 1100 + (number as usize * 7) % 600;
        for row in 700..900 {
            for column in at..at + 200 {
                let pixel = 4 * (row * SIZE[0] + column);
                let noise = (row * 31 + column * 17 + number as usize * 13) % 251;
                pixels[pixel..pixel + 3].copy_from_slice(&[noise as u8, 90, 200]);
            }
        }
        let at_ns = number as i64 * 1_000_000_000 / 60;
        let body = format!(r#"{{"source":"screen {number}"}}"#);
        let times = (at_ns, at_ns);
        writer
            .message(&topic, "flowpipe.frame/1", &body, number, times)
            .unwrap();
        let pixels = Pixels {
            encoding: Encoding::Bgra8,
            width: SIZE[0] as u32,
            height: SIZE[1] as u32,
            stride: 4 * SIZE[0] as u32,
            bytes: &pixels,
        };
        writer.pixels(&topic, number, &pixels, times).unwrap();
        let emitted = Emitted {
            port: "out".into(),
            sequence: number,
            at_ns,
            origin: None,
        };
        writer
            .call(&Call {
                stage: "screen".into(),
                event: Event::Tick,
                taken_ns: at_ns,
                ended_ns: at_ns,
                emitted: vec![emitted],
                ..Call::default()
            })
            .unwrap();
    }
    writer.finish().unwrap();
}

/// A board as BGRA.
struct Board {
    width: usize,
    pixels: Vec<u8>,
}

fn board() -> Board {
    let path = project().join("pipelines/frames/phone-15x18-11.png");
    let file = std::io::BufReader::new(std::fs::File::open(path).unwrap());
    let mut reader = png::Decoder::new(file).read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut bytes).unwrap();
    let samples = info.color_type.samples();
    // What stands above and below the board is left away, so that it fits.
    let rows = 300..1200;
    let start = rows.start * info.line_size;
    let end = (rows.end * info.line_size).min(info.buffer_size());
    let pixels = bytes[start..end]
        .chunks_exact(samples)
        .flat_map(|it| [it[2], it[1], it[0], 255])
        .collect();
    Board {
        width: info.width as usize,
        pixels,
    }
}
