//! Whole, truncated and damaged recordings.

#![allow(
    clippy::unwrap_used,
    reason = "a test helper that can't go on should panic"
)]

mod support;

use std::path::Path;

use flowpipe_recording::entry::{About, MISSING, Trouble};
use flowpipe_recording::{Entry, FORMAT, ReadError, Recording, Schemas, Topic, Writer};
use proptest::prelude::*;
use support::{about, open, read_all, write};

#[test]
fn a_whole_recording_is_read() {
    let recording = open(&write(5)).unwrap();
    assert!(!recording.is_cut_off());
    assert_eq!(recording.unreadable(), 0);
    assert_eq!(*recording.about(), about());
    assert_eq!(recording.pipeline(), "name = \"test\"");
    assert_eq!(recording.calls().count(), 5);
    assert_eq!(recording.entries().len(), 5 * 3 + 2);
    let screen = Topic::new("screen", "out");
    let (schema, body) = recording.message(&screen, 3).unwrap();
    assert_eq!((&**schema, &*body), ("frame/1", "{\"source\":  \"3\"}"));
    assert_eq!(read_all(&recording), 5);
    assert_eq!(recording.picture_of(&screen, 3), Some((screen.clone(), 1)));
    let shade = |number| recording.pixels(&screen, number, |pixels| pixels.bytes[0]);
    assert_eq!((shade(3).unwrap(), shade(4).unwrap()), (Some(1), Some(4)));
    let vision = Topic::new("vision", "out");
    let info = recording.buffer_info(&vision, 3).unwrap();
    assert_eq!(info.to_string(), "audio/pcm i16 [8, 1]");
    let sound = |number| recording.payload(&vision, number, |payload| payload.bytes().to_vec());
    assert_eq!(sound(3).unwrap(), Some(vec![1; 16]));
    assert_eq!(sound(4).unwrap(), Some(vec![4; 16]));
    // It is no picture, and a picture is no buffer.
    assert!(!recording.has_pixels(&vision, 3));
    assert_eq!(recording.picture_of(&vision, 3), None);
    assert_eq!(recording.pixels(&vision, 3, |_| ()).unwrap(), None);
    assert_eq!(recording.buffer_info(&screen, 3), None);
    let Entry::Message(first) = &recording.entries()[0] else {
        panic!("a message comes first");
    };
    assert_eq!(first.at_ns(), 1_000);
}

#[test]
fn the_reason_for_an_early_end_is_known_if_it_was_written() {
    let trouble = |kind: &str, text: &str| Trouble {
        kind: kind.into(),
        stage: "".into(),
        plugin: "".into(),
        text: text.to_owned(),
        at_ns: 1,
    };
    let writer = || {
        let mut writer = Writer::new(Vec::new(), &about(), "", Schemas::new()).unwrap();
        let why = trouble(MISSING, "a machine died");
        writer.problem(&why).unwrap();
        writer
            .problem(&trouble("failed", "something else"))
            .unwrap();
        writer
    };
    let early = open(&writer().end_early().unwrap()).unwrap();
    assert!(early.is_cut_off());
    assert_eq!(early.noted_end(), Some("a machine died"));
    let whole = open(&writer().finish().unwrap()).unwrap();
    assert_eq!((whole.is_cut_off(), whole.noted_end()), (false, None));
    let bytes = write(5);
    // As short as a recording can be.
    let mut cuts = (0..bytes.len()).step_by(41);
    let killed = cuts.find_map(|cut| open(&bytes[..cut]).ok()).unwrap();
    assert_eq!((killed.is_cut_off(), killed.noted_end()), (true, None));
}

#[test]
fn a_truncated_file_loses_only_the_end() {
    let bytes = write(20);
    let whole = open(&bytes).unwrap().entries().len();
    let mut known = 0;
    for cut in (0..bytes.len()).step_by(41) {
        match open(&bytes[..cut]) {
            Ok(recording) => {
                let read = recording.entries().len();
                assert!(read >= known && read <= whole, "{cut}");
                known = read;
                read_all(&recording);
            }
            Err(error) => assert_eq!(known, 0, "{cut}: {error}"),
        }
    }
    assert_eq!(known, whole, "only the index follows the last entry");
}

/// At once, also a pipe without a writer.
#[cfg(target_os = "linux")]
#[test]
fn irregular_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let (kind, place) = ("this is a device or a pipe", "this is a folder");
    for (path, why) in [
        (&*pipe, kind),
        (Path::new("/dev/zero"), kind),
        (Path::new("/dev/null"), kind),
        (folder.path(), place),
    ] {
        let error = Recording::open(path).unwrap_err();
        assert!(matches!(error, ReadError::Open { .. }), "{error:?}");
        assert!(error.to_string().contains(why), "{error}");
    }
}

#[test]
fn other_files_are_refused() {
    let refused = |bytes: &[u8]| open(bytes).unwrap_err().to_string();
    assert!(refused(b"").contains("no recording"));
    assert!(refused(b"TOML = 1").contains("no recording"));
    assert!(refused(b"\x89MCAP0\r\n").contains("run.json is missing"));
    assert!(matches!(
        Recording::open(Path::new("/nowhere/a.mcap")),
        Err(ReadError::Open { .. })
    ));
    let newer = About {
        format: FORMAT + 1,
        ..about()
    };
    let writer = Writer::new(Vec::new(), &newer, "", Schemas::new()).unwrap();
    let bytes = writer.finish().unwrap();
    assert!(refused(&bytes).contains("its layout is number 2"));
}

/// A file that another program truncates or overwrites is damaged, and nothing worse.
#[test]
fn a_recording_may_be_truncated_while_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mcap");
    std::fs::write(&path, write(5)).unwrap();
    let recording = Recording::open(&path).unwrap();
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    file.set_len(9).unwrap();
    let screen = Topic::new("screen", "out");
    let error = recording.pixels(&screen, 1, |_| ()).unwrap_err();
    assert!(error.to_string().contains("the file is cut off"), "{error}");
    file.set_len(1 << 20).unwrap();
    recording.pixels(&screen, 1, |_| ()).unwrap_err();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn damage_never_panics(
        places in proptest::collection::vec((0usize..20_000, any::<u8>()), 1..20),
    ) {
        let mut bytes = write(4);
        for (place, value) in places {
            let place = place % bytes.len();
            bytes[place] = value;
        }
        if let Ok(recording) = open(&bytes) {
            read_all(&recording);
        }
    }
}
