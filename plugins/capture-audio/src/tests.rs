//! The stage through the ABI, on files in a temporary folder.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use flowpipe_plugin::harness::{Emitted, Harness};
use flowpipe_plugin::{Element, Result, abi, harness};
use hound::{SampleFormat, WavSpec, WavWriter};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::play::CaptureAudio;

fn capture(config: Value) -> Result<Harness> {
    harness!(CaptureAudio, config)
}

/// A file of 16 bits, with these samples.
fn file(folder: &Path, channels: u16, samples: &[i16]) -> PathBuf {
    let path = folder.join("a.wav");
    let spec = WavSpec {
        channels,
        sample_rate: 8_000,
        bits_per_sample: 16,
        sample_format: SampleFormat::Int,
    };
    let mut writer = WavWriter::create(&path, spec).unwrap();
    for sample in samples {
        writer.write_sample(*sample).unwrap();
    }
    writer.finalize().unwrap();
    path
}

/// What a stage gives until it ends or fails.
fn all(stage: &mut Harness) -> (Vec<Emitted>, Option<String>) {
    let mut found = Vec::new();
    let began = Instant::now();
    loop {
        assert!(began.elapsed() < Duration::from_secs(60));
        match stage.tick() {
            // The harness reports no end: a stage that has ended gives nothing.
            Ok(emitted) if emitted.is_empty() => return (found, None),
            Ok(emitted) => found.extend(emitted),
            Err(error) => return (found, Some(error.to_string())),
        }
    }
}

fn samples(blocks: &[Emitted]) -> Vec<Vec<i16>> {
    let samples = |block: &Emitted| block.buffer().unwrap().as_slice().unwrap().to_vec();
    blocks.iter().map(samples).collect()
}

#[test]
fn a_file_is_emitted_in_blocks() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), 2, &[1, -2, 3, -4, 5, -6]);
    let config = json!({ "path": path, "block": 2, "element": "i16" });
    let (blocks, failure) = all(&mut capture(config).unwrap());
    assert_eq!(failure, None);
    assert_eq!(samples(&blocks), [vec![1, -2, 3, -4], vec![5, -6]]);
    let last = blocks[1].buffer().unwrap();
    assert_eq!(
        (last.media_type(), last.element()),
        ("audio/pcm", Element::I16)
    );
    assert_eq!(last.shape(), [1, 2]);
    let note = &blocks[1].body;
    assert_eq!(
        (&note["rate"], &note["position"]),
        (&json!(8_000), &json!(2))
    );
    assert_eq!(note["seconds"], 0.00025);
}

#[test]
fn samples_of_every_width_are_from_minus_one_to_one() {
    let folder = tempfile::tempdir().unwrap();
    for (bits, format) in [
        (8, SampleFormat::Int),
        (16, SampleFormat::Int),
        (24, SampleFormat::Int),
        (32, SampleFormat::Int),
        (32, SampleFormat::Float),
    ] {
        let path = folder.path().join("a.wav");
        let spec = WavSpec {
            channels: 1,
            sample_rate: 8_000,
            bits_per_sample: bits,
            sample_format: format,
        };
        let mut writer = WavWriter::create(&path, spec).unwrap();
        match format {
            SampleFormat::Float => {
                writer.write_sample(-0.5_f32).unwrap();
                writer.write_sample(1.0_f32).unwrap();
            }
            SampleFormat::Int => {
                writer.write_sample(-(1_i32 << (bits - 2))).unwrap();
                writer
                    .write_sample(((1_i64 << (bits - 1)) - 1) as i32)
                    .unwrap();
            }
        }
        writer.finalize().unwrap();
        let (blocks, _) = all(&mut capture(json!({ "path": path })).unwrap());
        let block = blocks[0].buffer().unwrap();
        let [half, most] = block.as_slice::<f32>().unwrap() else {
            panic!("two samples");
        };
        assert_eq!(*half, -0.5, "{bits} {format:?}");
        assert!((0.99..=1.0).contains(most), "{bits} {format:?}: {most}");
        let integers = json!({ "path": path, "element": "i16" });
        let (blocks, _) = all(&mut capture(integers).unwrap());
        let [half, most] = samples(&blocks)[0][..] else {
            panic!("two samples");
        };
        assert_eq!(half, -16_384, "{bits} {format:?}");
        assert!(most >= 32_512, "{bits} {format:?}: {most}");
    }
}

#[test]
fn a_file_is_played_several_times_and_by_its_own_rate() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), 1, &[7; 1_200]);
    let config = json!({ "path": path, "block": 400, "times": 2, "real_time": true });
    let mut stage = capture(config).unwrap();
    for _ in 0..2 {
        let began = std::time::Instant::now();
        let (blocks, _) = all(&mut stage);
        assert!(began.elapsed().as_millis() >= 100, "it does not wait");
        let times: Vec<_> = blocks.iter().map(|block| block.captured_ns).collect();
        assert_eq!(times.len(), 3);
        // On a busy machine a block may be late, and none is early.
        for (place, time) in (0..).zip(&times) {
            assert!(time - times[0] >= place * 50_000_000, "{times:?}");
        }
    }
    assert!(all(&mut stage).0.is_empty());
}

