//! What plugins keep beyond their stage's end, in the real program: freed memory is overwritten, so that a use of it is
//! a crash. `lingering` is without `unsafe`, built with today's SDK; `outliving` uses the raw table, as older SDKs do.
use std::path::Path;

use flowpipe_tests::{compile, flowpipe, pipeline};

/// So often: what threads do at the end of a stage is different each time.
const RUNS: usize = 10;

/// Puzzles through two stages of a plugin. Standard error of each run, which ended well.
fn runs(folder: &Path, plugin: &str, settings: &str) -> Vec<String> {
    let file = pipeline(
        folder,
        &format!(
            "[stages.puzzles]
plugin = \"capture-puzzles\"
config = {{ text = \"AB\\nAB\\n\\n\" }}

[stages.first]
plugin = \"{plugin}\"
from = \"puzzles\"
{settings}

[stages.second]
plugin = \"{plugin}\"
from = \"first\"
{settings}
"
        ),
    );
    let plugins = folder.display().to_string();
    let run = |_| {
        let output = flowpipe(&["run", "--plugin-dir", &plugins, &file])
            // glibc's way to fill what is freed.
            .env("MALLOC_PERTURB_", "165")
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{}: {stderr}", output.status);
        assert!(!stderr.contains("from beyond"), "{stderr}");
        stderr
    };
    (0..RUNS).map(run).collect()
}

fn lingering(settings: &str) -> Vec<String> {
    runs(tempfile::tempdir().unwrap().path(), "lingering", settings)
}

fn outliving(settings: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    compile("tests/plugins/outliving.c", folder.path(), "outliving", &[]);
    runs(folder.path(), "outliving", settings)
}

/// The clock returns that the host is revoked, and the kept frame is unchanged.
const REVOKED: &str =
    "clock revoked, makes frames false, ending true, dry true, pixels 700, written 9";

/// The same, as seen through the raw table.
const RAW_REVOKED: &str = "clock revoked, makes frames 0, ending 1, dry 1, pixels 700, written 9";

/// What a plugin printed, as it is or, from a process of its own, in the log.
fn messages<'a>(stderr: &'a str, plugin: &str, by: &str) -> Vec<&'a str> {
    let by = format!("{plugin} in a {by}: ");
    let printed = |line: &'a str| {
        let line = line.trim_start();
        let Some(logged) = line.strip_prefix("WARN flowpipe::output: ") else {
            return line.strip_prefix(&by);
        };
        let (text, _) = logged.rsplit_once(" stage=")?;
        text.strip_prefix(&by)
    };
    stderr.lines().filter_map(printed).collect()
}

#[test]
fn a_host_and_a_frame_outlive_their_stage() {
    for stderr in lingering("") {
        for by in ["thread", "static"] {
            let messages = messages(&stderr, "lingering", by);
            assert!(messages.contains(&REVOKED), "{stderr}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn also_in_a_process_of_its_own() {
    for stderr in lingering("isolation = \"process\"") {
        let messages = messages(&stderr, "lingering", "thread-local");
        assert_eq!(messages, [REVOKED; 2], "{stderr}");
    }
}

#[test]
fn a_raw_table_outlives_its_stage() {
    for stderr in outliving("") {
        let by_thread = messages(&stderr, "outliving", "thread");
        assert!(by_thread.contains(&RAW_REVOKED), "{stderr}");
        assert_eq!(
            messages(&stderr, "outliving", "destructor"),
            [RAW_REVOKED; 2],
            "{stderr}"
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn so_does_one_in_a_process_of_its_own() {
    // Its frames are the program's, which is gone or not when the process ends.
    const REVOKED_APART: &str =
        "clock revoked, makes frames 0, ending 1, dry 1, pixels 700, written ";
    for stderr in outliving("isolation = \"process\"") {
        let messages = messages(&stderr, "outliving", "destructor");
        let is_revoked = |messages: &&str| messages.starts_with(REVOKED_APART);
        assert!(
            messages.len() == 2 && messages.iter().all(is_revoked),
            "{stderr}"
        );
    }
}
