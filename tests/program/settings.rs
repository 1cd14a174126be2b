//! Config values of a pipeline on the command line.

use flowpipe_tests::{Ran, flowpipe, run, with_input};

#[test]
fn set_replaces_values_of_the_file() {
    let args = [
        "run",
        "replay",
        "--json",
        "--set",
        "frames.fps=200",
        "--set",
    ];
    let ran = run(&[&args[..], &["frames.times=2"]].concat()).expect(0);
    assert_eq!(ran.json()["boards"]["boards"], 22, "{ran:#?}");
    let one = "frames.paths=[\"pipelines/frames/phone-5x5-01.png\"]";
    let ran = run(&[&args[..], &[one]].concat()).expect(0);
    assert_eq!(ran.json()["boards"]["boards"], 1, "{ran:#?}");
    // A plugin that names its key knows no stage.
    let one = one
        .replace("frames", "capture-files")
        .replace("pipelines/capture-files", "pipelines/frames");
    let ran = run(&[&args[..], &[&one]].concat()).expect(0);
    assert_eq!(ran.json()["boards"]["boards"], 1, "{ran:#?}");
    let ran = run(&["run", "replay", "--json", "--profile", "turns"]).expect(0);
    assert_eq!(ran.json()["boards"]["accepted"], 11, "{ran:#?}");
}

/// Places of one desktop are none of another: what is seen would not be what is played.
#[test]
fn stages_on_different_desktops_are_an_error_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let live = crate::live_play::ready(
        "live.toml",
        &[
            ("screen", "desktop = \"x11\""),
            ("mouse", "desktop = \"wlroots\""),
        ],
    );
    let file = flowpipe_tests::pipeline(folder.path(), &live);
    for command in ["check", "run"] {
        let ran = run(&[command, &file]).expect(78);
        let words =
            "`mouse` drives the mouse of the desktop \"wlroots\", and `screen` captures \"x11\"";
        let reported = ran.stderr.split_whitespace().filter(|it| *it != "│");
        let reported = reported.collect::<Vec<_>>().join(" ");
        assert!(reported.contains(words), "{reported}");
        let at = live
            .lines()
            .position(|line| line == "desktop = \"wlroots\"")
            .unwrap()
            + 1;
        assert!(reported.contains(&format!(".toml:{at}:11:")), "{reported}");
    }
    let ran = run(&["run", &file, "--set", "mouse.desktop=auto", "--dry-run"]);
    assert!(
        !ran.stderr.contains("drives the mouse of the desktop"),
        "{ran:#?}"
    );
}

#[track_caller]
fn refused(args: &[&str], code: i32, words: &[&str]) {
    let ran = run(&[&["run", "replay"], args].concat()).expect(code);
    // Long lines are wrapped.
    let reported = ran.stderr.split_whitespace().filter(|it| *it != "│");
    let reported = reported.collect::<Vec<_>>().join(" ");
    for word in words {
        assert!(reported.contains(word), "no {word:?} in {reported}");
    }
    assert!(!reported.contains(".toml"), "{reported}");
    assert_eq!(ran.stdout, "");
}

#[test]
fn errors_name_the_flag_and_no_line_of_the_file() {
    let number = "--set frames.fps=x: `fps` must be a number, not \"x\"";
    refused(&["--set", "frames.fps=x"], 78, &[number]);
    let unknown = [
        "--set frames.fsp=1: unknown key `fsp`",
        "did you mean `fps`?",
    ];
    refused(&["--set", "frames.fsp=1"], 78, &unknown);
    let stage = [
        "the pipeline has no stage `frame`",
        "did you mean `frames`?",
    ];
    refused(&["--set", "frame.fps=1"], 78, &stage);
    let none = [
        "no stage of this pipeline has the config key `window`",
        "frames: `fps`, ",
    ];
    refused(
        &["--window", "Flow Free"],
        78,
        &["--window 'Flow Free'", none[0], none[1]],
    );
    refused(
        &["--boards", "3"],
        78,
        &["--boards 3", "config key `boards`"],
    );
    refused(
        &["--seconds", "3"],
        78,
        &["--seconds 3", "config key `seconds`"],
    );
    refused(
        &["--profile", "turn"],
        78,
        &[
            "--profile turn: `profile` can't be \"turn\"",
            "did you mean \"turns\"?",
        ],
    );
    for seconds in ["0", "-1", "x"] {
        refused(&["--seconds", seconds], 2, &["more than 0"]);
    }
    for boards in ["0", "-1", "x"] {
        refused(&["--boards", boards], 2, &["expected a number from 1"]);
    }
    refused(&["--set", "fps=3"], 2, &["write STAGE.KEY=VALUE"]);
}

/// A bare word is a string, and `accept` is a list.
#[test]
fn a_value_of_another_type_gets_an_example() {
    let args = ["run", "live", "--set", "mouse.accept=pointer"];
    let ran = run(&args).expect(78);
    // Long lines are wrapped.
    let words = ran.stderr.split_whitespace().filter(|it| *it != "│");
    let text = words.collect::<Vec<_>>().join(" ");
    for part in [
        "`accept` must be an array, not \"pointer\"",
        "For example: --set mouse.accept='[\"pointer\", \"covered\"]'",
    ] {
        assert!(text.contains(part), "{ran:#?}");
    }
}

/// The pipeline `live` names a window.
#[test]
fn a_value_replaces_what_can_not_be_set_beside_it() {
    for args in [
        ["--set", "screen.monitor=1"],
        [
            "--set",
            "screen.region={ x = 0, y = 0, width = 9, height = 9 }",
        ],
        ["--window", "another"],
    ] {
        let mut command = flowpipe(&[&["run", "live"][..], &args].concat());
        for name in ["DISPLAY", "WAYLAND_DISPLAY", "WAYLAND_SOCKET"] {
            command.env_remove(name);
        }
        // The config is accepted; then there is no display.
        let ran = Ran::from(command.output().unwrap()).expect(1);
        assert!(ran.stderr.contains("can't reach a desktop"), "{ran:#?}");
    }
    let both = ["run", "live", "--window", "a", "--set", "screen.monitor=1"];
    let ran = run(&both).expect(78);
    let words = "--set screen.monitor=1: `monitor` and `window`";
    assert!(ran.stderr.contains(words), "{ran:#?}");
}

/// The values are checked with the file's, and errors of both are shown.
#[test]
fn a_file_and_a_flag_can_both_be_wrong() {
    let text = "[stages.frames]\nplugin = 'capture-files'\nconfig = { paths = ['a'], fsp = 1 }\n";
    let ran = with_input(&["run", "/dev/stdin", "--set", "frames.times=x"], text).expect(78);
    assert!(ran.stderr.contains("/dev/stdin:3:27"), "{ran:#?}");
    assert!(ran.stderr.contains("--set frames.times=x"), "{ran:#?}");
}
