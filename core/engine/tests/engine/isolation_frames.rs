//! Frames of isolated stages: shared memory, wild writes, limits.

use std::sync::Arc;

use flowpipe_config::pipeline::{Isolation, OnError};
use serde_json::json;

use crate::common::{Builder, Watcher, finish, until};
use crate::isolation::{act, isolated, numbers, run, start};

#[test]
fn pixels_are_not_copied() {
    // The stage reports the address of the pixels in its process; that maps the host's memory.
    let (_, watcher) = run(act(OnError::Stop, "pass"));
    let from_source: Vec<_> = watcher.from(0).iter().map(|it| it.pixels).collect();
    let from_stage: Vec<_> = watcher.from(1).iter().map(|it| it.pixels).collect();
    assert_eq!(from_stage, from_source, "it forwards the host's own memory");

    let mut line = act(OnError::Stop, "where");
    line.0.stages[1].contestants[0].config = json!({ "do": "where" });
    let watcher = Arc::new(Watcher::default());
    line.0.stages[0].contestants[0].config =
        json!({ "count": 200, "width": 64, "height": 64, "delay_us": 5_000 });
    let run = start(line, &watcher);
    until("an answer", || !watcher.from(1).is_empty());
    let answer = watcher.from(1)[0].json.clone();
    let process = answer["process"].as_u64().unwrap();
    assert_ne!(process, u64::from(std::process::id()));
    if cfg!(target_os = "linux") {
        let place = answer["pixels"].as_u64().unwrap();
        let maps = std::fs::read_to_string(format!("/proc/{process}/maps")).unwrap();
        let shared = maps.lines().any(|line| {
            let (range, rest) = line.split_once(' ').unwrap();
            let (from, to) = range.split_once('-').unwrap();
            let number = |text| u64::from_str_radix(text, 16).unwrap();
            (number(from)..number(to)).contains(&place)
                && rest.starts_with("r--s")
                && rest.contains("memfd:flowpipe")
        });
        assert!(shared, "{place:x} in {maps}");
    }
    run.stop();
    let _ = finish(run);
}

#[test]
fn a_frame_of_the_librarys_own_host_is_a_frame() {
    let (_, watcher) = run(act(OnError::Stop, "library-frame"));
    assert_eq!(watcher.problems(), []);
    let pixels: Vec<_> = watcher
        .from(2)
        .iter()
        .map(|it| it.pixels.unwrap().1)
        .collect();
    assert_eq!(pixels, [0, 1, 2, 200, 4, 5, 6, 7, 8, 9]);

    // A frame of a library in the program goes to an isolated stage.
    let mut line = act(OnError::Stop, "library-frame");
    line.0.stages[1].isolation = Isolation::Thread;
    let (_, watcher) = run(isolated(line, 2));
    assert_eq!(watcher.problems(), []);
    let pixels: Vec<_> = watcher
        .from(2)
        .iter()
        .map(|it| it.pixels.unwrap().1)
        .collect();
    assert_eq!(pixels, [0, 1, 2, 200, 4, 5, 6, 7, 8, 9]);
}

/// The pictures that came from a stage: the message's number, and the first pixel.
fn pictures(watcher: &Watcher, stage: usize) -> Vec<(i64, u8)> {
    let seen = watcher.from(stage);
    let picture = |it: &crate::common::Seen| (it.json["n"].as_i64().unwrap(), it.pixels.unwrap().1);
    seen.iter().map(picture).collect()
}

#[test]
fn a_wild_write_into_a_shared_frame_is_a_crash() {
    let (report, watcher) = run(act(OnError::Stop, "scribble-unasked"));
    let problem = watcher.problem();
    let signals = ["SIGSEGV", "SIGBUS"].map(|it| format!("its process was killed by {it}"));
    assert!(
        signals.iter().any(|it| problem.text.starts_with(it)),
        "{problem}"
    );
    assert_eq!(problem.message.unwrap().sequence, 4);
    let made: Vec<_> = (1..=10).map(|n| (n, n as u8 - 1)).collect();
    assert_eq!(pictures(&watcher, 0), made);
    let through: Vec<_> = made.into_iter().filter(|(n, _)| *n != 4).collect();
    assert_eq!(pictures(&watcher, 2), through);
    assert_eq!(report.failure, None);
}

