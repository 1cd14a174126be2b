//! Packaged pipelines by their names.

use std::path::Path;

use flowpipe_tests::{Ran, flowpipe, project, run};

fn in_folder(folder: &Path, args: &[&str]) -> Ran {
    flowpipe(args).current_dir(folder).output().unwrap().into()
}

/// The name leads to the checkout's pipeline from any folder, and its pictures are found.
#[test]
fn a_name_runs_a_packaged_pipeline_from_any_folder() {
    let folder = tempfile::tempdir().unwrap();
    let ran = in_folder(folder.path(), &["run", "replay", "--json"]).expect(0);
    assert_eq!(ran.json()["boards"]["accepted"], 11, "{ran:#?}");
    assert!(!ran.stderr.contains("WARN"), "{ran:#?}");
    let checked = in_folder(folder.path(), &["check", "replay", "live"]).expect(0);
    let file = "pipelines/replay.toml: OK: 5 stages, 4 queues";
    assert!(checked.stdout.contains(file), "{checked:#?}");
    assert!(checked.stdout.contains("live.toml: OK"), "{checked:#?}");
    let graph = in_folder(folder.path(), &["graph", "replay"]).expect(0);
    let expected = run(&["graph", "pipelines/replay.toml"]).expect(0);
    assert_eq!(graph.stdout, expected.stdout);
}

#[test]
fn an_unknown_name_lists_the_known_ones() {
    for command in ["run", "check", "graph"] {
        let ran = run(&[command, "reply"]).expect(2);
        let expected = "flowpipe: reply: there is no pipeline of that name (did you mean replay?); \
                        the named pipelines are levels, live, replay, timetrial";
        assert_eq!(ran.stderr.trim_end(), expected);
    }
}

/// The documents name the files of a checkout.
#[test]
fn a_file_of_a_checkout_that_is_missing_suggests_the_name() {
    let folder = tempfile::tempdir().unwrap();
    for command in ["run", "check", "graph"] {
        let ran = in_folder(folder.path(), &[command, "pipelines/replay.toml"]).expect(2);
        let expected = "flowpipe: pipelines/replay.toml: there is no such file (did you mean the packaged pipeline \
                        replay?)";
        assert_eq!(ran.stderr.trim_end(), expected);
    }
}

/// A pipeline file is a program: one in the working directory runs only by its path.
#[test]
fn no_pipeline_of_the_working_directory_is_taken_for_a_packaged_one() {
    let folder = tempfile::tempdir().unwrap();
    let pipelines = folder.path().join("pipelines");
    std::fs::create_dir(&pipelines).unwrap();
    let ready = project().join("pipelines/live.toml");
    std::fs::copy(ready, pipelines.join("mine.toml")).unwrap();
    let ran = in_folder(folder.path(), &["check", "mine"]).expect(2);
    assert!(ran.stderr.contains("the named pipelines are"), "{ran:#?}");
    let variable = |folder: &Path| {
        let mut command = flowpipe(&["check", "mine"]);
        command.env("FLOWPIPE_PIPELINE_PATH", folder);
        Ran::from(command.output().unwrap())
    };
    let ran = variable(&pipelines).expect(0);
    assert!(ran.stdout.contains("mine.toml: OK"), "{ran:#?}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&pipelines, PermissionsExt::from_mode(0o777)).unwrap();
        let ran = variable(&pipelines).expect(2);
        assert!(ran.stderr.contains("other users can write to"), "{ran:#?}");
    }
}

/// Somebody else may have put it into the working directory.
#[test]
fn a_file_of_that_name_is_used_only_as_a_path() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["live", "mine"] {
        std::fs::write(folder.path().join(name), "").unwrap();
    }
    let ran = in_folder(folder.path(), &["check", "live"]).expect(0);
    assert!(ran.stdout.contains("live.toml: OK"), "{ran:#?}");
    let ran = in_folder(folder.path(), &["check", "./live"]).expect(78);
    assert!(
        ran.stderr.contains("the pipeline has no stages"),
        "{ran:#?}"
    );
    let ran = in_folder(folder.path(), &["check", "mine"]).expect(2);
    assert!(ran.stderr.contains("write ./mine"), "{ran:#?}");
}
