//! The stage through the ABI: with ffmpeg on videos that it has made, and with programs that only claim to be ffmpeg.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use flowpipe_plugin::harness::{Emitted, Harness};
use flowpipe_plugin::{
    Context, Format, Host, Input, Next, NoConfig, Port, Result, Stage, abi, harness,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::matroska::Matroska;
use crate::picture::Limits;
use crate::pixmap;
use crate::play::CaptureVideo;

/// Long enough for the slowest machine; no test passes by waiting.
const PATIENCE: Duration = Duration::from_secs(60);

fn capture(config: Value) -> Result<Harness> {
    harness!(CaptureVideo, config)
}

/// Makes a video by ffmpeg: a grey one, each frame ten levels lighter, ten frames a second.
fn video(folder: &Path, name: &str, size: &str, frames: u32) -> PathBuf {
    let path = folder.join(name);
    let source = format!("color=black:size={size}:rate=10,format=gray,geq=lum='N*10'");
    let made = Command::new("ffmpeg")
        .args([
            "-nostdin",
            "-loglevel",
            "error",
            "-f",
            "lavfi",
            "-i",
            &source,
        ])
        .args(["-frames:v", &frames.to_string(), "-c:v", "ffv1"])
        .arg(&path)
        .status()
        .unwrap();
    assert!(made.success());
    path
}

/// What a stage gives until it ends or fails.
fn all(stage: &mut Harness) -> Result<Vec<Emitted>> {
    let mut found = Vec::new();
    let began = Instant::now();
    loop {
        let emitted = stage.tick()?;
        // The harness reports no end: a stage that has ended gives nothing.
        if emitted.is_empty() {
            return Ok(found);
        }
        found.extend(emitted);
        assert!(began.elapsed() < PATIENCE);
    }
}

/// The levels of grey of frames.
fn greys(frames: &[Emitted]) -> Vec<u8> {
    let first = |frame: &Emitted| frame.frame.as_ref().unwrap().pixels()[0];
    frames.iter().map(first).collect()
}

#[test]
fn the_frames_of_a_video_are_emitted() {
    let folder = tempfile::tempdir().unwrap();
    let path = video(folder.path(), "a.mkv", "63x47", 4);
    let mut stage = capture(json!({ "path": path, "times": 2 })).unwrap();
    let mut frames = Vec::new();
    for _ in 0..2 {
        frames.extend(all(&mut stage).unwrap());
    }
    assert_eq!(greys(&frames), [0, 10, 20, 30].repeat(2));
    for frame in &frames {
        let frame = frame.frame.as_ref().unwrap();
        let info = frame.info().unwrap();
        assert_eq!(
            (info.format, info.width, info.height),
            (Format::Rgb8, 63, 47)
        );
        // Grey everywhere, to the last row.
        let first = frame.pixels()[0];
        assert!(frame.pixels().iter().all(|it| *it == first));
    }
    let sources: Vec<_> = frames
        .iter()
        .map(|it| it.body["source"].as_str().unwrap())
        .collect();
    assert!(sources[1].ends_with("a.mkv, 0.100 s"), "{sources:?}");
    assert!(all(&mut stage).unwrap().is_empty());
}

#[test]
fn a_video_can_be_played_by_its_own_times() {
    let folder = tempfile::tempdir().unwrap();
    let path = video(folder.path(), "a.avi", "16x16", 4);
    let mut stage = capture(json!({ "path": path, "real_time": true })).unwrap();
    let began = std::time::Instant::now();
    let frames = all(&mut stage).unwrap();
    assert!(began.elapsed().as_millis() >= 300, "it does not wait");
    let times: Vec<_> = frames.iter().map(|it| it.captured_ns).collect();
    // On a busy machine a frame may be late, and none is early.
    for (place, time) in (0..).zip(&times) {
        assert!(time - times[0] >= place * 100_000_000, "{times:?}");
    }
    assert_eq!(times.len(), 4);
}

#[test]
fn the_number_of_frames_is_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let path = video(folder.path(), "a.mkv", "16x16", 9);
    let mut stage = capture(json!({ "path": path, "repeat": true, "max_frames": 3 })).unwrap();
    assert_eq!(greys(&all(&mut stage).unwrap()), [0, 10, 20]);
}

