//! `solve`, `generate` and `bench` with workers on other machines: programs of this machine, on its own network.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use flowpipe_tests::{Ran, built, flowpipe, run};
use serde_json::Value;

use crate::machines::free_address;
use crate::screen::wait_for;

/// A file of machines: `desk` distributes, and the racks listen with this protocol.
pub fn machines(folder: &Path, protocol: &str, racks: usize) -> String {
    let mut text = "[machines.desk]\n".to_owned();
    for rack in 0..racks {
        let address = free_address();
        writeln!(
            text,
            "[machines.rack{rack}]\nlisten = \"{protocol}/{address}\""
        )
        .unwrap();
    }
    let path = folder.join("machines.toml");
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// A worker. Dropped, it is killed.
pub struct Rack(pub Child);

impl Rack {
    pub fn start(file: &str, number: usize, options: &[&str]) -> Self {
        let name = format!("rack{number}");
        let args = ["machine", "work", file, "--machine", &name, "--jobs", "2"];
        let command = flowpipe(&[&args[..], options].concat())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Self(command.unwrap())
    }
}

impl Drop for Rack {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// Puzzles of several kinds, some that have no solution and some that can't be read.
pub fn corpus(folder: &Path, count: usize) -> String {
    let count = count.to_string();
    let generate = |size: &str, kind: &[&str]| {
        let args = [
            "generate", "--size", size, "--count", &count, "--format", "json",
        ];
        run(&[&args[..], kind].concat()).expect(0).stdout
    };
    let mut text = generate("5x5", &[]);
    text.push_str("\nAB\nBA\n\nA.\n");
    text.push_str(&generate("6x6", &["--kind", "bridges"]));
    text.push_str("\nAB\nAB\n");
    text.push_str(&generate("5x6", &["--kind", "hexes"]));
    let path = folder.join("puzzles.txt");
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// The answers without the times.
pub fn untimed(ran: &Ran) -> String {
    let mut text = String::new();
    for line in ran.stdout.lines() {
        match serde_json::from_str::<Value>(line) {
            Ok(mut answer) if answer.is_object() => {
                for key in ["search_us", "plan_us"] {
                    if let Some(time) = answer.get_mut(key) {
                        *time = Value::Null;
                    }
                }
                writeln!(text, "{answer}").unwrap();
            }
            _ => writeln!(text, "{}", line.split(" in ").next().unwrap_or(line)).unwrap(),
        }
    }
    text
}

/// Solves with workers and without, and compares what is printed.
fn solves_as_alone(machines: &str, args: &[&str]) {
    let alone = run(&[&["solve"], args].concat()).expect(65);
    let together = run(&[&["solve", "--machines", machines], args].concat()).expect(65);
    assert!(alone.stdout.lines().count() > 100, "{alone:#?}");
    assert_eq!(untimed(&together), untimed(&alone));
}

#[test]
fn the_answers_are_those_of_one_machine() {
    let folder = tempfile::tempdir().unwrap();
    let puzzles = corpus(folder.path(), 100);
    for count in [1, 2, 4] {
        let file = machines(folder.path(), "tcp", count);
        let _racks: Vec<_> = (0..count).map(|it| Rack::start(&file, it, &[])).collect();
        solves_as_alone(&file, &[&puzzles, "--json", "--plan", "--unique"]);
        if count == 2 {
            // The same programs serve the next commands.
            solves_as_alone(&file, &[&puzzles]);
            solves_as_alone(&file, &[&puzzles, "--to", "level", "--timeout", "20s"]);
            let solver = [
                "--solver",
                "solver-varisat",
                "--config",
                "{ encoding = \"edges\" }",
            ];
            solves_as_alone(&file, &[&[&*puzzles, "--json"], &solver[..]].concat());
        }
    }
}

#[test]
fn machines_prove_who_they_are_by_certificates() {
    let folder = tempfile::tempdir().unwrap();
    let puzzles = corpus(folder.path(), 40);
    let file = machines(folder.path(), "tls", 2);
    let created = run(&["machine", "init", &file]).expect(0);
    assert!(
        created.stdout.contains("certificates/rack1.key"),
        "{created:#?}"
    );
    let _racks = [0, 1].map(|it| Rack::start(&file, it, &[]));
    solves_as_alone(&file, &[&puzzles, "--json"]);
}

#[test]
fn generated_puzzles_are_those_of_one_machine() {
    let folder = tempfile::tempdir().unwrap();
    let file = machines(folder.path(), "tcp", 2);
    let _racks = [0, 1].map(|it| Rack::start(&file, it, &[]));
    for options in [
        &["--size", "7x7", "--count", "60", "--seed", "5"][..],
        &[
            "--kind",
            "warps,holes",
            "--size",
            "6x6",
            "--count",
            "20",
            "--format",
            "json",
        ],
        &[
            "--difficulty",
            "medium",
            "--size",
            "8x8",
            "--count",
            "10",
            "--format",
            "grid",
        ],
    ] {
        let alone = run(&[&["generate"], options].concat()).expect(0);
        let together = run(&[&["generate", "--machines", &file], options].concat()).expect(0);
        assert_eq!(together.stdout, alone.stdout);
    }
    // There are few different boards: both end for the same reason.
    let few = ["--size", "3x3", "--count", "1000"];
    let alone = run(&[&["generate"], &few[..]].concat()).expect(1);
    let together = run(&[&["generate", "--machines", &file], &few[..]].concat()).expect(1);
    assert_eq!(together.stdout, alone.stdout);
    assert!(
        together
            .stderr
            .contains("different puzzles of 3x3 were found"),
        "{together:#?}"
    );
}

#[test]
fn boards_are_measured_on_the_machines_that_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = machines(folder.path(), "tcp", 2);
    let _racks = [0, 1].map(|it| Rack::start(&file, it, &[]));
    let args = [
        "bench",
        "--most",
        "3",
        "--solver",
        "solver-search",
        "--json",
    ];
    let rows = |ran: &Ran| -> Vec<Value> {
        let rows = ran.stdout.lines().map(serde_json::from_str);
        rows.collect::<Result<_, _>>().unwrap()
    };
    let alone = rows(&run(&args).expect(0));
    let together = run(&[&args[..], &["--machines", &file]].concat()).expect(0);
    // Each class of boards is a job of its own.
    for rack in ["machine rack0 works on ", "machine rack1 works on "] {
        assert!(
            together.stderr.matches(rack).count() <= 1,
            "{}",
            together.stderr
        );
    }
    let together = rows(&together);
    assert_eq!(together.len(), alone.len());
    for (together, alone) in together.iter().zip(&alone) {
        for key in [
            "class",
            "boards",
            "tried",
            "solved",
            "failed",
            "median_nodes",
        ] {
            assert_eq!(together[key], alone[key], "{together}");
        }
        assert!(together["median_us"].as_f64() > Some(0.0), "{together}");
        let names = together["machines"].as_array().unwrap();
        assert!(
            !names.is_empty()
                && names
                    .iter()
                    .all(|name| name.as_str().unwrap().starts_with("rack"))
        );
        assert_eq!(alone.get("machines"), None);
    }
}

/// Kills workers, each at a random moment, and starts them again, while puzzles are solved.
fn kill_workers(kills: usize) {
    let folder = tempfile::tempdir().unwrap();
    let puzzles = corpus(folder.path(), 400);
    let file = machines(folder.path(), "tcp", 3);
    let mut racks: Vec<_> = (0..3).map(|it| Rack::start(&file, it, &[])).collect();
    let args = [
        "solve",
        &puzzles,
        "--json",
        "--solver",
        "solver-varisat",
        "--unique",
    ];
    let alone = untimed(&run(&args).expect(65));
    let mut random = fastrand::Rng::with_seed(7);
    let (mut killed, mut noticed) = (0, 0);
    while killed < kills {
        let [output, errors] = ["answers", "errors"].map(|it| folder.path().join(it));
        let mut solving = flowpipe(&[&args[..], &["--machines", &file]].concat())
            .stdout(std::fs::File::create(&output).unwrap())
            .stderr(std::fs::File::create(&errors).unwrap())
            .spawn()
            .unwrap();
        while solving.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(random.u64(50..600)));
            if killed < kills && solving.try_wait().unwrap().is_none() {
                let rack = random.usize(..racks.len());
                drop(racks.remove(rack));
                racks.insert(rack, Rack::start(&file, rack, &[]));
                killed += 1;
            }
        }
        let ran = Ran {
            code: solving.wait().unwrap().code(),
            stdout: std::fs::read_to_string(&output).unwrap(),
            stderr: std::fs::read_to_string(&errors).unwrap(),
        };
        let ran = ran.expect(65);
        noticed += ran
            .stderr
            .matches("is disconnected, and others do what it had")
            .count();
        // Nothing is lost, nothing is there twice, and the order is the same.
        assert!(untimed(&ran) == alone, "after {killed} kills");
    }
    // Some are killed before they had anything.
    assert!(noticed * 3 >= kills, "{noticed} of {kills}");
}

