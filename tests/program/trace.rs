//! Runs written down as traces for browsers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use flowpipe_tests::{flowpipe, flowpipe_within, pipeline, ready, run};
use serde_json::Value;

/// The frames under `pipelines/frames`.
const FRAMES: u64 = 11;

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The ready pipeline with something else in it.
fn changed(from: &str, to: &str) -> String {
    let ready = ready();
    assert!(ready.contains(from));
    ready.replace(from, to)
}

fn read(path: &Path) -> Vec<Value> {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn of<'a>(events: &'a [Value], phase: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["ph"] == phase).collect()
}

/// The track and the times from and to, in nanoseconds.
fn span(slice: &Value) -> (u64, i64, i64) {
    let nanoseconds = |key: &str| (slice[key].as_f64().unwrap() * 1e3).round() as i64;
    let began = nanoseconds("ts");
    (
        slice["tid"].as_u64().unwrap(),
        began,
        began + nanoseconds("dur"),
    )
}

/// The track and the time, in nanoseconds.
fn moment(event: &Value) -> (u64, i64) {
    let at = (event["ts"].as_f64().unwrap() * 1e3).round() as i64;
    (event["tid"].as_u64().unwrap(), at)
}

/// Tracks by name.
fn tracks(events: &[Value]) -> BTreeMap<String, u64> {
    of(events, "M")
        .into_iter()
        .filter(|event| event["name"] == "thread_name")
        .map(|event| {
            let name = event["args"]["name"].as_str().unwrap();
            (name.to_owned(), event["tid"].as_u64().unwrap())
        })
        .collect()
}

/// On no track does one call begin before the one before it has ended.
#[track_caller]
fn nothing_overlaps(events: &[Value]) {
    let mut slices: Vec<_> = of(events, "X").into_iter().map(span).collect();
    slices.sort_unstable();
    for pair in slices.windows(2) {
        let [(track, _, ended), (next, began, _)] = [pair[0], pair[1]];
        assert!(track != next || ended <= began, "{pair:?}");
    }
    assert!(slices.iter().all(|(_, began, ended)| began <= ended));
}

/// Every arrow that ends began earlier in a slice, and ends in one.
#[track_caller]
fn arrows_join_slices(events: &[Value]) -> usize {
    let slices: Vec<_> = of(events, "X").into_iter().map(span).collect();
    let place = |event: &Value| {
        let (track, at) = moment(event);
        let mut around = slices.iter().filter(|it| it.0 == track);
        assert!(around.any(|it| it.1 <= at && at <= it.2), "{event}");
        at
    };
    let key = |event: &Value| {
        let [id, name, category] = ["id", "name", "cat"].map(|key| event[key].to_string());
        (id, name, category)
    };
    // What began last before an arrow is what viewers bind it to.
    let marks: Vec<_> = of(events, "i").into_iter().map(moment).collect();
    for (track, at) in of(events, "s").into_iter().map(moment) {
        let slice = slices.iter().filter(|it| it.0 == track && it.1 <= at);
        let began = slice.map(|it| it.1).max().unwrap();
        let mut between = marks.iter().filter(|it| it.0 == track);
        assert!(
            !between.any(|it| (began..=at).contains(&it.1)),
            "{track} {at}"
        );
    }
    let begun: BTreeMap<_, _> = of(events, "s")
        .into_iter()
        .map(|event| (key(event), place(event)))
        .collect();
    let ends = of(events, "f");
    for end in &ends {
        assert_eq!(end["bp"], "e", "it belongs to the slice around it");
        assert!(begun[&key(end)] <= place(end), "{end}");
    }
    ends.len()
}

/// The stages that had a frame in hand and gave something, by following the arrows from its capture.
fn way(events: &[Value], frame: u64) -> Vec<String> {
    let stage_of: BTreeMap<u64, String> = of(events, "X")
        .into_iter()
        .map(|slice| {
            let name = slice["name"].as_str().unwrap();
            (slice["tid"].as_u64().unwrap(), name.to_owned())
        })
        .collect();
    let name = format!("frame {frame}");
    let on_frame = |phase: &str| -> BTreeMap<u64, u64> {
        let of_frame = |event: &&Value| event["name"] == name.as_str();
        let events = of(events, phase).into_iter().filter(of_frame);
        let ends = events.map(|event| {
            let number = |key: &str| event[key].as_u64().unwrap();
            (number("id"), number("tid"))
        });
        ends.collect()
    };
    let (from, to) = (on_frame("s"), on_frame("f"));
    let mut way = vec!["frames".to_owned()];
    loop {
        let here = way.last().unwrap().clone();
        let next = from
            .iter()
            .filter(|(_, track)| stage_of[track] == here)
            .find_map(|(id, _)| to.get(id));
        match next {
            Some(track) => way.push(stage_of[track].clone()),
            None => return way,
        }
    }
}

