//! `flowpipe solve` on puzzles that come one by one.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use flowpipe_tests::bounds::{bounded, most_memory};
use flowpipe_tests::{flowpipe, run, with_input};
use serde_json::Value;

use crate::batches::{Rack, machines};
use crate::screen::wait_for;

/// The most memory that the program may take, in bytes. What the tests offer it takes more.
const MEMORY: u64 = 250 << 20;
/// The most puzzles that it keeps take so many bytes, and some more are in pipes and buffers.
const MOST_AHEAD: usize = 80 << 20;
/// The title of each of many puzzles, in bytes.
const TITLE: usize = 60_000;

/// A program with a pipe on both ends.
struct Piped {
    program: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Piped {
    fn start(mut command: Command) -> Self {
        let mut program = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let input = program.stdin.take().unwrap();
        let output = BufReader::new(program.stdout.take().unwrap());
        Self {
            program,
            input,
            output,
        }
    }

    /// Asks, and returns the answer, while the pipe stays open.
    fn ask(&mut self, puzzle: &str) -> Value {
        self.input.write_all(puzzle.as_bytes()).unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    fn end(self) -> Option<i32> {
        drop(self.input);
        let output = self.program.wait_with_output().unwrap();
        assert_eq!(
            String::from_utf8_lossy(&output.stderr)
                .matches("flowpipe: ")
                .count(),
            0
        );
        output.status.code()
    }
}

/// Asks one puzzle after the other, of every kind.
fn answers_come_one_by_one(machines: &[&str]) {
    let args = [&["solve", "-", "--json", "--plan"], machines].concat();
    let mut piped = Piped::start(flowpipe(&args));
    for (index, (puzzle, status)) in [
        ("AB\nAB\n\n", "solved"),
        ("A?\n\n", "invalid"),
        ("AB\nBA\n\n", "unsolvable"),
        ("1:2,0,0,1;0,1\n", "solved"),
        ("A\n\n", "invalid"),
    ]
    .iter()
    .cycle()
    .take(12)
    .enumerate()
    {
        let answer = piped.ask(puzzle);
        assert_eq!(answer["index"], index, "{answer}");
        assert_eq!(answer["status"], *status, "{answer}");
    }
    assert_eq!(piped.end(), Some(65));
}

#[test]
fn answers_come_before_the_input_ends() {
    answers_come_one_by_one(&[]);
    answers_come_one_by_one(&["--jobs", "3"]);
}

#[test]
fn answers_of_workers_come_before_the_input_ends() {
    let folder = tempfile::tempdir().unwrap();
    let file = machines(folder.path(), "tcp", 2);
    let _racks = [0, 1].map(|it| Rack::start(&file, it, &[]));
    answers_come_one_by_one(&["--machines", &file]);
}

#[test]
fn a_solver_that_gives_no_answer_holds_up_nothing() {
    let config = ["--config", "{ how = \"silence\" }"];
    let args = ["solve", "-", "--json", "--solver", "misbehaving"];
    let mut piped = Piped::start(flowpipe(&[&args[..], &config].concat()));
    for index in 0..5 {
        let answer = piped.ask("AA\n\n");
        assert_eq!(answer["index"], index);
        assert_eq!(answer["reason"], "the solver gave no answer", "{answer}");
    }
    assert_eq!(piped.end(), Some(1));
}

#[test]
fn options_are_checked_before_the_input_comes() {
    let args = ["solve", "-", "--solver", "solver-serach"];
    let mut piped = Piped::start(flowpipe(&args));
    assert_eq!(piped.program.wait().unwrap().code(), Some(78));
}

/// A solver that answers the first puzzle when a file is there, and the others at once.
fn waiting_solver(folder: &Path) -> String {
    let script = folder.join("solver.py");
    let go = folder.join("go");
    let text = format!(
        "import json, os, sys, time\n\
         for asked in map(json.loads, sys.stdin):\n\
         \x20   answer = {{'id': asked['id']}}\n\
         \x20   if 'puzzle' in asked:\n\
         \x20       while asked['puzzle']['board']['cols'] == 3 and not os.path.exists({go:?}):\n\
         \x20           time.sleep(0.01)\n\
         \x20       answer['answer'] = {{'verdict': 'unsolvable'}}\n\
         \x20   print(json.dumps(answer), flush=True)\n"
    );
    std::fs::write(&script, text).unwrap();
    format!("{{ command = [\"python3\", {script:?}] }}")
}

/// Offers puzzles until `is_enough`, of which the first one is slow, and counts the bytes that are taken.
fn offer(mut to: ChildStdin, taken: &AtomicUsize, puzzles: usize) {
    let title = "x".repeat(TITLE);
    for index in 0..puzzles {
        let board = if index == 0 { "A.A" } else { "AA" };
        let text = format!("// {index} {title}\n{board}\n\n");
        if to.write_all(text.as_bytes()).is_err() {
            return;
        }
        taken.fetch_add(text.len(), Ordering::SeqCst);
    }
}

#[test]
fn while_a_puzzle_is_slow_few_others_are_read() {
    const PUZZLES: usize = 5_000;
    const { assert!((PUZZLES * TITLE) as u64 > MEMORY) };
    let folder = tempfile::tempdir().unwrap();
    let config = waiting_solver(folder.path());
    let args = [
        "solve",
        "-",
        "--json",
        "--jobs",
        "2",
        "--solver",
        "solver-exec",
        "--config",
    ];
    let Piped {
        mut program,
        input,
        output,
    } = Piped::start(flowpipe(&[&args[..], &[&config]].concat()));
    let taken = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| offer(input, &taken, PUZZLES));
        // Until nothing is taken for a while.
        let mut before = (0, 0);
        while before.1 < 20 {
            std::thread::sleep(Duration::from_millis(50));
            let now = taken.load(Ordering::SeqCst);
            before = match now == before.0 && now > TITLE {
                true => (now, before.1 + 1),
                false => (now, 0),
            };
        }
        assert!(before.0 < MOST_AHEAD, "{} MiB are read", before.0 >> 20);
        std::fs::write(folder.path().join("go"), "").unwrap();
        let mut peak = 0;
        let mut count = 0;
        for line in output.lines() {
            let answer: Value = serde_json::from_str(&line.unwrap()).unwrap();
            assert_eq!(answer["index"], count);
            let title = answer["title"].as_str().unwrap();
            assert!(title.starts_with(&format!("{count} xx")), "{}", &title[..9]);
            count += 1;
            peak = peak.max(most_memory(&program));
        }
        assert_eq!(count, PUZZLES);
        assert!(peak > 0 && peak < MEMORY, "{} MiB", peak >> 20);
        eprintln!("{} MiB ahead, {} MiB of memory", before.0 >> 20, peak >> 20);
    });
    assert_eq!(program.wait().unwrap().code(), Some(3));
}

