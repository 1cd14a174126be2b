//! Runs whose pipeline and plugins change while they go on: the real program, its files, its signals.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::going::{Going, replace, until};
use crate::pty::Pty;
use flowpipe_tests::signals::send_signal;
use flowpipe_tests::{built, flowpipe, pipeline, ready, run};
use tempfile::TempDir;

/// `pipelines/replay.toml` without end, in a folder of its own.
struct Place {
    folder: TempDir,
    file: PathBuf,
    text: String,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let ready = ready();
        assert!(ready.contains("fps = 20"));
        let text = ready.replace("fps = 20", "fps = 20, repeat = true");
        let file = folder.path().join("pipeline.toml");
        std::fs::write(&file, &text).unwrap();
        Self { folder, file, text }
    }

    fn file(&self) -> &str {
        self.file.to_str().unwrap()
    }

    /// Replaces the file as editors do: another one takes its name.
    fn write(&self, text: &str) {
        replace(&self.file, text);
    }
}

#[test]
fn an_edited_pipeline_is_reloaded_and_a_broken_one_is_not() {
    let place = Place::new();
    let run = Going::start(&["run", "--watch", place.file()]);
    run.wait_for_stdout("solved by solver-search", 3);
    let other = place.text.replace("solver-search", "solver-splr").replace(
        "plugin = \"planner-minlink\"",
        "plugin = \"planner-minlink\"\nconfig = { inner = 0.5 }",
    );
    place.write(&other);
    run.wait_for_stderr("changed: solver (solver-search -> solver-splr), planner (config)");
    run.wait_for_stdout("solved by solver-splr", 3);
    // An error is reported with its place, and the run continues.
    place.write(&other.replace("solver-splr", "solver-spl"));
    run.wait_for_stderr("pipeline.toml:15:10");
    run.wait_for_stderr("not changed:");
    run.wait_for_stderr("the run goes on as it was");
    let before = run.stdout().matches("solved by solver-splr").count();
    run.wait_for_stdout("solved by solver-splr", before + 3);
    // A config that the plugin refuses only when it is made.
    place.write(&other.replace("pipelines/frames/*.png", "pipelines/frames/none-*.png"));
    run.wait_for_stderr("not changed: stage \"frames\": capture-files failed to start: ");
    place.write(&place.text);
    run.wait_for_stderr("changed: solver (solver-splr -> solver-search), planner (config)");
    let (stdout, stderr) = run.stop();
    assert_eq!(
        stderr.matches("\nchanged: ").count() + usize::from(stderr.starts_with("changed: ")),
        2,
        "{stderr}"
    );
    // Whatever changed meanwhile, each board was played, and accepted.
    let last = stdout.trim_end().lines().last().unwrap();
    let mut numbers = last
        .split(|c: char| !c.is_ascii_digit())
        .filter(|it| !it.is_empty());
    let read = numbers.next().unwrap();
    assert!(numbers.all(|number| number == read), "{last}");
}

#[test]
fn a_stage_comes_and_goes_by_the_file() {
    let place = Place::new();
    let run = Going::start(&["run", "--watch", place.file()]);
    run.wait_for_stdout("solved by", 1);
    let second = "\n[stages.second]\nplugin = \"actuator-simulated\"\nfrom = \"planner\"\n";
    place.write(&format!("{}{second}", place.text));
    run.wait_for_stderr("changed: second (added: actuator-simulated)");
    place.write(&place.text);
    run.wait_for_stderr("second (removed)");
    place.write(&format!(
        "name = \"other\"\n{}",
        place
            .text
            .replace("name = \"replay\"", "on_stop = \"drop\"")
    ));
    run.wait_for_stderr("changed: on_stop; from the next run on: name");
    let (stdout, _) = run.stop();
    assert!(
        stdout.contains("│ second"),
        "its counts are reported: {stdout}"
    );
}

/// Copies a plugin's library under a name, so that it takes the place of what has that name.
fn install(plugin: &str, folder: &Path) {
    let (prefix, suffix) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let file = format!("{prefix}{plugin}{suffix}");
    let half = folder.join(format!("{file}.half"));
    std::fs::copy(built().join(&file), &half).unwrap();
    std::fs::rename(&half, folder.join(&file)).unwrap();
}

