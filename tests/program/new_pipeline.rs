//! Pipelines that `flowpipe new pipeline` creates: each is checked, tested and run as it is, without a screen.

use std::path::{Path, PathBuf};

use flowpipe_tests::{Ran, begun, run};

fn new(folder: &Path, more: &[&str]) -> (PathBuf, String) {
    let place = folder.display().to_string();
    let args = [&["new", "pipeline", "spots", "--in", &place], more].concat();
    let ran = run(&args).expect(0);
    (folder.join("spots"), ran.stdout)
}

fn change(file: &Path, from: &str, to: &str) {
    let text = std::fs::read_to_string(file).unwrap();
    assert!(text.contains(from), "{from} in {text}");
    std::fs::write(file, text.replace(from, to)).unwrap();
}

#[track_caller]
fn test(folder: &Path, code: i32) -> Ran {
    let ran = begun(folder, "python3 test.py");
    assert_eq!(ran.code, Some(code), "{ran:#?}");
    ran
}

#[test]
fn the_printed_steps_work_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let inside = folder.path().join("it's a place");
    std::fs::create_dir(&inside).unwrap();
    let (_, printed) = new(&inside, &[]);
    let (_, next) = printed.split_once("next:\n").unwrap();
    // The last step needs a screen.
    let (steps, last) = next.trim_end().rsplit_once('\n').unwrap();
    assert!(
        last.contains("flowpipe run pipeline.toml --dry-run"),
        "{last}"
    );
    let ran = begun(&inside, &format!("set -e\n{steps}"));
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert!(ran.stdout.contains("OK: "), "{ran:#?}");
    assert!(ran.stderr.contains("Ran 2 tests"), "{ran:#?}");
}

#[test]
fn its_test_can_fail() {
    let folder = tempfile::tempdir().unwrap();
    let (place, _) = new(folder.path(), &[]);
    test(&place, 0);
    // Another number of clicks.
    let planner = place.join("planner.py");
    change(&planner, "if tuple(at) not in done:", "if not done:");
    let ran = test(&place, 1);
    assert!(ran.stderr.contains("1 != 10"), "{ran:#?}");
    change(&planner, "if not done:", "if tuple(at) not in done:");
    // A message that its JSON Schema does not describe.
    let vision = place.join("vision.py");
    change(&vision, "\"targets\": found", "\"target\": found");
    let ran = test(&place, 1);
    assert!(
        ran.stderr
            .contains("targets.schema.json, the JSON Schema of spots.targets/1"),
        "{ran:#?}"
    );
    change(&vision, "\"target\": found", "\"targets\": found");
    // Ports that do not fit.
    let pipeline = place.join("pipeline.toml");
    change(
        &pipeline,
        "inputs = { targets = { schema = \"spots.targets/1\"",
        "inputs = { targets = { schema = \"spots.targets/2\"",
    );
    let ran = test(&place, 1);
    assert!(
        ran.stderr
            .contains("`vision` gives spots.targets/1, but `planner` takes spots.targets/2"),
        "{ran:#?}"
    );
    // It leaves nothing behind.
    let files = std::fs::read_dir(&place).unwrap().count();
    assert_eq!(files, 7, "{place:?}");
}

#[test]
fn the_window_is_named_by_its_user() {
    let folder = tempfile::tempdir().unwrap();
    let title = r#"The "Spots" \ game `€` WINDOW"#;
    let (place, _) = new(folder.path(), &["--window", title]);
    let text = std::fs::read_to_string(place.join("pipeline.toml")).unwrap();
    let parsed: toml::Table = toml::from_str(&text).unwrap();
    let window = &parsed["stages"]["screen"]["config"]["window"];
    assert_eq!(window.as_str(), Some(title));
    test(&place, 0);
    let other = folder.path().join("other");
    let (place, _) = new(&other, &[]);
    let text = std::fs::read_to_string(place.join("pipeline.toml")).unwrap();
    assert!(text.contains("config = { window = \"spots\" }"), "{text}");
    let place = folder.path().display().to_string();
    for (args, why) in [
        (&["pipeline", "more", "--window", ""][..], "a line of text"),
        (&["pipeline", "more", "--window", "a\nb"], "a line of text"),
        (&["pipeline", "More"], "a pipeline can't be called \"More\""),
        (&["pipeline", "more", "--lang", "c"], "are in Python"),
        (
            &["solver", "more", "--window", "a"],
            "--window is for a new pipeline",
        ),
        (&["pipeline", "spots"], "exists already"),
    ] {
        let ran = run(&[&["new"], args, &["--in", &place]].concat()).expect(2);
        assert!(ran.stderr.contains(why), "{ran:?}");
    }
}

/// The steps of the README: a run is recorded, and a changed stage replayed on it.
#[test]
fn a_recorded_run_is_replayed_with_a_changed_stage() {
    let folder = tempfile::tempdir().unwrap();
    let (place, _) = new(folder.path(), &[]);
    let frames =
        "[stages.screen]\nplugin = \"capture-files\"\nconfig = { paths = [\"frame.png\"] }\n";
    let file = place.join("pipeline.toml");
    change(
        &file,
        "[stages.screen]\nplugin = \"capture-screen\"\nconfig = { window = \"spots\" }\n",
        frames,
    );
    let script = "set -e\nflowpipe run pipeline.toml --quiet --dry-run --record run.mcap\n\
                  flowpipe replay run.mcap --from planner --allow runs-commands --verify --quiet";
    let ran = begun(&place, script);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert!(
        ran.stdout.contains("1 message: the same, byte for byte"),
        "{ran:#?}"
    );
    change(
        &place.join("planner.py"),
        "\"stay_ms\": 50",
        "\"stay_ms\": 60",
    );
    let replay = "flowpipe replay run.mcap --from planner --allow runs-commands --verify --quiet";
    let ran = begun(&place, replay);
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    assert!(ran.stdout.contains("stay_ms"), "{ran:#?}");
}