#[test]
fn wild_writes_into_sent_or_released_frames_are_not_seen() {
    for what in ["scribble-sent", "scribble-gone"] {
        let (report, watcher) = run(act(OnError::Stop, what));
        assert_eq!(watcher.problems(), [], "{what}");
        assert_eq!(report.failure, None, "{what}");
        let made: Vec<_> = (1..=10).map(|n| (n, n as u8 - 1)).collect();
        assert_eq!(pictures(&watcher, 0), made, "{what}");
        let mut through = made;
        match what {
            "scribble-sent" => through[3] = (0, 1),
            _ => drop(through.remove(3)),
        }
        assert_eq!(pictures(&watcher, 2), through, "{what}");
    }
}

#[test]
fn frames_created_written_and_kept_in_a_process_are_correct() {
    // A source of more pictures than can be live at once.
    let mut line = Builder::line(200, "pass", json!({}));
    line.0.stages[0].contestants[0].config = json!({ "count": 200, "width": 64, "height": 64 });
    let (report, watcher) = run(isolated(line, 0));
    let first: Vec<_> = watcher
        .from(0)
        .iter()
        .map(|it| it.pixels.unwrap().1)
        .collect();
    assert_eq!(first, (0..200).collect::<Vec<_>>());
    assert!(report.frames.allocated < 100, "{:?}", report.frames);

    // Copied before it is written.
    let mut line = Builder::line(10, "scribble", json!({}));
    line.0.stages[0].contestants[0].config = json!({ "count": 10, "width": 64, "height": 64 });
    let (_, watcher) = run(isolated(line, 1));
    let values: Vec<_> = watcher
        .from(1)
        .iter()
        .map(|it| it.pixels.unwrap().1)
        .collect();
    let expected: Vec<u8> = (0..10).flat_map(|n| [255, n]).collect();
    assert_eq!(values, expected);

    // Held beyond its call, and by a process that ends.
    let mut line = act(OnError::Stop, "keep");
    line.0.stages[1].contestants[0].config = json!({ "do": "keep" });
    let (_, watcher) = run(line);
    assert_eq!(numbers(&watcher, 2).len(), 10);
}

#[test]
fn the_only_owner_writes_without_a_copy() {
    for isolation in [Isolation::Thread, Isolation::Process] {
        let mut line = act(OnError::Stop, "write-again");
        line.0.stages[1].isolation = isolation;
        let (report, watcher) = run(line);
        let seen = &watcher.from(1)[3];
        // The second write is in place; with a second reference it goes to a copy, and the other is unchanged.
        assert_eq!(seen.json["seen"], json!([1, 1, 1]), "{isolation:?}");
        assert_eq!(seen.pixels.unwrap().1, 2, "{isolation:?}");
        assert_eq!(report.frames.live, 0, "{isolation:?}");
    }
}

/// How many frames of that size an isolated stage can allocate.
fn hoard(size: u32, count: u32) -> u64 {
    let mut line = act(OnError::Stop, "hoard");
    line.0.stages[1].contestants[0].config =
        json!({ "do": "hoard", "on": 4, "width": size, "height": size, "count": count });
    let (_, watcher) = run(line);
    watcher.from(1)[3].json["made"].as_u64().unwrap()
}

#[test]
fn an_isolated_stage_can_not_allocate_all_memory() {
    // Of 1 GiB each: 4 GiB, less the picture of the message being processed.
    assert_eq!(hoard(16384, 32), 3);
}

#[test]
#[ignore = "alone in its process: `many_small_pictures_may_be_live` starts it"]
fn many_small_pictures() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = Rlimit {
        current: Some(256),
        ..getrlimit(Resource::Nofile)
    };
    setrlimit(Resource::Nofile, limit).unwrap();
    assert_eq!(hoard(8, 1000), 1000);
}

#[test]
fn many_small_pictures_may_be_live() {
    crate::isolated::alone("isolation_frames::many_small_pictures");
}
