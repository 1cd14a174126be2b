//! `flowpipe top` in a real pseudo terminal, looking at real runs.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    reason = "a test helper that can't go on should panic"
)]

use std::io::{BufRead as _, BufReader, Read as _, Write};
use std::num::NonZeroU16;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

use flowpipe_tests::{built, flowpipe, pipeline, project};
use portable_pty::{CommandBuilder, PtyPair, PtySize, native_pty_system};
use serde_json::Value;
use tempfile::TempDir;

/// Long enough for the slowest machine; no test passes by waiting.
const PATIENCE: Duration = Duration::from_secs(60);

/// A user's runtime folder, and a pipeline that lasts.
struct Place {
    folder: TempDir,
    pipeline: String,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let ready = std::fs::read_to_string(project().join("pipelines/replay.toml")).unwrap();
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

    /// A run that can be looked at already.
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
        let mut kill = Command::new("kill");
        assert!(kill.arg("-INT").arg(self.pid()).status().unwrap().success());
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

/// `flowpipe top` in a terminal of its own.
struct Top {
    pair: PtyPair,
    child: Box<dyn portable_pty::Child + Send + Sync>,
    keyboard: Box<dyn Write + Send>,
    screen: Arc<Mutex<vt100::Parser>>,
    reader: Option<JoinHandle<()>>,
    /// The terminal's settings before.
    settings: String,
}

fn side(length: u16) -> NonZeroU16 {
    NonZeroU16::new(length).unwrap()
}

fn size(cols: u16, rows: u16) -> PtySize {
    PtySize {
        rows,
        cols,
        ..PtySize::default()
    }
}

impl Top {
    fn start(place: &Place, args: &[&str], colours: bool) -> Self {
        let pair = native_pty_system().openpty(size(80, 24)).unwrap();
        let settings = format!("{:?}", pair.master.get_termios());
        let mut command = CommandBuilder::new(built().join("flowpipe"));
        command.arg("top");
        command.args(args);
        command.cwd(project());
        command.env("XDG_RUNTIME_DIR", place.folder.path());
        command.env("TERM", "xterm-256color");
        command.env("COLORTERM", "truecolor");
        match colours {
            true => command.env_remove("NO_COLOR"),
            false => command.env("NO_COLOR", "1"),
        }
        let child = pair.slave.spawn_command(command).unwrap();
        let screen = Arc::new(Mutex::new(vt100::Parser::new(side(24), side(80), 0)));
        let (mut output, shown) = (pair.master.try_clone_reader().unwrap(), Arc::clone(&screen));
        let reader = thread::spawn(move || {
            let mut bytes = [0; 4096];
            // The end is an error on some systems.
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                shown.lock().unwrap().process(&bytes[..count]);
            }
        });
        Self {
            keyboard: pair.master.take_writer().unwrap(),
            pair,
            child,
            screen,
            reader: Some(reader),
            settings,
        }
    }

    fn contents(&self) -> String {
        self.screen.lock().unwrap().screen().contents()
    }

    #[track_caller]
    fn wait_to_see(&self, what: &str, sees: impl Fn(&str) -> bool) -> String {
        let began = Instant::now();
        loop {
            let contents = self.contents();
            if sees(&contents) {
                return contents;
            }
            assert!(began.elapsed() < PATIENCE, "no {what} in\n{contents}");
            sleep(Duration::from_millis(5));
        }
    }

