//! `--plugin-dir`: folders and files, and what is missing.

use flowpipe_tests::{Ran, built, flowpipe, library, run};

/// Every command fails when a `--plugin-dir` is missing, also those that use no plugins.
#[test]
fn a_missing_folder_is_an_error_in_every_command() {
    let pipeline = "pipelines/replay.toml";
    let commands: [&[&str]; 10] = [
        &["run", pipeline],
        &["check", pipeline],
        &["graph", pipeline],
        &["plugins"],
        &["plugins", "show", "planner-grid"],
        &["schema"],
        &["solve", "-"],
        &["generate", "--size", "3x3"],
        &["convert", "-", "--to", "json"],
        &["completions", "bash"],
    ];
    for command in commands {
        let ran = run(&[command, &["--plugin-dir", "no/such/folder"]].concat()).expect(2);
        let why = "--plugin-dir no/such/folder: No such file or directory";
        assert!(ran.stderr.contains(why), "{command:?}: {ran:#?}");
        assert!(ran.stdout.is_empty(), "{command:?}: {ran:#?}");
    }
    let ran = run(&["plugins", "--plugin-dir", "/dev/null"]).expect(2);
    assert!(ran.stderr.contains("a device or a pipe"), "{ran:#?}");
}

#[test]
fn a_single_file_is_used_before_all_others() {
    let folder = tempfile::tempdir().unwrap();
    let other = library("planner_grid");
    let file = folder.path().join(other.file_name().unwrap());
    std::fs::copy(&other, &file).unwrap();
    // Beside it, to be left alone.
    std::fs::copy(&other, folder.path().join("other.so")).unwrap();
    // A name without a folder is no name that the system searches for.
    let name = file.file_name().unwrap().to_str().unwrap();
    let listed: Ran = flowpipe(&["plugins", "--json", "--plugin-dir", name])
        .current_dir(folder.path())
        .output()
        .unwrap()
        .into();
    let listed = listed.expect(0).json();
    let found = listed["found"].as_array().unwrap();
    let of_name = found
        .iter()
        .find(|it| it["manifest"]["name"] == "planner-grid");
    assert_eq!(of_name.unwrap()["file"], file.display().to_string());
    assert!(found.len() > 20, "{found:#?}");
    let outside = built().display().to_string();
    let hidden = listed["refused"].as_array().unwrap();
    let hidden = hidden
        .iter()
        .find(|it| it["file"] == other.display().to_string());
    let reason = hidden.unwrap_or_else(|| panic!("not in {outside}: {listed:#}"));
    let expected = format!("hidden by {}", file.display());
    assert_eq!(reason["reason"], expected.as_str());
}

#[test]
fn a_named_file_that_is_no_plugin_is_an_error() {
    let ran = run(&["plugins", "--plugin-dir", "Cargo.toml"]).expect(2);
    assert!(ran.stderr.contains("not a dynamic library"), "{ran:#?}");
    assert!(ran.stdout.is_empty(), "{ran:#?}");
}
