//! Messages that say what was probably meant.

use flowpipe_tests::{Ran, flowpipe, run};

#[track_caller]
fn reports(args: &[&str], code: i32, words: &str) {
    let ran = run(args).expect(code);
    assert!(ran.stderr.contains(words), "{ran:#?}");
}

#[test]
fn a_missing_file_suggests_a_similar_name() {
    let near = "did you mean pipelines/replay.toml?";
    reports(&["run", "pipelines/replai.toml"], 2, near);
    reports(&["check", "pipelines/replay"], 2, near);
    reports(&["solve", "Cargo.tml"], 2, "did you mean Cargo.toml?");
    let picture = "pipelines/frames/phone-5x5-1.png";
    reports(
        &["see", picture],
        2,
        "did you mean pipelines/frames/phone-5x5-01.png?",
    );
    let ran = run(&["run", "no/such/folder/x.toml"]).expect(2);
    assert!(!ran.stderr.contains("did you mean"), "{ran:#?}");
}

#[test]
fn a_file_in_place_of_a_command_suggests_the_command() {
    reports(&["x.toml"], 2, "did you mean `flowpipe run x.toml`?");
    reports(
        &["a b.mcap"],
        2,
        "did you mean `flowpipe replay 'a b.mcap'`?",
    );
    reports(&["board.png"], 2, "did you mean `flowpipe see board.png`?");
    reports(&["live"], 2, "did you mean `flowpipe run live`?");
    reports(
        &["Cargo.lock"],
        2,
        "did you mean `flowpipe solve Cargo.lock`?",
    );
    reports(&["slove"], 2, "a similar subcommand exists: 'solve'");
}

#[test]
fn a_picture_is_no_text_of_puzzles() {
    let picture = "pipelines/frames/phone-5x5-01.png";
    let words = format!("{picture}: this is a picture, and no text: `flowpipe see {picture}`");
    for command in ["solve", "bench", "play"] {
        reports(&[command, picture], 65, &words);
    }
}

/// One sentence, and nothing of a library's.
#[test]
fn a_missing_display_is_one_clear_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let live = |display: Option<&str>| {
        let mut command = flowpipe(&["run", "live"]);
        for name in [
            "DISPLAY",
            "WAYLAND_DISPLAY",
            "WAYLAND_SOCKET",
            "XDG_SESSION_TYPE",
        ] {
            command.env_remove(name);
        }
        command.env("XDG_RUNTIME_DIR", folder.path());
        command.envs(display.map(|name| ("DISPLAY", name)));
        let ran = Ran::from(command.output().unwrap());
        ran.expect(1).stderr
    };
    let remedy = format!(
        "start flowpipe in a terminal of the desktop, or set DISPLAY to a running X server (over SSH, `ssh -X` sets it), or \
         WAYLAND_DISPLAY and XDG_RUNTIME_DIR to those of a Wayland session; a terminal of it prints them: `env | grep -E \
         'WAYLAND_DISPLAY|XDG_RUNTIME_DIR|SWAYSOCK'` (no Wayland compositor answers in {}); `flowpipe doctor` checks it\n",
        folder.path().display()
    );
    let unset =
        format!("can't reach a desktop: neither DISPLAY nor WAYLAND_DISPLAY is set: {remedy}");
    assert!(live(None).ends_with(&unset), "{}", live(None));
    let nobody = live(Some(":4711"));
    let words = "can't reach a desktop: no X server answers at the display \":4711\": ";
    assert!(nobody.contains(words), "{nobody}");
    let odd = live(Some("nonsense"));
    let words = "can't reach a desktop: DISPLAY is \"nonsense\", which is no display's name: one is \":0\": ";
    assert!(odd.contains(words) && odd.ends_with(&remedy), "{odd}");
}

#[test]
fn help_lists_a_command_s_own_options_first() {
    let help = run(&["run", "--help"]).expect(0).stdout;
    let at = |text: &str| {
        help.find(text)
            .unwrap_or_else(|| panic!("no {text} in {help}"))
    };
    assert!(at("--window") < at("Options of every command:"), "{help}");
    assert!(at("--trace") < at("Options of every command:"), "{help}");
    assert!(
        at("Options of every command:") < at("--plugin-dir"),
        "{help}"
    );
}