#[test]
fn a_file_without_samples_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), 2, &[]);
    for config in [
        json!({ "path": path }),
        json!({ "path": path, "repeat": true }),
    ] {
        let mut stage = capture(config).unwrap();
        let error = stage.tick().err().unwrap().to_string();
        assert!(error.contains("a.wav: it has no samples"), "{error}");
        assert!(all(&mut stage).0.is_empty(), "it has ended");
    }
}

#[test]
fn what_is_no_sound_is_refused_with_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), 1, &[1]);
    for config in [
        json!({ "path": folder.path().join("missing.wav") }),
        json!({ "path": folder.path() }),
        json!({ "path": "/dev/zero" }),
        json!({ "path": path, "block": 0 }),
        json!({ "path": path, "times": 2, "repeat": true }),
    ] {
        let error = capture(config.clone()).err().unwrap();
        assert_eq!(error.status(), abi::BAD_CONFIG, "{config}: {error}");
    }
    for content in [
        &b""[..],
        b"RIFF",
        b"RIFF\xff\xff\xff\xffWAVE",
        b"no sound at all, but long enough to be read as some",
    ] {
        std::fs::write(&path, content).unwrap();
        let error = capture(json!({ "path": path })).err().unwrap().to_string();
        assert!(error.starts_with("can't read "), "{error}");
    }
}

/// As ffmpeg writes them with `-c:a pcm_f64le`.
#[test]
fn samples_of_64_bits_are_refused_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.wav");
    let mut bytes = b"RIFF\x44\0\0\0WAVEfmt \x28\0\0\0\xfe\xff\x01\0".to_vec();
    bytes.extend(8_000_u32.to_le_bytes());
    bytes.extend(64_000_u32.to_le_bytes());
    // Bytes of a sample, its bits twice, and the number of a format.
    bytes.extend(b"\x08\0\x40\0\x16\0\x40\0\x04\0\0\0");
    bytes.extend(b"\x03\0\0\0\0\0\x10\0\x80\0\0\xaa\0\x38\x9b\x71");
    bytes.extend(b"data\x08\0\0\0");
    bytes.extend(0.5_f64.to_le_bytes());
    std::fs::write(&path, bytes).unwrap();
    let error = capture(json!({ "path": path })).err().unwrap();
    assert_eq!(error.status(), abi::BAD_CONFIG, "{error}");
    for part in ["samples have 64 bits", "ffmpeg -i FILE -c:a pcm_f32le"] {
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[test]
fn a_file_that_is_cut_off_names_the_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), 2, &[1; 8_000]);
    let whole = std::fs::read(&path).unwrap();
    // Three quarters of the samples: 3,000 of each channel.
    std::fs::write(&path, &whole[..whole.len() - 4_000]).unwrap();
    let (blocks, failure) = all(&mut capture(json!({ "path": path, "block": 1_000 })).unwrap());
    assert_eq!(blocks.len(), 3);
    let failure = failure.unwrap();
    for part in ["a.wav: ", "behind sample 3000 (0.375 s)", "cut off"] {
        assert!(failure.contains(part), "{failure}");
    }
}

#[test]
fn a_header_that_lies_costs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), 2, &[1, 2, 3, 4, 5, 6]);
    let whole = std::fs::read(&path).unwrap();
    let edited = |place: usize, bytes: &[u8]| {
        let mut edited = whole.clone();
        edited[place..place + bytes.len()].copy_from_slice(bytes);
        std::fs::write(&path, edited).unwrap();
    };
    // The length of the samples: four gigabytes. What is there comes first.
    edited(40, &[0xfc, 0xff, 0xff, 0xff]);
    let config = json!({ "path": path, "element": "i16", "block": 1_048_576 });
    let mut stage = capture(config.clone()).unwrap();
    let (blocks, failure) = all(&mut stage);
    assert_eq!(samples(&blocks), [[1, 2, 3, 4, 5, 6]]);
    assert!(failure.unwrap().contains("a.wav"));
    assert!(all(&mut stage).0.is_empty());
    // Channels: 65,535. A block would be large.
    edited(22, &[0xff, 0xff]);
    assert!(capture(config.clone()).is_err());
    for place in [22, 24, 34] {
        edited(place, &[0, 0, 0, 0][..if place == 24 { 4 } else { 2 }]);
        assert!(capture(config.clone()).is_err(), "{place}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Whatever is edited in a file, reading it ends.
    #[test]
    fn any_file_is_read_to_its_end(
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        length in 0_usize..120,
        is_float: bool,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = file(folder.path(), 2, &[9; 20]);
        let mut bytes = std::fs::read(&path).unwrap();
        if is_float {
            bytes[20] = 3;
            bytes[34] = 32;
        }
        for (place, byte) in edits {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        bytes.truncate(length.max(12));
        std::fs::write(&path, bytes).unwrap();
        if let Ok(mut stage) = capture(json!({ "path": path, "block": 16 })) {
            let (blocks, _) = all(&mut stage);
            prop_assert!(blocks.len() <= 100);
        }
    }
}