#[test]
fn large_frames_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = video(folder.path(), "a.mkv", "200x200", 1);
    let mut stage = capture(json!({ "path": path, "max_pixels": 39_999 })).unwrap();
    let error = all(&mut stage).err().unwrap().to_string();
    let expected = "a.mkv: its frames have 200 x 200 pixels, and `max_pixels` permits 39999: set max_pixels = 40000, or use a smaller one";
    assert!(error.contains(expected), "{error}");
    // No second attempt.
    assert!(all(&mut stage).unwrap().is_empty());
}

#[test]
fn what_is_no_video_is_an_error_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mp4");
    let secret = folder.path().join("secret.mkv");
    std::fs::rename(video(folder.path(), "b.mkv", "16x16", 2), &secret).unwrap();
    let secret = secret.display();
    for content in [
        "no video".to_owned(),
        String::new(),
        // Lists of other files are no videos, whatever they lead to.
        format!("ffconcat version 1.0\nfile {secret}\n"),
        format!("#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n{secret}\n#EXT-X-ENDLIST\n"),
        "v=0\nc=IN IP4 127.0.0.1\nm=video 9 RTP/AVP 96\na=rtpmap:96 H264/90000\n".to_owned(),
    ] {
        std::fs::write(&path, &content).unwrap();
        let mut stage = capture(json!({ "path": path })).unwrap();
        let error = all(&mut stage).err().unwrap().to_string();
        assert!(
            error.contains("a.mp4: ffmpeg reports: "),
            "{content:?}: {error}"
        );
    }
}

/// Sound in a file of sound, and in one that could be a video's; a picture.
#[test]
fn what_is_no_video_names_the_stage_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let made = |input: &str, name: &str| {
        let path = folder.path().join(name);
        let mut ffmpeg = Command::new("ffmpeg");
        ffmpeg.args(["-nostdin", "-loglevel", "error", "-f", "lavfi", "-i", input]);
        assert!(ffmpeg.arg(&path).status().unwrap().success());
        path
    };
    for path in [
        made("sine=duration=0.1", "a.wav"),
        made("sine=duration=0.1", "a.mka"),
        made("color=size=8x8:duration=0.04", "a.png"),
    ] {
        let mut stage = capture(json!({ "path": path })).unwrap();
        let error = all(&mut stage).err().unwrap().to_string();
        let advice = "sound is for capture-audio (WAV files), pictures are for capture-files";
        assert!(error.ends_with(advice), "{error}");
    }
}

#[test]
fn a_video_that_is_cut_off_or_damaged_ends() {
    let folder = tempfile::tempdir().unwrap();
    let path = video(folder.path(), "a.mkv", "160x120", 20);
    let whole = std::fs::read(&path).unwrap();
    for damage in 0..8 {
        let mut bytes = whole.clone();
        match damage {
            0 => bytes.truncate(whole.len() / 2),
            1 => bytes.truncate(700),
            _ => bytes[200..]
                .iter_mut()
                .step_by(13 + damage)
                .for_each(|byte| *byte ^= 0x55),
        }
        std::fs::write(&path, bytes).unwrap();
        let mut stage = capture(json!({ "path": path })).unwrap();
        // Frames, or an error; in either case an end.
        let _ = all(&mut stage);
        assert!(all(&mut stage).unwrap().is_empty());
    }
}

#[test]
fn configs_that_can_not_be_used_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.mkv");
    std::fs::write(&file, "").unwrap();
    for config in [
        json!({}),
        json!({ "path": file, "camera": "/dev/video0" }),
        json!({ "path": file, "size": [1, 1] }),
        json!({ "path": file, "times": 2, "repeat": true }),
        json!({ "path": folder.path() }),
        json!({ "path": "/dev/zero" }),
        json!({ "path": folder.path().join("missing.mkv") }),
        json!({ "camera": "/etc/passwd" }),
        json!({ "camera": "/dev/../etc/passwd" }),
        json!({ "camera": "/dev/video0", "repeat": true }),
    ] {
        let error = capture(config.clone()).err().unwrap();
        assert_eq!(error.status(), abi::BAD_CONFIG, "{config}: {error}");
    }
    let error = capture(json!({ "path": file, "ffmpeg": "no-such-ffmpeg" }))
        .err()
        .unwrap();
    assert_eq!(error.status(), abi::BAD_CONFIG, "{error}");
    assert!(
        error.to_string().contains("apt-get install ffmpeg"),
        "{error}"
    );
}