/// The run went well; what it was to write is missing.
#[cfg(unix)]
#[test]
fn a_full_disk_is_a_failure_that_names_what_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let ticks = "[stages.clock]\nplugin = \"source-ticks\"\nconfig = { interval_ms = 1, count = 3000 }\n\
                 [stages.out]\nplugin = \"sink-jsonl\"\nfrom = \"clock\"\nconfig = { stdout = true }\n";
    let file = pipeline(folder.path(), ticks);
    let path = folder.path().join("trace.json");
    // 200 KiB.
    let mut command = flowpipe_within("-f 400", &["run", &file, "-q", "--trace", text(&path)]);
    let ended = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("File too large"), "{stderr}");
    let partial = folder.path().join("trace.json.partial");
    let left = format!("what was written before is in {}", partial.display());
    assert!(stderr.contains(&left), "{stderr}");
    assert!(partial.exists());
}

#[test]
fn every_frame_can_be_followed_from_capture_to_actuator() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.json");
    let race = changed(
        "\"solver-search\"",
        "[\"solver-search\", \"solver-batsat\"]",
    );
    let pipeline = pipeline(folder.path(), &race);
    let ran = run(&["run", &pipeline, "-q", "--trace", text(&path)]).expect(0);
    assert!(ran.stderr.contains("traced "), "{ran:#?}");
    let events = read(&path);
    let expected = [
        "frames",
        "vision",
        "solver/solver-search",
        "solver/solver-batsat",
        "planner",
        "actuator",
    ];
    let tracks = tracks(&events);
    let by_track: BTreeMap<_, _> = tracks.iter().map(|(name, track)| (track, name)).collect();
    assert_eq!(by_track.into_values().collect::<Vec<_>>(), expected);
    for (name, track) in &tracks {
        let on_track = |slice: &&&Value| slice["tid"] == *track;
        let slices = of(&events, "X");
        let slices: Vec<_> = slices.iter().filter(on_track).collect();
        assert!(!slices.is_empty(), "{name} has no slices");
        for slice in slices {
            let (stage, plugin) = name.split_once('/').unwrap_or((name, ""));
            assert_eq!(slice["name"], stage);
            let args = &slice["args"];
            assert!(args["plugin"].as_str().unwrap().contains(plugin), "{slice}");
            if args["event"] == "message" {
                assert!(args["sequence"].is_u64() && args["edge"].is_string());
                assert_eq!(args["captured_by"], "frames");
            }
        }
    }
    nothing_overlaps(&events);
    assert!(arrows_join_slices(&events) >= 4 * FRAMES as usize);
    for frame in 1..=FRAMES {
        assert_eq!(
            way(&events, frame),
            ["frames", "vision", "solver", "planner", "actuator"],
            "frame {frame}"
        );
        let acted = |event: &&Value| {
            event["cat"] == "mark" && event["name"] == "action" && event["args"]["frame"] == frame
        };
        assert_eq!(of(&events, "i").into_iter().filter(acted).count(), 1);
    }
    // What goes into a queue comes out of it.
    let mut fills = BTreeMap::new();
    for counter in of(&events, "C") {
        let messages = counter["args"]["messages"].as_u64().unwrap();
        fills.insert(counter["name"].to_string(), messages);
    }
    assert_eq!(fills.len(), 4, "{fills:?}");
    assert!(fills.values().all(|&messages| messages == 0), "{fills:?}");
}

#[test]
fn drops_and_failures_are_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.json");
    let stages = r#"
