//! What a solver on another machine costs in a live game: the same time trials with the solver in the same program and in
//! another one, over `tcp/` and over `tls/`, interleaved.

use std::process::Stdio;

use flowpipe_tests::machines::divided;
use flowpipe_tests::{flowpipe, run};

use crate::live_play::{Table, ready};
use crate::{Played, TRIALS, play, share};

/// Where the solver is, and what connects its machine.
const PLACES: [(&str, Option<&str>); 3] = [
    ("here", None),
    ("on another machine, `tcp/`", Some("tcp")),
    ("on another machine, `tls/`", Some("tls")),
];

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
        let mut runs: [Vec<Played>; 3] = Default::default();
        for seed in 1..=TRIALS {
            for ((_, transport), runs) in PLACES.into_iter().zip(&mut runs) {
                runs.push(trial(size, seed, transport));
            }
        }
        for ((name, _), runs) in PLACES.iter().zip(&runs) {
            let solved: Vec<f64> = runs.iter().map(|run| run.solved() as f64).collect();
            let presses = runs.iter().flat_map(|run| run.parts().into_iter().skip(1));
            let presses: Vec<f64> = presses.map(|part| part[1]).collect();
            let [p50, p95] = [0.5, 0.95].map(|at| share(presses.iter().copied(), at));
            let median = share(solved.iter().copied(), 0.5);
            println!("| {name} | {median} {solved:?} | {p50:.2} / {p95:.2} |");
        }
    }
}

/// `transport`: what connects the machine of the solver, if it is another one.
fn trial(size: &str, seed: u64, transport: Option<&str>) -> Played {
    let seed = seed.to_string();
    let args = ["--size", size, "--seed", &seed, "--time-trial", "30s"];
    let table = Table::set(&args);
    let configs = [
        ("planner", "profile = \"segments\""),
        ("referee", "seconds = 31.0"),
    ];
    let pipeline = ready("timetrial.toml", &configs);
    let Some(transport) = transport else {
        return play(&table, &pipeline);
    };
    let pipeline = divided(&pipeline, "solver", transport);
    // As the other machine has it, with its certificates.
    let file = flowpipe_tests::pipeline(table.folder(), &pipeline);
    if transport == "tls" {
        run(&["machine", "init", &file]).expect(0);
    }
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