#[test]
fn a_plugin_that_is_built_again_is_reloaded() {
    let place = Place::new();
    let plugins = place.folder.path().join("plugins");
    std::fs::create_dir(&plugins).unwrap();
    install("solver_search", &plugins);
    let dir = plugins.to_str().unwrap();
    let run = Going::start(&["run", "--watch", "--plugin-dir", dir, place.file()]);
    run.wait_for_stdout("solved by solver-search", 2);
    install("solver_search", &plugins);
    run.wait_for_stderr("changed: solver (new file)");
    let before = run.stdout().matches("solved by solver-search").count();
    run.wait_for_stdout("solved by solver-search", before + 2);
    // A file that can't be loaded is not reloaded.
    let (prefix, suffix) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let file = plugins.join(format!("{prefix}solver_search{suffix}"));
    let other = built().join(format!("{prefix}solver_backtrack{suffix}"));
    let bytes = std::fs::read(other).unwrap();
    let half = plugins.join("half");
    std::fs::write(&half, &bytes[..bytes.len() / 2]).unwrap();
    std::fs::rename(&half, &file).unwrap();
    // The one beside the program takes its place, for that has the name too.
    until("the other file", || {
        let stderr = run.stderr();
        (stderr.matches("solver (new file)").count() == 2, stderr)
    });
    // A plugin that was not there is found.
    install("solver_splr", &plugins);
    place.write(&place.text.replace("solver-search", "solver-splr"));
    run.wait_for_stderr("changed: solver (solver-search -> solver-splr)");
    run.wait_for_stdout("solved by solver-splr", 1);
    run.stop();
    let left: Vec<_> = std::fs::read_dir(&plugins)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains("loading"))
        .collect();
    assert_eq!(left, [""; 0], "copies leave nothing behind");
}

#[test]
fn sighup_reloads_what_has_changed() {
    let place = Place::new();
    let run = Going::start(&["run", place.file()]);
    run.wait_for_stdout("solved by solver-search", 1);
    run.signal("HUP");
    run.wait_for_stderr("not changed: nothing differs");
    place.write(&place.text.replace("solver-search", "solver-splr"));
    let before = run.stdout().matches("solved by solver-search").count();
    run.wait_for_stdout("solved by solver-search", before + 5);
    assert!(!run.stderr().contains("\nchanged"), "nobody asked");
    run.signal("HUP");
    run.wait_for_stderr("changed: solver (solver-search -> solver-splr)");
    run.wait_for_stdout("solved by solver-splr", 1);
    run.stop();
}

/// Without a writer of the pipe.
#[test]
fn a_pipeline_file_that_is_a_pipe_now_is_not_reloaded() {
    let place = Place::new();
    let run = Going::start(&["run", place.file()]);
    run.wait_for_stdout("solved by solver-search", 1);
    std::fs::remove_file(&place.file).unwrap();
    let made = Command::new("mkfifo").arg(&place.file).status().unwrap();
    assert!(made.success());
    run.signal("HUP");
    run.wait_for_stderr("pipeline.toml: this is a device or a pipe, and no regular file");
    run.stop();
}

/// The run has ended, and nobody reads its tables yet.
#[test]
fn sighup_does_not_stop_a_run_that_ends() {
    let folder = tempfile::tempdir().unwrap();
    let text = "[stages.clock]\nplugin = \"source-ticks\"\nconfig = { interval_ms = 1, count = 3 }\n\
                [stages.out]\nplugin = \"sink-jsonl\"\nfrom = \"clock\"\nconfig = { path = \"out.jsonl\" }\n";
    let file = pipeline(folder.path(), text);
    let trace = folder.path().join("trace.json");
    let (mut unread, mut stdout) = std::io::pipe().unwrap();
    // A pipe has room for this.
    stdout.write_all(" ".repeat(1 << 16).as_bytes()).unwrap();
    let mut child = flowpipe(&["run", &file, "-q", "--trace", trace.to_str().unwrap()])
        .stdout(stdout)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let stderr = BufReader::new(child.stderr.take().unwrap());
    let mut lines = stderr.lines().map(Result::unwrap);
    assert!(lines.any(|line| line.starts_with("traced ")));
    for _ in 0..2 {
        send_signal("HUP", child.id());
        std::thread::sleep(Duration::from_millis(1_500));
    }
    // Two seconds after a second request to stop, it would end: so long, and a little more, since the second signal.
    std::thread::sleep(Duration::from_secs(1));
    let reader = std::thread::spawn(move || std::io::copy(&mut unread, &mut std::io::sink()));
    assert_eq!(child.wait().unwrap().code(), Some(0));
    reader.join().unwrap().unwrap();
}

#[test]
fn a_terminal_that_goes_away_ends_the_run() {
    let place = Place::new();
    for args in [&["run", "-q"][..], &["run", "-q", "--watch"]] {
        let mut command = crate::pty::flowpipe(args);
        command.arg(place.file());
        let pty = Pty::start(command, (80, 24));
        pty.wait_until("the line that counts", |screen| screen.contains("frames"));
        pty.hang_up();
    }
}

