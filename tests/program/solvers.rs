//! All solver plugins beside each other, through the real program: none is wrong, no two disagree.

use std::collections::HashSet;
use std::io::Write as _;

use flowpipe_puzzle::{Flow, Puzzle, Rules, Solution, level};
use flowpipe_tests::{puzzles, run, shared};
use serde_json::Value;

/// A file of puzzles, one a line.
fn file_of(puzzles: &[Puzzle]) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    for puzzle in puzzles {
        writeln!(file, "{}", serde_json::to_string(puzzle).unwrap()).unwrap();
    }
    file
}

/// The solver that runs a command of its config: here the example in Python.
const EXEC: &str = "solver-exec";

/// A solver's answer to each puzzle, as `flowpipe solve --json` prints it.
fn ask(solver: &str, puzzles: &[Puzzle], more: &[&str]) -> Vec<Value> {
    let file = file_of(puzzles);
    let path = file.path().display().to_string();
    let command = "{ command = [\"python3\", \"examples/solver.py\"] }";
    let config: &[&str] = match solver {
        EXEC => &["--config", command],
        _ => &[],
    };
    let ran = run(&[
        &["solve", &path, "--json", "--solver", solver],
        config,
        more,
    ]
    .concat());
    let answers: Vec<Value> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(answers.len(), puzzles.len(), "{solver}: {}", ran.stderr);
    answers
}

/// Every solver plugin that comes with the program, and whether its config knows a value of `want`.
fn solvers(want: &str) -> Vec<(String, bool)> {
    let plugins = run(&["plugins", "--json"]).expect(0).json();
    let found = plugins["found"].as_array().unwrap().iter();
    let ours = found.filter(|it| {
        let name = it["manifest"]["name"].as_str().unwrap();
        it["manifest"]["role"] == "solver" && name != "solver-patient"
    });
    ours.map(|it| {
        let config = it["manifest"]["config"].to_string();
        let name = it["manifest"]["name"].as_str().unwrap().to_owned();
        // What a command can do is its own affair; the example neither counts nor lists.
        let can = name != EXEC && config.contains(&format!("\"{want}\""));
        (name, can)
    })
    .collect()
}

fn solution(answer: &Value) -> HashSet<Vec<usize>> {
    serde_json::from_value::<Vec<Vec<usize>>>(answer["paths"].clone())
        .unwrap()
        .into_iter()
        .collect()
}

fn cells(flows: &[Flow]) -> HashSet<Vec<usize>> {
    flows.iter().map(|flow| flow.cells.clone()).collect()
}

#[test]
fn every_solver_is_there() {
    let mut names: Vec<String> = solvers("").into_iter().map(|(name, _)| name).collect();
    names.sort();
    assert_eq!(
        names,
        [
            "solver-astar",
            "solver-backtrack",
            "solver-batsat",
            "solver-bruteforce",
            "solver-exec",
            "solver-frontier",
            "solver-genetic",
            "solver-search",
            "solver-splr",
            "solver-varisat",
        ]
    );
}

/// Puzzles of every kind and under all rules: whoever answers is right about whether there is a
/// solution, gives one of them, and counts as plain enumeration does.
#[test]
fn no_solver_is_wrong_and_no_two_disagree() {
    const PUZZLES: u64 = 400;
    let asked: Vec<Puzzle> = (0..PUZZLES).map(puzzles::puzzle).collect();
    let truths: Vec<HashSet<Solution>> = asked.iter().map(puzzles::solutions).collect();
    let without = truths.iter().filter(|truth| truth.is_empty()).count();
    let only_one = truths.iter().filter(|truth| truth.len() == 1).count();
    println!("{PUZZLES} puzzles, {without} without a solution, {only_one} with one");
    assert!(without >= 40 && only_one >= 40, "puzzles of every kind");
    for (solver, counts) in solvers("count") {
        let count: &[&str] = if counts { &["--count"] } else { &[] };
        let answers = ask(&solver, &asked, &[&["--timeout", "5s"], count].concat());
        let mut decided = 0;
        for ((puzzle, truth), answer) in asked.iter().zip(&truths).zip(&answers) {
            let text = serde_json::to_string(puzzle).unwrap();
            let about = format!("{solver}: {answer} of {text}, {} solutions", truth.len());
            match answer["status"].as_str().unwrap() {
                "solved" => {
                    let given = solution(answer);
                    let right = truth.iter().any(|it| cells(&it.flows) == given);
                    assert!(right, "not a solution, {about}");
                    if let Some(unique) = answer["unique"].as_bool() {
                        assert_eq!(unique, truth.len() == 1, "{about}");
                    }
                    if counts {
                        assert_eq!(answer["count"], truth.len(), "{about}");
                    }
                    decided += 1;
                }
                "unsolvable" => {
                    assert!(truth.is_empty(), "there is one, {about}");
                    decided += 1;
                }
                "unsupported" => {
                    assert!(!answer["reason"].as_str().unwrap().is_empty(), "{about}");
                }
                "timeout" => {}
                other => panic!("{other}, {about}"),
            }
        }
        println!("{solver}: {decided} of {PUZZLES} decided");
        // Half of the puzzles play by rules that some solvers don't take.
        assert!(decided >= PUZZLES / 8, "{solver} decides {decided}");
    }
}

