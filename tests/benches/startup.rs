//! The start of the program: `flowpipe solve` with one puzzle.
//!
//! `cargo bench -p flowpipe-tests --bench startup`; the program and its plugins must be built for release (`./x bench`
//! does both). The three are measured in turn.

#![allow(
    clippy::unwrap_used,
    reason = "a measurement that can't go on should panic"
)]

use std::path::Path;
use std::time::{Duration, Instant};

use flowpipe_tests::flowpipe;

/// How often each is run.
const TURNS: usize = 41;

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let puzzle = folder.path().join("easy.txt");
    std::fs::write(&puzzle, "A.B.C\n..D.E\n.....\n.B.C.\n.ADE.\n").unwrap();
    let path = puzzle.display().to_string();
    let solve = ["solve", &path];
    let warm_cache = folder.path().join("cache");
    time(&solve, &warm_cache);
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    for turn in 0..TURNS {
        let empty_cache = folder.path().join(format!("cache-{turn}"));
        times[0].push(time(&["--version"], &warm_cache));
        times[1].push(time(&solve, &warm_cache));
        times[2].push(time(&solve, &empty_cache));
    }
    println!("\n## Start: a whole process, {TURNS} times each, in milliseconds\n");
    println!("| command | median | fastest | slowest |");
    println!("|---|--:|--:|--:|");
    let names = [
        "`flowpipe --version`",
        "`flowpipe solve` of one puzzle, manifests known",
        "`flowpipe solve` of one puzzle, manifests not known",
    ];
    for (name, mut times) in names.into_iter().zip(times) {
        times.sort_unstable();
        let at = |index: usize| times[index].as_secs_f64() * 1e3;
        let [median, fastest, slowest] = [TURNS / 2, 0, TURNS - 1].map(at);
        println!("| {name} | {median:.1} | {fastest:.1} | {slowest:.1} |");
    }
}

/// How long a process runs, from its start to its end.
fn time(args: &[&str], cache: &Path) -> Duration {
    let mut command = flowpipe(args);
    command
        .env("XDG_CACHE_HOME", cache)
        .env_remove("FLOWPIPE_PLUGIN_PATH");
    let began = Instant::now();
    let output = command.output().unwrap();
    let took = began.elapsed();
    assert!(output.status.success(), "{output:?}");
    took
}