[stages.frames]
plugin = "capture-files"
config = { paths = ["pipelines/frames/*.png"] }
[stages.vision]
plugin = "vision-opencv"
from = "frames"
queue = { capacity = 1, when_full = "latest" }
[stages.bad]
plugin = "misbehaving"
from = "vision"
on_error = "skip"
config = { how = "panic-in-process" }
"#;
    let pipeline = pipeline(folder.path(), stages);
    let ran = run(&["run", &pipeline, "-q", "--json", "--trace", text(&path)]);
    let report = ran.expect(0).json()["report"].clone();
    let events = read(&path);
    let count = |category: &str| {
        let of_kind = |event: &&Value| event["cat"] == category;
        of(&events, "i").into_iter().filter(of_kind).count() as u64
    };
    assert_eq!(report["stages"][1]["dropped"], count("drop"), "{report:#}");
    assert!(count("drop") > 0, "{report:#}");
    assert!(count("problem") > 0);
    let failed: BTreeSet<_> = of(&events, "X")
        .into_iter()
        .filter(|slice| slice["args"]["result"] == "failed")
        .map(|slice| slice["name"].as_str().unwrap())
        .collect();
    assert_eq!(failed, BTreeSet::from(["bad"]));
    nothing_overlaps(&events);
}

#[test]
fn a_replay_is_traced_in_its_own_time() {
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("a.mcap");
    let path = folder.path().join("trace.json");
    // Without pictures, of which a recorder that can't keep up leaves some out.
    let stages = r#"
[stages.puzzles]
plugin = "capture-puzzles"
config = { text = """
ABC
...
ABC

AB
..
AB
""" }
[stages.solver]
plugin = "solver-search"
from = "puzzles"
[stages.planner]
plugin = "planner-minlink"
from = "solver"
[stages.actuator]
plugin = "actuator-simulated"
from = "planner"
"#;
    let pipeline = pipeline(folder.path(), stages);
    run(&["run", &pipeline, "-q", "--record", text(&recording)]).expect(0);
    run(&["replay", text(&recording), "-q", "--trace", text(&path)]).expect(0);
    let events = read(&path);
    let mut taken = BTreeMap::new();
    for slice in of(&events, "X") {
        if let Some(edge) = slice["args"]["edge"].as_str() {
            *taken.entry(edge.to_owned()).or_insert(0) += 1;
        }
    }
    let edges = [
        "planner -> actuator",
        "puzzles -> solver",
        "solver -> planner",
    ];
    let expected = edges.map(|edge| (edge.to_owned(), 2));
    assert_eq!(taken, BTreeMap::from(expected));
    nothing_overlaps(&events);
    // What the source gives comes out of the recording, and no call of now emitted it.
    assert_eq!(arrows_join_slices(&events), 4);
    assert_eq!(of(&events, "C").len(), 0, "a replay has no queues");
}

#[test]
fn a_killed_run_leaves_a_trace() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.json");
    let pipeline = pipeline(
        folder.path(),
        &changed("fps = 20", "fps = 20, repeat = true"),
    );
    let mut child = flowpipe(&["run", &pipeline, "-q", "--trace", text(&path)])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let began = Instant::now();
    let partial = folder.path().join("trace.json.partial");
    let written = || std::fs::read_to_string(&partial).unwrap_or_default();
    while !written().contains("\"name\":\"actuator\",\"cat\":\"call\"") {
        assert!(began.elapsed() < Duration::from_secs(60), "{}", written());
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // Its last line may be cut off; the bracket at the end is missing.
    let text = written();
    let (whole, _) = text.rsplit_once(",\n").unwrap();
    let events: Vec<Value> = serde_json::from_str(&format!("{whole}]")).unwrap();
    nothing_overlaps(&events);
    assert!(!of(&events, "X").is_empty());
}

#[test]
fn paths_that_cannot_be_written_are_reported_and_nothing_runs() {
    let folder = tempfile::tempdir().unwrap();
    for path in ["/dev/null/trace.json", text(folder.path())] {
        let ran = run(&["run", "pipelines/replay.toml", "--trace", path]).expect(2);
        assert!(
            ran.stderr.contains(path.trim_end_matches("/trace.json")),
            "{ran:#?}"
        );
        assert!(ran.stdout.is_empty(), "{ran:#?}");
    }
    run(&["run", "pipelines/replay.toml", "--trace"]).expect(2);
}

#[test]
fn the_log_stays_as_it_was() {
    let ran = run(&["run", "pipelines/replay.toml", "-q", "-vv"]).expect(0);
    assert!(!ran.stderr.contains("stage{"), "{}", ran.stderr);
}
