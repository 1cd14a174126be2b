//! `flowpipe top` in a real pseudo terminal, looking at real runs.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use crate::pty::{PATIENCE, Pty};
use flowpipe_tests::signals::send_signal;
use flowpipe_tests::{flowpipe, pipeline, ready};
use portable_pty::CommandBuilder;
use serde_json::Value;
use tempfile::TempDir;

/// A user's runtime folder, and a pipeline that lasts.
struct Place {
    folder: TempDir,
    pipeline: String,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let ready = ready();
        assert!(ready.contains("fps = 20"));
        let lasting = ready.replace("fps = 20", "fps = 20, repeat = true");
        let pipeline = pipeline(folder.path(), &lasting);
        Self { folder, pipeline }
    }

    fn sockets(&self) -> PathBuf {
        self.folder.path().join("flowpipe")
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = flowpipe(args);
        command.env("XDG_RUNTIME_DIR", self.folder.path());
        command
    }

    /// A run that can be watched already.
    fn run(&self) -> Run {
        let child = self
            .command(&["run", &self.pipeline, "-q"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let socket = self.sockets().join(format!("{}.sock", child.id()));
        until("the run's socket", || socket.exists());
        Run { child, socket }
    }

    /// `flowpipe top` in a terminal of its own.
    fn top(&self, args: &[&str]) -> Pty {
        self.top_with(args, |_| {})
    }

    fn top_with(&self, args: &[&str], change: impl FnOnce(&mut CommandBuilder)) -> Pty {
        let mut command = crate::pty::flowpipe(&["top"]);
        command.args(args);
        command.env("XDG_RUNTIME_DIR", self.folder.path());
        change(&mut command);
        Pty::start(command, (80, 24))
    }

    fn list(&self) -> String {
        let output = self.command(&["top", "--list"]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }
}

/// A run that goes on. It ends with the test.
struct Run {
    child: Child,
    socket: PathBuf,
}

impl Run {
    fn pid(&self) -> String {
        self.child.id().to_string()
    }

    /// Ends as by Ctrl-C.
    fn stop(mut self) {
        send_signal("INT", self.child.id());
        assert_eq!(self.child.wait().unwrap().code(), Some(130));
        assert!(!self.socket.exists(), "a run leaves nothing behind");
    }

    /// Ends as by `kill -9`.
    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // Over already, where the test has come to its end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[track_caller]
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "{what} never came");
        sleep(Duration::from_millis(5));
    }
}

/// The number before a word, wherever it stands: `8.1 frames/s`.
fn before(contents: &str, word: &str) -> f64 {
    let mut words = contents.split_whitespace().rev();
    let number = words.find(|it| *it == word).and_then(|_| words.next());
    number.and_then(|it| it.parse().ok()).unwrap_or(0.0)
}

/// The rate of a stage: the second word of its row.
fn rate(contents: &str, stage: &str) -> f64 {
    let mut rows = contents.lines();
    let row = rows.find(|row| row.split_whitespace().next() == Some(stage));
    let rate = row.and_then(|row| row.split_whitespace().nth(1));
    rate.and_then(|rate| rate.parse().ok()).unwrap_or(0.0)
}

const STAGES: [&str; 5] = ["frames", "vision", "solver", "planner", "actuator"];

#[test]
fn a_run_is_watched_and_continues_without_viewers() {
    let place = Place::new();
    let run = place.run();
    let folder = std::fs::metadata(place.sockets()).unwrap();
    let socket = std::fs::metadata(&run.socket).unwrap();
    assert_eq!(
        (folder.mode() & 0o777, socket.mode() & 0o777),
        (0o700, 0o600)
    );
    let mut top = place.top(&[]);
    top.wait_until("rate of every stage", |seen| {
        STAGES.iter().all(|stage| rate(seen, stage) > 0.0)
            && before(seen, "frames/s") > 0.0
            && seen.contains("accepted by the game")
    });
    let seen = top.wait_until("board with its strokes", |seen| {
        seen.contains("solved by solver-search") && seen.contains("cells,") && seen.contains('●')
    });
    assert!(seen.contains(&format!("process {}", run.pid())), "{seen}");
    assert!(seen.contains("0/16") && seen.contains("queue"), "{seen}");
    assert!(top.has_colours());
    top.resize((46, 20));
    top.wait_until("narrow table", |seen| {
        !seen.contains("busy") && seen.contains("queue") && rate(seen, "actuator") > 0.0
    });
    top.resize((120, 40));
    top.wait_until("wide table", |seen| {
        seen.contains("busy") && seen.contains("failed") && seen.contains("cells,")
    });
    top.type_in("q");
    assert_eq!(top.ended(0).trim(), "");
    // It has gone on: there is more to be seen than before.
    let first = counts(&run.socket);
    until("a later frame", || counts(&run.socket) > first);
    run.stop();
    assert_eq!(place.list(), "");
}

