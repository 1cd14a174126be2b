//! What is recorded is not lost: not by a kill, a full disk, a pipe that nobody reads, or a name given twice.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    reason = "a test helper that can't go on should panic"
)]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use flowpipe_recording::Recording;
use flowpipe_tests::signals::send_signal;
use flowpipe_tests::{Ran, changed, flowpipe, flowpipe_within, pipeline, record, run};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A run that goes on until it is ended.
fn endless(folder: &Path) -> PathBuf {
    changed(folder, |ready| {
        ready.replace("fps = 20", "fps = 60, repeat = true")
    })
}

fn start(args: &[&str]) -> Child {
    flowpipe(args)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn ended(child: Child) -> Ran {
    child.wait_with_output().unwrap().into()
}

/// How many messages can be read in a recording that may be growing.
fn messages(path: &Path) -> usize {
    Recording::open(path).map_or(0, |recording| recording.entries().len())
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries
        .map(|it| it.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn what_is_read_is_not_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let path = record(folder.path(), "a.mcap", "pipelines/replay.toml");
    std::fs::hard_link(&path, at("hard.mcap")).unwrap();
    std::os::unix::fs::symlink("a.mcap", at("soft.mcap")).unwrap();
    let before = std::fs::read(&path).unwrap();
    let from_recording = |record: &str| {
        let to = at("source.toml");
        let text = format!(
            "{record}[stages.screen]\nplugin = \"capture-recording\"\nconfig = {{ file = '{path}' }}\n"
        );
        std::fs::write(&to, text).unwrap();
        to
    };
    let mut tried = Vec::new();
    for name in ["a.mcap", "hard.mcap", "soft.mcap"].map(at) {
        for flag in ["--record", "--trace"] {
            tried.push(run(&["replay", &path, "-q", flag, &name]));
            tried.push(run(&["run", &from_recording(""), "-q", flag, &name]));
        }
        let of_pipeline = format!("[record]\nfile = '{name}'\n");
        tried.push(run(&["run", &from_recording(&of_pipeline), "-q"]));
        tried.push(run(&["report", &path, "--output", &name]));
    }
    let pipeline = from_recording("");
    tried.push(run(&["run", &pipeline, "-q", "--record", &pipeline]));
    for (command, flag) in [
        ("solve", "--svg"),
        ("convert", "--output"),
        ("bench", "--svg"),
    ] {
        let puzzles = at("puzzles.txt");
        std::fs::write(&puzzles, "AB\n..\nAB\n").unwrap();
        let mut args = vec![command, &puzzles, flag, &puzzles];
        if command == "convert" {
            args.extend(["--to", "json"]);
        }
        tried.push(run(&args));
        assert_eq!(std::fs::read(&puzzles).unwrap(), b"AB\n..\nAB\n");
    }
    for ran in tried {
        let ran = ran.expect(2);
        assert!(ran.stderr.contains("reads the same file"), "{ran:#?}");
    }
    assert_eq!(std::fs::read(&path).unwrap(), before);
    let left = names(folder.path());
    let made = [
        "a.mcap",
        "hard.mcap",
        "puzzles.txt",
        "soft.mcap",
        "source.toml",
    ];
    assert_eq!(left, made, "nothing half made is left");
    // Another name is fine, also one that something has.
    std::fs::write(at("b.mcap"), "old").unwrap();
    run(&["replay", &path, "-q", "--record", &at("b.mcap")]).expect(0);
    Recording::open(Path::new(&at("b.mcap"))).unwrap();
}

/// By what plugins declare: pictures of a pattern or a folder, and what is among a command's arguments.
#[test]
fn what_stages_read_is_not_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    for name in ["a.png", "solver.py"] {
        std::fs::write(at(name), "precious").unwrap();
    }
    let all = folder.path().display();
    for (config, file) in [
        (
            format!("plugin = 'capture-files'\nconfig = {{ paths = '{all}' }}"),
            "a.png",
        ),
        (
            format!("plugin = 'capture-files'\nconfig = {{ paths = ['{all}/?.png'] }}"),
            "a.png",
        ),
        (
            format!(
                "plugin = 'capture-exec'\nconfig = {{ command = ['python3', '{all}/solver.py'] }}"
            ),
            "solver.py",
        ),
    ] {
        let pipeline = pipeline(folder.path(), &format!("[stages.a]\n{config}\n"));
        let ran = run(&["run", &pipeline, "-q", "--record", &at(file)]).expect(2);
        assert!(ran.stderr.contains("reads the same file"), "{ran:#?}");
        assert_eq!(std::fs::read(at(file)).unwrap(), b"precious");
    }
}

/// A text of a config that happens to be a file's name.
#[test]
fn what_no_stage_reads_is_written_over() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("A.A"), "old").unwrap();
    let text = "[stages.a]\nplugin = 'capture-puzzles'\nconfig = { text = 'A.A' }\n";
    let pipeline = pipeline(folder.path(), text);
    let mut command = flowpipe(&["run", &pipeline, "-q", "--record", "A.A"]);
    let ran = command.current_dir(folder.path()).output().unwrap();
    Ran::from(ran).expect(0);
    Recording::open(&folder.path().join("A.A")).unwrap();
}

