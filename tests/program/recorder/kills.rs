//! What a program that is killed leaves of a recording.

use std::time::{Duration, Instant};

use flowpipe_recording::Recording;
use flowpipe_tests::{changed, pipeline, run};

use super::{endless, messages, start, text, wait_until};

#[test]
fn what_a_crash_leaves_opens_everywhere() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (path, partial) = (at("a.mcap"), at("a.mcap.partial"));
    let running = endless(folder.path());
    let args = ["run", text(&running), "-q", "--record", text(&path)];
    let mut first = start(&args);
    wait_until("nothing was written", || messages(&partial) > 40);
    // One name, two runs: the second is refused, and the first does not notice.
    let ran = run(&args).expect(2);
    assert!(
        ran.stderr.contains("another program is writing it"),
        "{ran:#?}"
    );
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(!path.exists());
    let kept = std::fs::read(&partial).unwrap();

    for command in ["replay", "report"] {
        let ran = run(&[command, text(&path)]).expect(2);
        assert!(ran.stderr.contains("a.mcap.partial"), "{ran:#?}");
    }
    run(&["replay", text(&partial), "--verify", "-q"]).expect(0);
    run(&["report", text(&partial)]).expect(0);
    assert!(at("a.html").is_file());
    let ready = "pipelines/replay.toml";
    run(&["compare", ready, ready, text(&partial)]).expect(0);
    let source = pipeline(
        folder.path(),
        &format!(
            "[stages.screen]\nplugin = \"capture-recording\"\nconfig = {{ file = '{}' }}\n",
            text(&partial)
        ),
    );
    run(&["run", &source, "-q"]).expect(0);
    // The next run of that name leaves it alone.
    run(&["replay", text(&partial), "-q", "--record", text(&path)]).expect(0);
    assert!(Recording::open(&path).is_ok_and(|it| !it.is_cut_off()));
    assert_eq!(std::fs::read(&partial).unwrap(), kept);
}

/// Kills recording runs at random moments; each file that there is replays as it was.
fn survive_kills(count: usize) {
    let folder = tempfile::tempdir().unwrap();
    let running = changed(folder.path(), |ready| {
        ready.replace("fps = 20", "times = 4")
    });
    let path = folder.path().join("killed.mcap");
    let partial = folder.path().join("killed.mcap.partial");
    let mut random = fastrand::Rng::with_seed(count as u64);
    let (mut killed, mut finished, mut messages) = (0, 0, 0);
    while killed < count {
        for left in [&path, &partial] {
            let _ = std::fs::remove_file(left);
        }
        let mut child = start(&["run", text(&running), "-q", "--record", text(&path)]);
        // From its first byte on: what was killed before has recorded nothing.
        let began = Instant::now();
        while !partial.exists() && !path.exists() {
            assert!(
                began.elapsed() < Duration::from_secs(120),
                "nothing was written"
            );
            std::thread::sleep(Duration::from_micros(200));
        }
        std::thread::sleep(Duration::from_micros(random.u64(0..1_500_000)));
        child.kill().unwrap();
        let by_itself = child.wait().unwrap().code() == Some(0);
        // A kill between the last write and the new name leaves the one or the other.
        let left = if path.exists() { &path } else { &partial };
        let ran = run(&["replay", text(left), "--verify", "--json"]);
        let verdict = &ran.json()["verdict"];
        assert_eq!(verdict["differences"], serde_json::json!([]), "{ran:#?}");
        let same = verdict["same"].as_u64().unwrap();
        // A run killed before the first call ended has nothing to compare, which is reported.
        assert_eq!(ran.code, Some(i32::from(same == 0)), "{ran:#?}");
        messages += same;
        finished += usize::from(by_itself);
        killed += usize::from(!by_itself);
    }
    println!("{killed} killed, {finished} ended before, {messages} messages were the same");
    assert!(messages > 0);
}

#[test]
fn every_kill_leaves_a_recording() {
    survive_kills(6);
}

#[test]
#[ignore = "takes a quarter of an hour: `./x check deep kills`"]
fn every_kill_of_two_hundred_leaves_a_recording() {
    survive_kills(200);
}
