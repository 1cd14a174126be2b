//! A stage in C, built with the system's compiler on `flowpipe.h` alone.

use std::process::Command;

use flowpipe_tests::{pipeline, project, run};

/// A board of four cells, one of nine, and one of four.
const PIPELINE: &str = r#"
[stages.puzzles]
plugin = "capture-puzzles"
config = { text = """
AB
AB

ABC
...
ABC

AA
BB
""" }

[stages.small]
plugin = "boards-small"
from = "puzzles"
config = { cells = 8 }

[stages.solver]
plugin = "solver-search"
from = "small"
"#;

#[test]
fn a_stage_in_c_is_60_lines_and_does_its_work() {
    let source = project().join("examples/small.c");
    let text = std::fs::read_to_string(&source).unwrap();
    assert!(text.lines().count() <= 60, "{} lines", text.lines().count());
    assert!(
        !text.to_lowercase().contains("cjson"),
        "the host's getters do"
    );
    let folder = tempfile::tempdir().unwrap();
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let compiled = Command::new(&compiler)
        .args([
            "-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-I",
        ])
        .arg(project().join("core/abi/include"))
        .arg(&source)
        .arg("-o")
        .arg(folder.path().join("libboards_small.so"))
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{compiled:?}");
    let plugins = folder.path().display().to_string();
    let in_c = |args: &[&str]| run(&[args, &["--plugin-dir", &plugins]].concat());

    let shown = in_c(&["plugins", "show", "boards-small"]).expect(0).stdout;
    assert!(shown.contains("The most cells of a board."), "{shown}");

    let file = pipeline(folder.path(), PIPELINE);
    let ran = in_c(&["run", &file, "--json"]).expect(0).json();
    assert_eq!(ran["boards"]["solved"], 2, "{ran:#}");
    // Without a word in the config all three are small enough.
    let file = pipeline(
        folder.path(),
        &PIPELINE.replace("config = { cells = 8 }", ""),
    );
    let ran = in_c(&["run", &file, "--json"]).expect(0).json();
    assert_eq!(ran["boards"]["solved"], 3, "{ran:#}");
    let file = pipeline(folder.path(), &PIPELINE.replace("cells = 8", "cell = 8"));
    let ran = in_c(&["check", &file]).expect(78);
    assert!(ran.stderr.contains("did you mean `cells`?"), "{ran:?}");
    // The same answers: it is declared deterministic.
    let file = pipeline(folder.path(), PIPELINE);
    let recording = folder.path().join("run.mcap").display().to_string();
    in_c(&["run", &file, "-q", "--record", &recording]).expect(0);
    in_c(&["replay", &recording, "--verify"]).expect(0);
}