#[test]
fn a_run_that_does_not_begin_leaves_what_was_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = record(folder.path(), "a.mcap", "pipelines/replay.toml");
    let before = std::fs::read(&path).unwrap();
    let bad = pipeline(
        folder.path(),
        "[stages.a]\nplugin = \"capture-recording\"\nconfig = { file = 'none' }\n",
    );
    run(&["run", &bad, "-q", "--record", &path]).expect(78);
    assert_eq!(std::fs::read(&path).unwrap(), before);
    assert_eq!(names(folder.path()), ["a.mcap", "pipeline.toml"]);
}

#[test]
fn what_a_crash_leaves_opens_everywhere() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (path, partial) = (at("a.mcap"), at("a.mcap.partial"));
    let running = endless(folder.path());
    let args = ["run", text(&running), "-q", "--record", text(&path)];
    let mut first = start(&args);
    wait_until("nothing was written", || messages(&partial) > 40);
    // One name, two runs: the second is refused, and the first does not notice.
    let ran = run(&args).expect(2);
    assert!(
        ran.stderr.contains("another program is writing it"),
        "{ran:#?}"
    );
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(!path.exists());
    let kept = std::fs::read(&partial).unwrap();

    for command in ["replay", "report"] {
        let ran = run(&[command, text(&path)]).expect(2);
        assert!(ran.stderr.contains("a.mcap.partial"), "{ran:#?}");
    }
    run(&["replay", text(&partial), "--verify", "-q"]).expect(0);
    run(&["report", text(&partial)]).expect(0);
    assert!(at("a.html").is_file());
    let ready = "pipelines/replay.toml";
    run(&["compare", ready, ready, text(&partial)]).expect(0);
    let source = pipeline(
        folder.path(),
        &format!(
            "[stages.screen]\nplugin = \"capture-recording\"\nconfig = {{ file = '{}' }}\n",
            text(&partial)
        ),
    );
    run(&["run", &source, "-q"]).expect(0);
    // The next run of that name leaves it alone.
    run(&["replay", text(&partial), "-q", "--record", text(&path)]).expect(0);
    assert!(Recording::open(&path).is_ok_and(|it| !it.is_cut_off()));
    assert_eq!(std::fs::read(&partial).unwrap(), kept);
}

/// Kills recording runs at random moments; each file that there is replays as it was.
fn survive_kills(count: usize) {
    let folder = tempfile::tempdir().unwrap();
    let running = changed(folder.path(), |ready| {
        ready.replace("fps = 20", "times = 4")
    });
    let path = folder.path().join("killed.mcap");
    let partial = folder.path().join("killed.mcap.partial");
    let mut random = fastrand::Rng::with_seed(count as u64);
    let (mut killed, mut finished, mut messages) = (0, 0, 0);
    while killed < count {
        for left in [&path, &partial] {
            let _ = std::fs::remove_file(left);
        }
        let mut child = start(&["run", text(&running), "-q", "--record", text(&path)]);
        // From its first byte on: what was killed before has recorded nothing.
        let began = Instant::now();
        while !partial.exists() && !path.exists() {
            assert!(
                began.elapsed() < Duration::from_secs(120),
                "nothing was written"
            );
            std::thread::sleep(Duration::from_micros(200));
        }
        std::thread::sleep(Duration::from_micros(random.u64(0..1_500_000)));
        child.kill().unwrap();
        let by_itself = child.wait().unwrap().code() == Some(0);
        // A kill between the last write and the new name leaves the one or the other.
        let left = if path.exists() { &path } else { &partial };
        let ran = run(&["replay", text(left), "--verify", "--json"]).expect(0);
        messages += ran.json()["verdict"]["same"].as_u64().unwrap();
        finished += usize::from(by_itself);
        killed += usize::from(!by_itself);
    }
    println!("{killed} killed, {finished} ended before, {messages} messages were the same");
    assert!(messages > 0);
}

