//! What a plugin without `unsafe` keeps beyond its stage's end, in the real program: freed memory is overwritten, so
//! that a use of it is a crash.
#![allow(
    clippy::unwrap_used,
    reason = "a test helper that can't go on should panic"
)]

use flowpipe_tests::{flowpipe, pipeline};

/// So often: what threads do at the end of a stage is different each time.
const RUNS: usize = 10;

/// Puzzles through two lingering stages. Standard error of each run, which ended well.
fn runs(settings: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let file = pipeline(
        folder.path(),
        &format!(
            "[stages.puzzles]
plugin = \"capture-puzzles\"
config = {{ text = \"AB\\nAB\\n\\n\" }}

[stages.first]
plugin = \"lingering\"
from = \"puzzles\"
{settings}

[stages.second]
plugin = \"lingering\"
from = \"first\"
{settings}
"
        ),
    );
    let run = |_| {
        let output = flowpipe(&["run", &file])
            // glibc's way to fill what is freed.
            .env("MALLOC_PERTURB_", "165")
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{}: {stderr}", output.status);
        stderr
    };
    (0..RUNS).map(run).collect()
}

/// The clock tells that the host is revoked, and the frame that was kept is as it was.
const REVOKED: &str =
    "clock revoked, makes frames false, ending true, dry true, pixels 700, written 9";

/// What it printed, as it is or, from a process of its own, in the log.
fn told<'a>(stderr: &'a str, by: &str) -> Vec<&'a str> {
    let by = format!("lingering in a {by}: ");
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
    for stderr in runs("") {
        assert!(told(&stderr, "thread").contains(&REVOKED), "{stderr}");
        assert!(told(&stderr, "static").contains(&REVOKED), "{stderr}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn also_in_a_process_of_its_own() {
    for stderr in runs("isolation = \"process\"") {
        assert_eq!(told(&stderr, "thread-local"), [REVOKED; 2], "{stderr}");
    }
}
