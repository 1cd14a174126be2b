//! What a solver on another machine costs in a live game: the same time trials with the solver in the same program and in
//! another one, interleaved.

use std::process::Stdio;

use flowpipe_tests::flowpipe;
use flowpipe_tests::machines::divided;

use crate::live_play::{Table, ready};
use crate::{Played, TRIALS, play, share};

/// 30 s of boards of two sizes.
pub fn compare() {
    for size in ["5", "9"] {
        println!(
            "\n## Time trials of 30 s with {size}x{size} boards, the solver on this machine and on another one\n"
        );
        println!(
            "| solver | boards, median (each) | on the screen -> first press, ms (p50 / p95) |"
        );
        println!("|---|---|---|");
        let mut runs: [Vec<Played>; 2] = Default::default();
        for seed in 1..=TRIALS {
            for (is_elsewhere, runs) in [false, true].into_iter().zip(&mut runs) {
                runs.push(trial(size, seed, is_elsewhere));
            }
        }
        for (name, runs) in ["here", "on another machine"].iter().zip(&runs) {
            let solved: Vec<f64> = runs.iter().map(|run| run.solved() as f64).collect();
            let presses = runs.iter().flat_map(|run| run.parts().into_iter().skip(1));
            let presses: Vec<f64> = presses.map(|part| part[1]).collect();
            let [p50, p95] = [0.5, 0.95].map(|at| share(presses.iter().copied(), at));
            let median = share(solved.iter().copied(), 0.5);
            println!("| {name} | {median} {solved:?} | {p50:.2} / {p95:.2} |");
        }
    }
}

fn trial(size: &str, seed: u64, is_elsewhere: bool) -> Played {
    let seed = seed.to_string();
    let args = ["--size", size, "--seed", &seed, "--time-trial", "30s"];
    let table = Table::set(&args);
    let configs = [
        ("planner", "profile = \"segments\""),
        ("referee", "seconds = 31.0"),
    ];
    let pipeline = ready("timetrial.toml", &configs);
    if !is_elsewhere {
        return play(&table, &pipeline);
    }
    let pipeline = divided(&pipeline, "solver");
    let folder = tempfile::tempdir().unwrap();
    let file = flowpipe_tests::pipeline(folder.path(), &pipeline);
    let mut rack = flowpipe(&["run", &file, "--machine", "rack", "--quiet"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let report = table
        .play(&pipeline, &["--machine", "desk", "--json"])
        .ended()
        .expect(0)
        .json();
    assert!(rack.wait().unwrap().success());
    Played {
        log: table.log(),
        report,
    }
}
