//! What a start of the program opens.

use std::collections::BTreeSet;
use std::path::Path;

use flowpipe_tests::flowpipe;

const EASY: &str = "A.B.C\n..D.E\n.....\n.B.C.\n.ADE.\n";

/// The plugin libraries that each process loaded, as glibc's loader logs it.
fn loaded(folder: &Path, log: &str, args: &[&str]) -> Vec<BTreeSet<String>> {
    let logs = folder.join(log);
    std::fs::create_dir(&logs).unwrap();
    let output = flowpipe(args)
        // Files that changed a moment ago, as the examples' copies, are read each time.
        .env_remove("FLOWPIPE_PLUGIN_PATH")
        .env("XDG_CACHE_HOME", folder.join("cache"))
        .env("LD_DEBUG", "files")
        .env("LD_DEBUG_OUTPUT", logs.join("process"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let processes = std::fs::read_dir(&logs).unwrap();
    processes
        .map(|file| {
            let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
            let initialized = text
                .lines()
                .filter_map(|line| line.split_once("calling init: "));
            let names = initialized.filter_map(|(_, path)| path.rsplit('/').next());
            let plugins = names.filter_map(|name| name.strip_prefix("lib")?.strip_suffix(".so"));
            let ours = |name: &&str| {
                [
                    "capture_",
                    "solver_",
                    "vision_",
                    "planner_",
                    "referee_",
                    "actuator_",
                ]
                .iter()
                .any(|role| name.starts_with(role))
            };
            plugins.filter(ours).map(str::to_owned).collect()
        })
        .collect()
}

#[test]
fn a_warm_start_loads_only_the_plugins_that_it_uses() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("easy.txt");
    std::fs::write(&file, EASY).unwrap();
    let path = file.display().to_string();
    // Another process reads the manifests.
    let cold = loaded(folder.path(), "cold", &["solve", &path]);
    assert!(cold.len() > 1, "{cold:?}");
    let warm = loaded(folder.path(), "warm", &["solve", &path]);
    let used = "solver_search".to_owned();
    assert_eq!(warm, [BTreeSet::from([used])]);
}
