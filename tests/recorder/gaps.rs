//! Lineages that the recorder drops because it can't keep up.

use std::process::Command;

use flowpipe_recording::{Recording, Topic};
use flowpipe_tests::signals::send_signal;
use flowpipe_tests::{changed, flowpipe, run};

use crate::{Reporting, pipe, text, wait_until};

#[test]
fn a_recorder_that_cannot_keep_up_drops_whole_lineages() {
    let folder = tempfile::tempdir().unwrap();
    let (pipe, path) = (pipe(folder.path()), folder.path().join("a.mcap"));
    let go = folder.path().join("go");
    // Somebody who reads nothing for a while, and then everything.
    let script = "exec < \"$0\" && until [ -e \"$1\" ]; do sleep 0.05; done && exec cat > \"$2\"";
    let mut reader = Command::new("sh")
        .args(["-c", script, text(&pipe), text(&go), text(&path)])
        .spawn()
        .unwrap();
    // As fast as it goes: frames fill the recorder's queue within seconds.
    let pipeline = changed(folder.path(), |ready| {
        ready.replace("fps = 20", "repeat = true")
    });
    let command = flowpipe(&["run", text(&pipeline), "-q", "--record", text(&pipe)]);
    let running = Reporting::start(command, folder.path());
    running.wait_to_report("can't keep up");
    std::fs::write(&go, "").unwrap();
    // Until frames are recorded again, behind the entry that tells of the others.
    wait_until("it never catches up", || {
        Recording::open(&path).is_ok_and(|it| !it.dropped_lineages().is_empty())
    });
    send_signal("INT", running.child.id());
    let (code, reported) = running.ended();
    assert_eq!(code, Some(130), "{reported}");
    assert!(reader.wait().unwrap().success());
    assert!(reported.contains("lineages dropped with"), "{reported}");

    let recording = Recording::open(&path).unwrap();
    assert!(!recording.is_cut_off());
    assert_eq!(recording.unreadable(), 0);
    let gaps = recording.dropped_lineages();
    assert!(
        gaps.iter().all(|gap| gap.stage == "frames" && !gap.partly),
        "{gaps:?}"
    );
    // No message is there without the frame that it needs.
    let frames = Topic::new("frames", "out");
    let mut taken = 0;
    for call in recording.calls() {
        let Some(took) = &call.took else { continue };
        let from = Topic::new(&took.from, &took.output);
        assert!(
            recording.message(&from, took.sequence).is_some(),
            "{call:?}"
        );
        taken += 1;
    }
    assert!(taken > 0);
    for gap in gaps {
        for number in [gap.first, gap.last] {
            assert!(recording.message(&frames, number).is_none(), "{gap:?}");
        }
    }
    let ran = run(&["replay", text(&path), "--verify", "--json"]).expect(0);
    assert_eq!(
        ran.json()["verdict"]["skipped"],
        0,
        "{:#}",
        ran.json()["verdict"]
    );
    let page = folder.path().join("a.html");
    run(&["report", text(&path), "--output", text(&page)]).expect(0);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("The recorder could not keep up"));
}