/// Nobody writes an end: the program ends when nobody reads its answers.
#[test]
fn an_input_without_an_end_takes_little_memory() {
    const ANSWERS: usize = 5_000;
    const { assert!((ANSWERS * TITLE) as u64 > MEMORY) };
    let Piped {
        mut program,
        input,
        output,
    } = Piped::start(flowpipe(&["solve", "-"]));
    let taken = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| offer(input, &taken, usize::MAX));
        let headings = output.lines().map(Result::unwrap);
        let headings = headings.filter(|line| line.starts_with("-:"));
        let mut peak = 0;
        for (index, heading) in headings.take(ANSWERS).enumerate() {
            let place = format!("-:{} {index} x", 3 * index + 2);
            assert!(heading.starts_with(&place), "{index}: {}", &heading[..20]);
            peak = peak.max(most_memory(&program));
        }
        assert!(peak > 0 && peak < MEMORY, "{} MiB", peak >> 20);
        eprintln!("{} MiB of memory", peak >> 20);
    });
    assert_eq!(program.wait().unwrap().code(), Some(0));
}

#[test]
fn what_is_wrong_late_does_not_spoil_what_was_before() {
    let before = "AB\nAB\n\n".repeat(3_000);
    let solve = |end: &[u8]| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("puzzles.txt");
        std::fs::write(&path, [before.as_bytes(), end].concat()).unwrap();
        let ran = run(&["solve", path.to_str().unwrap(), "--json"]).expect(65);
        let answers: Vec<Value> = ran
            .stdout
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let mut solved = answers.iter().take(3_000);
        assert!(solved.all(|it| it["status"] == "solved"));
        (answers, ran.stderr)
    };
    let (answers, _) = solve(b"AB\nA?\n\nAA\n");
    let reason = answers[3_000]["reason"].as_str().unwrap();
    let place = "line 9002, column 2 (cell at row 2, column 2)";
    assert!(reason.starts_with(place), "{reason}");
    assert_eq!(answers[3_001]["status"], "solved");
    // Nothing is read behind what is no text.
    let (answers, stderr) = solve(b"AA\n\n\xff\n\nAA\n");
    assert_eq!(answers.len(), 3_001);
    assert!(
        stderr.contains("line 9003: this is not UTF-8 text"),
        "{stderr}"
    );
}

#[test]
fn a_line_that_is_too_long_is_a_puzzle_that_can_not_be_read() {
    let text = format!("AA\n\n{}\nAA\n", "A".repeat((16 << 20) + 1));
    let ran = with_input(&["solve", "-", "--json"], &text).expect(65);
    let lines: Vec<Value> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let statuses: Vec<_> = lines.iter().map(|it| &it["status"]).collect();
    assert_eq!(statuses, ["solved", "invalid", "solved"]);
    let reason = lines[1]["reason"].as_str().unwrap();
    assert!(reason.starts_with("line 3, column 1: not read"), "{reason}");
}