/// How many frames the run reports as captured.
fn counts(socket: &Path) -> u64 {
    let lines = BufReader::new(UnixStream::connect(socket).unwrap()).lines();
    let messages = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let mut counts = messages.filter(|line| line["kind"] == "counts");
    let counts = counts.next().unwrap();
    counts["progress"]["stages"][0]["out"].as_u64().unwrap()
}

#[test]
fn the_end_of_a_run_is_reported() {
    let place = Place::new();
    let run = place.run();
    let pid = run.pid();
    let top = place.top_with(&[&pid], |command| command.env("NO_COLOR", "1"));
    top.wait_until("run", |seen| rate(seen, "vision") > 0.0);
    assert!(!top.has_colours(), "NO_COLOR is set");
    run.stop();
    let left = top.ended(0);
    let expected = format!("replay (process {pid}) is over after ");
    assert!(
        left.contains(&expected) && left.contains("s: stopped"),
        "{left}"
    );

    let run = place.run();
    let (pid, socket) = (run.pid(), run.socket.clone());
    let top = place.top(&[]);
    top.wait_until("run", |seen| rate(seen, "vision") > 0.0);
    run.kill();
    let left = top.ended(0);
    let expected = format!("replay (process {pid}) is over after ");
    assert!(
        left.contains(&expected) && left.contains("killed"),
        "{left}"
    );
    assert!(socket.exists(), "a killed run can't clean up");
    assert_eq!(place.list(), "");
    assert!(!socket.exists(), "so the next viewer does");
}

#[test]
fn one_can_wait_for_runs_and_go_from_one_to_another() {
    let place = Place::new();
    let mut top = place.top(&["--wait"]);
    top.wait_to_see("waiting for a run");
    let first = place.run();
    let of = |run: &Run| format!("process {} ", run.pid());
    let is_of = |run: &Run| {
        let text = of(run);
        // The end of the line is cut off.
        move |seen: &str| seen.lines().any(|line| format!("{line} ").contains(&text))
    };
    top.wait_until("first run", is_of(&first));
    let second = place.run();
    let list = place.list();
    let at = |run: &Run| list.find(&run.pid()).unwrap();
    assert!(at(&first) < at(&second), "{list}");
    top.type_in("\t");
    top.wait_until("second run", is_of(&second));
    top.wait_to_see("Tab shows the other run");
    top.type_in("\t");
    top.wait_until("first run again", is_of(&first));
    first.stop();
    top.wait_until("second run after the first", is_of(&second));
    second.stop();
    top.wait_to_see("the run is over: stopped");
    top.type_in("\x03");
    top.ended(130);
    let top = place.top(&["--wait"]);
    top.wait_to_see("waiting for a run");
    top.terminate();
    top.ended(130);
}

