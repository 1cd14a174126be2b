//! The stage through the ABI, on small recordings in a temporary folder.

use std::path::{Path, PathBuf};

use flowpipe_plugin::harness::Harness;
use flowpipe_plugin::{Format, Result, harness};
use flowpipe_recording::entry::{About, AboutStage};
use flowpipe_recording::{Encoding, FORMAT, PayloadKind, Pixels, Schemas, Topic, Writer};
use serde_json::{Value, json};

use crate::play::CaptureRecording;

fn stage(config: Value) -> Result<Harness> {
    harness!(CaptureRecording, config)
}

fn about() -> About {
    let stage = |name: &str, role: &str, outputs: &[(&str, &str)]| AboutStage {
        name: name.to_owned(),
        role: role.to_owned(),
        plugins: Vec::new(),
        inputs: Vec::new(),
        outputs: outputs
            .iter()
            .map(|(port, schema)| ((*port).to_owned(), (*schema).to_owned()))
            .collect(),
        timeout_ns: None,
        isolated: false,
        workers: 1,
        machine: None,
    };
    About {
        format: FORMAT,
        flowpipe: "0".into(),
        name: "test".into(),
        file: "test.toml".into(),
        started_unix_ns: 1_700_000_000_000_000_000,
        since_ns: None,
        excerpt: false,
        dry: false,
        stages: vec![
            stage("screen", "capture", &[("out", "flowpipe.frame/1")]),
            stage("referee", "stage", &[("ask", "x/1"), ("play", "x/1")]),
        ],
        edges: Vec::new(),
    }
}

/// Three frames, the first and the last of them the same, the pixels of the second left out; then two messages.
fn recording(folder: &Path) -> PathBuf {
    let path = folder.join("a.mcap");
    let mut writer = Writer::new(
        std::fs::File::create(&path).unwrap(),
        &about(),
        "",
        Schemas::new(),
    )
    .unwrap();
    let screen = Topic::new("screen", "out");
    let bytes: Vec<u8> = (0..18).collect();
    let pixels = Pixels {
        encoding: Encoding::Rgb8,
        width: 2,
        height: 3,
        stride: 6,
        bytes: &bytes,
    };
    for number in 1..=3_u64 {
        let at = i64::try_from(number).unwrap() * 1_000_000;
        let body = format!(r#"{{"source": "{number}"}}"#);
        let times = (at, at);
        writer
            .message(&screen, "flowpipe.frame/1", &body, number, times)
            .unwrap();
        match number {
            2 => writer
                .left_out(&screen, number, PayloadKind::Picture, at)
                .unwrap(),
            _ => assert_eq!(
                writer.pixels(&screen, number, &pixels, times).unwrap(),
                number == 1
            ),
        }
    }
    for number in 1..=2 {
        let ask = Topic::new("referee", "ask");
        writer
            .message(&ask, "x/1", r#"{"n":  1}"#, number, (9, 9))
            .unwrap();
    }
    writer.finish().unwrap();
    path
}

#[test]
fn frames_come_back_with_their_pixels() {
    let folder = tempfile::tempdir().unwrap();
    let file = recording(folder.path());
    let mut stage = stage(json!({ "file": file })).unwrap();
    let mut emitted = Vec::new();
    for _ in 0..3 {
        emitted.extend(stage.tick().unwrap());
    }
    // The second has no pixels to play.
    let sources: Vec<_> = emitted.iter().map(|it| it.body["source"].clone()).collect();
    assert_eq!(sources, ["1", "3"]);
    for message in emitted {
        let frame = message.frame.as_ref().unwrap();
        let info = frame.info().unwrap();
        assert_eq!((info.format, info.width, info.height), (Format::Rgb8, 2, 3));
        let row = &frame.pixels()[info.stride..info.stride + 6];
        assert_eq!(row, [6, 7, 8, 9, 10, 11]);
    }
}

#[test]
fn any_stage_can_be_the_source() {
    let folder = tempfile::tempdir().unwrap();
    let file = recording(folder.path());
    let mut stage = stage(json!({ "file": file, "stage": "referee.ask", "repeat": true })).unwrap();
    for _ in 0..5 {
        let emitted = stage.tick().unwrap();
        assert_eq!(emitted[0].body, json!({ "n": 1 }));
    }
}

#[test]
fn what_is_wrong_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let file = recording(folder.path());
    let text = folder.path().join("text.mcap");
    std::fs::write(&text, "no recording at all").unwrap();
    for (config, part) in [
        (
            json!({ "file": file, "stage": "nobody" }),
            "its stages are screen, referee",
        ),
        (
            json!({ "file": file, "stage": "referee" }),
            "\"referee.ask\" or \"referee.play\"",
        ),
        (
            json!({ "file": file, "stage": "referee.play" }),
            "has no messages of \"referee.play\"",
        ),
        (json!({ "file": file, "speed": 0 }), "speed is 0"),
        (json!({ "file": text }), "does not start like an MCAP file"),
        (
            json!({ "file": folder.path().join("none.mcap") }),
            "can't open",
        ),
    ] {
        let error = stage(config.clone()).err().expect("should be refused");
        assert!(error.to_string().contains(part), "{config}: {error}");
    }
}
