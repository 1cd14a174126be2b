//! A disk that is full.

use flowpipe_tests::signals::send_signal;
use flowpipe_tests::{flowpipe_within, run};

use crate::{Reporting, endless, text};

#[test]
fn a_full_disk_is_told_when_it_happens() {
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
        assert!(!path.exists());
        let partial = folder.path().join("a.mcap.partial");
        run(&["replay", text(&partial), "--verify", "-q"]).expect(0);
        std::fs::remove_file(partial).unwrap();
    }
    run(&[
        "run",
        "pipelines/replay.toml",
        "-q",
        "--record",
        "/dev/full",
    ])
    .expect(1);
}