#[test]
fn every_kill_leaves_a_recording() {
    survive_kills(6);
}

#[test]
#[ignore = "takes a quarter of an hour: run it with `--ignored`"]
fn every_kill_of_two_hundred_leaves_a_recording() {
    survive_kills(200);
}

/// A pipe that somebody has open and does not read, for as long as the value lives.
struct Stuck {
    path: PathBuf,
    reader: Child,
}

impl Stuck {
    fn new(folder: &Path) -> Self {
        let path = folder.join("pipe");
        assert!(
            Command::new("mkfifo")
                .arg(&path)
                .status()
                .unwrap()
                .success()
        );
        let script = "exec sleep 1000 < \"$0\"";
        let reader = Command::new("sh").args(["-c", script, text(&path)]).spawn();
        Self {
            path,
            reader: reader.unwrap(),
        }
    }
}

impl Drop for Stuck {
    fn drop(&mut self) {
        let _ = self.reader.kill();
        let _ = self.reader.wait();
    }
}

/// Sends two signals, and looks how the program ends.
fn end_by(child: Child, name: &str) -> Ran {
    send_signal(name, child.id());
    std::thread::sleep(Duration::from_millis(200));
    let second = Instant::now();
    send_signal(name, child.id());
    let ran = ended(child);
    // Two seconds, and what a busy machine adds.
    let took = second.elapsed();
    assert!(took < Duration::from_secs(12), "{took:?}: {ran:#?}");
    ran.expect(130)
}

#[test]
fn a_pipe_that_nobody_reads_ends_with_the_second_signal() {
    for (name, lossless) in [("INT", false), ("TERM", true)] {
        let folder = tempfile::tempdir().unwrap();
        let stuck = Stuck::new(folder.path());
        let running = endless(folder.path());
        let mut args = vec!["run", text(&running), "-q", "--record", text(&stuck.path)];
        args.extend(lossless.then_some("--record-lossless"));
        let child = start(&args);
        // The header fits into the pipe; the run goes on, and its first chunk does not.
        std::thread::sleep(Duration::from_secs(3));
        end_by(child, name);
    }
}

#[test]
fn a_recorder_that_cannot_keep_up_drops_whole_lineages() {
    let folder = tempfile::tempdir().unwrap();
    let (pipe, path) = (folder.path().join("pipe"), folder.path().join("a.mcap"));
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    let go = folder.path().join("go");
    // Somebody who reads nothing for a while, and then everything.
    let script = "exec < \"$0\" && until [ -e \"$1\" ]; do sleep 0.05; done && exec cat > \"$2\"";
    let mut reader = Command::new("sh")
        .args(["-c", script, text(&pipe), text(&go), text(&path)])
        .spawn()
        .unwrap();
    // As fast as it goes: frames fill the recorder's queue within seconds.
    let running = changed(folder.path(), |ready| {
        ready.replace("fps = 20", "repeat = true")
    });
    let said = folder.path().join("said");
    let mut child = flowpipe(&["run", text(&running), "-q", "--record", text(&pipe)])
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(&said).unwrap())
        .spawn()
        .unwrap();
    let told = || std::fs::read_to_string(&said).unwrap();
    wait_until("the queue is never full", || {
        told().contains("can't keep up")
    });
    std::fs::write(&go, "").unwrap();
    // Until frames are recorded again, behind the entry that tells of the others.
    wait_until("it never catches up", || {
        Recording::open(&path).is_ok_and(|it| !it.dropped_lineages().is_empty())
    });
    send_signal("INT", child.id());
    assert_eq!(child.wait().unwrap().code(), Some(130), "{}", told());
    assert!(reader.wait().unwrap().success());
    assert!(told().contains("lineages dropped with"), "{}", told());

    let recording = Recording::open(&path).unwrap();
    assert!(!recording.is_cut_off());
    assert_eq!(recording.unreadable(), 0);
    let gaps = recording.dropped_lineages();
    assert!(
        gaps.iter().all(|gap| gap.stage == "frames" && !gap.partly),
        "{gaps:?}"
    );
    // No message is there without the frame that it needs.
    let frames = flowpipe_recording::Topic::new("frames", "out");
    let mut taken = 0;
    for call in recording.calls() {
        let Some(took) = &call.took else { continue };
        let from = flowpipe_recording::Topic::new(&took.from, &took.output);
        assert!(
            recording.message(&from, took.sequence).is_some(),
            "{call:?}"
        );
        taken += 1;
    }
    assert!(taken > 0);
    for gap in gaps {
        for number in [gap.first, gap.last] {
            assert!(recording.message(&frames, number).is_none(), "{gap:?}");
        }
    }
    let ran = run(&["replay", text(&path), "--verify", "--json"]).expect(0);
    assert_eq!(
        ran.json()["verdict"]["skipped"],
        0,
        "{:#}",
        ran.json()["verdict"]
    );
    let page = folder.path().join("a.html");
    run(&["report", text(&path), "--output", text(&page)]).expect(0);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("The recorder could not keep up"));
}