/// How long a run may take that must end before its puzzles. One that waits for them takes for ever.
const PATIENCE: Duration = Duration::from_secs(120);

/// Writes puzzles, and a solver in Python that executes `work` for each. Returns the paths of the puzzles and of the
/// solver's config.
fn with_solver(folder: &Path, puzzles: usize, work: &str) -> [String; 2] {
    let script = folder.join("solver.py");
    let text = format!(
        "import json, sys, time\n\
         for asked in map(json.loads, sys.stdin):\n\
         \x20   answer = {{'id': asked['id']}}\n\
         \x20   if 'puzzle' in asked:\n\
         \x20       {work}\n\
         \x20       answer['answer'] = {{'verdict': 'unsolvable'}}\n\
         \x20   print(json.dumps(answer), flush=True)\n"
    );
    std::fs::write(&script, text).unwrap();
    let path = folder.join("puzzles.txt");
    std::fs::write(&path, "AB\nBA\n\n".repeat(puzzles)).unwrap();
    let config = format!("{{ command = [\"python3\", {script:?}] }}");
    [path.display().to_string(), config]
}

#[test]
fn without_a_reader_nothing_more_is_solved() {
    let folder = tempfile::tempdir().unwrap();
    let [path, config] = with_solver(folder.path(), 400, "time.sleep(0.02)");
    let args = ["solve", &path, "--json", "--jobs", "1"];
    let solver = ["--solver", "solver-exec", "--config", &config];
    let Piped {
        mut program,
        output,
        ..
    } = Piped::start(flowpipe(&[&args[..], &solver].concat()));
    // By then the solver has a batch, and the next one waits.
    assert_eq!(output.lines().take(40).map(Result::unwrap).count(), 40);
    let ended = wait_for("end", || program.try_wait().unwrap());
    assert_eq!(ended.code(), Some(0));
}

#[test]
fn a_benchmark_skips_boards_that_were_given_to_the_solver() {
    let folder = tempfile::tempdir().unwrap();
    let [path, config] = with_solver(folder.path(), 400, "time.sleep(1000)");
    let config = format!("solver-exec={config}");
    let args = ["bench", &path, "--most", "400", "--timeout", "50ms"];
    let solver = ["--json", "--solver", "solver-exec", "--config", &config];
    let command = flowpipe(&[&args[..], &solver].concat());
    let ran = bounded(command, u64::MAX, PATIENCE).orderly().ran.expect(0);
    let row: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&row["boards"], &row["tried"]), (&400.into(), &3.into()));
}

/// Each hang takes as long as the watchdog waits, and many have to come before the stage ends.
#[test]
#[ignore = "takes most of a minute: `./x test full` runs it"]
fn a_solver_that_always_hangs_ends_the_run() {
    const PUZZLES: usize = 400;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("puzzles.txt");
    std::fs::write(&path, "AA\n\n".repeat(PUZZLES)).unwrap();
    let path = path.display().to_string();
    let args = ["solve", &path, "--json", "--jobs", "1", "--timeout", "10ms"];
    let solver = ["--solver", "misbehaving", "--config", "{ how = \"hang\" }"];
    let command = flowpipe(&[&args[..], &solver].concat());
    let ran = bounded(command, u64::MAX, PATIENCE).orderly().ran.expect(1);
    assert_eq!(ran.stdout.lines().count(), PUZZLES);
}

/// The last puzzle is answered before the stage ends, and no other one comes.
#[test]
#[ignore = "takes most of a minute: `./x test full` runs it"]
fn a_solver_that_always_hangs_ends_the_run_while_the_input_is_open() {
    /// As many as have to hang.
    const PUZZLES: usize = 33;
    let args = ["solve", "-", "--json", "--jobs", "1", "--timeout", "10ms"];
    let solver = ["--solver", "misbehaving", "--config", "{ how = \"hang\" }"];
    let mut piped = Piped::start(flowpipe(&[&args[..], &solver].concat()));
    let puzzles = "AA\n\n".repeat(PUZZLES);
    piped.input.write_all(puzzles.as_bytes()).unwrap();
    let began = Instant::now();
    let ended = loop {
        match piped.program.try_wait().unwrap() {
            None if began.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(50)),
            ended => break ended,
        }
    };
    let is_over = ended.is_some();
    // It may have ended.
    let _ = piped.program.kill();
    assert!(is_over, "it waits for the next puzzle");
    assert_eq!(ended.and_then(|it| it.code()), Some(1));
    assert_eq!(piped.output.lines().count(), PUZZLES);
}