#[test]
fn all_solutions_are_listed() {
    // With so many solutions that a message of them stays small.
    let mut asked: Vec<Puzzle> = (1000..1100).map(puzzles::puzzle).collect();
    asked.retain(|puzzle| puzzles::solutions(puzzle).len() <= 200);
    for (solver, lists) in solvers("all") {
        if !lists {
            continue;
        }
        let answers = ask(&solver, &asked, &["--all"]);
        let mut listed = 0;
        for (puzzle, answer) in asked.iter().zip(&answers) {
            if answer["status"] != "solved" {
                continue;
            }
            let truth = puzzles::solutions(puzzle);
            let truth: Vec<_> = truth.iter().map(|it| cells(&it.flows)).collect();
            let solutions = answer["solutions"].as_array().unwrap();
            let text = serde_json::to_string(puzzle).unwrap();
            assert_eq!(solutions.len(), truth.len(), "{solver}: {text}");
            for given in solutions {
                let given: Vec<Vec<usize>> = serde_json::from_value(given.clone()).unwrap();
                let given: HashSet<_> = given.into_iter().collect();
                assert!(truth.contains(&given), "{solver}: {given:?}");
            }
            listed += 1;
        }
        println!("{solver}: the solutions of {listed} puzzles");
        assert!(listed > 0, "{solver} lists none");
    }
}

/// 12 flows on 50x50 with hardly a cell that is forced, touching allowed, nothing to be covered:
/// whatever a solver makes of it, the time limit holds and the next puzzle is answered.
#[test]
fn hostile_boards_cost_no_more_than_their_time() {
    let mut rows = vec!["- ".repeat(50); 50];
    let mut place = |row: usize, col: usize, name: usize| {
        let mut words: Vec<String> = rows[row].split(' ').map(str::to_owned).collect();
        words[col] = name.to_string();
        rows[row] = words.join(" ");
    };
    for flow in 0..12 {
        place(4 * flow + 1, (17 * flow + 3) % 50, flow + 10);
        place(47 - 4 * flow, (29 * flow + 11) % 50, flow + 10);
    }
    let text = rows.join("\n");
    let entry = flowpipe_puzzle::text::read(&text).remove(0);
    let (hostile, _) = entry.puzzle.unwrap();
    let small = flowpipe_puzzle::text::read("A.B\nA.B")
        .remove(0)
        .puzzle
        .unwrap()
        .0;
    let loose = Rules {
        cover: false,
        touch: true,
    };
    let asked = [
        hostile.clone(),
        small.clone(),
        hostile.with_rules(loose),
        small,
    ];
    for (solver, _) in solvers("") {
        if solver == EXEC {
            // It is killed, and may take longer to start again than a puzzle may take here: see `tests/program/exec.rs`.
            continue;
        }
        let started = std::time::Instant::now();
        let answers = ask(&solver, &asked, &["--timeout", "300ms", "--jobs", "1"]);
        let status = |at: usize| answers[at]["status"].as_str().unwrap().to_owned();
        println!(
            "{solver}: {}, {}, {:?}",
            status(0),
            status(2),
            started.elapsed()
        );
        for at in [0, 2] {
            let fine = ["solved", "unsolvable", "timeout", "unsupported"];
            assert!(
                fine.contains(&status(at).as_str()),
                "{solver}: {}",
                answers[at]
            );
        }
        assert_eq!(status(1), status(3), "{solver}");
        assert_eq!(status(1), "unsolvable", "{solver}: {}", answers[1]);
        // Far more than two limits and a start, far less than a solver that does not stop.
        assert!(
            started.elapsed().as_secs() < 30,
            "{solver} did not stop in time"
        );
    }
}

/// Real levels that are no part of the project, where they are there.
#[test]
fn the_default_solver_solves_every_known_level() {
    let Some(folder) = shared() else {
        flowpipe_testing::note!("skipped: no folder with known levels");
        return;
    };
    let path = folder.join("puzzles/flowfree-levels.txt");
    let text = std::fs::read_to_string(&path).unwrap();
    let ran = run(&["solve", "--json", &path.display().to_string()]).expect(0);
    let mut solved = 0;
    for (line, answer) in text.lines().zip(ran.stdout.lines()) {
        let answer: Value = serde_json::from_str(answer).unwrap();
        let truth = level::parse(line).unwrap().solution;
        assert_eq!(answer["status"], "solved", "{line}");
        assert_eq!(answer["unique"], true, "{line}");
        assert_eq!(solution(&answer), cells(&truth.flows), "{line}");
        solved += 1;
    }
    assert_eq!(solved, text.lines().count());
    println!("{solved} known levels solved as they should be, each proved unique");
}