#[test]
fn a_pipe_without_a_reader_ends_with_the_second_signal() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    let child = start(&[
        "run",
        "pipelines/replay.toml",
        "-q",
        "--record",
        text(&pipe),
    ]);
    std::thread::sleep(Duration::from_secs(1));
    // The program waits for a reader, and has not begun to run: the first signal is enough.
    send_signal("INT", child.id());
    ended(child).expect(130);
}

#[test]
fn a_plugin_that_does_not_come_back_ends_with_the_second_signal() {
    let folder = tempfile::tempdir().unwrap();
    for how in ["create", "destroy"] {
        let define = format!("HANG_IN_{}", how.to_uppercase());
        let plugins = folder.path().join(how);
        std::fs::create_dir(&plugins).unwrap();
        let defines = [define.as_str()];
        flowpipe_tests::compile("tests/plugins/hanging.c", &plugins, "hanging", &defines);
        let running = pipeline(&plugins, "[stages.a]\nplugin = \"hanging\"\n");
        let child = start(&["run", &running, "-q", "--plugin-dir", text(&plugins)]);
        std::thread::sleep(Duration::from_secs(2));
        send_signal("INT", child.id());
        std::thread::sleep(Duration::from_millis(500));
        let second = Instant::now();
        // While the plugin is created nothing is to be ended in order: the program may be gone.
        let _ = Command::new("kill")
            .args(["-INT", &child.id().to_string()])
            .output();
        let ran = ended(child).expect(130);
        assert!(
            second.elapsed() < Duration::from_secs(12),
            "{how}: {ran:#?}"
        );
    }
}

#[test]
fn a_full_disk_is_told_when_it_happens() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mcap");
    let running = endless(folder.path());
    for lossless in [false, true] {
        // 1 MiB: after the first pictures.
        let args = ["run", text(&running), "-q", "--record", text(&path)];
        let mut command = flowpipe_within("-f 2048", &args);
        command.args(lossless.then_some("--record-lossless"));
        let said = folder.path().join("said");
        let child = command
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(&said).unwrap())
            .spawn()
            .unwrap();
        // While it runs: nothing ends this pipeline by itself.
        let told = || std::fs::read_to_string(&said).unwrap();
        wait_until("it was not told", || {
            told().contains("the recording failed")
        });
        if !lossless {
            assert!(told().contains("the run goes on without it"), "{}", told());
            send_signal("INT", child.id());
        }
        // Without loss was asked for: it ends by itself.
        let code = ended(child).code;
        assert_eq!(code, Some(1), "{}", told());
        assert!(
            told().contains("what was written before is in"),
            "{}",
            told()
        );
        assert!(!path.exists());
        let partial = folder.path().join("a.mcap.partial");
        run(&["replay", text(&partial), "--verify", "-q"]).expect(0);
        std::fs::remove_file(partial).unwrap();
    }
    run(&[
        "run",
        "pipelines/replay.toml",
        "-q",
        "--record",
        "/dev/full",
    ])
    .expect(1);
}
