//! Plugins that `flowpipe new` begins: each role in each language builds, passes its own test and runs as it is.

use std::path::{Path, PathBuf};

use flowpipe_tests::{begun, project, run};

const ROLES: [&str; 6] = [
    "capture", "vision", "solver", "planner", "actuator", "stage",
];

/// Creates a plugin of a role, and returns its folder and the output of the command.
fn new(folder: &Path, role: &str, language: &str) -> (PathBuf, String) {
    let name = format!("{role}-of-{language}");
    let place = folder.display().to_string();
    let sdk = project().display().to_string();
    let mut args = vec!["new", role, &name, "--lang", language, "--in", &place];
    if language == "rust" {
        args.extend(["--sdk", &sdk]);
    }
    let ran = run(&args).expect(0);
    (folder.join(name), ran.stdout)
}

/// Runs the printed next steps word for word, and returns their output.
fn follow(folder: &Path, output: &str) -> String {
    let (_, next) = output.split_once("next:\n").unwrap();
    let ran = begun(folder, &format!("set -e\n{next}"));
    assert_eq!(ran.code, Some(0), "{next}\n{ran:#?}");
    ran.stdout + &ran.stderr
}

/// What the pipeline of each role came to.
fn check(role: &str, printed: &str) {
    let last = printed.lines().rfind(|line| line.contains(" read, "));
    let last = last.unwrap_or_else(|| panic!("{role}: {printed}"));
    let expected = match role {
        "capture" => "3 boards read, 3 solved, 3 played, 3 accepted",
        "vision" => "0 boards read, 1 frame without a board",
        "solver" | "planner" => "4 boards read, 4 solved, 4 played, 4 accepted",
        "actuator" => "4 boards read, 4 solved, 4 played, 0 accepted",
        _ => "4 boards read, 4 solved",
    };
    assert!(last.contains(expected), "{role}: {last}");
    if role == "vision" {
        assert!(printed.contains("a dark picture"), "{printed}");
    }
}

#[test]
fn every_role_in_rust() {
    let folder = tempfile::tempdir().unwrap();
    for role in ROLES {
        let (place, output) = new(folder.path(), role, "rust");
        let printed = follow(folder.path(), &output);
        check(role, &printed);
        assert!(printed.contains("test result: ok."), "{role}: {printed}");
        assert!(printed.contains("prints this line"), "{role}: {printed}");
        assert!(printed.contains("checks, none failed"), "{role}: {printed}");
        let formatted = begun(&place, "cargo fmt --check");
        assert_eq!(formatted.code, Some(0), "{role}: {formatted:#?}");
        assert!(!printed.contains("warning:"), "{role}: {printed}");
    }
}

/// The program was built and runs in a checkout, whose path nobody else has.
#[test]
fn no_file_has_a_path_of_this_machine() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().display().to_string();
    let ours = project().canonicalize().unwrap().display().to_string();
    for (role, language) in [("solver", "rust"), ("planner", "c"), ("vision", "python")] {
        let name = format!("{role}-{language}");
        let ran = run(&["new", role, &name, "--lang", language, "--in", &place]).expect(0);
        let downloads = ran
            .stdout
            .contains("note: cargo downloads the SDK from https://");
        assert_eq!(downloads, language == "rust", "{ran:#?}");
        for entry in std::fs::read_dir(folder.path().join(name)).unwrap() {
            let path = entry.unwrap().path();
            let content = std::fs::read(&path).unwrap_or_default();
            let content = String::from_utf8_lossy(&content);
            assert!(!content.contains(&ours), "{}: {content}", path.display());
        }
    }
    let manifest = std::fs::read_to_string(folder.path().join("solver-rust/Cargo.toml")).unwrap();
    let parsed: toml::Table = toml::from_str(&manifest).unwrap();
    let sdk = parsed["dependencies"]["flowpipe-plugin"]
        .as_table()
        .unwrap();
    assert!(
        sdk.contains_key("git") && sdk.contains_key("version"),
        "{manifest}"
    );
    assert!(
        manifest.contains("# The SDK is not on crates.io yet."),
        "{manifest}"
    );
}