#[test]
fn killed_workers_change_nothing() {
    kill_workers(3);
}

#[test]
#[ignore = "takes minutes on a busy machine: `./x test full` runs it"]
fn twenty_killed_workers_change_nothing() {
    kill_workers(20);
}

/// A folder with another build of the solver: the same library with some bytes behind its end.
fn other_solver(folder: &Path) -> PathBuf {
    let other = folder.join("other");
    std::fs::create_dir(&other).unwrap();
    let prefix = std::env::consts::DLL_PREFIX;
    let suffix = std::env::consts::DLL_SUFFIX;
    let name = format!("{prefix}solver_search{suffix}");
    let mut library = std::fs::read(built().join(&name)).unwrap();
    library.extend_from_slice(b"another build");
    std::fs::write(other.join(&name), library).unwrap();
    other
}

#[test]
fn a_worker_with_another_plugin_takes_no_part() {
    let folder = tempfile::tempdir().unwrap();
    let puzzles = corpus(folder.path(), 40);
    let file = machines(folder.path(), "tcp", 2);
    let other = other_solver(folder.path()).display().to_string();
    let other = ["--plugin-dir", &other];
    let differs = "machine rack0 does not take part: the plugin solver-search differs: ";
    let _wrong = Rack::start(&file, 0, &other);
    let right = Rack::start(&file, 1, &[]);
    let args = ["solve", &puzzles, "--json"];
    let alone = run(&args).expect(65);
    let with = [&args[..], &["--machines", &file]].concat();
    let together = run(&with).expect(65);
    assert_eq!(untimed(&together), untimed(&alone));
    // The other one may have done all before it was there.
    drop(right);
    let _wrong_too = Rack::start(&file, 1, &other);
    let none = run(&with).expect(78);
    assert!(none.stderr.contains(differs), "{none:#?}");
    assert!(none.stderr.contains("no worker takes part"), "{none:#?}");
}

