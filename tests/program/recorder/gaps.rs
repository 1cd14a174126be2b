//! Lineages that the recorder drops because it can't keep up.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::edited::{Edited, edit};
use flowpipe_recording::entry::{Call, DroppedLineages};
use flowpipe_recording::{Recording, Topic};
use flowpipe_tests::signals::send_signal;
use flowpipe_tests::{changed, flowpipe, pipeline, record, run};
use serde_json::Value;

use super::{Reporting, pipe, text, wait_until};

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
    // Until frames are recorded again, after the entry that counts the others.
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

/// A referee that asks for each board once. The second board comes twice, and only then the third.
const ONCE: &str = "[stages.puzzles]
plugin = 'capture-puzzles'
config = { text = \"AB\\nAB\\n\\nABC\\nABC\\n\\nABC\\nABC\\n\\nABCD\\nABCD\\n\" }
[stages.referee]
plugin = 'referee-once'
from = [
    { stage = 'puzzles', into = 'sighting' },
    { stage = 'solver', into = 'solved' },
    { stage = 'actuator', into = 'outcome' },
]
[stages.solver]
plugin = 'solver-search'
from = { stage = 'referee', port = 'ask', queue = { capacity = 16, when_full = 'drop-oldest' } }
[stages.planner]
plugin = 'planner-minlink'
from = { stage = 'referee', port = 'play', queue = { capacity = 16, when_full = 'drop-oldest' } }
[stages.actuator]
plugin = 'actuator-simulated'
from = 'planner'
";

fn took(call: &Call) -> Option<(Topic, u64)> {
    let took = call.took.as_ref()?;
    Some((Topic::new(&took.from, &took.output), took.sequence))
}

fn emitted(call: &Call) -> impl Iterator<Item = (Topic, u64)> + '_ {
    let message = |port: &str, sequence| (Topic::new(&call.stage, port), sequence);
    call.emitted
        .iter()
        .map(move |it| message(&it.port, it.sequence))
}

/// Leaves out a message and all that descends from it, as a recorder does that can't keep up.
fn drop_lineage(edited: &mut Edited, of: (Topic, u64)) {
    edited.left_out.insert(of);
    loop {
        let is_left_out = |message: Option<(Topic, u64)>| {
            message.is_some_and(|message| edited.left_out.contains(&message))
        };
        let (dropped, kept): (Vec<_>, Vec<_>) = std::mem::take(&mut edited.calls)
            .into_iter()
            .partition(|call| is_left_out(took(call)) || is_left_out(emitted(call).next()));
        edited.calls = kept;
        if dropped.is_empty() {
            return;
        }
        edited.left_out.extend(dropped.iter().flat_map(emitted));
    }
}

/// After a gap a stage that remembers would do otherwise than in the recorded run: what it took in the gap is missing.
#[test]
fn after_a_gap_a_stage_that_remembers_is_not_run_again() {
    let folder = tempfile::tempdir().unwrap();
    let whole = record(folder.path(), "whole.mcap", &pipeline(folder.path(), ONCE));
    let second = (Topic::new("puzzles", "out"), 2);
    let mut after = 0;
    let with_gap = |name: &str, is_reported: bool, after: &mut usize| -> PathBuf {
        let path = folder.path().join(name);
        edit(Path::new(&whole), &path, |edited| {
            let is_second = |call: &&Call| took(call).as_ref() == Some(&second);
            let at_ns = edited.calls.iter().find(is_second).unwrap().taken_ns;
            drop_lineage(edited, second.clone());
            let is_after = |call: &&Call| call.stage == "referee" && call.ended_ns >= at_ns;
            *after = edited.calls.iter().filter(is_after).count();
            edited
                .dropped_lineages
                .extend(is_reported.then(|| DroppedLineages {
                    stage: "puzzles".into(),
                    port: "out".into(),
                    first: 2,
                    last: 2,
                    partly: false,
                    at_ns,
                    until_ns: at_ns,
                }));
        });
        path
    };
    let path = with_gap("gap.mcap", true, &mut after);
    let verdict = run(&["replay", text(&path), "--verify", "--json"])
        .expect(0)
        .json()["verdict"]
        .clone();
    // The third sighting, the fourth, and what came of it, at least.
    assert!(after >= 3, "{after}");
    assert_eq!(verdict["skipped"], after, "{verdict:#}");
    // What others make of its recorded messages, and what it made before the gap, is compared.
    assert!(verdict["same"].as_u64().unwrap() > 0, "{verdict:#}");

    // Without the entry nobody knows of the gap: the board that comes twice is asked for when it comes again.
    let path = with_gap("unknown.mcap", false, &mut after);
    let verdict = run(&["replay", text(&path), "--verify", "--json"])
        .expect(1)
        .json()["verdict"]
        .clone();
    assert_eq!(verdict["skipped"], 0, "{verdict:#}");
    // What else differs depends on when the answers came.
    let mut differences = verdict["differences"].as_array().unwrap().iter();
    let is_ask = |it: &Value| it["edge"] == "referee.ask -> solver.in";
    assert!(differences.any(is_ask), "{verdict:#}");
}
