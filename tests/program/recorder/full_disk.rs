//! A disk that is full.

use flowpipe_tests::signals::send_signal;
use flowpipe_tests::{flowpipe, flowpipe_within, run};

use super::{Reporting, endless, text};

#[test]
fn a_full_disk_is_reported_when_it_happens() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mcap");
    let running = endless(folder.path());
    for lossless in [false, true] {
        // 1 MiB: after the first pictures.
        let args = ["run", text(&running), "-q", "--record", text(&path)];
        let mut command = flowpipe_within("-f 2048", &args);
        command.args(lossless.then_some("--record-lossless"));
        let running_on = Reporting::start(command, folder.path());
        // While it runs: nothing ends this pipeline by itself.
        running_on.wait_to_report("the recording failed");
        if !lossless {
            let reported = running_on.reported();
            assert!(
                reported.contains("the run goes on without it"),
                "{reported}"
            );
            send_signal("INT", running_on.child.id());
        }
        // Without loss was asked for: it ends by itself.
        let (code, reported) = running_on.ended();
        assert_eq!(code, Some(1), "{reported}");
        assert!(
            reported.contains("what was written before is in"),
            "{reported}"
        );
        assert!(reported.contains("File too large"), "{reported}");
        assert!(!path.exists());
        let partial = folder.path().join("a.mcap.partial");
        run(&["replay", text(&partial), "--verify", "-q"]).expect(0);
        std::fs::remove_file(partial).unwrap();
    }
    let ran = run(&[
        "run",
        "pipelines/replay.toml",
        "-q",
        "--record",
        "/dev/full",
    ])
    .expect(1);
    assert!(ran.stderr.contains("No space left on device"), "{ran:?}");
}

#[test]
fn help_that_can_not_be_written_is_an_error() {
    let full = std::fs::File::options().write(true).open("/dev/full");
    let mut command = flowpipe(&["--help"]);
    let output = command.stdout(full.unwrap()).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("No space left on device"), "{error}");
}
