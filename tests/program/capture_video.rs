//! Videos in pipelines.

use std::path::Path;
use std::process::Command;

use flowpipe_tests::{pipeline, project, record, run};

/// A video of one picture of a board, ten times, five a second.
fn video(folder: &Path) {
    let made = Command::new("ffmpeg")
        .args([
            "-nostdin",
            "-loglevel",
            "error",
            "-loop",
            "1",
            "-framerate",
            "5",
            "-i",
        ])
        .arg(project().join("pipelines/frames/phone-5x5-01.png"))
        .args(["-frames:v", "10", "-c:v", "ffv1"])
        .arg(folder.join("board.mkv"))
        .status()
        .unwrap();
    assert!(made.success());
}

fn file(folder: &Path, keys: &str, config: &str) -> String {
    let text = format!(
        "[stages.video]\nplugin = \"capture-video\"\n{keys}\nconfig = {{ path = \"board.mkv\"{config} }}\n\
         [stages.vision]\nplugin = \"vision-opencv\"\nfrom = \"video\"\n\
         [stages.boards]\nplugin = \"filter\"\nfrom = \"vision\"\nconfig = {{ jq = '.reading.status == \"board\"' }}\n\
         [stages.pictures]\nplugin = \"sink-image\"\nfrom = [\"video\", {{ stage = \"boards\", into = \"chosen\" }}]\n\
         config = {{ folder = \"out\", choose = true, waiting = 20 }}\n\
         [stages.out]\nplugin = \"sink-jsonl\"\nfrom = \"boards\"\nconfig = {{ path = \"out.jsonl\", envelope = true }}\n"
    );
    pipeline(folder, &text)
}

/// The lines that were written.
fn lines(folder: &Path) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(folder.join("out.jsonl")).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.collect()
}

#[test]
fn the_boards_of_a_video_are_read_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    video(folder.path());
    let recorded = record(folder.path(), "a.mcap", &file(folder.path(), "", ""));
    let lines = lines(folder.path());
    assert_eq!(lines.len(), 10);
    let sources: Vec<_> = lines
        .iter()
        .map(|line| &line["body"]["frame"]["source"])
        .collect();
    let third = sources[3].as_str().unwrap();
    assert!(third.ends_with("board.mkv, 0.600 s"), "{sources:?}");
    let pixels = |path: &Path| image::open(path).unwrap().into_rgb8();
    let source = pixels(&project().join("pipelines/frames/phone-5x5-01.png"));
    for number in 1..=10 {
        let picture = folder.path().join(format!("out/{number:06}.png"));
        assert!(pixels(&picture) == source, "{number}");
    }
    // What a replay sees is the recording, not the video.
    std::fs::remove_file(folder.path().join("board.mkv")).unwrap();
    run(&["replay", &recorded, "--verify"]).expect(0);
}

#[test]
fn a_video_is_decoded_for_a_stage_in_a_process_too() {
    let folder = tempfile::tempdir().unwrap();
    video(folder.path());
    let file = file(folder.path(), "isolation = \"process\"", ", max_frames = 3");
    run(&["run", &file]).expect(0);
    assert_eq!(lines(folder.path()).len(), 3);
}

#[test]
fn a_video_plays_by_its_own_times() {
    let folder = tempfile::tempdir().unwrap();
    video(folder.path());
    run(&[
        "run",
        &file(folder.path(), "", ", real_time = true, max_frames = 4"),
    ])
    .expect(0);
    let times: Vec<_> = lines(folder.path())
        .iter()
        .map(|line| line["captured_ns"].as_i64().unwrap())
        .collect();
    // On a busy machine a frame may be late, and none is early.
    for (place, time) in (0..).zip(&times) {
        assert!(time - times[0] >= place * 200_000_000, "{times:?}");
    }
    assert_eq!(times.len(), 4);
}

#[test]
fn a_file_that_is_no_video_ends_the_run_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("board.mkv"), "no video").unwrap();
    let ran = run(&["run", &file(folder.path(), "", "")]).expect(1);
    assert!(
        ran.stderr.contains("board.mkv: ffmpeg reports: "),
        "{ran:#?}"
    );
    let folder = tempfile::tempdir().unwrap();
    let ran = run(&["run", &file(folder.path(), "", "")]).expect(78);
    assert!(ran.stderr.contains("can't read"), "{ran:#?}");
}

/// Ctrl-C ends a video without an end, and no decoder outlives the run.
#[cfg(target_os = "linux")]
#[test]
fn a_stopped_run_leaves_no_decoder() {
    use flowpipe_tests::flowpipe;
    use rustix::process::{Pid, Signal, kill_process};

    use crate::screen::wait_for;

    let folder = tempfile::tempdir().unwrap();
    video(folder.path());
    let file = file(folder.path(), "", ", repeat = true, real_time = true");
    let mut child = flowpipe(&["run", &file]).spawn().unwrap();
    let decoders = || {
        let named = folder.path().join("board.mkv").display().to_string();
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let lines = processes.filter_map(|it| std::fs::read(it.path().join("cmdline")).ok());
        let lines = lines.map(|it| String::from_utf8_lossy(&it).into_owned());
        lines
            .filter(|it| it.contains("ffmpeg") && it.contains(&named))
            .count()
    };
    let picture = folder.path().join("out/000001.png");
    wait_for("a decoder and its picture", || {
        (decoders() > 0 && picture.exists()).then_some(())
    });
    let id = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(id, Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(decoders(), 0);
}