#[test]
fn a_camera_that_is_not_there_is_reported() {
    let mut stage = capture(json!({ "camera": "/dev/video-none" })).unwrap();
    let error = all(&mut stage).err().unwrap().to_string();
    assert!(
        error.contains("/dev/video-none: ffmpeg reports: "),
        "{error}"
    );
}

/// A script in place of ffmpeg.
#[cfg(unix)]
fn impostor(folder: &Path, script: &str) -> String {
    use std::os::unix::fs::PermissionsExt as _;
    let path = folder.join("impostor.sh");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

#[cfg(unix)]
#[test]
fn the_pictures_of_a_camera_come_at_once() {
    let folder = tempfile::tempdir().unwrap();
    // The second picture is larger than the first one.
    let script = "printf 'P6\\n1 1\\n255\\nabcP6\\n2 1\\n255\\nabcdef'; exec sleep 60";
    let config = json!({ "camera": "/dev/video0", "ffmpeg": impostor(folder.path(), script) });
    let mut stage = capture(config).unwrap();
    for pixels in ["abc", "abcdef"] {
        let emitted = stage.tick().unwrap();
        assert_eq!(emitted[0].body["source"], "/dev/video0");
        assert_eq!(
            emitted[0].frame.as_ref().unwrap().pixels(),
            pixels.as_bytes()
        );
    }
    let began = Instant::now();
    stage.cancel_when(move || began.elapsed() > Duration::from_millis(100));
    let error = stage.tick().err().unwrap();
    assert_eq!(error.status(), abi::CANCELLED, "{error}");
    drop(stage);
    assert!(began.elapsed() < PATIENCE / 2);
}

#[cfg(unix)]
#[test]
fn whatever_the_program_writes_is_bounded() {
    let folder = tempfile::tempdir().unwrap();
    for (script, reason) in [
        ("exec sleep 60", "gave no frame within 300 ms"),
        ("exec cat /dev/zero", "the header of a pixmap has no end"),
        ("exec yes", "it is no pixmap"),
        (
            "printf 'P6\\n99999 99999\\n255\\n'; exec cat /dev/zero",
            "99999 x 99999 pixels, and `max_pixels` permits 9437184: use a smaller one",
        ),
        (
            "printf 'P6\\n18446744073709551616 1\\n255\\n'; exec sleep 60",
            "it is no pixmap",
        ),
        ("printf 'P6\\n0 5\\n255\\n'; exec sleep 60", "no pixels"),
        ("printf 'P6\\n5 5\\n255\\nabc'", "without a frame"),
        (
            "printf 'P6\\n5 5\\n255\\nabc'; echo broken >&2; exit 1",
            "ffmpeg reports: broken",
        ),
        ("kill -SEGV $$", "ffmpeg was killed by SIGSEGV"),
        (
            "yes | head -c 5000000 >&2; echo the last >&2; exit 1",
            "ffmpeg reports: the last",
        ),
        (
            "echo no moov >&2; echo 'a.mp4: Invalid data found when processing input' >&2; exit 1",
            "ffmpeg reports: no moov",
        ),
        (
            "echo no key >&2; echo '[x] Error marking filters as finished' >&2; echo 'Conversion failed!' >&2; exit 1",
            "ffmpeg reports: no key",
        ),
        (
            "echo 'Conversion failed!' >&2; exit 1",
            "ffmpeg reports: Conversion failed!",
        ),
        ("exit 0", "ffmpeg exited with code 0 without a frame"),
    ] {
        let config = json!({
            "camera": "/dev/video0",
            "ffmpeg": impostor(folder.path(), script),
            "stall_ms": if script == "exec sleep 60" { 300 } else { 60_000 },
        });
        let began = Instant::now();
        let mut stage = capture(config).unwrap();
        let error = all(&mut stage).err().unwrap().to_string();
        assert!(error.contains(reason), "{script}: {error}");
        drop(stage);
        assert!(began.elapsed() < PATIENCE / 2, "{script}");
    }
}

/// An element of Matroska.
fn element(id: u32, content: &[u8]) -> Vec<u8> {
    let id = id.to_be_bytes();
    let start = id.iter().position(|it| *it != 0).unwrap();
    let length = (content.len() as u64 | 1 << 56).to_be_bytes();
    [&id[start..], &length, content].concat()
}

/// A stream of frames of 2 x 1 pixels, with their times in milliseconds.
fn stream(frames: &[(u32, i16, &[u8])]) -> Vec<u8> {
    let video = [element(0xb0, &[2]), element(0xba, &[0, 1])].concat();
    let tracks = element(0x1654_ae6b, &element(0xae, &element(0xe0, &video)));
    let clusters = frames.iter().map(|(time, relative, pixels)| {
        let block = [&[0x81], &relative.to_be_bytes()[..], &[0x80], pixels].concat();
        let inner = [element(0xe7, &time.to_be_bytes()), element(0xa3, &block)].concat();
        element(0x1f43_b675, &inner)
    });
    let clusters: Vec<u8> = clusters.flatten().collect();
    [
        element(0x1a45_dfa3, b"skipped"),
        vec![0x18, 0x53, 0x80, 0x67, 0xff],
        tracks,
        clusters,
    ]
    .concat()
}

/// A stage whose host makes frames.
struct Nothing;

impl Stage for Nothing {
    const NAME: &'static str = "nothing";
    type Config = NoConfig;

    fn inputs() -> Vec<Port> {
        Vec::new()
    }

    fn outputs() -> Vec<Port> {
        Vec::new()
    }

    fn new(_: NoConfig, _: &Host) -> Result<Self> {
        Ok(Self)
    }

    fn process(&mut self, _: Input<'_>, _: &mut Context<'_>) -> Result<Next> {
        Ok(Next::End)
    }
}

const LIMITS: Limits = Limits {
    max_pixels: 1_000_000,
};

/// Pixels and times of a stream, and why it ends.
fn read(bytes: &[u8]) -> (Vec<(Vec<u8>, i64)>, Option<String>) {
    let harness = harness!(Nothing, json!({})).unwrap();
    let mut matroska = Matroska::new(bytes, LIMITS);
    let mut found = Vec::new();
    loop {
        match matroska.next(harness.host()) {
            Ok(Some(picture)) => {
                found.push((picture.frame.pixels().to_vec(), picture.time_ns.unwrap()));
            }
            Ok(None) => return (found, None),
            Err(error) => return (found, Some(error.to_string())),
        }
    }
}

#[test]
fn frames_in_matroska_have_times() {
    let bytes = stream(&[(40, 2, b"abcdef"), (1_000, -40, b"ghijkl")]);
    let (frames, end) = read(&bytes);
    assert_eq!(end, None);
    let wanted = [
        (b"abcdef".to_vec(), 42_000_000),
        (b"ghijkl".to_vec(), 960_000_000),
    ];
    assert_eq!(frames, wanted);
}

#[test]
fn frames_of_another_size_are_refused() {
    for pixels in [&b"abcde"[..], b"abcdefg", b""] {
        let end = read(&stream(&[(0, 0, pixels)])).1.unwrap();
        assert!(end.contains("another size"), "{end}");
    }
    let without_size = element(0xa3, &[0x81, 0, 0, 0x80]);
    assert!(read(&without_size).1.unwrap().contains("no pixels"));
    let huge = [
        element(0xb0, &[0xff; 8]),
        element(0xba, &[0xff; 8]),
        element(0xa3, &[0; 9]),
    ]
    .concat();
    assert!(
        read(&huge)
            .1
            .unwrap()
            .contains("pixels, and `max_pixels` permits")
    );
}

proptest! {
    /// Whatever a decoder writes, reading it ends.
    #[test]
    fn any_bytes_are_read_to_their_end(
        mut bytes in prop::collection::vec(any::<u8>(), 0..200),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
    ) {
        read(&bytes);
        let mut edited = stream(&[(1, 2, b"abcdef"), (3, 4, b"ghijkl")]);
        for (place, byte) in edits {
            let place = place.index(edited.len());
            edited[place] = byte;
        }
        read(&edited);
        bytes.splice(0..0, *b"P6\n1 1\n255\n");
        let harness = harness!(Nothing, json!({})).unwrap();
        let mut rest = bytes.as_slice();
        while let Ok(Some(_)) = pixmap::next(&mut rest, LIMITS, harness.host()) {}
    }
}