#[test]
fn every_role_in_c() {
    let folder = tempfile::tempdir().unwrap();
    for role in ROLES {
        let (place, output) = new(folder.path(), role, "c");
        assert!(output.contains("make test"), "{output}");
        // `make test` does this one too, and it takes its time.
        let again = output.lines().find(|line| line.contains("plugin check"));
        let again = again.unwrap_or_else(|| panic!("{output}"));
        let printed = follow(folder.path(), &output.replace(again, ""));
        check(role, &printed);
        let command = again.split('#').next().unwrap_or_default().trim();
        assert!(printed.lines().any(|line| line == command), "{printed}");
        assert!(printed.contains("checks, none failed"), "{role}: {printed}");
        assert!(place.join("flowpipe.h").is_file());
    }
}

#[test]
fn the_test_of_a_plugin_in_c_can_fail() {
    let folder = tempfile::tempdir().unwrap();
    let (place, _) = new(folder.path(), "planner", "c");
    let source = place.join("planner-of-c.c");
    let text = std::fs::read_to_string(&source).unwrap();
    // It plans nothing any more, which breaks no rule of the ABI.
    let lazy = text.replacen("flows\"", "none\"", 1);
    assert_ne!(lazy, text);
    std::fs::write(&source, lazy).unwrap();
    let ran = begun(&place, "make test");
    assert_eq!(ran.code, Some(2), "{ran:#?}");
    let puzzles = place.join("puzzles.txt");
    std::fs::write(&source, text).unwrap();
    std::fs::write(&puzzles, "A.A\n").unwrap();
    let ran = begun(&place, "make test");
    assert_eq!(ran.code, Some(2), "{ran:#?}");
    let why = "it does not end with: 4 boards read, 4 solved, 4 played, 4 accepted";
    assert!(ran.stderr.contains(why), "{ran:#?}");
}

#[test]
fn every_role_in_python() {
    let folder = tempfile::tempdir().unwrap();
    for role in ROLES {
        let (_, output) = new(folder.path(), role, "python");
        let printed = follow(folder.path(), &output);
        check(role, &printed);
        assert!(printed.contains("Ran 1 test"), "{role}: {printed}");
    }
}

/// Python takes a script for a module of the same name, and its own modules are searched after the script's folder.
#[test]
fn a_script_shadows_no_module() {
    let folder = tempfile::tempdir().unwrap();
    // The folder's name needs quoting in the commands.
    let inside = folder.path().join("it's a place");
    let place = inside.display().to_string();
    for name in [
        "json",
        "random",
        "re",
        "subprocess",
        "unittest",
        "types",
        "io",
        "test",
        "match",
    ] {
        let ran = run(&["new", "planner", name, "--lang", "python", "--in", &place]).expect(0);
        if name == "json" {
            check("planner", &follow(folder.path(), &ran.stdout));
        }
        let tested = begun(&inside.join(name), "python3 test.py");
        assert_eq!(tested.code, Some(0), "{name}: {tested:#?}");
    }
}

#[test]
fn nothing_is_overwritten_and_names_are_checked() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().display().to_string();
    let refused = |args: &[&str], why: &str| {
        let ran = run(&[&["new"], args, &["--in", &place]].concat()).expect(2);
        assert!(ran.stderr.contains(why), "{ran:?}");
    };
    std::fs::write(folder.path().join("mine"), "precious").unwrap();
    refused(
        &["solver", "mine"],
        "exists already, and is not overwritten",
    );
    assert_eq!(
        std::fs::read(folder.path().join("mine")).unwrap(),
        b"precious"
    );
    refused(
        &["solver", "Mine"],
        "lower case letters, digits and single hyphens",
    );
    refused(&["solver", "../mine"], "lower case letters");
    refused(&["stage", "match"], "the name is reserved in Rust");
    for name in ["serde", "serde-json", "schemars", "flowpipe-plugin"] {
        refused(&["stage", name], "it depends on a crate of that name");
    }
    for name in ["core", "std", "alloc", "proc-macro", "test"] {
        refused(&["stage", name], "the name is reserved in Rust");
    }
    refused(
        &["solver", "solver-search"],
        "there is a plugin solver-search already",
    );
    refused(
        &["solver", "other", "--sdk", &place],
        "is not a checkout of flowpipe",
    );
    refused(
        &["dancer", "other"],
        "possible values: capture, vision, solver",
    );
    refused(
        &["solver", "other", "--lang", "cobol"],
        "possible values: rust, c, python",
    );
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    let ran = run(&["new", "solver", "other", "--in", "plugins"]).expect(2);
    assert!(
        ran.stderr
            .contains("all folders in plugins are crates of flowpipe itself"),
        "{ran:?}"
    );
}