#[test]
fn a_change_is_named_as_why_nothing_runs_again() {
    let text = "[stages.clock]\nplugin = \"source-ticks\"\nconfig = { interval_ms = 20 }\n\
         [stages.double]\nplugin = \"map\"\nfrom = \"clock\"\n\
         config = { jq = \"{ n: (.number * 2) }\", schema = \"x.n/1\" }\n\
         [stages.out]\nplugin = \"sink-jsonl\"\nfrom = \"double\"\nconfig = { stdout = true }\n";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pipeline.toml");
    std::fs::write(&file, text).unwrap();
    let recording = folder.path().join("run.mcap");
    let (file_name, recording) = (file.to_str().unwrap(), recording.to_str().unwrap());
    let going = Going::start(&["run", "--watch", "--record", recording, file_name]);
    going.wait_for_stdout("{\"n\":4}", 1);
    replace(&file, &text.replace("* 2", "* 3"));
    going.wait_for_stderr("changed: double (config)");
    going.stop();
    let refused = run(&["replay", recording, "--verify"]).expect(1);
    let why = refused.stderr.split_whitespace().collect::<Vec<_>>();
    let why = why.join(" ");
    let change =
        "of \"double\" changed while it ran (use --swap to replace it), and no other stage";
    assert!(why.contains(change), "{refused:#?}");
    // It would be refused.
    assert!(!why.contains("--from double"), "{refused:#?}");
}

/// An object a line: why nothing has changed is a warning, and what is wrong with the file an error.
#[test]
fn a_refused_change_is_a_warning_in_a_log_for_programs() {
    let place = Place::new();
    let run = Going::start(&["run", "--watch", "--log-format", "json", place.file()]);
    run.wait_for_stdout("solved by solver-search", 1);
    place.write(&place.text.replace("solver-search", "solver-spl"));
    run.wait_for_stderr("the run goes on as it was");
    let (_, stderr) = run.stop();
    let has = |level: &str, text: &str| {
        let level = format!("\"level\":\"{level}\"");
        let mut lines = stderr.lines();
        lines.any(|line| line.contains(&level) && line.contains(text))
    };
    assert!(has("WARN", "\"message\":\"not changed: "), "{stderr}");
    assert!(has("ERROR", "pipeline.toml:15:10: "), "{stderr}");
}

#[test]
fn a_recording_of_a_run_that_changed_is_honest() {
    let place = Place::new();
    let recording = place.folder.path().join("run.mcap");
    let recording = recording.to_str().unwrap();
    let going = Going::start(&["run", "--watch", "--record", recording, place.file()]);
    going.wait_for_stdout("solved by solver-search", 3);
    let second = "\n[stages.second]\nplugin = \"planner-grid\"\nfrom = \"solver\"\n";
    let other = place.text.replace("solver-search", "solver-splr");
    place.write(&format!("{other}{second}"));
    going.wait_for_stderr(
        "changed: solver (solver-search -> solver-splr), second (added: planner-grid)",
    );
    going.wait_for_stdout("solved by solver-splr", 3);
    going.stop();
    let replayed = run(&["replay", recording, "--verify", "-q"]).expect(0);
    assert!(
        replayed.stdout.contains(
            "changed during the recording, and played back instead of replayed: solver\n"
        ),
        "{replayed:#?}"
    );
    assert!(
        replayed.stdout.contains("the same, byte for byte"),
        "{replayed:#?}"
    );
    let why = "sources, and what has effects, is not deterministic or changed while it ran";
    assert!(replayed.stdout.contains(why), "{replayed:#?}");
    let json = run(&["replay", recording, "--verify", "--json"])
        .expect(0)
        .json();
    assert_eq!(json["changed"], serde_json::json!(["solver"]));
    let stages = json["report"]["stages"].as_array().unwrap();
    let stage = |name: &str| stages.iter().find(|it| it["name"] == name).unwrap();
    assert_eq!(stage("solver")["in"], 0, "not run again");
    assert!(stage("second")["in"].as_u64().unwrap() > 0, "run again");
    assert!(stage("planner")["in"].as_u64().unwrap() > 0, "run again");
    let from = run(&["replay", recording, "--from", "solver"]).expect(2);
    assert!(from.stderr.contains("changed while it ran"), "{from:#?}");
    run(&["replay", recording, "--swap", "solver=solver-search", "-q"]).expect(0);
    run(&["report", recording, "-o", "-"]).expect(0);
}
