//! Standard error that takes nothing: what would be printed there is lost, and nothing else changes.

use std::fs::{self, File, OpenOptions};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use flowpipe_tests::{flowpipe, pipeline, ready};

/// How long a run of this may take on a busy machine. One that waits for a stage takes longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Where nothing can be written: a full device, where there is one, and a pipe that nobody reads.
fn outputs() -> Vec<(&'static str, Stdio)> {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut outputs = vec![("a closed pipe", writer.into())];
    if let Ok(full) = OpenOptions::new().write(true).open("/dev/full") {
        outputs.push(("a full device", File::into(full)));
    }
    outputs
}

/// Runs the program with each of the outputs as standard error, and each format of the log.
fn runs(args: &[&str], code: i32) {
    for format in ["text", "json"] {
        for (output, stderr) in outputs() {
            let mut program = flowpipe(args)
                .args(["--log-format", format])
                .stdout(Stdio::null())
                .stderr(stderr)
                .spawn()
                .unwrap();
            let began = Instant::now();
            let ended = loop {
                if let Some(status) = program.try_wait().unwrap() {
                    break status;
                }
                if began.elapsed() > PATIENCE {
                    program.kill().unwrap();
                    program.wait().unwrap();
                    panic!("{args:?} hangs with {output}, {format}");
                }
                std::thread::sleep(Duration::from_millis(5));
            };
            assert_eq!(ended.code(), Some(code), "{args:?}: {output}, {format}");
        }
    }
}

/// A pipeline that logs a warning: a picture of it is broken. `more`: settings of the stage.
fn with_broken_picture(folder: &Path, more: &str) -> String {
    let broken = folder.join("broken.png");
    fs::write(&broken, "no picture").unwrap();
    let paths = format!("paths = [{:?}, ", broken.display().to_string());
    let text = ready().replace("paths = [", &paths);
    let text = text.replace("fps = 20", "fps = 20, on_broken = \"skip\"");
    let plugin = "plugin = \"capture-files\"\n";
    pipeline(folder, &text.replace(plugin, &format!("{plugin}{more}")))
}

#[test]
fn a_run_ends_as_usual() {
    let folder = tempfile::tempdir().unwrap();
    runs(&["run", &with_broken_picture(folder.path(), "")], 0);
}

#[test]
fn a_run_with_a_stage_in_a_process_ends_as_usual() {
    let folder = tempfile::tempdir().unwrap();
    let file = with_broken_picture(folder.path(), "isolation = \"process\"\n");
    runs(&["run", &file], 0);
}

#[test]
fn other_commands_end_as_usual() {
    runs(&["check", "pipelines/replay.toml", "-vv"], 0);
    runs(&["run", "nowhere.toml"], 2);
}
