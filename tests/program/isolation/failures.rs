//! What goes wrong in a process costs the message that it had in hand.

use flowpipe_tests::{Ran, record, run};
#[cfg(target_os = "linux")]
use flowpipe_tests::{compile, flowpipe_within, pipeline};

use super::misbehaving;

/// What a run with two failures out of eight came to: the kinds and texts of its problems.
#[track_caller]
pub(super) fn two_of_eight(ran: &Ran) -> Vec<(String, String)> {
    let report = ran.json();
    assert_eq!(report["boards"]["solved"], 6, "{report:#}");
    let stage = &report["report"]["stages"][1];
    assert_eq!((&stage["in"], &stage["restarted"]), (&8.into(), &2.into()));
    let problems = report["report"]["problems"].as_array().unwrap().clone();
    let counted = problems.iter().filter(|it| it["kind"] != "slow");
    let sequences: Vec<_> = counted
        .clone()
        .map(|it| it["message"]["sequence"].clone())
        .collect();
    assert_eq!(sequences, [3, 6]);
    let text = |of: &serde_json::Value, key: &str| of[key].as_str().unwrap().to_owned();
    counted
        .map(|it| (text(it, "kind"), text(it, "text")))
        .collect()
}

#[test]
fn a_crash_costs_one_message() {
    let folder = tempfile::tempdir().unwrap();
    for (how, words) in [
        ("segfault", "its process was killed by SIGSEGV"),
        ("abort", "its process aborted (SIGABRT"),
    ] {
        let file = misbehaving(folder.path(), how, "");
        let problems = two_of_eight(&run(&["run", "--json", &file]).expect(0));
        for (kind, text) in problems {
            assert_eq!(kind, "crashed");
            assert!(text.starts_with(words), "{text}");
        }
    }
}

#[test]
fn the_end_of_a_run_reports_restarts() {
    let folder = tempfile::tempdir().unwrap();
    let file = misbehaving(folder.path(), "segfault", "");
    let restarts = "restarts of wrong: 2\n";
    let ran = run(&["run", &file]).expect(0);
    assert!(ran.stdout.contains(restarts), "{}", ran.stdout);
    let recording = record(folder.path(), "crashes.mcap", &file);
    let ran = run(&["replay", &recording]).expect(0);
    assert!(ran.stdout.contains(restarts), "{}", ran.stdout);
    let page = run(&["report", &recording, "-o", "-"]).expect(0);
    let restarts: Vec<_> = page.stdout.match_indices("\"restarts\":").collect();
    assert_eq!(restarts.len(), 3, "one a stage");
    assert!(page.stdout.contains("\"restarts\":2"));

    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("every = 3", "every = 9")).unwrap();
    let ran = run(&["run", &file]).expect(0);
    assert!(!ran.stdout.contains("restarts"), "{}", ran.stdout);
}

#[test]
fn a_hang_costs_one_message() {
    let folder = tempfile::tempdir().unwrap();
    let limits = "timeout = \"300ms\"\nwatchdog = \"300ms\"";
    let file = misbehaving(folder.path(), "hang", limits);
    for (kind, text) in two_of_eight(&run(&["run", "--json", &file]).expect(0)) {
        assert_eq!(kind, "hang");
        assert!(text.ends_with("; its process was killed"), "{text}");
    }
}

/// Where the address space is bounded, memory ends in the process that takes it.
#[cfg(target_os = "linux")]
#[test]
fn out_of_memory_costs_one_message() {
    let folder = tempfile::tempdir().unwrap();
    let file = misbehaving(folder.path(), "out-of-memory", "");
    let mut command = flowpipe_within("-v 4000000", &["run", "--json", &file]);
    let ran = Ran::from(command.output().unwrap()).expect(0);
    for (kind, text) in two_of_eight(&ran) {
        assert_eq!(kind, "crashed");
        assert!(text.starts_with("its process aborted (SIGABRT"), "{text}");
    }
}

#[test]
fn without_budget_on_error_decides() {
    let folder = tempfile::tempdir().unwrap();
    let always = |settings: &str| {
        let file = misbehaving(folder.path(), "abort", settings);
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, text.replace("every = 3", "every = 1")).unwrap();
        run(&["run", "--json", &file])
    };
    let ran = always("restart = { max = 2, backoff = \"1ms\" }").expect(1);
    let report = ran.json();
    assert_eq!(report["report"]["failure"]["kind"], "crashed");
    assert_eq!(report["report"]["stages"][1]["in"], 3);
    let ran = always("restart = { max = 2, backoff = \"1ms\" }\non_error = \"skip\"").expect(0);
    assert_eq!(ran.json()["report"]["stages"][1]["failed"], 8);
}

/// Each frame that a stage keeps is memory and a file descriptor of the host.
#[cfg(target_os = "linux")]
#[test]
fn a_stage_keeps_a_bounded_number_of_frames() {
    let folder = tempfile::tempdir().unwrap();
    compile("tests/plugins/faulty.c", folder.path(), "faulty", &[]);
    let picture = folder.path().join("a.png");
    let file = std::fs::File::create(&picture).unwrap();
    let mut encoder = png::Encoder::new(file, 1, 1);
    encoder.set_color(png::ColorType::Rgb);
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(&[1, 2, 3]).unwrap();
    drop(writer);
    let text = format!(
        "[stages.frames]
plugin = \"capture-files\"
config = {{ paths = {:?}, times = 4200 }}

[stages.keeps]
plugin = \"keeps-frames\"
from = \"frames\"
isolation = \"process\"
",
        picture.display().to_string()
    );
    let file = pipeline(folder.path(), &text);
    let plugins = folder.path().display().to_string();
    let ran = run(&["run", "--json", "--plugin-dir", &plugins, &file]).expect(0);
    let report = ran.json();
    let problems = report["report"]["problems"].as_array().unwrap();
    let crashes = problems.iter().filter(|it| it["kind"] == "crashed");
    let crashes: Vec<_> = crashes.map(|it| it["text"].as_str().unwrap()).collect();
    let words = "its process was killed: it holds 4096 frames, the most that a stage may hold";
    assert_eq!(crashes, [words], "{report:#}");
    assert_eq!(report["report"]["frames"]["live"], 0);
}
