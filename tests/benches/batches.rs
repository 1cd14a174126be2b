//! A batch of puzzles on workers of other machines, which are programs of this one with one thread each.
//!
//! `cargo bench -p flowpipe-tests --bench batches`; the program and its plugins must be built for release (`./x bench`
//! does both). The commands are measured in turn.

#![allow(
    clippy::unwrap_used,
    reason = "a measurement that can't go on should panic"
)]

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use flowpipe_tests::flowpipe;
use flowpipe_tests::machines::free_address;

/// How often each is run.
const TURNS: usize = 5;
/// How many workers there are.
const WORKERS: [usize; 3] = [1, 2, 4];

fn main() {
    for (solver, count) in [("solver-search", 20_000), ("solver-varisat", 5_000)] {
        measure(solver, count);
    }
}

fn measure(solver: &str, count: usize) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let puzzles = flowpipe(&["generate", "--size", "9x9", "--count", &count.to_string()])
        .output()
        .unwrap();
    assert!(puzzles.status.success(), "{puzzles:?}");
    std::fs::write(path("puzzles.txt"), puzzles.stdout).unwrap();
    let teams = WORKERS.map(|size| Team::start(folder.path(), size));
    let mut commands = vec![
        ("no worker, one thread".to_owned(), vec!["--jobs", "1"]),
        ("no worker, two threads".to_owned(), vec!["--jobs", "2"]),
    ];
    for team in &teams {
        let name = match team.workers.len() {
            1 => "1 worker".to_owned(),
            size => format!("{size} workers"),
        };
        commands.push((name, vec!["--machines", &team.file]));
    }
    let file = path("puzzles.txt");
    let mut times = vec![Vec::new(); commands.len()];
    let mut answers: Option<Vec<u8>> = None;
    for _ in 0..TURNS {
        for ((_, args), times) in commands.iter().zip(&mut times) {
            let args = [
                &["solve", &file, "--solver", solver, "--to", "level"],
                &args[..],
            ]
            .concat();
            let began = Instant::now();
            let output = flowpipe(&args).output().unwrap();
            times.push(began.elapsed());
            assert!(output.status.success(), "{output:?}");
            let answers = answers.get_or_insert_with(|| output.stdout.clone());
            assert!(*answers == output.stdout, "{args:?} answers otherwise");
        }
    }
    println!("\n## {count} puzzles of 9x9 with {solver}: whole commands, median of {TURNS} each\n");
    println!("| | seconds | fastest to slowest | times one thread |");
    println!("|---|--:|--:|--:|");
    let seconds = |times: &[Duration], index: usize| times[index].as_secs_f64();
    let mut one_thread = None;
    for ((name, _), mut times) in commands.iter().zip(times) {
        times.sort_unstable();
        let [median, fastest, slowest] = [TURNS / 2, 0, TURNS - 1].map(|it| seconds(&times, it));
        let one_thread = *one_thread.get_or_insert(median);
        println!(
            "| {name} | {median:.2} | {fastest:.2} to {slowest:.2} | {:.2} |",
            one_thread / median
        );
    }
}

/// Workers, which end with it.
struct Team {
    /// The file of the machines.
    file: String,
    workers: Vec<Child>,
}

impl Team {
    fn start(folder: &Path, size: usize) -> Self {
        let mut text = "[machines.desk]\n".to_owned();
        for rack in 0..size {
            let address = free_address();
            write!(text, "[machines.rack{rack}]\nlisten = \"tcp/{address}\"\n").unwrap();
        }
        let file = folder.join(format!("machines-{size}.toml"));
        std::fs::write(&file, text).unwrap();
        let file = file.display().to_string();
        let start = |rack| {
            let name = format!("rack{rack}");
            let args = ["machine", "work", &file, "--machine", &name, "--jobs", "1"];
            let mut command = flowpipe(&args);
            command.stdout(Stdio::null()).stderr(Stdio::null());
            command.spawn().unwrap()
        };
        let workers = (0..size).map(start).collect();
        Self { file, workers }
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        for worker in &mut self.workers {
            worker.kill().unwrap();
            worker.wait().unwrap();
        }
    }
}
