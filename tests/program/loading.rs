//! What the program loads, and what it leaves alone.
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use flowpipe_tests::{compile, project, run};

const FIXTURE: &str = "core/engine/tests/fixtures/constructor.c";

/// Every command that has to know the plugins.
fn commands(pipeline: &str) -> [Vec<&str>; 8] {
    [
        vec!["plugins"],
        vec!["plugins", "show", "planner-grid"],
        vec!["check", pipeline],
        vec!["graph", pipeline],
        vec!["schema"],
        vec!["run", pipeline, "--quiet"],
        vec!["solve", "-"],
        vec!["generate", "--size", "3x3"],
    ]
}

fn hostile(folder: &Path, name: &str, left: &Path, defines: &[&str]) {
    let name_is = format!("NAME=\"{name}\"");
    let deed = format!("DEED=leave(\"{}\")", left.display());
    let defines = [
        &[name_is.as_str(), "_POSIX_C_SOURCE=200809L", &deed],
        defines,
    ]
    .concat();
    compile(FIXTURE, folder, name, &defines);
}

#[test]
fn no_command_runs_code_of_unrelated_libraries() {
    let folder = tempfile::tempdir().unwrap();
    let left = folder.path().join("left");
    let downloads = folder.path().join("downloads");
    let shared = folder.path().join("shared");
    for folder in [&downloads, &shared] {
        std::fs::create_dir(folder).unwrap();
    }
    hostile(&downloads, "stranger", &left, &["SYMBOL=other"]);
    hostile(&shared, "planted", &left, &[]);
    std::fs::set_permissions(&shared, PermissionsExt::from_mode(0o777)).unwrap();
    let pipeline = project()
        .join("pipelines/replay.toml")
        .display()
        .to_string();
    let folders = [&downloads, &shared].map(|folder| folder.display().to_string());
    for command in commands(&pipeline) {
        let mut command = command.clone();
        for folder in &folders {
            command.extend(["--plugin-dir", folder]);
        }
        run(&command);
        assert!(!left.exists(), "{command:?}");
    }

    let listed = run(&[
        "plugins",
        "--plugin-dir",
        &folders[0],
        "--plugin-dir",
        &folders[1],
    ]);
    let listed = listed.expect(0);
    for text in [
        "libstranger.so: not a flowpipe plugin: it exports no `flowpipe_entry`",
        "/shared: nothing in it is loaded: other users can write to ",
        "/shared (mode 777): `chmod go-w` it",
    ] {
        assert!(
            listed.stdout.contains(text),
            "no {text:?} in {}",
            listed.stdout
        );
    }
    assert!(
        listed.stderr.contains("nothing in it is loaded"),
        "{}",
        listed.stderr
    );

    // What is a plugin is loaded, and where nobody else can write.
    std::fs::set_permissions(&shared, PermissionsExt::from_mode(0o755)).unwrap();
    let listed = run(&["plugins", "--plugin-dir", &folders[1]]).expect(0);
    assert!(listed.stdout.contains("planted"), "{}", listed.stdout);
    // To read what it is, a process without effects loads it; to run it, the program.
    assert_eq!(left.exists(), !cfg!(target_os = "linux"));
    let file = flowpipe_tests::pipeline(folder.path(), "[stages.a]\nplugin = \"planted\"\n");
    run(&["run", &file, "--plugin-dir", &folders[1]]);
    assert!(left.exists());
}

#[test]
fn a_plugin_that_crashes_when_it_is_loaded_is_reported_and_isolated() {
    let folder = tempfile::tempdir().unwrap();
    let defines = ["_POSIX_C_SOURCE=200809L", "DEED=abort()"];
    compile(FIXTURE, folder.path(), "hostile", &defines);
    let place = folder.path().display().to_string();
    let ran = run(&["plugins", "--json", "--plugin-dir", &place])
        .expect(0)
        .json();
    assert!(ran["found"].as_array().unwrap().len() > 20);
    let refused = &ran["refused"][0];
    assert_eq!(
        (&refused["loaded"], &refused["plugin"]),
        (&true.into(), &true.into())
    );
    let reason = refused["reason"].as_str().unwrap();
    assert!(
        reason.starts_with("loading it, a process aborted (SIGABRT"),
        "{reason}"
    );
    let text = "[stages.a]\nplugin = \"hostile\"\n";
    let file = flowpipe_tests::pipeline(folder.path(), text);
    let ran = run(&["check", &file, "--plugin-dir", &place]).expect(78);
    assert!(
        ran.stderr.contains("a process aborted (SIGABRT"),
        "{}",
        ran.stderr
    );
}