    fn type_in(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    fn resize(&self, cols: u16, rows: u16) {
        let mut screen = self.screen.lock().unwrap();
        screen.screen_mut().set_size(side(rows), side(cols));
        self.pair.master.resize(size(cols, rows)).unwrap();
    }

    /// Whether a cell of the screen has a colour of its own.
    fn has_colours(&self) -> bool {
        let screen = self.screen.lock().unwrap();
        let screen = screen.screen();
        let (rows, cols) = screen.size();
        let (rows, cols) = (rows.get(), cols.get());
        let cells = (0..rows).flat_map(|row| (0..cols).map(move |col| (row, col)));
        cells
            .filter_map(|(row, col)| screen.cell(row, col))
            .any(|cell| cell.fgcolor() != vt100::Color::Default)
    }

    /// Waits for the program's end, and looks whether the terminal is as it was; what is left on it.
    fn ended(mut self, code: u32) -> String {
        assert_eq!(self.child.wait().unwrap().exit_code(), code);
        let settings = format!("{:?}", self.pair.master.get_termios());
        assert_eq!(settings, self.settings);
        // With nobody left who could write, the reader comes to an end.
        drop(self.pair);
        drop(self.keyboard);
        self.reader.take().unwrap().join().unwrap();
        let screen = self.screen.lock().unwrap();
        let screen = screen.screen();
        assert!(!screen.alternate_screen() && !screen.hide_cursor());
        screen.contents()
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
fn a_run_is_seen_and_goes_on_without_who_looks() {
    let place = Place::new();
    let run = place.run();
    let folder = std::fs::metadata(place.sockets()).unwrap();
    let socket = std::fs::metadata(&run.socket).unwrap();
    assert_eq!(
        (folder.mode() & 0o777, socket.mode() & 0o777),
        (0o700, 0o600)
    );
    let mut top = Top::start(&place, &[], true);
    top.wait_to_see("rate of every stage", |seen| {
        STAGES.iter().all(|stage| rate(seen, stage) > 0.0)
            && before(seen, "frames/s") > 0.0
            && seen.contains("accepted by the game")
    });
    let seen = top.wait_to_see("board with its strokes", |seen| {
        seen.contains("solved by solver-search") && seen.contains("cells,") && seen.contains('●')
    });
    assert!(seen.contains(&format!("process {}", run.pid())), "{seen}");
    assert!(seen.contains("0/16") && seen.contains("queue"), "{seen}");
    assert!(top.has_colours());
    top.resize(46, 20);
    top.wait_to_see("narrow table", |seen| {
        !seen.contains("busy") && seen.contains("queue") && rate(seen, "actuator") > 0.0
    });
    top.resize(120, 40);
    top.wait_to_see("wide table", |seen| {
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

/// How many frames the run says it has captured.
fn counts(socket: &Path) -> u64 {
    let lines = BufReader::new(UnixStream::connect(socket).unwrap()).lines();
    let told = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let mut counts = told.filter(|line| line["kind"] == "counts");
    let counts = counts.next().unwrap();
    counts["progress"]["stages"][0]["out"].as_u64().unwrap()
}

#[test]
fn the_end_of_a_run_is_told() {
    let place = Place::new();
    let run = place.run();
    let pid = run.pid();
    let top = Top::start(&place, &[&pid], false);
    top.wait_to_see("run", |seen| rate(seen, "vision") > 0.0);
    assert!(!top.has_colours(), "NO_COLOR is set");
    run.stop();
    let left = top.ended(0);
    let told = format!("replay (process {pid}) is over after ");
    assert!(
        left.contains(&told) && left.contains("s: stopped"),
        "{left}"
    );

    let run = place.run();
    let (pid, socket) = (run.pid(), run.socket.clone());
    let top = Top::start(&place, &[], true);
    top.wait_to_see("run", |seen| rate(seen, "vision") > 0.0);
    run.kill();
    let left = top.ended(0);
    let told = format!("replay (process {pid}) is over after ");
    assert!(left.contains(&told) && left.contains("killed"), "{left}");
    assert!(socket.exists(), "a killed run can't clean up");
    assert_eq!(place.list(), "");
    assert!(!socket.exists(), "so whoever looks next does");
}

#[test]
fn one_can_wait_for_runs_and_go_from_one_to_another() {
    let place = Place::new();
    let mut top = Top::start(&place, &["--wait"], true);
    top.wait_to_see("patience", |seen| seen.contains("waiting for a run"));
    let first = place.run();
    let of = |run: &Run| format!("process {} ", run.pid());
    let is_of = |run: &Run| {
        let text = of(run);
        // The end of the line is cut off.
        move |seen: &str| seen.lines().any(|line| format!("{line} ").contains(&text))
    };
    top.wait_to_see("first run", is_of(&first));
    let second = place.run();
    let list = place.list();
    let at = |run: &Run| list.find(&run.pid()).unwrap();
    assert!(at(&first) < at(&second), "{list}");
    top.type_in("\t");
    top.wait_to_see("second run", is_of(&second));
    top.wait_to_see("hint", |seen| seen.contains("Tab shows the other run"));
    top.type_in("\t");
    top.wait_to_see("first run again", is_of(&first));
    first.stop();
    top.wait_to_see("second run after the first", is_of(&second));
    second.stop();
    top.wait_to_see("the end", |seen| seen.contains("the run is over: stopped"));
    top.type_in("\x03");
    top.ended(130);
}

#[test]
fn replays_can_be_looked_at_too() {
    let place = Place::new();
    let recording = place.folder.path().join("a.mcap");
    let recording = recording.to_str().unwrap();
    let mut record = place.command(&["run", "pipelines/replay.toml", "-q", "--record", recording]);
    assert!(record.output().unwrap().status.success());
    let mut top = Top::start(&place, &["--wait"], true);
    top.wait_to_see("patience", |seen| seen.contains("waiting for a run"));
    let mut replay = place
        .command(&["replay", recording, "--speed", "0.1x", "-q"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    top.wait_to_see("replay", |seen| {
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
fn without_runs_or_a_terminal_it_says_so() {
    let place = Place::new();
    let ran = |args: &[&str]| {
        let output = place.command(args).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        (output.status.code(), stderr)
    };
    let (code, told) = ran(&["top"]);
    assert_eq!(code, Some(1));
    assert!(told.contains("standard input is not a terminal"), "{told}");
    assert_eq!(
        ran(&["top", "--list"]),
        (Some(0), "no pipeline runs\n".to_owned())
    );
    assert_eq!(ran(&["top", "nobody"]).0, Some(2));
    assert_eq!(ran(&["top", "--list", "--wait"]).0, Some(2));
    let left = Top::start(&place, &[], true).ended(1);
    assert!(left.contains("no pipeline runs: start one"), "{left}");
    let left = Top::start(&place, &["1"], true).ended(1);
    assert!(left.contains("process 1 is no run"), "{left}");
}

#[test]
fn a_run_of_another_kind_is_told_apart() {
    let place = Place::new();
    std::fs::create_dir(place.sockets()).unwrap();
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(place.sockets(), private).unwrap();
    let socket = place.sockets().join("77.sock");
    let listener = std::os::unix::net::UnixListener::bind(socket).unwrap();
    let speaks = thread::spawn(move || {
        // Once for the list, once for the run itself.
        for _ in 0..2 {
            let hello = "{\"kind\":\"hello\",\"version\":2,\"flowpipe\":\"9.0.0\",\"more\":{}}\n";
            let mut stream = listener.accept().unwrap().0;
            stream.write_all(hello.as_bytes()).unwrap();
        }
    });
    let left = Top::start(&place, &["77"], true).ended(1);
    assert!(left.contains("run 77 is of flowpipe 9.0.0"), "{left}");
    speaks.join().unwrap();
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
    assert!(log.contains("can't look at this run"), "{log}");
}
