//! Effects of a recording that the user allows, by their kind or by naming the plugin.

use flowpipe_tests::{compile, pipeline, project, run};
use serde_json::json;

use super::{Trap, honest, runs_a_command, stage};

#[test]
fn effects_of_a_recording_need_to_be_allowed_by_name() {
    let trap = Trap::new(|edited, empty| {
        runs_a_command(edited, "solver", "solver-exec", empty);
        stage(edited, "vision").plugins[0].config = json!({ "steps": empty });
    });
    let ran = trap.run("replay", &["--from", "solver"]).expect(2);
    let command = format!("runs `touch {}`", trap.empty().join("touched").display());
    assert!(ran.stderr.contains(&command), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("--allow runs-commands"),
        "{}",
        ran.stderr
    );
    let other = ["--from", "solver", "--allow", "writes-files"];
    trap.run("replay", &other).expect(2);
    // It allows what is named, and that for the stage that is named.
    trap.run(
        "replay",
        &["--allow", "runs-commands", "--allow", "writes-files"],
    )
    .expect(0);
    trap.run("replay", &["--from", "vision", "--allow", "runs-commands"])
        .expect(0);
    let path = trap.recording();
    let path = path.to_str().unwrap();
    let ran = run(&[
        "replay",
        path,
        "--from",
        "vision",
        "--allow",
        "writes-files",
    ])
    .expect(0);
    let writes = format!("writes pictures of its steps to {}", trap.empty().display());
    assert!(ran.stderr.contains(&writes), "{}", ran.stderr);
    assert!(
        trap.empty().join("index.html").exists() || trap.empty().read_dir().unwrap().count() > 0
    );
    assert!(!trap.empty().join("touched").exists());
    let ran = run(&[
        "replay",
        path,
        "--from",
        "solver",
        "--allow",
        "runs-commands",
    ]);
    assert!(ran.stderr.contains(&command), "{}", ran.stderr);
    assert!(trap.empty().join("touched").exists(), "{ran:#?}");
    run(&["replay", path, "--from", "solver", "--allow", "everything"]).expect(2);
}

#[test]
fn what_the_user_typed_is_allowed() {
    let honest = honest().to_str().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let touched = folder.path().join("touched");
    let command = format!("command=[\"touch\", \"{}\"]", touched.display());
    let swap = format!("solver=solver-exec{{{command}}}");
    // It solves nothing; that it ran is the point.
    let ran = run(&["replay", honest, "--swap", &swap, "--from", "solver"]);
    assert!(touched.exists(), "{ran:#?}");
    assert!(ran.stderr.contains("runs `touch"), "{}", ran.stderr);
    // Without a command it can't be used, and a typing mistake is reported.
    let ran = run(&["replay", honest, "--swap", "solver=solver-exec"]).expect(78);
    assert!(ran.stderr.contains("command"), "{}", ran.stderr);
    for typed in [
        "solver=solver-exec{command}",
        "solver=solver-exec{} else",
        "solver={}",
    ] {
        run(&["replay", honest, "--swap", typed]).expect(2);
    }
    let ran = run(&["replay", honest, "--swap", "solver=solver-search{colour=1}"]).expect(78);
    assert!(ran.stderr.contains("colour"), "{}", ran.stderr);
    let ran = run(&["replay", honest, "--swap", "actuator=actuator-mouse"]).expect(2);
    assert!(
        ran.stderr.contains("--allow drives-mouse"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_manifest_without_effects_may_do_anything() {
    let folder = tempfile::tempdir().unwrap();
    let source = std::fs::read_to_string(project().join("examples/small.c")).unwrap();
    let silent = source.replace(" \\\"effects\\\": [],", "");
    assert_ne!(silent, source);
    let file = folder.path().join("small.c");
    std::fs::write(&file, silent).unwrap();
    compile(file.to_str().unwrap(), folder.path(), "boards_small", &[]);
    let plugins = folder.path().to_str().unwrap();
    let text = format!(
        "[stages.puzzles]\nplugin = \"capture-puzzles\"\nconfig = {{ text = \"\"\"\n{}\"\"\" }}\n\
         [stages.small]\nplugin = \"boards-small\"\nfrom = \"puzzles\"\n\
         [stages.solver]\nplugin = \"solver-search\"\nfrom = \"small\"\n",
        "A.B\n...\nA.B\n"
    );
    let pipeline = pipeline(folder.path(), &text);
    let to = folder.path().join("a.mcap").display().to_string();
    run(&["run", &pipeline, "--plugin-dir", plugins, "--record", &to]).expect(0);
    let replay = |more: &[&str]| {
        let mut args = vec!["replay", &to, "--plugin-dir", plugins, "--json"];
        args.extend(more);
        run(&args)
    };
    let ran = replay(&[]).expect(0);
    let small = ran.json()["report"]["stages"][1]["out"].clone();
    assert_eq!(small, 0, "it does not run again: {:#}", ran.json());
    let spoken = &ran.json()["from_recording"][0];
    assert_eq!(spoken["stage"], "small");
    let ran = replay(&["--from", "small"]).expect(2);
    assert!(ran.stderr.contains("--allow unknown"), "{}", ran.stderr);
    let ran = replay(&["--from", "small", "--allow", "unknown"]).expect(0);
    assert_eq!(ran.json()["report"]["stages"][1]["out"], 1);
}