#[test]
fn without_a_worker_the_command_ends_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let puzzles = corpus(folder.path(), 1);
    let file = machines(folder.path(), "tcp", 2);
    let ran = run(&["solve", &puzzles, "--machines", &file]).expect(1);
    for text in [
        "no worker was there for 20 s (rack0: ",
        "; rack1: ",
        ": start it, or correct `connect`)",
    ] {
        assert!(ran.stderr.contains(text), "{ran:#?}");
    }
    let waits = "waiting for a worker: none is there of rack0, rack1";
    assert_eq!(ran.stderr.matches(waits).count(), 1, "{ran:#?}");
}

#[test]
fn when_the_last_worker_is_gone_the_answers_that_are_there_are_printed() {
    let folder = tempfile::tempdir().unwrap();
    let puzzles = corpus(folder.path(), 400);
    let file = machines(folder.path(), "tcp", 1);
    let rack = Rack::start(&file, 0, &[]);
    let args = [
        "solve",
        &puzzles,
        "--json",
        "--solver",
        "solver-varisat",
        "--unique",
    ];
    let alone = untimed(&run(&args).expect(65));
    let errors = folder.path().join("errors");
    let solving = flowpipe(&[&args[..], &["--machines", &file]].concat())
        .stdout(Stdio::piped())
        .stderr(std::fs::File::create(&errors).unwrap())
        .spawn()
        .unwrap();
    let stderr = || std::fs::read_to_string(&errors).unwrap();
    wait_for("the worker", || {
        stderr().contains(" works on ").then_some(())
    });
    // So that it dies at its work, and not before.
    std::thread::sleep(Duration::from_millis(500));
    drop(rack);
    let ran = Ran::from(solving.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    let answers = untimed(&ran);
    let (some, all) = (answers.lines().count(), alone.lines().count());
    assert!(some > 0 && some < all, "{some} of {all}");
    assert!(alone.starts_with(&answers));
    assert!(
        stderr().contains("no worker was there for 20 s (rack0: "),
        "{}",
        stderr()
    );
}

#[test]
fn what_is_wrong_is_reported_before_any_work() {
    let folder = tempfile::tempdir().unwrap();
    let puzzles = corpus(folder.path(), 1);
    let file = machines(folder.path(), "tcp", 1);
    let solve = |args: &[&str]| run(&[&["solve", &puzzles], args].concat());
    let two = folder.path().join("two.toml");
    std::fs::write(&two, "[machines.a]\n[machines.b]\n").unwrap();
    let two = two.display().to_string();
    let ran = solve(&["--machines", &two]).expect(78);
    assert!(
        ran.stderr.contains("2 machines without `listen`"),
        "{ran:#?}"
    );
    let ran = solve(&["--machines", &file, "--solver", "solver-none"]).expect(78);
    assert!(
        ran.stderr.contains("unknown plugin `solver-none`"),
        "{ran:#?}"
    );
    let ran = solve(&["--machines", &file, "--jobs", "2"]).expect(2);
    assert!(ran.stderr.contains("cannot be used with"), "{ran:#?}");
    let ran = run(&["machine", "work", &file, "--machine", "desk"]).expect(2);
    assert!(ran.stderr.contains("it has rack0"), "{ran:#?}");
    let ran = solve(&["--machines", "pipelines/replay.toml"]).expect(78);
    assert!(ran.stderr.contains("unknown key `stages`"), "{ran:#?}");
}