#[test]
fn replays_can_be_watched_too() {
    let place = Place::new();
    let recording = place.folder.path().join("a.mcap");
    let recording = recording.to_str().unwrap();
    let mut record = place.command(&["run", "pipelines/replay.toml", "-q", "--record", recording]);
    assert!(record.output().unwrap().status.success());
    let mut top = place.top(&["--wait"]);
    top.wait_to_see("waiting for a run");
    let mut replay = place
        .command(&["replay", recording, "--speed", "0.1x", "-q"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    top.wait_until("replay", |seen| {
        seen.contains("a replay") && seen.contains("vision")
    });
    top.type_in("\x1b");
    top.ended(0);
    replay.kill().unwrap();
    replay.wait().unwrap();
}

#[test]
fn who_reads_nothing_does_not_hold_the_run_up() {
    let place = Place::new();
    let run = place.run();
    let lazy: Vec<_> = (0..8)
        .map(|_| UnixStream::connect(&run.socket).unwrap())
        .collect();
    let first = counts(&run.socket);
    until("frames all the same", || counts(&run.socket) > first + 40);
    drop(lazy);
    run.stop();
}

#[test]
fn missing_runs_and_terminals_are_reported() {
    let place = Place::new();
    let ran = |args: &[&str]| {
        let output = place.command(args).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        (output.status.code(), stderr)
    };
    let (code, stderr) = ran(&["top"]);
    assert_eq!(code, Some(1));
    assert!(
        stderr.contains("standard input is not a terminal"),
        "{stderr}"
    );
    assert_eq!(
        ran(&["top", "--list"]),
        (Some(0), "no pipeline runs\n".to_owned())
    );
    assert_eq!(ran(&["top", "nobody"]).0, Some(2));
    assert_eq!(ran(&["top", "--list", "--wait"]).0, Some(2));
    let left = place.top(&[]).ended(1);
    assert!(left.contains("no pipeline runs: start one"), "{left}");
    let left = place.top(&["1"]).ended(1);
    assert!(left.contains("process 1 is not a run"), "{left}");
}

#[test]
fn a_run_is_printed_as_lines_of_json() {
    let place = Place::new();
    let run = place.run();
    let list = place
        .command(&["top", "--list", "--json"])
        .output()
        .unwrap();
    let list: Value = serde_json::from_slice(&list.stdout).unwrap();
    assert_eq!(list["pid"], run.child.id());
    assert_eq!(list["stages"][1]["name"], "vision");
    let once = place
        .command(&["top", "--json", "--once"])
        .output()
        .unwrap();
    assert!(once.status.success(), "{once:?}");
    let once: Value = serde_json::from_slice(&once.stdout).unwrap();
    assert_eq!(once["over"], Value::Null);
    let mut top = place
        .command(&["top", "--json", &run.pid()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(top.stdout.take().unwrap()).lines();
    let mut lines = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let [first, second] = [lines.next().unwrap(), lines.next().unwrap()];
    for (earlier, later) in [(&once, &first), (&first, &second)] {
        assert_eq!(later["pipeline"], "replay");
        assert!(later["seconds"].as_f64() > earlier["seconds"].as_f64());
        assert!(later["boards"]["solved"].as_u64() >= earlier["boards"]["solved"].as_u64());
        for (index, name) in STAGES.iter().enumerate() {
            let [earlier, later] = [earlier, later].map(|line| &line["stages"][index]);
            assert_eq!(later["name"], *name);
            assert!(later["rate"].as_f64().unwrap() > 0.0, "{later:#}");
            assert!(later["out"].as_u64() >= earlier["out"].as_u64());
            assert!(later["time"]["count"].as_u64() > Some(0), "{later:#}");
        }
        assert!(later["stages"][0]["out"].as_u64() > earlier["stages"][0]["out"].as_u64());
    }
    assert_eq!(second["stages"][1]["capacity"], 16);
    run.stop();
    let last = lines.last().unwrap();
    assert_eq!(last["over"], "stopped");
    assert!(top.wait().unwrap().success());
}

#[test]
fn lines_of_json_are_of_runs_to_come_and_end_with_their_reader() {
    let place = Place::new();
    let mut top = place
        .command(&["top", "--json", "--wait"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(top.stdout.take().unwrap()).lines();
    for _ in 0..2 {
        let run = place.run();
        let mut of_run = lines
            .by_ref()
            .map(|line| serde_json::from_str(&line.unwrap()).unwrap());
        let line: Value = of_run.next().unwrap();
        assert_eq!(line["pid"], run.child.id());
        run.kill();
        let is_over = |line: &Value| line["over"].is_string();
        let last = of_run.find(is_over).unwrap();
        assert!(
            last["over"].as_str().unwrap().contains("killed"),
            "{last:#}"
        );
    }
    let run = place.run();
    drop(lines);
    until("end without a reader", || top.try_wait().unwrap().is_some());
    run.stop();
    let ran = |args: &[&str]| place.command(args).output().unwrap();
    let nothing = ran(&["top", "--json"]);
    assert_eq!(nothing.status.code(), Some(1));
    assert_eq!(String::from_utf8_lossy(&nothing.stdout), "");
    assert_eq!(ran(&["top", "--once"]).status.code(), Some(1));
    assert_eq!(
        ran(&["top", "--json", "--once", "--list"]).status.code(),
        Some(2)
    );
}

#[test]
fn a_run_with_another_protocol_is_reported() {
    let place = Place::new();
    std::fs::create_dir(place.sockets()).unwrap();
    let private = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(place.sockets(), private).unwrap();
    let socket = place.sockets().join("77.sock");
    let listener = UnixListener::bind(socket).unwrap();
    let server = thread::spawn(move || {
        // Once for the list, once for the run itself.
        for _ in 0..2 {
            let hello = "{\"kind\":\"hello\",\"version\":2,\"flowpipe\":\"9.0.0\",\"more\":{}}\n";
            let mut stream = listener.accept().unwrap().0;
            stream.write_all(hello.as_bytes()).unwrap();
        }
    });
    let left = place.top(&["77"]).ended(1);
    assert!(left.contains("run 77 is of flowpipe 9.0.0"), "{left}");
    server.join().unwrap();
}

#[test]
fn a_run_without_a_place_for_its_socket_goes_on() {
    let place = Place::new();
    std::fs::write(place.sockets(), "this is no folder").unwrap();
    let output = place
        .command(&["run", "pipelines/replay.toml", "--json", "-vv"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let log = String::from_utf8(output.stderr).unwrap();
    assert!(log.contains("can't watch this run"), "{log}");
}

#[test]
fn a_terminal_that_is_closed_ends_it() {
    let place = Place::new();
    let run = place.run();
    let top = place.top(&["--wait"]);
    top.wait_to_see("frames/s");
    top.hang_up();
    run.stop();
}

#[test]
fn the_stages_of_all_machines_are_watched_on_each() {
    let place = Place::new();
    let folder = tempfile::tempdir().unwrap();
    let file = crate::machines::on_three(folder.path());
    let file = crate::machines::without_end(folder.path(), &file);
    let machines = ["first", "middle", "last"];
    let runs = machines.map(|machine| {
        let child = place
            .command(&["run", &file, "--machine", machine, "-q"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let socket = place.sockets().join(format!("{}.sock", child.id()));
        Run { child, socket }
    });
    let shown = [
        ("frames", "first"),
        ("vision", "middle"),
        ("solver", "last"),
        ("planner", "middle"),
        ("actuator", "first"),
    ];
    for (run, own) in runs.iter().zip(machines) {
        until("the run's socket", || run.socket.exists());
        let top = place.top(&[&run.pid()]);
        top.resize((120, 40));
        top.wait_until("rate of every stage, and every machine and link", |seen| {
            let has_rate = |&(stage, machine): &(&str, &str)| {
                let mut rows = seen
                    .lines()
                    .map(|row| row.split_whitespace().collect::<Vec<_>>());
                let row = rows.find(|row| row.first() == Some(&stage));
                let row = row.filter(|row| row.get(1) == Some(&machine));
                let rate = row.and_then(|row| row.get(2)?.parse::<f64>().ok());
                rate.is_some_and(|rate| rate > 0.0)
            };
            let state = |machine: &str| if machine == own { "this one" } else { "active" };
            let has_state = |it: &&str| seen.contains(&format!("{it}  {}", state(it)));
            let has_link = |one: &str, other: &str| {
                let mut rows = seen.lines();
                let names = [format!("{one} - {other}  "), format!("{other} - {one}  ")];
                let row = rows.find(|row| names.iter().any(|it| row.contains(it)));
                row.is_some_and(|row| row.contains("B/s  clocks ± "))
            };
            shown.iter().all(has_rate)
                && machines.iter().all(has_state)
                && has_link("first", "middle")
                && has_link("middle", "last")
        });
    }
    // One that does nothing any more is shown so, until it counts as dead.
    let [first, middle, last] = runs;
    let top = place.top(&[&first.pid()]);
    top.resize((120, 40));
    top.wait_until("last  active", |seen| seen.contains("last  active"));
    send_signal("STOP", last.child.id());
    top.wait_until("last  silent for ", |seen| {
        seen.contains("last  silent for ")
    });
    send_signal("KILL", last.child.id());
    drop((first, middle, last));
}
