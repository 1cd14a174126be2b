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
    assert!(ran.stderr.contains("Ran 3 tests"), "{ran:#?}");
}

#[test]
fn the_printed_steps_work_in_rust() {
    let folder = tempfile::tempdir().unwrap();
    let sdk = flowpipe_tests::project().display().to_string();
    let (place, printed) = new(folder.path(), &["--lang", "rust", "--sdk", &sdk]);
    let (_, next) = printed.split_once("next:\n").unwrap();
    // The last step needs a screen.
    let (steps, last) = next.trim_end().rsplit_once('\n').unwrap();
    assert!(last.contains("--dry-run"), "{last}");
    let ran = begun(folder.path(), &format!("set -e\n{steps}"));
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert!(ran.stdout.contains("test result: ok. 2 passed"), "{ran:#?}");
    assert!(ran.stdout.contains("spots.targets/1"), "{ran:#?}");
    assert!(!ran.stderr.contains("warning:"), "{ran:#?}");
    let formatted = begun(&place, "cargo fmt --check");
    assert_eq!(formatted.code, Some(0), "{formatted:#?}");
    let tree = begun(&place, "cargo tree --edges normal");
    assert!(tree.stdout.contains("flowpipe-message"), "{tree:#?}");
    assert!(!tree.stdout.contains("flowpipe-puzzle"), "{tree:#?}");
    // A dry run on the picture: ten targets, and a click on each.
    let pipeline = place.join("pipeline.toml");
    change(
        &pipeline,
        "plugin = \"capture-screen\"\nconfig = { window = \"spots\" }\n",
        "plugin = \"capture-files\"\nconfig = { paths = [\"frame.png\"] }\n",
    );
    let ran = begun(
        &place,
        "flowpipe run pipeline.toml --plugin-dir target/debug --dry-run",
    );
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert!(ran.stdout.contains("10 gestures planned"), "{ran:#?}");
}

/// Stages in Python have no SDK.
#[test]
fn a_pipeline_in_python_needs_no_checkout() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().display().to_string();
    let mut program = flowpipe_tests::flowpipe(&["new", "pipeline", "spots", "--in", &place]);
    let ran = Ran::from(program.env("FLOWPIPE_SDK", "nowhere").output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:#?}");
}

#[test]
fn its_test_can_fail() {
    let folder = tempfile::tempdir().unwrap();
    let (place, _) = new(folder.path(), &[]);
    test(&place, 0);
    // Another number of clicks.
    let planner = place.join("planner.py");
    change(&planner, "for at in left]", "for at in left[1:]]");
    let ran = test(&place, 1);
    assert!(ran.stderr.contains("9 != 10"), "{ran:#?}");
    change(&planner, "for at in left[1:]]", "for at in left]");
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
        "targets = { schema = \"spots.targets/1\", file = \"targets.schema.json\" }\nplayed",
        "targets = { schema = \"spots.targets/2\", file = \"targets.schema.json\" }\nplayed",
    );
    let ran = test(&place, 1);
    assert!(
        ran.stderr
            .contains("spots.targets/1, but `planner` takes spots.targets/2"),
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
        (
            &["pipeline", "more", "--lang", "c"],
            "are in Python or Rust",
        ),
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
        ran.stdout.contains("2 messages: the same, byte for byte"),
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

/// With the real mouse, in an X server in memory.
#[cfg(unix)]
#[test]
fn it_clicks_on_a_coloured_window() {
    use crate::screen::{Screen, wait_for};
    use flowpipe_tests::signals::send_signal;

    let folder = tempfile::tempdir().unwrap();
    let (place, _) = new(folder.path(), &["--window", "Red spot"]);
    let screen = Screen::start_with_manager();
    let window = screen.open("Red spot", [200, 160], [240, 160], [220, 30, 30]);
    let [x, y] = screen.window("Red spot");
    screen.move_to([x + 10, y + 10]);
    screen.count_pointer_events(window);
    let pipeline = place.join("pipeline.toml").display().to_string();
    let mut child = flowpipe_tests::flowpipe(&["run", &pipeline, "--quiet"])
        .env("DISPLAY", screen.display())
        .env_remove("WAYLAND_DISPLAY")
        .spawn()
        .unwrap();
    let middle = [x + 120, y + 80];
    let mut events = 0;
    wait_for("a click", || {
        events += screen.pointer_events();
        let is_clicked = screen.pointer() == middle && events >= 3 && !screen.button_is_down();
        is_clicked.then_some(())
    });
    // One click is enough: the planner knows that it was played.
    std::thread::sleep(std::time::Duration::from_secs(1));
    events += screen.pointer_events();
    assert_eq!(events, 3, "a move, a press and a release");
    send_signal("INT", child.id());
    assert_eq!(child.wait().unwrap().code(), Some(130));
}
